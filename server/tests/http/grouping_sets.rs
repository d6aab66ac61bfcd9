//! GROUPING SETS, CUBE and ROLLUP answer what the groups of each set answer, one set after the other.

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use tempfile::TempDir;

use crate::support::*;

/// The four sets of a cube over `k` and `n`.
const SETS: &str = "(values (0), (1), (2), (3)) as sets(i)";
const KEYS: &str = "case when i in (0, 1) then k end as k, case when i in (0, 2) then n end as n";

/// A statement, and one without grouping sets that has the same answer.
fn pairs() -> Vec<(&'static str, String)> {
    let cube = |rows: &str, order: &str| {
        format!(
            "select k, n from (select distinct i, {KEYS} from ({rows}) cross join {SETS}) order by {order}"
        )
    };
    let equal = "select n % 5 as n, n % 5 as k from t";
    let filtered = "select n, n / 2 * 2 as k from t where n = n / 2 * 2 and n < 10";
    vec![
        // Two keys that are the same column.
        (
            "select k, n from (select n % 5 as n, n % 5 as k from t) group by cube(n, k) order by k, n",
            cube(equal, "k, n"),
        ),
        (
            "select k, n from (select n % 5 as n, n % 5 as k from t) group by cube(n, k) order by n desc, k",
            cube(equal, "n desc, k"),
        ),
        // Two keys that a filter makes equal.
        (
            "select k, n from (select n, n / 2 * 2 as k from t) where n = k and n < 10 \
             group by cube(k, n) order by n, k",
            cube(filtered, "n, k"),
        ),
        // A constant.
        (
            "select k, count(*) from (select 7 as k, n from t) group by grouping sets ((k), (k, n), ()) \
             order by 2 desc, 1 limit 2",
            "select * from (values (7, 400), (null, 400)) order by 1".to_owned(),
        ),
        (
            "select k from (select 7 as k union all select 7 as k order by k) group by rollup(k) order by k",
            "select * from (values (7), (null)) order by 1".to_owned(),
        ),
        // A sorted input.
        (
            "select n, k, count(*) from (select row_number() over (order by n) as n, n % 3 as k from t) \
             group by grouping sets ((k, n), (n)) order by n, k",
            "select arrow_cast(n + 1, 'UInt64'), case i when 0 then n % 3 end, 1 from t cross join (values (0), (1)) as sets(i) \
             order by 1, 2"
                .to_owned(),
        ),
        // A partitioned input.
        (
            "select k, sum(c) from (select n % 50 as k, count(*) as c from t group by n % 50) \
             group by rollup(k) order by k",
            "select case i when 0 then k end, case i when 0 then 8 else 400 end from \
             (select distinct i, case i when 0 then n % 50 end as k from t cross join \
             (values (0), (1)) as sets(i)) order by 1"
                .to_owned(),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn grouping_sets_answer_what_their_groups_answer() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("t.parquet"), 0, 400);
    let source = [format!("t={}", path(folder.path(), "t.parquet"))];
    for num_threads in [1, 2, 5] {
        let config = AppConfig {
            num_threads,
            ..config()
        };
        let server = Server::start(&config, open_all(&source).unwrap()).await;
        for (sql, groups) in pairs() {
            let (found, wanted) = (
                server.sql(sql).await.rows(),
                server.sql(&groups).await.rows(),
            );
            let mut columns = wanted.columns().iter().zip(found.columns());
            assert!(
                found.num_rows() == wanted.num_rows() && columns.all(|(a, b)| a == b),
                "{num_threads} threads: {sql}\n{found:?}\ninstead of\n{wanted:?}"
            );
        }
    }
}
