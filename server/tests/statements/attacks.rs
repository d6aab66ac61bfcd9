//! Statements that once hung the server, ended it, or took its machine's memory or processor.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::process::{MemorySampler, cpu_ticks, falls_quiet};
use crate::program::{Ending, Program, Reader, alone, is_expected};
use crate::random::Random;
use crate::tables;

/// Within this time a statement ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// A statement that takes longer is ended by the server.
const QUERY_TIMEOUT: &str = "5";

/// So soon after the end of a statement, or after its client has left, the processes are idle.
const QUIET_PATIENCE: Duration = Duration::from_secs(3);

/// Memory of the server and its children beyond `--memory`.
const SLACK_BYTES: u64 = 128 << 20;

/// A server that takes so much more is killed, to protect the machine.
const KILL_BYTES: u64 = 1 << 30;

/// How long a statement runs before its client leaves.
const BUSY_TICKS: u64 = 50;

/// Runs each statement in a server of its own and says how it ended.
async fn all_are_survived(memory_mib: u64, options: &[&str], statements: &[String], leaves: bool) {
    let _alone = alone().await;
    let folder = tables::kept(1.0, &["lineitem"]);
    let mut problems = Vec::new();
    for sql in statements {
        let memory = format!("{memory_mib}MiB");
        let given = ["--memory", &memory, "--query-timeout", QUERY_TIMEOUT];
        let mut program = Program::start(&folder, &[&given, options].concat());
        let found = attack(&mut program, memory_mib << 20, sql, leaves).await;
        let start: String = sql.chars().take(150).collect();
        problems.extend(
            found
                .into_iter()
                .map(|problem| format!("{problem}: {start}")),
        );
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// What is wrong with the end of this statement.
async fn attack(program: &mut Program, memory_bytes: u64, sql: &str, leaves: bool) -> Vec<String> {
    let pid = program.pid();
    let mut problems = Vec::new();
    let max_bytes = memory_bytes + SLACK_BYTES;
    let sampler = MemorySampler::start(pid, max_bytes + KILL_BYTES);
    let query = json!({ "sql": sql, "id": Random::new(0, 0).uuid() });
    let started = Instant::now();
    let ended = if leaves {
        tokio::select! {
            ended = program.run(&query, Reader::Discards, PATIENCE) => ended,
            () = busy(pid) => Ok(Ending::Left),
        }
    } else {
        program.run(&query, Reader::Discards, PATIENCE).await
    };
    match &ended {
        Ok(Ending::Failed { code, message }) if !is_expected(code, &["engine_died"]) => {
            problems.push(format!("code {code}, {message}"));
        }
        Ok(_) => {}
        Err(problem) => problems.push(problem.clone()),
    }
    let end = match ended {
        Ok(Ending::Failed { code, .. }) => code,
        Ok(Ending::Left) => "left".to_owned(),
        Ok(Ending::Rows(_)) => "rows".to_owned(),
        Err(_) => "no end".to_owned(),
    };
    let took = started.elapsed();
    if let Some(death) = program.death().await {
        problems.push(death);
    } else if !falls_quiet(pid, QUIET_PATIENCE).await {
        problems.push(format!("busy {QUIET_PATIENCE:?} after the end ({end})"));
    }
    let peak_bytes = sampler.peak_bytes();
    let start: String = sql.chars().take(80).collect();
    println!(
        "{end} after {took:?} with {} MiB: {start}",
        peak_bytes >> 20
    );
    if peak_bytes > max_bytes + KILL_BYTES {
        // The other problems are consequences.
        problems.clear();
    }
    if peak_bytes > max_bytes {
        let [peak, max] = [peak_bytes, max_bytes].map(|bytes| bytes >> 20);
        problems.push(format!("{peak} MiB, more than {max} MiB"));
    }
    problems
}

/// Waits until the program has worked for a while.
async fn busy(pid: u32) {
    let before = cpu_ticks(pid);
    while cpu_ticks(pid) < before + BUSY_TICKS {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn owned(statements: &[&str]) -> Vec<String> {
    statements.iter().map(|&sql| sql.to_owned()).collect()
}

fn nested(open: &str, middle: &str, close: &str, count: usize) -> String {
    format!(
        "select {}{middle}{}",
        open.repeat(count),
        close.repeat(count)
    )
}

/// An expression for each number from 0, separated by commas.
fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_with_a_limit_end() {
    let statements = owned(&[
        "select a.l_orderkey, b.l_comment from lineitem a join lineitem b on a.l_orderkey = b.l_partkey limit 10",
        "select a.l_orderkey, b.l_comment from lineitem a join lineitem b on a.l_orderkey = b.l_partkey limit 50000",
        "select a.l_orderkey, b.l_comment from lineitem a left join lineitem b on a.l_orderkey = b.l_partkey limit 10",
        "select l_orderkey from lineitem where l_orderkey in (select l_partkey from lineitem) limit 10",
    ]);
    all_are_survived(2048, &[], &statements, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_of_streams_with_little_memory_end() {
    let statements = owned(&[
        "select a.l_orderkey, b.l_comment from lineitem a join lineitem b on a.l_orderkey = b.l_partkey",
        "select a.l_orderkey from lineitem a left join lineitem b on a.l_orderkey = b.l_partkey",
    ]);
    all_are_survived(2048, &["--stream-memory", "24MiB"], &statements, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_that_reserve_too_much_do_no_harm() {
    let statements = owned(&[
        "select approx_percentile_cont(l_orderkey, 0.5, 2000000000) from lineitem",
        "select count(a) from (select array_agg(l_comment) over () a from lineitem)",
        "select count(a) from (select array_agg(l_comment) over () a, l_orderkey from lineitem limit 100000)",
        "select unnest(array_agg(l_orderkey) over ()) from lineitem",
    ]);
    all_are_survived(1024, &[], &statements, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_nest_do_no_harm() {
    let statements = [
        format!("select {}'1 day'", "interval ".repeat(1950)),
        format!(
            "select arrow_cast(null, '{}Int64{}')",
            "List(".repeat(10_600),
            ")".repeat(10_600)
        ),
    ];
    all_are_survived(1024, &[], &statements, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn constants_stay_within_the_memory() {
    let long = list(30, |_| "repeat('x', 60000000)".to_owned());
    let statements = [
        format!("select length(concat({long}))"),
        format!("select length(concat({long})) from lineitem limit 1"),
    ];
    all_are_survived(512, &[], &statements, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_stay_within_the_memory() {
    let letters = |index: usize| char::from(b'a' + index as u8);
    let ctes = list(40, |index| match index {
        0 => "c0 as (select l_orderkey as k from lineitem)".to_owned(),
        _ => format!(
            "c{index} as (select a.k from c{0} a join c{0} b on a.k = b.k)",
            index - 1
        ),
    });
    let statements = [
        "select count(*) from lineitem group by cube(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, \
         l_extendedprice, l_discount, l_tax, l_shipdate, l_commitdate, l_receiptdate, l_comment)"
            .to_owned(),
        "select length(string_agg(l_comment, ',') over (order by l_orderkey)) from lineitem".to_owned(),
        format!("select {} from lineitem", list(20, |n| format!("lpad(l_comment, 8000, '{}')", letters(n)))),
        format!("with {ctes} select count(*) from c39"),
        "select count(*) from lineitem a cross join lineitem b".to_owned(),
        "select a.l_comment, b.l_comment from lineitem a cross join lineitem b limit 1000000".to_owned(),
        "select count(*) from lineitem a cross join lineitem b where a.l_comment < b.l_comment".to_owned(),
        "select array_agg(l_comment), array_agg(l_shipinstruct), array_agg(l_shipmode), array_agg(l_orderkey) \
         from lineitem"
            .to_owned(),
    ];
    all_are_survived(1024, &[], &statements, false).await;
}

fn costly_plans() -> [String; 3] {
    [
        nested("cast(", "1", " as int)", 48),
        nested("cast(", "1", " as int)", 80),
        nested("ceil(", "1", ")", 30_000),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn planning_ends_with_the_timeout() {
    all_are_survived(1024, &[], &costly_plans(), false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn planning_ends_when_the_client_leaves() {
    all_are_survived(1024, &[], &costly_plans(), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_ends_when_the_client_leaves() {
    let statements = owned(&[
        "select count(*) from lineitem a join lineitem b on a.l_orderkey * b.l_partkey = 7",
        "select a.l_orderkey from lineitem a left join lineitem b on a.l_comment || b.l_comment = 'x'",
        "select levenshtein(repeat('a', 1000000), repeat('b', 1000000))",
        "select levenshtein(repeat('a', 1000000), concat(repeat('b', 999000), l_comment)) from lineitem limit 1",
        "select cardinality(array_distinct(range(0, 8000000)))",
        "select cardinality(array_distinct(array_agg(l_comment))) from lineitem",
    ]);
    all_are_survived(2048, &[], &statements, true).await;
}
