//! Drawn statements over the demo tables, several at a time, by readers of all kinds.
//!
//! `COLONNADE_SEED` repeats a seed. `COLONNADE_FUZZ_SECONDS` or `COLONNADE_FUZZ_STATEMENTS` says how long,
//! `COLONNADE_FUZZ_FIRST` with which number to begin.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::compare::{compare, decode};
use crate::draw::{Statement, draw};
use crate::expression::Vocabulary;
use crate::functions::Functions;
use crate::oracle;
use crate::oracle_process::OracleProcesses;
use crate::process::{MemorySampler, children, falls_quiet, memory_bytes};
use crate::program::{Ending, Program, Reader, alone, is_expected};
use crate::random::Random;
use crate::tables;

const SECONDS: u64 = 10;
/// With `COLONNADE_FULL`.
const FULL_SECONDS: u64 = 60;
const LINEITEM_ROWS: usize = 20_000;

/// Statements that run at the same time.
const NUM_CLIENTS: u64 = 3;

/// Small budgets, so that statements exceed them.
const ARGUMENTS: [&str; 8] = [
    "--memory",
    "256MiB",
    "--stream-memory",
    "16MiB",
    "--spool",
    "256MiB",
    "--query-timeout",
    "5",
];

/// Within this time a statement ends, including the time that it waits for others.
const PATIENCE: Duration = Duration::from_secs(30);
const ORACLE_PATIENCE: Duration = Duration::from_secs(3);

/// The pool of the context that plans expressions while they are drawn.
const DRAW_BYTES: usize = 64 << 20;

/// Codes of errors that a statement may have besides its own.
const OTHER_CODES: [&str; 3] = ["storage_full", "engine_died", "busy"];

/// After the last statement: how soon the processes are idle, how much memory they may keep in addition to
/// the memory before the first one, and how many children wait for the next.
const QUIET_PATIENCE: Duration = Duration::from_secs(5);
const KEPT_BYTES: u64 = 128 << 20;

/// Memory of the server and its children: the budget and 128 MiB. A server that takes much more is killed, to
/// protect the machine.
const MAX_BYTES: u64 = (256 + 128) << 20;
const KILL_BYTES: u64 = 4 << 30;
const MAX_IDLE_CHILDREN: usize = 4;

/// Failures whose problems begin with the same letters are of one kind. The run ends after so many kinds.
const KIND_LETTERS: usize = 40;
const MAX_FAILURES: usize = 20;

struct Fuzz {
    program: Program,
    vocabulary: Arc<Vocabulary>,
    oracle: OracleProcesses,
    seed: u64,
    next: AtomicU64,
    is_over: AtomicBool,
    /// How often statements ended in each way.
    counts: Mutex<BTreeMap<String, u64>>,
    /// The first failure of each kind, and how many there were.
    failures: Mutex<BTreeMap<String, (u64, String)>>,
}

/// Whether a statement has NaN or a function that can give it. For a plain DataFusion, that of a computation on x86 is
/// less than every number, and extremes of groups depend on where NaN stands.
fn may_give_nan(sql: &str) -> bool {
    const WORDS: [&str; 15] = [
        "nan(", "'nan'", "inf", "log", "ln(", "sqrt(", "sin(", "cos(", "tan(", "cot(", "atanh(",
        "power(", "pow(", "stddev", "corr(",
    ];
    let sql = sql.to_lowercase();
    WORDS.iter().any(|word| sql.contains(word))
}

/// Whether a statement has a union beside a join. A union has no nulls of its own, so whether that of a row without a
/// partner is null depends on the plan.
fn may_join_unions(sql: &str) -> bool {
    sql.contains("_union\"") && sql.contains(" join ")
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn drawn_statements_end_with_the_right_rows_or_an_error() {
    let _alone = alone().await;
    let seed = number("COLONNADE_SEED").unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    println!("COLONNADE_SEED={seed}");
    let num_statements: Option<u64> = number("COLONNADE_FUZZ_STATEMENTS");
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    let default_seconds = if is_full { FULL_SECONDS } else { SECONDS };
    let num_seconds = number("COLONNADE_FUZZ_SECONDS").unwrap_or(default_seconds);
    let first: u64 = number("COLONNADE_FUZZ_FIRST").unwrap_or(0);

    let folder = TempDir::new().unwrap();
    let lineitem = folder.path().join("lineitem.parquet");
    tables::write(&lineitem, 0.01, "lineitem", LINEITEM_ROWS);
    let program = Program::start(folder.path(), &ARGUMENTS);
    let pid = program.pid();
    let fuzz = Arc::new(Fuzz {
        program,
        vocabulary: Arc::new(vocabulary(&folder).await),
        oracle: OracleProcesses::new(folder.path()),
        seed,
        next: AtomicU64::new(first),
        is_over: AtomicBool::new(false),
        counts: Mutex::default(),
        failures: Mutex::default(),
    });
    for sql in ["select * from lineitem", "select count(*) from every_type"] {
        let query = json!({ "sql": sql, "id": Random::new(seed, 0).uuid() });
        fuzz.program
            .run(&query, Reader::Whole, PATIENCE)
            .await
            .unwrap();
    }
    assert!(falls_quiet(pid, QUIET_PATIENCE).await);
    let resting_bytes = memory_bytes(pid);

    let sampler = MemorySampler::start(pid, MAX_BYTES + KILL_BYTES);
    let deadline = Instant::now() + Duration::from_secs(num_seconds);
    let clients: Vec<_> = (0..NUM_CLIENTS)
        .map(|_| {
            let fuzz = Arc::clone(&fuzz);
            let is_last = move |number| match num_statements {
                Some(num_statements) => number >= first + num_statements,
                None => Instant::now() > deadline,
            };
            tokio::spawn(async move { fuzz.client(is_last).await })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let mut fuzz = Arc::into_inner(fuzz).unwrap();
    println!("{:#?}", fuzz.counts.lock().unwrap());
    let peak_bytes = sampler.peak_bytes();
    let mut failures = fuzz.check_rest(resting_bytes, peak_bytes).await;
    for (count, text) in fuzz.failures.into_inner().unwrap().into_values() {
        failures.push(format!("{count} times, first {text}"));
    }
    let text = failures.join("\n");
    assert!(failures.is_empty(), "COLONNADE_SEED={seed}\n{text}");
}

async fn vocabulary(folder: &TempDir) -> Vocabulary {
    let context = oracle::context(1, DRAW_BYTES);
    for table in ["lineitem", "every_type"] {
        oracle::register_in_memory(&context, folder.path(), table);
    }
    let schema = async |table| context.table_provider(table).await.unwrap().schema();
    Vocabulary {
        functions: Functions::of(&context),
        lineitem: schema("lineitem").await,
        every_type: schema("every_type").await,
        context,
    }
}

impl Fuzz {
    async fn client(&self, is_last: impl Fn(u64) -> bool) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if is_last(number) || self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let (vocabulary, seed) = (Arc::clone(&self.vocabulary), self.seed);
            let drawn = tokio::task::spawn_blocking(move || draw(seed, number, &vocabulary)).await;
            // Planning an expression may crash here as well.
            let Ok(statement) = drawn else {
                self.count("not drawn");
                continue;
            };
            match self.try_statement(number, &statement).await {
                Ok(ending) => self.count(&ending),
                Err(problem) => self.fail(number, &problem, &statement.sql),
            }
        }
    }

    fn count(&self, ending: &str) {
        *self
            .counts
            .lock()
            .unwrap()
            .entry(ending.to_owned())
            .or_default() += 1;
    }

    fn fail(&self, number: u64, problem: &str, sql: &str) {
        self.count("failures");
        let letters = problem.chars().filter(|c| c.is_ascii_alphabetic());
        let mut kind: String = letters.take(KIND_LETTERS).collect();
        let is_dead = problem.starts_with("no response");
        if is_dead {
            // Each of the statements that ran at that time may be the cause.
            kind += &number.to_string();
        }
        let sql: String = sql.chars().take(3000).collect();
        let mut failures = self.failures.lock().unwrap();
        let text = format!("statement {number}: {problem}\n{sql}\n");
        failures.entry(kind).or_insert((0, text)).0 += 1;
        if failures.len() >= MAX_FAILURES || is_dead {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// How the statement ended.
    async fn try_statement(&self, number: u64, statement: &Statement) -> Result<String, String> {
        // Other numbers than those of the statement, so that the two do not depend on each other.
        let mut random = Random::new(!self.seed, number);
        let pause = Duration::from_millis(random.next() % 300);
        let reader = match random.below(20) {
            0 => Reader::Leaves(pause),
            1 => Reader::Cancels(pause),
            2 => Reader::Slow,
            _ => Reader::Whole,
        };
        let mut query = json!({ "sql": statement.sql, "id": random.uuid() });
        if random.chance(20) {
            query["batch_bytes"] = json!(random.pick(&[65_536, 1 << 20]));
        }
        if random.chance(20) {
            query["linger_s"] = json!(1);
        }
        let limit = random.chance(10).then(|| *random.pick(&[0, 3, 100]));
        if let Some(limit) = limit {
            query["limit"] = Value::from(limit);
        }
        match self.program.run(&query, reader, PATIENCE).await? {
            Ending::Left => Ok("left or cancelled".to_owned()),
            Ending::Failed { code, message } if !is_expected(&code, &OTHER_CODES) => {
                Err(format!("code {code}: {message}"))
            }
            Ending::Failed { code, message } => match self.expected(statement).await {
                Some(Ok(_)) if code == "sql_error" => Err(format!("can be planned: {message}")),
                Some(Ok(_)) => Ok(format!("{code}, where DataFusion has rows")),
                _ => Ok(code),
            },
            Ending::Rows(stream) => {
                let found = decode(&stream)?;
                match self.expected(statement).await {
                    Some(Ok(expected)) if limit.is_none() => {
                        self.compare(statement, &expected, &found).await
                    }
                    Some(Err(_)) => Ok("rows, where DataFusion has an error".to_owned()),
                    _ => Ok("rows, not compared".to_owned()),
                }
            }
        }
    }

    async fn expected(&self, statement: &Statement) -> Option<Result<Vec<RecordBatch>, String>> {
        let (sql, _) = statement.expected.as_ref()?;
        self.oracle.answer(1, sql, ORACLE_PATIENCE).await
    }

    /// Rows are wrong if both contexts contradict them, because plain DataFusion errs too: the answers of its
    /// plans with one partition can differ from those with several.
    async fn compare(
        &self,
        statement: &Statement,
        expected: &[RecordBatch],
        found: &[RecordBatch],
    ) -> Result<String, String> {
        let (sql, determined) = statement.expected.as_ref().unwrap();
        let Err(problem) = compare(expected, found, determined) else {
            return Ok("right rows".to_owned());
        };
        match self.oracle.answer(4, sql, ORACLE_PATIENCE).await {
            Some(Ok(second)) if compare(&second, found, determined).is_ok() => {
                Ok("right rows, where DataFusion contradicts itself".to_owned())
            }
            _ if may_join_unions(sql) => Ok("other rows, perhaps because of a union".to_owned()),
            _ if may_give_nan(sql) => Ok("other rows, perhaps because of NaN".to_owned()),
            _ => Err(problem),
        }
    }

    /// What is left of the statements in a program that should rest as it did before the first one.
    async fn check_rest(&mut self, resting_bytes: u64, peak_bytes: u64) -> Vec<String> {
        let mut problems = Vec::new();
        println!("memory: {resting_bytes} bytes at the start, at most {peak_bytes}");
        if peak_bytes > MAX_BYTES {
            problems.push(format!("it took {peak_bytes} bytes, more than {MAX_BYTES}"));
        }
        match self.program.death().await {
            Some(death) => problems.push(death),
            None => {
                let pid = self.program.pid();
                if !falls_quiet(pid, QUIET_PATIENCE).await {
                    problems.push("it is busy without a statement".to_owned());
                }
                let bytes = memory_bytes(pid);
                if bytes > resting_bytes + KEPT_BYTES {
                    problems.push(format!("it keeps {bytes} bytes, and had {resting_bytes}"));
                }
                let num_children = children(pid).len();
                if num_children > MAX_IDLE_CHILDREN {
                    problems.push(format!("it keeps {num_children} processes"));
                }
                let (_, list) = self.program.get("/v1/query").await.unwrap();
                let queries = list["queries"].as_array().unwrap();
                let running = queries.iter().filter(|query| query["state"] == "running");
                problems.extend(running.map(|query| format!("still running: {query}")));
            }
        }
        problems
    }
}
