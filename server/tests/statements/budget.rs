//! Drawn tables and clients at a server with little memory, which serves a newcomer meanwhile.
//!
//! `COLONNADE_SEED` repeats a seed, from the round `COLONNADE_ROUND` on; `COLONNADE_BUDGET_SECONDS` says how long.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::process::MemorySampler;
use crate::program::{Ending, Program, Reader, alone};
use crate::random::Random;

const MEMORY_BYTES: u64 = 512 << 20;

/// The most that the server and its processes may take.
const MAX_BYTES: u64 = MEMORY_BYTES + (128 << 20);

const NUM_CLIENTS: u64 = 12;

/// The longest that one client waits for an end.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a query may end.
const ROWS: &str = "rows";
const LEFT: &str = "left";
/// Row groups of few rows and thousands of columns.
const LARGE_FOOTER: &str = "large footer";
const REFUSALS: [&str; 5] = [
    "out_of_memory",
    "resources_exhausted",
    "busy",
    "cancelled",
    // Planning has a limit of time, and takes seconds with thousands of columns.
    "too_complex",
];

/// Sizes of drawn tables.
struct Scale {
    num_tables: usize,
    max_columns: usize,
    max_cell_bytes: usize,
    table_bytes: usize,
    /// The longest that a newcomer waits for its rows.
    max_wait: Duration,
}

const QUICK: Scale = Scale {
    num_tables: 5,
    max_columns: 800,
    max_cell_bytes: 200_000,
    table_bytes: 30 << 20,
    // Other work of the machine may be in its way.
    max_wait: Duration::from_secs(5),
};

const FULL: Scale = Scale {
    num_tables: 8,
    max_columns: 5000,
    max_cell_bytes: 1_000_000,
    table_bytes: 300 << 20,
    max_wait: Duration::from_secs(1),
};

/// A table, with a column `n` of row numbers.
struct Drawn {
    name: String,
    path: String,
    num_rows: usize,
}

fn draw_values(random: &mut Random, kind: usize, num_rows: usize, cell_bytes: usize) -> ArrayRef {
    match kind {
        0 => Arc::new(Int64Array::from_iter_values(
            (0..num_rows).map(|_| random.next() as i64),
        )),
        1 => {
            Arc::new(Float64Array::from_iter((0..num_rows).map(|_| {
                (!random.chance(10)).then(|| random.below(1000) as f64)
            })))
        }
        2 => {
            let word = |random: &mut Random| format!("{:x}", random.next());
            let text = |_| word(random).repeat(1 + cell_bytes / 16);
            Arc::new(StringArray::from_iter_values((0..num_rows).map(text)))
        }
        _ => {
            let noise: Vec<u8> = (0..cell_bytes + 64).map(|_| random.next() as u8).collect();
            let bytes = |_| &noise[random.below(64)..][..cell_bytes];
            Arc::new(BinaryArray::from_iter_values((0..num_rows).map(bytes)))
        }
    }
}

/// Writes a table of few wide cells, or of many narrow columns.
fn draw_table(random: &mut Random, folder: &Path, number: usize, scale: &Scale) -> Drawn {
    let has_wide_cells = random.chance(30);
    let num_columns = match has_wide_cells {
        true => 1 + random.below(3),
        false => 1 + random.below(scale.max_columns),
    };
    let cell_bytes = if has_wide_cells {
        1 + random.below(scale.max_cell_bytes)
    } else {
        8
    };
    let num_rows = scale.table_bytes / (num_columns * cell_bytes);
    let num_rows = 1 + random.below(num_rows.clamp(1, 2_000_000));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..num_rows as i64));
    let mut columns = vec![("n".to_owned(), numbers)];
    for column in 0..num_columns {
        let kind = if has_wide_cells {
            2 + random.below(2)
        } else {
            random.below(3)
        };
        let values = draw_values(random, kind, num_rows, cell_bytes);
        columns.push((format!("c{column}"), values));
    }
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let name = format!("t{number}");
    let is_parquet = random.chance(70);
    let path = folder.join(format!(
        "{name}.{}",
        if is_parquet { "parquet" } else { "arrow" }
    ));
    let file = File::create(&path).unwrap();
    if is_parquet {
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let codec = *random.pick(&[Compression::UNCOMPRESSED, Compression::SNAPPY, zstd]);
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_dictionary_enabled(random.chance(50))
            .set_max_row_group_row_count(Some(1 + random.below(2 * num_rows)))
            .set_data_page_row_count_limit(*random.pick(&[1000, 20_000, usize::MAX]))
            .set_data_page_size_limit(*random.pick(&[64 << 10, 1 << 20, 64 << 20]))
            .set_offset_index_disabled(random.chance(30))
            .build();
        let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
    } else {
        let codec = *random.pick(&[
            None,
            Some(CompressionType::ZSTD),
            Some(CompressionType::LZ4_FRAME),
        ]);
        let options = IpcWriteOptions::default()
            .try_with_compression(codec)
            .unwrap();
        let mut writer = FileWriter::try_new_with_options(file, &table.schema(), options).unwrap();
        let batch_rows = 1 + random.below(num_rows);
        for start in (0..num_rows).step_by(batch_rows) {
            writer
                .write(&table.slice(start, batch_rows.min(num_rows - start)))
                .unwrap();
        }
        writer.finish().unwrap();
    }
    println!("{name}: {num_rows} rows, {num_columns} columns of {cell_bytes} bytes");
    let path = path.display().to_string();
    Drawn {
        name,
        path,
        num_rows,
    }
}

fn draw_query(random: &mut Random, tables: &[Drawn]) -> Value {
    let Drawn { name, num_rows, .. } = random.pick(tables);
    let mut query = match random.below(8) {
        0..=2 => json!({ "table": name, "offset": random.below(*num_rows) }),
        3 => {
            json!({ "table": name, "offset": random.below(*num_rows), "limit": 1 + random.below(100) })
        }
        4 => {
            json!({ "table": name, "sort": [{ "column": "c0", "descending": random.chance(50) }] })
        }
        5 => {
            json!({ "sql": format!("select * from {name} where n % {} = 0", 1 + random.below(3)) })
        }
        6 => json!({ "sql": format!("select c0, count(*) from {name} group by c0") }),
        _ => json!({ "sql": format!("select * from {name} order by c0 desc, n") }),
    };
    query["id"] = json!(random.uuid());
    if random.chance(50) {
        query["batch_bytes"] = json!(1usize << (16 + random.below(9)));
    }
    query
}

/// A client that comes again and again. Returns how its queries ended.
async fn visit(
    program: &Program,
    tables: &[Drawn],
    mut random: Random,
    end: Instant,
) -> Vec<String> {
    let mut endings = Vec::new();
    while Instant::now() < end {
        let query = draw_query(&mut random, tables);
        let after = Duration::from_millis(random.below(2000) as u64);
        if random.chance(20) {
            // Reads the first bytes, and then nothing more for a while.
            let begun = program.begin(&query).await;
            tokio::time::sleep(after).await;
            drop(begun);
            continue;
        }
        let reader = *random.pick(&[
            Reader::Discards,
            Reader::Slow,
            Reader::Leaves(after),
            Reader::Cancels(after),
        ]);
        endings.push(match program.run(&query, reader, PATIENCE).await {
            Ok(Ending::Rows(_)) => ROWS.to_owned(),
            Ok(Ending::Left) => LEFT.to_owned(),
            Ok(Ending::Failed { code, .. }) if REFUSALS.contains(&code.as_str()) => code,
            Ok(Ending::Failed { message, .. }) if message.contains("the Parquet footer") => {
                LARGE_FOOTER.to_owned()
            }
            other => format!("{query}: {other:?}"),
        });
    }
    endings
}

/// The longest time that a client waits for the rows of a small table, again and again.
async fn newcomers(program: &Program, mut random: Random, end: Instant) -> Duration {
    let mut longest = Duration::ZERO;
    while Instant::now() < end {
        let query = json!({ "table": "small", "id": random.uuid() });
        let began = Instant::now();
        let ending = program.run(&query, Reader::Whole, PATIENCE).await;
        assert!(
            matches!(ending, Ok(Ending::Rows(_))),
            "a newcomer gets {ending:?}"
        );
        longest = longest.max(began.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    longest
}

#[tokio::test(flavor = "multi_thread")]
async fn drawn_tables_and_clients_leave_a_newcomer_its_rows() {
    let _alone = alone().await;
    let setting = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seed = setting("COLONNADE_SEED").unwrap_or(1);
    let first_round = setting("COLONNADE_ROUND").unwrap_or(1);
    println!("COLONNADE_SEED={seed}, from COLONNADE_ROUND={first_round} on");
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    let (scale, seconds) = if is_full { (FULL, 1200) } else { (QUICK, 8) };
    let end = Instant::now()
        + Duration::from_secs(setting("COLONNADE_BUDGET_SECONDS").unwrap_or(seconds));
    for round in first_round.. {
        if round > first_round && Instant::now() >= end {
            break;
        }
        let mut random = Random::new(seed, round);
        let folder = tempfile::tempdir().unwrap();
        let mut tables = Vec::new();
        for number in 0..scale.num_tables {
            tables.push(draw_table(&mut random, folder.path(), number, &scale));
        }
        let small = Scale {
            table_bytes: 1 << 10,
            max_columns: 3,
            ..QUICK
        };
        let small = draw_table(&mut random, folder.path(), 99, &small);
        let small = format!("small={}", small.path);
        let memory = MEMORY_BYTES.to_string();
        let mut arguments = vec!["--memory", &memory, &small];
        arguments.extend(tables.iter().map(|table| table.path.as_str()));
        let mut program = Program::start(folder.path(), &arguments);
        let sampler = MemorySampler::start(program.pid(), 4 << 30);
        let round_end = Instant::now() + Duration::from_secs(if is_full { 60 } else { 8 });
        let clients = (0..NUM_CLIENTS).map(|client| {
            let random = Random::new(random.next(), client);
            visit(&program, &tables, random, round_end)
        });
        let newcomers = newcomers(&program, Random::new(seed, 1 << 32), round_end);
        let (endings, longest) = tokio::join!(join_all(clients), newcomers);
        let peak_bytes = sampler.peak_bytes();
        let mut counts = BTreeMap::new();
        for ending in endings.into_iter().flatten() {
            *counts.entry(ending).or_insert(0) += 1;
        }
        let peak_mib = peak_bytes >> 20;
        println!("round {round}: {peak_mib} MiB, a newcomer waits {longest:?}, {counts:?}");
        assert_eq!(program.death().await, None);
        let known = [ROWS, LEFT, LARGE_FOOTER];
        let is_known = |ending: &str| known.contains(&ending) || REFUSALS.contains(&ending);
        assert!(counts.contains_key(ROWS) && counts.keys().all(|ending| is_known(ending)));
        assert!(peak_bytes <= MAX_BYTES, "{} MiB", peak_bytes >> 20);
        assert!(longest <= scale.max_wait, "{longest:?}");
    }
}
