//! Which results may be run again: only those that are known to give the same rows.

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use serde_json::json;

use crate::support::*;

/// Statements that give other rows when they run again, or may do so.
const OTHER_ROWS: [&str; 14] = [
    "select n, random() as r from t",
    "select n, uuid() as u from t",
    "select n, now() as at from t",
    "select n from t where random() < 0.5",
    "select n from t order by random()",
    "select n from t union all select cast(random() * 10 as bigint) from t",
    "select n from t where n in (select cast(random() * 1000 as bigint) from t)",
    "with c as (select n, current_time() as at from t) select at from c",
    "select value from generate_series(1, 1000)",
    "select value from generate_series(timestamp '2020-01-01', now(), interval '1 month')",
    "select m, count(*) as c from t group by m order by m",
    "select * from (select * from big limit 20000) order by k limit 100",
    "select n, row_number() over (order by m) as k from t",
    "select t.n from t join t as u on t.n = u.n order by t.n",
];

/// Statements that give the same rows each time.
const SAME_ROWS: [&str; 7] = [
    "select n, m from t",
    "select n + 1 as k, upper(cast(m as varchar)) as u from t where m > 3",
    "select n from t order by m",
    "select n from t order by m, n desc limit 500",
    "select n from t union all select m from t",
    "select n, unnest([m, m + 1]) as u from t",
    "values (1), (2)",
];

/// After a restart, no rows are kept, so each request would have to run its statement again.
#[tokio::test(flavor = "multi_thread")]
async fn only_what_gives_the_same_rows_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, data_dir) = (folder.path().join("t.csv"), folder.path().join("data"));
    let lines: String = (0..40_000)
        .map(|n| format!("{n},{}\n", n * 7 % 10))
        .collect();
    std::fs::write(&csv, format!("n,m\n{lines}")).unwrap();
    // So large that the engine reads it in several parts at once.
    let big = folder.path().join("big.csv");
    let lines: String = (0..1_500_000).map(|k| format!("{k},abcde\n")).collect();
    std::fs::write(&big, format!("k,text\n{lines}")).unwrap();
    let config = AppConfig {
        data_dir: Some(data_dir),
        ..config()
    };
    let sources = [&csv, &big].map(|path| path.display().to_string());
    let open = || open_all(&sources).unwrap();
    let statements: Vec<_> = OTHER_ROWS.iter().chain(&SAME_ROWS).zip(1..).collect();

    let mut server = Server::start(&config, open()).await;
    let mut first = Vec::new();
    for (sql, number) in &statements {
        let rows = server.post(&json!({ "sql": sql, "id": id(*number) })).await;
        first.push(rows.rows());
        // As long as the rows are kept, they can be read again.
        let again = server.get(&format!("/v1/query/{}/rows", id(*number))).await;
        assert_eq!(&again.rows(), first.last().unwrap(), "{sql}");
    }
    server.stop_and_wait().await;

    let server = Server::start(&config, open()).await;
    for ((sql, number), first) in statements.iter().zip(&first) {
        let again = server.get(&format!("/v1/query/{}/rows", id(*number))).await;
        if OTHER_ROWS.contains(sql) {
            assert_eq!(again.status, 409, "{sql}");
            again.assert_refused(409, "not_repeatable");
        } else {
            assert_eq!(&again.rows(), first, "{sql}");
        }
    }
}
