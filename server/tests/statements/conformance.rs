//! The statements of DataFusion's own tests. Most name tables that do not exist here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use datafusion::prelude::SessionContext;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::compare::{Determined, compare, decode};
use crate::oracle;
use crate::program::{Ending, Program, Reader, alone, is_expected};
use crate::random::Random;
use crate::tables;

const NUM_CLIENTS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(40);
const ORACLE_PATIENCE: Duration = Duration::from_secs(3);
const ARGUMENTS: [&str; 4] = ["--memory", "512MiB", "--query-timeout", "10"];

/// Words of statements whose rows depend on the session, the time or the order of rows, or on the sign of NaN.
const OPEN: [&str; 17] = [
    "'-nan'",
    "explain",
    "show",
    "information_schema",
    "random",
    "uuid",
    "now()",
    "current_",
    "today",
    "version",
    "array_agg",
    "string_agg",
    "first_value",
    "last_value",
    "nth_value",
    "limit",
    "distinct on",
];

struct Conformance {
    program: Program,
    context: SessionContext,
    statements: Vec<Value>,
    next: AtomicUsize,
    counts: Mutex<BTreeMap<String, usize>>,
    failures: Mutex<Vec<String>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_statements_end_with_rows_or_an_error_of_their_own() {
    let folder = std::env::var_os("COLONNADE_CONFORMANCE").map(PathBuf::from);
    let text =
        folder.and_then(|folder| std::fs::read_to_string(folder.join("sql/statements.jsonl")).ok());
    let Some(text) = text else {
        println!("skipped: COLONNADE_CONFORMANCE names no folder with sql/statements.jsonl");
        return;
    };
    let _alone = alone().await;
    let folder = TempDir::new().unwrap();
    tables::write(
        &folder.path().join("lineitem.parquet"),
        0.01,
        "lineitem",
        1000,
    );
    let all = Arc::new(Conformance {
        program: Program::start(folder.path(), &ARGUMENTS),
        context: oracle::context(1, 1 << 30),
        statements: text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        next: AtomicUsize::new(0),
        counts: Mutex::default(),
        failures: Mutex::default(),
    });
    let clients: Vec<_> = (0..NUM_CLIENTS)
        .map(|_| {
            let all = Arc::clone(&all);
            tokio::spawn(async move { all.client().await })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let mut all = Arc::into_inner(all).unwrap();
    println!("{:#?}", all.counts.into_inner().unwrap());
    let mut failures = all.failures.into_inner().unwrap();
    failures.extend(all.program.death().await);
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

impl Conformance {
    async fn client(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(statement) = self.statements.get(number) else {
                return;
            };
            let sql = statement["sql"].as_str().unwrap();
            match self.try_statement(number, sql).await {
                Ok(ending) => *self.counts.lock().unwrap().entry(ending).or_default() += 1,
                Err(problem) => {
                    let mut failures = self.failures.lock().unwrap();
                    failures.push(format!("{}: {problem}\n    {sql}", statement["file"]));
                    if problem.starts_with("no response") {
                        self.next.store(self.statements.len(), Ordering::Relaxed);
                    }
                }
            }
        }
    }

    async fn try_statement(&self, number: usize, sql: &str) -> Result<String, String> {
        let query = json!({ "sql": sql, "id": Random::new(1, number as u64).uuid() });
        match self.program.run(&query, Reader::Whole, PATIENCE).await? {
            Ending::Failed { code, message } if !is_expected(&code, &["not_supported"]) => {
                Err(format!("code {code}: {message}"))
            }
            Ending::Failed { code, .. } => Ok(code),
            Ending::Left => Ok("left".to_owned()),
            Ending::Rows(stream) => {
                let lower = sql.to_lowercase();
                if OPEN.iter().any(|word| lower.contains(word)) {
                    return Ok("rows, not compared".to_owned());
                }
                let sql = sql.trim_end_matches(';');
                match oracle::answer(&self.context, sql, ORACLE_PATIENCE).await {
                    Some(Ok(expected)) => {
                        compare(&expected, &decode(&stream)?, &Determined::default())?;
                        Ok("right rows".to_owned())
                    }
                    _ => Ok("rows, not compared".to_owned()),
                }
            }
        }
    }
}
