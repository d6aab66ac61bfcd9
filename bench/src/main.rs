//! The cost of the ordered stream, as ratios within one run: `cargo run --release -p colonnade-bench --
//! LINEITEM.PARQUET RUNS`.
//!
//! Streams are measured inside this process, at the stitcher, with a sink that only counts: no socket
//! and no spool. The Parquet file is measured at its writer. Runs of the compared variants alternate,
//! so that load of the machine affects them equally; the median counts. `--quick` reads fewer rows.

mod parquet;
mod statements;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use colonnade_server::backend::embedded::{Engine, EngineConfig};
use colonnade_server::backend::request::{CommonParameters, Source, TableQuery};
use colonnade_server::backend::runtime::QueryRuntime;
use colonnade_server::byte_pool::BytePool;
use colonnade_server::demo;
use colonnade_server::encode::Codec;
use colonnade_server::message::IpcMessage;
use colonnade_server::order::{StitchPlan, Stitcher};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The budget of one stream, unless the command line gives another.
const BUDGET_BYTES: u64 = 24 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    codec: &'static str,
    num_threads: usize,
}

/// The cost of one run.
#[derive(Debug, Clone, Copy)]
struct Run {
    first_batch: Duration,
    whole: Duration,
    num_rows: u64,
    num_bytes: u64,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", ..] => return parquet::write(&arguments[1..]),
        ["serve", folder] => return statements::serve_in_process(folder),
        ["statements", folder] => return statements::run_plain(folder),
        _ => {}
    }
    let [lineitem, num_runs, options @ ..] = arguments.as_slice() else {
        return Err("expected LINEITEM.PARQUET RUNS [--quick]".into());
    };
    let num_runs: usize = num_runs.parse()?;
    let is_quick = options.iter().any(|option| option == "--quick");
    let limit = is_quick.then_some(500_000);
    let connections = tokio::runtime::Runtime::new()?;
    let engine = engine(2)?;
    let run =
        |table: &str, case: Case, limit| connections.block_on(drain(&engine, table, case, limit));

    let mut cases = Vec::new();
    for codec in ["none", "lz4", "zstd"] {
        for num_threads in [1, 2] {
            cases.push(Case { codec, num_threads });
        }
    }
    let mut runs: BTreeMap<Case, Vec<Run>> = BTreeMap::new();
    for round in 1..=num_runs {
        for case in &cases {
            eprintln!(
                "round {round} of {num_runs}: lineitem, {} on {} threads",
                case.codec, case.num_threads
            );
            runs.entry(*case)
                .or_default()
                .push(run("lineitem", *case, limit)?);
        }
    }
    println!("| codec | threads | rows | MB | million rows/s | speed-up over 1 thread |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (case, taken) in &runs {
        let alone = Case {
            num_threads: 1,
            ..*case
        };
        let run = taken[0];
        let whole = median(taken, |run| run.whole);
        let ratio = median(&runs[&alone], |run| run.whole).as_secs_f64() / whole.as_secs_f64();
        println!(
            "| {} | {} | {} | {} | {:.2} | {ratio:.2} |",
            case.codec,
            case.num_threads,
            run.num_rows,
            run.num_bytes / 1_000_000,
            run.num_rows as f64 / whole.as_secs_f64() / 1e6,
        );
    }

    let plain = Case {
        codec: "none",
        num_threads: 2,
    };
    println!("\n| table | first batch ms |\n| --- | --- |");
    for table in ["every_type", "flights", "lineitem"] {
        let taken = (0..num_runs * 2)
            .map(|_| run(table, plain, None))
            .collect::<Result<Vec<_>>>()?;
        let first = median(&taken, |run| run.first_batch);
        println!("| {table} | {:.1} |", first.as_secs_f64() * 1e3);
    }
    parquet::compare(lineitem, num_runs, limit)
}

/// The server's engine with the demo tables.
fn engine(num_threads: usize) -> Result<Engine> {
    let config = EngineConfig {
        memory_bytes: 1 << 30,
        spill_bytes: 1 << 30,
        spill_folder: std::env::temp_dir(),
        num_threads,
        plans_sql: true,
    };
    Ok(Engine::try_new(&config, demo::open()?)?)
}

async fn drain(engine: &Engine, table: &str, case: Case, limit: Option<u64>) -> Result<Run> {
    let begun = Instant::now();
    let query = TableQuery {
        table: table.to_owned(),
        ..TableQuery::default()
    };
    let codec = match case.codec {
        "lz4" => Some(Codec::Lz4),
        "zstd" => Some(Codec::Zstd),
        _ => None,
    };
    let runtime = QueryRuntime::start(case.num_threads)?;
    let (_, mut stitcher) =
        stitch(engine, query, codec, limit, (&runtime, case.num_threads)).await?;
    let (mut num_rows, mut num_bytes, mut first_batch) = (0, 0, None);
    while let Some(message) = stitcher.next().await {
        let message = message?;
        first_batch.get_or_insert_with(|| begun.elapsed());
        num_rows += message.num_rows;
        num_bytes += message.num_bytes() as u64;
    }
    Ok(Run {
        first_batch: first_batch.unwrap_or_default(),
        whole: begun.elapsed(),
        num_rows,
        num_bytes,
    })
}

/// The schema message of a query over one table, and its batches in order.
async fn stitch(
    engine: &Engine,
    query: TableQuery,
    codec: Option<Codec>,
    limit: Option<u64>,
    (runtime, num_threads): (&QueryRuntime, usize),
) -> Result<(IpcMessage, Stitcher)> {
    let parameters = CommonParameters {
        limit,
        ..CommonParameters::default()
    };
    let request = parameters.request(Source::Table(query))?;
    let planned = engine.plan(&request, None, codec).await?;
    let schema = planned.schema.clone();
    let plan = StitchPlan {
        schema: schema.clone(),
        range: planned.range,
        num_parallel: num_threads,
        budget_bytes: BUDGET_BYTES,
        batch_bytes: planned.batch_bytes,
        pool: BytePool::new(BUDGET_BYTES),
    };
    let threads = runtime.handle();
    let stitcher = Stitcher::start(planned.partitions, plan, threads, threads);
    Ok((schema, stitcher))
}

fn median(runs: &[Run], what: impl Fn(&Run) -> Duration) -> Duration {
    let mut taken: Vec<_> = runs.iter().map(what).collect();
    taken.sort_unstable();
    taken[taken.len() / 2]
}
