//! Timestamps that are compared with literals of a finer unit.

use tempfile::TempDir;

use crate::support::*;

/// Milliseconds of the rows; the row after them has none.
const MILLISECONDS: [i64; 5] = [-1, 0, 1, 1250, 1251];

/// Nanoseconds of the literals: some that a row has, others between two rows.
const NANOSECONDS: [i64; 7] = [
    -1_000_001,
    -999_999,
    0,
    1,
    999_999,
    1_250_000_000,
    1_250_000_001,
];

fn text(nanoseconds: i64) -> String {
    let (seconds, rest) = (
        nanoseconds.div_euclid(1_000_000_000),
        nanoseconds.rem_euclid(1_000_000_000),
    );
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let day = if day < 0 { "1969-12-31" } else { "1970-01-01" };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{rest:09}")
}

/// A table of the numbers of the rows, and their times.
async fn server(folder: &TempDir) -> Server {
    let file = folder.path().join("t.csv");
    let mut rows = String::from("n,at\n");
    for (n, milliseconds) in MILLISECONDS.iter().enumerate() {
        rows.push_str(&format!("{n},{}\n", &text(milliseconds * 1_000_000)[..23]));
    }
    rows.push_str(&format!("{},\n", MILLISECONDS.len()));
    std::fs::write(&file, rows).unwrap();
    let server = Server::of_files(&[file.display().to_string()]).await;
    let table = server.json("/v1/tables/t").await;
    assert_eq!(table["fields"][1]["type"], "timestamp[ms]");
    server
}

/// The rows for which `is_true` holds; nothing holds for the row without a time.
fn expected(is_true: impl Fn(i64) -> bool) -> Vec<i64> {
    let rows = (0..).zip(MILLISECONDS);
    let rows = rows.filter(|(_, milliseconds)| is_true(milliseconds * 1_000_000));
    rows.map(|(n, _)| n).collect()
}

async fn check(server: &Server, condition: &str, is_true: impl Fn(i64) -> bool) {
    let sql = format!("select n from t where {condition} order by n");
    let found = server.sql(&sql).await;
    assert!(found.is_complete(), "{condition}");
    assert_eq!(found.numbers(), expected(is_true), "{condition}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_literal_is_not_cut_to_the_unit_of_the_column() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    for value in NANOSECONDS {
        let time = format!("timestamp '{}'", text(value));
        check(&server, &format!("at < {time}"), |at| at < value).await;
        check(&server, &format!("at <= {time}"), |at| at <= value).await;
        check(&server, &format!("at = {time}"), |at| at == value).await;
        check(&server, &format!("at <> {time}"), |at| at != value).await;
        check(&server, &format!("at >= {time}"), |at| at >= value).await;
        check(&server, &format!("{time} < at"), |at| value < at).await;
        check(&server, &format!("not at > {time}"), |at| at <= value).await;
        let in_list = format!("at in ({time}, timestamp '{}')", text(0));
        check(&server, &in_list, |at| at == value || at == 0).await;
        let not_in = format!("at not in ({time})");
        check(&server, &not_in, |at| at != value).await;
        let between = format!("at between {time} and timestamp '{}'", text(1_250_000_001));
        check(&server, &between, |at| {
            (value..=1_250_000_001).contains(&at)
        })
        .await;
        let outside = format!("at not between {time} and timestamp '{}'", text(999_999));
        check(&server, &outside, |at| at < value || at > 999_999).await;
    }
    let distinct = "select n from t where at is distinct from timestamp '1970-01-01T00:00:00.000000001' order by n";
    assert_eq!(server.sql(distinct).await.numbers(), [0, 1, 2, 3, 4, 5]);
    // Filters of tables, and results that are not filters.
    let filter =
        "/v1/tables/t/rows?columns=n&filter=at%20%3D%20timestamp%20'1970-01-01T00:00:01.250000001'";
    assert_eq!(server.get(filter).await.numbers(), Vec::<i64>::new());
    let shown =
        "select n from t where coalesce(at = timestamp '1970-01-01T00:00:01.250000001', true)";
    assert_eq!(server.sql(shown).await.numbers(), [5]);
}
