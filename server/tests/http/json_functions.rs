//! Functions and operators of JSON in SQL.

use std::fs;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::util::display::array_value_to_string;
use tempfile::TempDir;

use crate::support::Server;

const EVENTS: &str = concat!(
    r#"{"id":1,"p":{"user":{"name":"Ann","age":41},"n":12345678901234567890123,"x":0.10,"at":"2026-01-31"}}"#,
    "\n",
    r#"{"id":2,"p":[1,2.50,{"a":"b"}]}"#,
    "\n",
    r#"{"id":3,"p":"text"}"#,
    "\n",
    r#"{"id":4,"p":null}"#,
    "\n",
    r#"{"id":5,"p":{"user":{"name":"Bo \"B\" ü","age":9.50},"n":1e400,"t":true,"z":null}}"#,
    "\n",
);

async fn events() -> (Server, TempDir) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("events.ndjson");
    fs::write(&file, EVENTS).unwrap();
    (
        Server::of_files(&[format!("t={}", file.display())]).await,
        folder,
    )
}

fn texts(rows: &RecordBatch) -> Vec<String> {
    let array = rows.column(0);
    let text = |row| match array.is_null(row) {
        true => "NULL".to_owned(),
        false => array_value_to_string(array, row).unwrap(),
    };
    (0..rows.num_rows()).map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_in_json_keep_their_digits() {
    let (server, _folder) = events().await;
    for (value, expected) in [
        (
            "p->'n'",
            ["12345678901234567890123", "NULL", "NULL", "NULL", "1e400"],
        ),
        (
            "p->>'n'",
            ["12345678901234567890123", "NULL", "NULL", "NULL", "1e400"],
        ),
        ("json_get(p, 'x')", ["0.10", "NULL", "NULL", "NULL", "NULL"]),
        (
            "p->'user'->'name'",
            ["\"Ann\"", "NULL", "NULL", "NULL", r#""Bo \"B\" ü""#],
        ),
        (
            "p->'user'->>'name'",
            ["Ann", "NULL", "NULL", "NULL", r#"Bo "B" ü"#],
        ),
        (
            "json_as_text(p, 'user', 'age')",
            ["41", "NULL", "NULL", "NULL", "9.50"],
        ),
        ("p->1", ["NULL", "2.50", "NULL", "NULL", "NULL"]),
        ("p->2->>'a'", ["NULL", "b", "NULL", "NULL", "NULL"]),
        ("p->>'z'", ["NULL", "NULL", "NULL", "NULL", "NULL"]),
        ("json_length(p)", ["4", "3", "NULL", "NULL", "4"]),
        (
            "json_contains(p, 't')",
            ["false", "false", "false", "false", "true"],
        ),
        (
            "(p->'user'->'age')::decimal(10, 2)",
            ["41.00", "NULL", "NULL", "NULL", "9.50"],
        ),
        (
            "(p->'n')::decimal(38, 0)",
            ["12345678901234567890123", "NULL", "NULL", "NULL", "NULL"],
        ),
        (
            "(p->'at')::date",
            ["2026-01-31", "NULL", "NULL", "NULL", "NULL"],
        ),
        (
            "(p->'t')::boolean",
            ["NULL", "NULL", "NULL", "NULL", "true"],
        ),
    ] {
        let up_to = if value.contains("38") { 4 } else { 5 };
        let sql = format!("select {value} from t where id <= {up_to} order by id");
        let rows = server.sql(&sql).await.rows();
        assert_eq!(texts(&rows), expected[..up_to], "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_filters_groups_and_names() {
    let (server, _folder) = events().await;
    for (condition, expected) in [
        ("p->'user'->>'name' = 'Ann'", "1"),
        ("(p->'user'->>'age')::double < 10", "5"),
        ("p->>'at' >= '2026-01-01' and p->'t' is null", "1"),
        (
            "p->'user' is null and p is not null and json_length(p) = 3",
            "2",
        ),
        ("'Ann' = p->'user'->>'name'", "1"),
        ("p->>'x' = p->'x'", "1"),
        ("p->'user'->>'name' like 'B%' and not p->>'t' = 'x'", "5"),
        ("p->>'x' in ('0.10', 'y')", "1"),
        ("p->>'x' between '0' and '1'", "1"),
        ("p->'user'->>'name' || '!' = 'Ann!'", "1"),
        ("p->>'x' is distinct from null", "1"),
        ("p->('us' || 'er')->>'name' = 'Ann'", "1"),
    ] {
        let rows = server
            .sql(&format!("select id from t where {condition}"))
            .await;
        assert_eq!(texts(&rows.rows()), [expected], "{condition}");
    }
    let rows = server
        .sql("select p->'user'->>'name', p->'n' from t")
        .await
        .rows();
    let schema = rows.schema();
    assert_eq!(schema.field(0).name(), "p -> 'user' ->> 'name'");
    let extension = schema.field(1).metadata().get("ARROW:extension:name");
    assert_eq!(extension.map(String::as_str), Some("arrow.json"));
    let filtered = server
        .get("/v1/tables/t/rows?filter=p-%3E%3E'at'%20is%20not%20null")
        .await;
    assert_eq!(filtered.rows().num_rows(), 1);
    for sql in [
        "select id from t where p->'user'->'age' > 10",
        "select id from t where 10 = p->'user'->>'age'",
    ] {
        let refused = server.sql(sql).await;
        let problem = refused.problem();
        assert_eq!(problem["code"], "sql_error", "{problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains("::bigint"),
            "{problem}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_json_is_null_or_an_error() {
    let (server, _folder) = events().await;
    let deep = format!("'{}'", "[".repeat(100_000));
    for value in [
        format!("json_get({deep}, 0)"),
        format!("json_length({deep})"),
        format!("json_as_text('{{\"a\": {}', 'a')", "[".repeat(50_000)),
        "json_get('{\"a\": 1', 'a')".to_owned(),
        "json_get('\\ud800', 'a')".to_owned(),
        "json_get('{}', -1)".to_owned(),
        "json_get('[1]', 9223372036854775807)".to_owned(),
        "json_get_array('[1, [2', 1)".to_owned(),
        "json_object_keys('{\"a\": 1, \"a\": 2}')".to_owned(),
    ] {
        let outcome = server.sql(&format!("select {value}")).await;
        assert!(
            outcome.is_complete() || outcome.status < 500,
            "{}",
            &value[..30]
        );
    }
    assert_eq!(server.sql("select 1").await.rows().num_rows(), 1);
}
