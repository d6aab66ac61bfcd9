//! CSV and JSON files show what they say, or an error that says where.

use std::fs;
use std::path::Path;

use colonnade_server::source::open_all;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

/// Rows before the value that differs. Earlier readers decided the types by fewer.
const SAMPLE_ROWS: usize = 20_000;

/// Rows of [`long_row`] that are more than any sample.
const LONG_ROWS: usize = 100_000;

fn long_row(value: &str) -> String {
    format!("{value},{}\n", "x".repeat(200))
}

/// The texts of a column; null is `NULL`.
fn texts(rows: &RecordBatch, column: &str) -> Vec<String> {
    let array = rows.column_by_name(column).unwrap();
    (0..rows.num_rows())
        .map(|row| {
            if array.is_null(row) {
                "NULL".to_owned()
            } else {
                array_value_to_string(array, row).unwrap()
            }
        })
        .collect()
}

fn type_of(rows: &RecordBatch, column: &str) -> String {
    rows.column_by_name(column).unwrap().data_type().to_string()
}

async fn rows_of(file: &str, text: &str) -> RecordBatch {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(file), text).unwrap();
    let server = Server::of_files(&[format!("t={}", path(folder.path(), file))]).await;
    server.get("/v1/tables/t/rows").await.rows()
}

/// The type and the last texts of a column `v` with `first` in [`SAMPLE_ROWS`] rows and `then` behind them.
async fn after_a_sample(kind: &str, first: &str, then: &[&str]) -> (String, Vec<String>) {
    let line = |value: &str| match kind {
        "csv" => format!("{value},x\n"),
        _ => format!("{{\"v\":{value}}}\n"),
    };
    let mut text = line(first).repeat(SAMPLE_ROWS);
    text.extend(then.iter().map(|value| line(value)));
    if kind == "csv" {
        text.insert_str(0, "v,w\n");
    }
    let rows = rows_of(&format!("t.{kind}"), &text).await;
    let last = texts(&rows, "v").split_off(SAMPLE_ROWS);
    (type_of(&rows, "v"), last)
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_behind_a_sample_keep_their_digits() {
    for (kind, first, then, data_type, expected) in [
        (
            "ndjson",
            "1",
            vec!["1.5", "-1.9"],
            "Float64",
            vec!["1.5", "-1.9"],
        ),
        (
            "ndjson",
            "1",
            vec!["18446744073709551615"],
            "UInt64",
            vec!["18446744073709551615"],
        ),
        (
            "ndjson",
            "1",
            vec!["18446744073709551616", "-1"],
            "Decimal128(20, 0)",
            vec!["18446744073709551616", "-1"],
        ),
        (
            "csv",
            "1",
            vec!["0.12345678901234567890", "-7.25"],
            "Decimal128(21, 20)",
            vec!["0.12345678901234567890", "-7.25000000000000000000"],
        ),
        ("csv", "1", vec!["1.5", "2"], "Float64", vec!["1.5", "2.0"]),
        ("csv", "1", vec!["01234"], "Utf8", vec!["01234"]),
    ] {
        let found = after_a_sample(kind, first, &then).await;
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(found, (data_type.to_owned(), expected), "{kind} {then:?}");
    }
    let (data_type, last) = after_a_sample("ndjson", "[1]", &["[1, 2.7]"]).await;
    assert!(data_type.contains("Float64"), "{data_type}");
    assert_eq!(last, ["[1.0, 2.7]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_behind_a_sample_is_a_column() {
    let mut text = "{\"a\":1,\"s\":{\"x\":1}}\n".repeat(SAMPLE_ROWS);
    text.push_str("{\"a\":2,\"s\":{\"x\":1,\"y\":\"deep\"},\"b\":\"late\"}\n");
    let rows = rows_of("t.ndjson", &text).await;
    assert_eq!(texts(&rows, "b")[SAMPLE_ROWS - 1..], ["NULL", "late"]);
    assert!(texts(&rows, "s")[SAMPLE_ROWS].contains("deep"));
}

#[tokio::test(flavor = "multi_thread")]
async fn times_behind_a_sample_keep_their_digits_and_their_zone() {
    for (first, then, data_type, expected) in [
        (
            "2024-01-01",
            "2024-01-01T10:30:00",
            "Timestamp(s)",
            "2024-01-01T10:30:00",
        ),
        (
            "2024-01-01 10:30:00",
            "2024-01-01T10:30:00.987654",
            "Timestamp(µs)",
            "2024-01-01T10:30:00.987654",
        ),
        (
            "2024-01-01 10:30:00.123",
            "2024-01-01 10:30:00.123456789",
            "Timestamp(ns)",
            "2024-01-01T10:30:00.123456789",
        ),
        (
            "2024-01-01 09:00",
            "2024-01-01T09:00+02:00",
            "Utf8",
            "2024-01-01T09:00+02:00",
        ),
        (
            "2024-01-01 09:00:00",
            "2024-01-01 23:59:60",
            "Utf8",
            "2024-01-01 23:59:60",
        ),
        ("2024-01-01", "2024-02-30", "Utf8", "2024-02-30"),
    ] {
        let found = after_a_sample("csv", first, &[then]).await;
        let expected = (data_type.to_owned(), vec![expected.to_owned()]);
        assert_eq!(found, expected, "{first} then {then}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quotes_and_blank_lines_of_a_csv_are_values() {
    let rows = rows_of("t.csv", "a,b\n\"\",1\n,2\nx,3\n").await;
    assert_eq!(texts(&rows, "a"), ["", "NULL", "x"]);
    let rows = rows_of("t.csv", "n\n1\n\n3\n\n").await;
    assert_eq!(texts(&rows, "n"), ["1", "NULL", "3", "NULL"]);
    let rows = rows_of("t.csv", "a;b\n1;x,y\n2;z\n").await;
    assert_eq!(texts(&rows, "b"), ["x,y", "z"]);
    let rows = rows_of("t.csv", "1,x\n2,y\n").await;
    assert_eq!(texts(&rows, "column_1"), ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_array_of_objects_has_a_row_for_each() {
    let rows = rows_of(
        "t.json",
        "[\n  {\"id\": 1},\n  {\"id\": 2, \"late\": \"x\"}\n]\n",
    )
    .await;
    assert_eq!(texts(&rows, "id"), ["1", "2"]);
    assert_eq!(texts(&rows, "late"), ["NULL", "x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_quote_is_an_error_with_its_line() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("t.csv"), "a,b\n1,\"open\n2,x\n3,y\n").unwrap();
    fs::write(folder.path().join("cr.csv"), "a,b\r1,\"open\r2,x\r").unwrap();
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    for (table, line) in [("t", "t.csv, line 2"), ("cr", "cr.csv, line 2")] {
        let refused = server.get(&format!("/v1/tables/{table}/rows")).await;
        refused.assert_refused(422, "broken_row");
        let body = String::from_utf8_lossy(&refused.body).into_owned();
        assert!(body.contains(line), "{body}");
    }
}

#[test]
fn a_file_without_a_sound_row_is_refused_with_its_line() {
    let folder = TempDir::new().unwrap();
    for (file, text, part) in [
        (
            "t.csv",
            b"a\xff,b\n".to_vec(),
            "line 1: the text is not UTF-8",
        ),
        ("t.ndjson", b"\n{\"a\":1,\"a\":2}\n".to_vec(), "line 2"),
        ("t.csv", ",".repeat(70_000).into_bytes(), "65,536 columns"),
    ] {
        fs::write(folder.path().join(file), text).unwrap();
        let error = open_all(&[path(folder.path(), file)]).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_rows_leaves_the_types_to_the_others() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.csv", "n,d\n");
    write("b.csv", "n,d\n1,2024-01-01\n");
    write("c.csv", "");
    let server = Server::of_files(&[format!("t={}/*.csv", folder.path().display())]).await;
    let rows = server.get("/v1/tables/t/rows").await.rows();
    assert_eq!(type_of(&rows, "n"), "Int64");
    assert_eq!(type_of(&rows, "d"), "Date32");
    assert_eq!(rows.num_rows(), 1);
}

fn write_long(folder: &Path) {
    let mut text = "v,w\n".to_owned();
    text.push_str(&long_row("1").repeat(LONG_ROWS));
    text.push_str(&long_row("1.5"));
    fs::write(folder.join("t.csv"), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_does_not_fit_is_an_error_and_then_decides_the_type() {
    let folder = TempDir::new().unwrap();
    for statement in [false, true] {
        write_long(folder.path());
        let server = Server::of_files(&[path(folder.path(), "t.csv")]).await;
        let before = server.json("/v1/tables/t").await;
        let query = match statement {
            false => json!({ "table": "t", "columns": ["v"], "id": id(1) }),
            true => json!({ "sql": "select max(v) as v from t", "id": id(1) }),
        };
        let outcome = server.post(&query).await;
        assert!(!outcome.is_complete());
        let record = server.until_state(&id(1), "failed").await;
        let error = &record["error"];
        assert_eq!(error["code"], "broken_row", "{record}");
        let message = error["message"].as_str().unwrap();
        let line = format!("t.csv, line {}", LONG_ROWS + 2);
        for part in [&line, "\"1.5\"", "\"v\"", "int64"] {
            assert!(message.contains(part), "{message}");
        }

        let after = server.json("/v1/tables/t").await;
        assert_ne!(before["version"], after["version"]);
        let rows = server.sql("select max(v) as v from t").await.rows();
        assert_eq!(texts(&rows, "v"), ["1.5"]);
    }
}

/// The error of a query of all rows of `t`.
async fn refusal_of(server: &Server, number: u32) -> Value {
    let query = json!({ "table": "t", "id": id(number) });
    assert!(!server.post(&query).await.is_complete());
    let record = server.until_state(&id(number), "failed").await;
    record["error"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_behind_the_first_rows_is_an_error_and_then_a_column() {
    let folder = TempDir::new().unwrap();
    let row = format!("{{\"a\":1,\"pad\":\"{}\"}}\n", "x".repeat(200));
    let text = row.repeat(LONG_ROWS) + "{\"a\":2,\"late\":\"here\"}\n";
    fs::write(folder.path().join("t.ndjson"), text).unwrap();
    let server = Server::of_files(&[path(folder.path(), "t.ndjson")]).await;
    let error = refusal_of(&server, 1).await;
    let message = error["message"].as_str().unwrap();
    let line = format!("t.ndjson, line {}", LONG_ROWS + 1);
    for part in [&line, "the field \"late\"", "here"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains("run the query again")
    );
    let rows = server.sql("select max(late) as late from t").await.rows();
    assert_eq!(texts(&rows, "late"), ["here"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_was_said_stays_and_the_error_names_one_that_fits() {
    let folder = TempDir::new().unwrap();
    write_long(folder.path());
    let file = path(folder.path(), "t.csv");
    let server = Server::of_files(&[format!("{file}?types=v:int64")]).await;
    for number in [1, 2] {
        let error = refusal_of(&server, number).await;
        let hint = error["hint"].as_str().unwrap();
        assert!(!hint.contains("run the query again"), "{hint}");
        let option = hint.split("types=v:").nth(1).unwrap();
        let other = Server::of_files(&[format!("{file}?types=v:{option}")]).await;
        let rows = other.sql("select max(v) as v from t").await.rows();
        assert_eq!(texts(&rows, "v"), ["1.5"]);
    }
}
