//! Writes lineitem to one Parquet file, with this project's export and with DataFusion's own writer
//! (its pull request 7562), each in a process of its own.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use colonnade_server::backend::request::TableQuery;
use colonnade_server::backend::runtime::QueryRuntime;
use colonnade_server::results::export::{ExportOptions, ExportProgress, Format, export};
use colonnade_server::results::stream::ResultStream;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::{StreamExt, stream};

use crate::{Result, engine, stitch};

const WRITERS: [&str; 2] = ["Colonnade", "DataFusion"];
const THREADS: [usize; 4] = [1, 2, 4, 8];
const COLUMNS: [usize; 2] = [16, 3];
const FIRST_COLUMNS: [&str; 3] = ["l_orderkey", "l_partkey", "l_suppkey"];

/// The cost of one file.
#[derive(Debug, Clone, Copy)]
struct Written {
    ms: f64,
    peak_bytes: u64,
}

/// Prints the table. The writers alternate in every round.
pub(crate) fn compare(lineitem: &str, num_rounds: usize, limit: Option<u64>) -> Result<()> {
    println!("\n| one Parquet file | threads | columns | ms | ratio to DataFusion | peak MB |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for num_columns in COLUMNS {
        for num_threads in THREADS {
            let mut taken = [const { Vec::new() }; WRITERS.len()];
            for round in 0..num_rounds {
                eprintln!("Parquet, {num_columns} columns, {num_threads} threads, round {round}");
                for (writer, taken) in WRITERS.iter().zip(&mut taken) {
                    taken.push(in_process(
                        writer,
                        lineitem,
                        [num_threads, num_columns],
                        limit,
                    )?);
                }
            }
            let [ours, theirs] = taken.map(|runs: Vec<Written>| median(&runs));
            for (writer, is) in WRITERS.iter().zip([ours, theirs]) {
                println!(
                    "| {writer} | {num_threads} | {num_columns} | {:.0} | {:.2} | {} |",
                    is.ms,
                    is.ms / theirs.ms,
                    is.peak_bytes / 1_000_000
                );
            }
        }
    }
    Ok(())
}

fn median(runs: &[Written]) -> Written {
    let mut sorted = runs.to_vec();
    sorted.sort_unstable_by(|a, b| a.ms.total_cmp(&b.ms));
    sorted[sorted.len() / 2]
}

fn in_process(
    writer: &str,
    lineitem: &str,
    numbers: [usize; 2],
    limit: Option<u64>,
) -> Result<Written> {
    let output = Command::new(std::env::current_exe()?)
        .args(["write", writer, lineitem])
        .args(numbers.map(|number| number.to_string()))
        .arg(limit.map_or("all".to_owned(), |rows| rows.to_string()))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (Some(Ok(ms)), Some(Ok(peak_bytes))) = (numbers.next(), numbers.next()) else {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    };
    Ok(Written {
        ms,
        peak_bytes: peak_bytes as u64,
    })
}

/// The child process: writes one file, prints the milliseconds and the peak memory in bytes.
pub(crate) fn write(arguments: &[String]) -> Result<()> {
    let [writer, lineitem, num_threads, num_columns, limit] = arguments else {
        return Err("expected WRITER LINEITEM THREADS COLUMNS LIMIT".into());
    };
    let (num_threads, num_columns) = (num_threads.parse()?, num_columns.parse()?);
    let limit = limit.parse().ok();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("lineitem.parquet");
    let begun = Instant::now();
    if writer == "Colonnade" {
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(write_ours(num_threads, num_columns, limit, &path))?;
    } else {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(num_threads)
            .enable_all()
            .build()?;
        runtime.block_on(write_datafusion(
            lineitem,
            num_threads,
            num_columns,
            limit,
            &path,
        ))?;
    }
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    println!("{ms} {}", peak_bytes()?);
    Ok(())
}

async fn write_ours(
    num_threads: usize,
    num_columns: usize,
    limit: Option<u64>,
    path: &std::path::Path,
) -> Result<()> {
    let engine = engine(num_threads)?;
    let all = num_columns == COLUMNS[0];
    let query = TableQuery {
        table: "lineitem".to_owned(),
        columns: (!all).then(|| FIRST_COLUMNS.map(str::to_owned).to_vec()),
        ..TableQuery::default()
    };
    let runtime = QueryRuntime::start(num_threads)?;
    let threads = (&runtime, num_threads);
    let (schema, stitcher) = stitch(&engine, query, None, limit, threads).await?;
    let messages = stream::unfold(stitcher, |mut stitcher| async move {
        stitcher.next().await.map(|message| (message, stitcher))
    });
    let result = ResultStream {
        schema,
        messages: messages.boxed(),
        first_row: 0,
    };
    let options = ExportOptions::new(Format::Parquet);
    let progress = Arc::new(ExportProgress::new(Format::Parquet));
    let mut file = export(result, &options, num_threads, progress)?;
    let mut output = tokio::fs::File::create(path).await?;
    while let Some(chunk) = file.next().await {
        tokio::io::AsyncWriteExt::write_all(&mut output, &chunk?).await?;
    }
    Ok(())
}

async fn write_datafusion(
    lineitem: &str,
    num_threads: usize,
    num_columns: usize,
    limit: Option<u64>,
    path: &std::path::Path,
) -> Result<()> {
    let mut config = SessionConfig::new().with_target_partitions(num_threads);
    let options = &mut config.options_mut().execution.parquet;
    options.allow_single_file_parallelism = true;
    options.maximum_parallel_row_group_writers = num_threads;
    let context = SessionContext::new_with_config(config);
    let options = ParquetReadOptions::default();
    context
        .register_parquet("lineitem", lineitem, options)
        .await?;
    let frame = context.table("lineitem").await?;
    let names: Vec<String> = frame
        .schema()
        .fields()
        .iter()
        .take(num_columns)
        .map(|field| field.name().clone())
        .collect();
    let limit = limit.map_or(String::new(), |rows| format!(" limit {rows}"));
    let sql = format!(
        "copy (select {} from lineitem{limit}) to '{}' stored as parquet options (compression 'zstd(1)')",
        names.join(", "),
        path.display()
    );
    context.sql(&sql).await?.collect().await?;
    Ok(())
}

/// The peak resident memory of this process.
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().nth(1))
        .ok_or("/proc/self/status has no VmHWM")?
        .parse()?;
    Ok(kib * 1024)
}
