//! Partitions that repartition rows (below joins, aggregates and windows) need each other's progress,
//! however few of them the stitcher runs.

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::support::*;

const ROWS: i64 = 400_000;

/// What a statement answers in its first column.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// As many rows, whichever they are.
    Any(usize),
    /// The numbers from 0 on, in any order.
    All(i64),
    /// The numbers from 0 on, in order.
    Ordered(i64),
}

const STATEMENTS: [(&str, Answer); 14] = [
    (
        "select a.n from t a join t b on a.n = b.n limit 10",
        Answer::Any(10),
    ),
    (
        "select a.n, b.t from t a join t b on a.n = b.n limit 50000",
        Answer::Any(50_000),
    ),
    (
        "select a.n from t a left join t b on a.n = b.n + 1 limit 10",
        Answer::Any(10),
    ),
    (
        "select n from t where n in (select n + 1 from t) limit 10",
        Answer::Any(10),
    ),
    (
        "select a.n, b.t from t a join t b on a.n = b.n",
        Answer::All(ROWS),
    ),
    (
        "select coalesce(a.n, b.n) from t a full join (select n from t where n % 2 = 0) b on a.n = b.n",
        Answer::All(ROWS),
    ),
    (
        "select n from t a where not exists (select 1 from t b where b.n + 300000 = a.n)",
        Answer::All(300_000),
    ),
    (
        "select n from t intersect select n from t where n < 200000",
        Answer::All(200_000),
    ),
    (
        "select n, count(*) from t group by n limit 10",
        Answer::Any(10),
    ),
    (
        "select a.n from (select n from t group by n) a join (select n from t group by n) b \
         on a.n = b.n limit 10",
        Answer::Any(10),
    ),
    (
        "select n from t where n % 2 = 0 union all select a.n from t a join t b on a.n = b.n limit 7",
        Answer::Any(7),
    ),
    (
        "select n, row_number() over (partition by n % 100 order by n) from t limit 20",
        Answer::Any(20),
    ),
    (
        "select a.n, b.t from t a join t b on a.n = b.n order by a.n limit 60000",
        Answer::Ordered(60_000),
    ),
    (
        "select n, count(*) from t group by n order by n",
        Answer::Ordered(ROWS),
    ),
];

async fn server(folder: &TempDir, config: AppConfig) -> Server {
    let source = [format!("t={}", path(folder.path(), "t.parquet"))];
    Server::start(&config, open_all(&source).unwrap()).await
}

/// The response to a statement; panics if it does not come.
async fn answer(server: &Server, sql: &str, context: &str) -> Outcome {
    timeout(PATIENCE, server.sql(sql))
        .await
        .unwrap_or_else(|_| panic!("no end with {context}: {sql}"))
}

fn assert_answers(outcome: &Outcome, answer: Answer, context: &str) {
    match answer {
        Answer::Any(num_rows) => assert_eq!(outcome.rows().num_rows(), num_rows, "{context}"),
        Answer::All(end) => {
            let mut numbers = outcome.numbers();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..end), "{context}");
        }
        Answer::Ordered(end) => assert!(outcome.has_numbers(0..end), "{context}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_repartition_rows_run_together() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("t.parquet"), 0, ROWS);
    for num_threads in [1, 2, 5, 16] {
        for stream_memory_bytes in [2 << 20, 24 << 20, 64 << 20] {
            let config = AppConfig {
                num_threads,
                stream_memory_bytes,
                memory_bytes: 1 << 30,
                ..config()
            };
            let server = server(&folder, config).await;
            let context = format!("{num_threads} threads and {stream_memory_bytes} B");
            for (sql, expected) in STATEMENTS {
                let outcome = answer(&server, sql, &context).await;
                assert_answers(&outcome, expected, &format!("{context}: {sql}"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_little_memory_they_end_with_rows_or_an_error() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("t.parquet"), 0, ROWS);
    for num_threads in [1, 4, 16] {
        let config = AppConfig {
            num_threads,
            memory_bytes: 64 << 20,
            stream_memory_bytes: 2 << 20,
            ..config()
        };
        let server = server(&folder, config).await;
        for (sql, expected) in STATEMENTS {
            let context = format!("{num_threads} threads and 64 MiB");
            let outcome = answer(&server, sql, &context).await;
            if outcome.is_complete() {
                assert_answers(&outcome, expected, &format!("{context}: {sql}"));
            } else {
                let id = outcome.header("x-query-id");
                let code = match outcome.status {
                    200 => server.until_state(id, "failed").await["error"]["code"].clone(),
                    _ => outcome.problem()["code"].clone(),
                };
                assert_eq!(code, "out_of_memory", "{context}: {sql}");
            }
        }
    }
}
