//! All queries of TPC-H. `COLONNADE_TPCH_SCALE` sets the scale, `COLONNADE_TPCH_MEMORY` the server's memory.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::compare::{Determined, compare, decode};
use crate::oracle;
use crate::program::{Ending, Program, Reader, alone};
use crate::random::Random;
use crate::tables::{self, TPCH};

const SCALE: f64 = 0.01;
/// With `COLONNADE_FULL`.
const FULL_SCALE: f64 = 0.05;

/// Tables of scale 10 exceed it, so that operators spill.
const MEMORY: &str = "2GiB";

const ORACLE_BYTES: usize = 16 << 30;

/// Codes of errors that a query may have.
const CODES: [&str; 3] = ["out_of_memory", "resources_exhausted", "query_timeout"];

fn queries(scale: f64) -> Vec<String> {
    let text = include_str!("tpch.sql");
    let text = text.replace(":fraction", &format!("{:.12}", 0.0001 / scale));
    let queries = text.split(';').map(|query| query.trim().to_owned());
    queries.filter(|query| !query.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_gives_the_rows_of_plain_datafusion() {
    let _alone = alone().await;
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    let default_scale = if is_full { FULL_SCALE } else { SCALE };
    let scale = std::env::var("COLONNADE_TPCH_SCALE");
    let scale = scale.map_or(default_scale, |scale| scale.parse().unwrap());
    let folder = tables::kept(scale, &TPCH);
    let path = folder.display().to_string();
    let memory = std::env::var("COLONNADE_TPCH_MEMORY");
    let memory = memory.as_deref().unwrap_or(MEMORY);
    let mut program = Program::start(&folder, &[&path, "--memory", memory]);
    let partitions = std::thread::available_parallelism().map_or(2, usize::from);
    let context = oracle::context(partitions, ORACLE_BYTES);
    for table in TPCH {
        oracle::register_parquet(&context, &folder, table).await;
    }
    let patience = Duration::from_secs_f64(60.0 + 120.0 * scale);
    let queries = queries(scale);
    assert_eq!(queries.len(), 22);
    let mut problems = Vec::new();
    for (index, sql) in queries.iter().enumerate() {
        let number = index as u64 + 1;
        let query = json!({ "sql": sql, "id": Random::new(0, number).uuid() });
        let started = Instant::now();
        let ended = program.run(&query, Reader::Whole, patience).await;
        let took = started.elapsed();
        let result = match ended {
            Ok(Ending::Rows(stream)) => {
                let started = Instant::now();
                let expected = oracle::answer(&context, sql, patience).await;
                let expected = expected.unwrap().unwrap();
                println!(
                    "query {number}: {took:?}; DataFusion: {:?}",
                    started.elapsed()
                );
                decode(&stream).and_then(|found| compare(&expected, &found, &Determined::default()))
            }
            Ok(Ending::Failed { code, message }) if CODES.contains(&&*code) => {
                println!("query {number}: {code} after {took:?}: {message}");
                Ok(())
            }
            other => Err(format!("{other:?} after {took:?}")),
        };
        problems.extend(
            result
                .err()
                .map(|problem| format!("query {number}: {problem}")),
        );
    }
    problems.extend(program.death().await);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
