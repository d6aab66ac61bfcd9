//! Partitions that exchange rows (below joins, aggregates, repartitionings) need each other's progress.

use std::time::Duration;

use colonnade_server::AppConfig;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::support::*;

const ROWS: i64 = 400_000;

/// Statements with the number of their rows.
const STATEMENTS: [(&str, usize); 8] = [
    ("select a.n from t a join t b on a.n = b.n limit 10", 10),
    (
        "select a.n, b.t from t a join t b on a.n = b.n limit 50000",
        50_000,
    ),
    (
        "select a.n from t a left join t b on a.n = b.n + 1 limit 10",
        10,
    ),
    (
        "select n from t where n in (select n + 1 from t) limit 10",
        10,
    ),
    (
        "select a.n, b.t from t a join t b on a.n = b.n",
        ROWS as usize,
    ),
    ("select n, count(*) from t group by n limit 10", 10),
    (
        "select a.n from (select n from t group by n) a join (select n from t group by n) b \
         on a.n = b.n limit 10",
        10,
    ),
    (
        "select n from t where n % 2 = 0 union all select a.n from t a join t b on a.n = b.n limit 7",
        7,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_exchange_rows_run_together() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("t.parquet"), 0, ROWS);
    let source = [format!("t={}", path(folder.path(), "t.parquet"))];
    for num_threads in [1, 2, 3, 5, 8, 16] {
        for stream_memory_bytes in [2 << 20, 24 << 20, 64 << 20] {
            let config = AppConfig {
                num_threads,
                stream_memory_bytes,
                memory_bytes: 1 << 30,
                ..config()
            };
            let tables = colonnade_server::source::open_all(&source).unwrap();
            let server = Server::start(&config, tables).await;
            for (sql, num_rows) in STATEMENTS {
                let context = format!("{num_threads} threads, {stream_memory_bytes} B: {sql}");
                let outcome = timeout(Duration::from_secs(20), server.sql(sql)).await;
                let outcome = outcome.unwrap_or_else(|_| panic!("no end with {context}"));
                assert_eq!(outcome.status, 200, "{context}");
                assert_eq!(outcome.rows().num_rows(), num_rows, "{context}");
            }
        }
    }
}
