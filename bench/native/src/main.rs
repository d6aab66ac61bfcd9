//! Decodes a stream and runs the kernels over its first column, as the browser's benchmark does:
//! `colonnade-bench-native STREAM RUNS NEEDLE` prints `[{"decode": ms, "sort": ms, …, "checksum": n}]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use colonnade_core::decode::Decoder;
use colonnade_core::kernels::{
    FilterJob, FindJob, FindRequest, RowOrder, SortJob, SortKey, SummaryJob,
};
use colonnade_core::table::Table;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::Limits;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const MEMORY_BYTES: u64 = 1 << 30;
const CHUNK_BYTES: usize = 64 << 10;

/// The times of one run: milliseconds by step.
type Run = BTreeMap<&'static str, f64>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [stream, num_runs, needle] = arguments.as_slice() else {
        return Err("expected STREAM RUNS NEEDLE".into());
    };
    let bytes = std::fs::read(stream)?;
    let runs = (0..num_runs.parse()?)
        .map(|_| run(&bytes, needle))
        .collect::<Result<Vec<_>>>()?;
    println!("{}", serde_json::to_string(&runs)?);
    Ok(())
}

fn run(bytes: &[u8], needle: &str) -> Result<Run> {
    let mut run = Run::new();
    let begun = Instant::now();
    let mut decoder = Decoder::new(MEMORY_BYTES, Limits::default());
    for chunk in bytes.chunks(CHUNK_BYTES) {
        decoder.push(chunk)?;
    }
    decoder.finish()?;
    run.insert("decode", ms_since(begun));
    let table = decoder.table().ok_or("the stream has no schema")?;
    let checksum = if table.schema().fields[0].type_name() == "string" {
        find(table, needle, &mut run)?
    } else {
        compute(table, &mut run)?
    };
    run.insert("checksum", checksum);
    Ok(run)
}

fn all_rows(table: &Table) -> Arc<RowOrder> {
    Arc::new(RowOrder::All(table.num_rows() as u32))
}

fn compute(table: &Table, run: &mut Run) -> Result<f64> {
    let begun = Instant::now();
    let key = SortKey {
        column: "c0".to_owned(),
        descending: false,
    };
    let mut job = SortJob::try_new(table, all_rows(table), &[key])?;
    while !job.step()? {}
    let sorted = job.finish();
    run.insert("sort", ms_since(begun));

    let begun = Instant::now();
    let predicate = r#"{"op":"gt","column":"c0","value":"0.4"}"#;
    let mut job = FilterJob::try_new(table, all_rows(table), predicate, &FixedOffsets)?;
    while !job.step(&FixedOffsets) {}
    let filtered = job.finish()?;
    run.insert("filter", ms_since(begun));

    let begun = Instant::now();
    let mut job = SummaryJob::try_new(table, "c0", 1 << 20, 10)?;
    while !job.step() {}
    std::hint::black_box(job.finish(&FixedOffsets));
    run.insert("summary", ms_since(begun));
    Ok([sorted, filtered].iter().map(checksum).sum())
}

/// The number of rows, and the row in the middle.
fn checksum(rows: &RowOrder) -> f64 {
    rows.len() as f64 + f64::from(rows.get(rows.len() / 2).unwrap_or(0))
}

fn find(table: &Table, needle: &str, run: &mut Run) -> Result<f64> {
    let mut found = 0.0;
    for (name, match_case) in [("find", true), ("find, any case", false)] {
        let begun = Instant::now();
        let request = FindRequest {
            text: needle.to_owned(),
            from: 0,
            limit: 10,
            columns: None,
            match_case,
        };
        let mut job = FindJob::try_new(table, all_rows(table), &request)?;
        while !job.step(&FixedOffsets) {}
        let answer: serde_json::Value = serde_json::from_str(&job.finish())?;
        found += answer["matches"][0]["row"].as_f64().unwrap_or(0.0);
        run.insert(name, ms_since(begun));
    }
    Ok(found)
}

fn ms_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
