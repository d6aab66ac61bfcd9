//! Options of text files: on the command line, in schema files and of uploads.

use std::fs;
use std::path::Path;

use colonnade_server::source::{open_all, open_with_schemas};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::arrow::util::pretty::pretty_format_batches;
use tempfile::TempDir;

use crate::support::*;
use crate::uploads::server;

/// A file, its text, the options, and the types and the values of the first row.
type Case<'a> = (&'a str, &'a [u8], &'a str, &'a [&'a str], &'a [&'a str]);

fn types(rows: &RecordBatch) -> Vec<String> {
    let fields = rows.schema_ref().fields().iter();
    fields.map(|field| field.data_type().to_string()).collect()
}

fn row(rows: &RecordBatch, row: usize) -> Vec<String> {
    let columns = rows.columns().iter();
    columns
        .map(|column| array_value_to_string(column, row).unwrap())
        .collect()
}

async fn rows_of(source: String) -> RecordBatch {
    let server = Server::of_files(&[format!("t={source}")]).await;
    server.get("/v1/tables/t/rows").await.rows()
}

fn utf_16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn options_behind_a_path_say_how_a_text_is_read() {
    let folder = TempDir::new().unwrap();
    let cases: [Case; 8] = [
        (
            "semicolons.csv",
            b"# by hand\na;b\n1,5;007\nNA;8\n",
            "?delimiter=;&decimal=,&comment=%23&null=NA&types=b:text",
            &["Decimal128(18, 1)", "Utf8"],
            &["1.5", "007"],
        ),
        (
            "quotes.csv",
            b"a:b\n'x\\':y':2\n",
            "?delimiter=:&quote='&escape=\\",
            &["Utf8", "Int64"],
            &["x':y", "2"],
        ),
        (
            "bare.txt",
            b"\"a\n2\n",
            "?quote=&header=false",
            &["Utf8"],
            &["\"a"],
        ),
        (
            "numbers.csv",
            b"a,b\n1,2024-01-01\n",
            "?types=a:decimal(12, 2),b:timestamp[us]",
            &["Decimal128(12, 2)", "Timestamp(µs)"],
            &["1.00", "2024-01-01T00:00:00"],
        ),
        (
            "old.csv",
            b"name\ngr\xf6\xdfe\n",
            "?encoding=latin-1",
            &["Utf8"],
            &["größe"],
        ),
        (
            "words.ndjson",
            b"{\"a\": NaN, \"b\": 1}\n",
            "?nan=true&types=b:json",
            &["Float64", "Utf8"],
            &["NaN", "1"],
        ),
        (
            "taken?header=false",
            b"a,b\n1,2\n",
            "",
            &["Int64"; 2],
            &["1", "2"],
        ),
        (
            "tabs.tsv",
            b"a\tb\n1\t2\n",
            "?header=false",
            &["Utf8"; 2],
            &["a", "b"],
        ),
    ];
    for (file, text, options, data_types, first) in cases {
        fs::write(folder.path().join(file), text).unwrap();
        let rows = rows_of(format!("{}{options}", path(folder.path(), file))).await;
        assert_eq!(types(&rows), data_types, "{file}");
        assert_eq!(row(&rows, 0), first, "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_order_mark_says_the_encoding() {
    let folder = TempDir::new().unwrap();
    let text = format!("a,b\n{}", "1,größe 😀\n".repeat(200_000));
    fs::write(folder.path().join("t.csv"), utf_16(&text)).unwrap();
    let rows = rows_of(path(folder.path(), "t.csv")).await;
    assert_eq!(rows.num_rows(), 200_000);
    assert_eq!(row(&rows, 199_999), ["1", "größe 😀"]);
    let cut = [utf_16("a\n1\nx").as_slice(), &[0]].concat();
    fs::write(folder.path().join("cut.csv"), cut).unwrap();
    let error = open_all(&[path(folder.path(), "cut.csv")]).unwrap_err();
    assert!(error.to_string().contains("not UTF-16LE"), "{error}");
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("t.csv"), "a,b\n1,2\n").unwrap();
    let parquet = folder.path().join("t.parquet");
    write_rows(&parquet, 0, 10);
    for (source, part) in [
        ("t.csv?delimiter=;;", "one ASCII character"),
        ("t.csv?header=true&separator=;", "delimiter"),
        ("t.csv?types=c:text", "\"c\""),
        ("t.csv?types=a:number", "int64"),
        ("t.csv?separator=;", "no file matches"),
        ("t.parquet?header=true", "for text files"),
        ("t.csv.schema.json", "no such file"),
    ] {
        let error = open_all(&[path(folder.path(), source)]).unwrap_err();
        let line = error.to_string();
        assert!(
            line.contains(part) && !line.contains('\n'),
            "{source}: {line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_file_says_how_the_file_beside_it_is_read() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("t.csv", "a;b\n01;2\n");
    write(
        "t.csv.schema.json",
        r#"{"delimiter": ";", "types": {"b": "text"}}"#,
    );
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    let list = server.json("/v1/tables").await;
    assert_eq!(list["tables"].as_array().unwrap().len(), 1);
    let before = server.get("/v1/tables/t/rows").await.rows();
    assert_eq!(types(&before), ["Utf8", "Utf8"]);

    write(
        "t.csv.schema.json",
        r#"{"header": false, "null": ["b"], "fields": [{"name": "column_1", "type": "string"}]}"#,
    );
    let after = server.get("/v1/tables/t/rows").await.rows();
    assert_eq!(
        (after.num_rows(), row(&after, 1)),
        (2, vec!["01".to_owned(), "2".to_owned()])
    );
    let version = |list: serde_json::Value| list["tables"][0]["version"].clone();
    assert_ne!(version(list), version(server.json("/v1/tables").await));

    write("t.csv.schema.json", "{\"delimiter\": 5}");
    let refused = server.get("/v1/tables/t/rows").await;
    let body = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(body.contains("t.csv.schema.json"), "{body}");
    fs::remove_file(folder.path().join("t.csv.schema.json")).unwrap();
    fs::write(
        folder.path().join("other.json"),
        r#"{"types": {"b": "json"}}"#,
    )
    .unwrap();
    let sources = [path(folder.path(), "t.csv")];
    let schema = |name: &str| [format!("{name}={}", path(folder.path(), "other.json"))];
    let (tables, _) = open_with_schemas(&sources, &schema("t")).unwrap();
    assert_eq!(
        tables[0].schema.field(1).metadata()["ARROW:extension:name"],
        "arrow.json"
    );
    let error = open_with_schemas(&sources, &schema("u")).unwrap_err();
    assert!(
        error.to_string().contains("no table of that name"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_is_in_the_list_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("good.csv", "a\n1\n");
    write("empty.csv", "");
    let files = ["good.csv", "empty.csv"].map(|name| path(folder.path(), name));
    let server = Server::of_files(&files).await;
    let list = server.json("/v1/tables").await;
    assert_eq!(list["tables"][0]["name"], "empty");
    let error = list["tables"][0]["error"].as_str().unwrap();
    assert!(error.contains("no header line"), "{error}");
    assert!(list["tables"][1]["error"].is_null());
    let refused = server.get("/v1/tables/empty/rows").await;
    refused.assert_refused(422, "source_unreadable");
    let refused = server.sql("select * from empty").await;
    refused.assert_refused(422, "source_unreadable");
    write("empty.csv", "a\n5\n");
    let deadline = std::time::Instant::now() + PATIENCE;
    while server.get("/v1/tables/empty/rows").await.status != 200 {
        assert!(std::time::Instant::now() < deadline);
    }
    assert!(server.json("/v1/tables").await["tables"][0]["error"].is_null());
}

async fn preview(server: &Server, parameters: &str, start: &[u8]) -> (Outcome, String) {
    let path = format!("/v1/preview?{parameters}");
    let response = server.ask("POST", &path, &[], start).await;
    let options = response.headers.get("x-text-options").cloned();
    let options = options.map(|value| value.to_str().unwrap().to_owned());
    (read(response).await, options.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_has_the_first_rows_and_how_they_are_read() {
    let folder = TempDir::new().unwrap();
    let server = server(folder.path()).await;
    let text = b"a;b\n1,5;x\n2,5;y\n3";
    let (cut, options) = preview(&server, "name=t.csv&decimal=,", text).await;
    let rows = cut.rows();
    assert_eq!(
        (rows.num_rows(), types(&rows)),
        (2, vec!["Decimal128(18, 1)".into(), "Utf8".into()])
    );
    assert_eq!(
        options,
        "encoding=UTF-8&delimiter=%3B&quote=%22&header=true"
    );
    let (whole, _) = preview(&server, "name=t.csv&whole=true&header=false", b"a\n1\n2").await;
    assert_eq!(whole.rows().num_rows(), 3);
    let (json, options) = preview(&server, "name=t.json&whole=true", b"[{\"a\": 1}]").await;
    assert_eq!(
        (json.rows().num_rows(), options.as_str()),
        (1, "encoding=UTF-8")
    );
    for (parameters, start, code) in [
        ("name=t.csv&delimiter=;;", &b"a"[..], "bad_parameter"),
        ("name=t.csv&types=x:text", b"a\n1\n", "bad_upload"),
        ("name=t.parquet", b"PAR1", "bad_upload"),
        ("name=t.csv", b"a,b\n\"1\"x,2\n", "bad_upload"),
    ] {
        let (refused, _) = preview(&server, parameters, start).await;
        refused.assert_refused(400, code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_options_hold_in_a_preview_and_in_its_upload() {
    let folder = TempDir::new().unwrap();
    let server = server(folder.path()).await;
    let options = "delimiter=;&quote=%27&escape=%5C&comment=%23&header=true&decimal=,&null=NA,-&nan=true\
        &encoding=latin-1&types=b:text&thousands=.&dates=dmy";
    let text = b"# by hand\na;b\n1,5;NA\n-;'it\\'s \xe9'\n";
    let (shown, _) = preview(&server, &format!("name=t.csv&{options}"), text).await;
    let csv = [("content-type", "text/csv")];
    let path = format!("/v1/tables/t?{options}");
    let stored = read(server.ask("PUT", &path, &csv, text).await).await;
    assert_eq!(stored.status, 201);
    for outcome in [shown, server.get("/v1/tables/t/rows").await] {
        let rows = outcome.rows();
        assert_eq!(types(&rows), ["Decimal128(18, 1)", "Utf8"]);
        assert_eq!(row(&rows, 0), ["1.5", ""]);
        assert_eq!(row(&rows, 1), ["", "it's é"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_an_upload_hold_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let mut first = server(folder.path()).await;
    let text = utf_16("a;b\n1,5;007\n");
    let name = "t?delimiter=;&decimal=,&types=b:text&encoding=utf-16le";
    let csv = [("content-type", "text/csv")];
    let path = format!("/v1/tables/{name}");
    let stored = read(first.ask("PUT", &path, &csv, &text).await).await;
    assert_eq!(
        stored.status,
        201,
        "{}",
        String::from_utf8_lossy(&stored.body)
    );
    let check = async |server: &Server| {
        let rows = server.get("/v1/tables/t/rows").await.rows();
        let shown = pretty_format_batches(std::slice::from_ref(&rows)).unwrap();
        assert_eq!(row(&rows, 0), ["1.5", "007"], "{shown}");
    };
    check(&first).await;
    first.stop();
    drop(first);
    check(&again(folder.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_an_array_stays_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let mut first = server(folder.path()).await;
    let json = [("content-type", "application/json")];
    let text = b"[{\"a\": 1}, {\"a\": 2}]";
    let stored = read(first.ask("PUT", "/v1/tables/t", &json, text).await).await;
    assert_eq!(stored.status, 201);
    assert_eq!(first.get("/v1/tables/t/rows").await.numbers(), [1, 2]);
    first.stop();
    drop(first);
    let again = again(folder.path()).await;
    assert_eq!(again.get("/v1/tables/t/rows").await.numbers(), [1, 2]);
}

async fn again(folder: &Path) -> Server {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        match colonnade_server::App::try_new(&crate::uploads::writable(folder), vec![]) {
            Ok(app) => return Server::of_app(app).await,
            Err(error) => assert!(std::time::Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_files_of_folders_and_globs_appear() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("parts")).unwrap();
    fs::write(at("a.csv"), "n\n1\n").unwrap();
    fs::write(at("parts/1.csv"), "n\n1\n").unwrap();
    let sources = [
        folder.path().display().to_string(),
        format!("all={}", path(folder.path(), "parts/*.csv")),
    ];
    let server = Server::following(&config(), &sources).await;
    assert_eq!(server.get("/v1/tables/all/rows").await.rows().num_rows(), 1);

    fs::write(at("b.csv"), "n\n5\n").unwrap();
    fs::write(at("a.tsv"), "n\n6\n").unwrap();
    fs::write(at("parts/2.csv"), "n\n2\n").unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while server.get("/v1/tables/all/rows").await.rows().num_rows() < 2 {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(server.get("/v1/tables/b/rows").await.rows().num_rows(), 1);
    let list = server.json("/v1/tables").await;
    let names = list["tables"].as_array().unwrap().iter();
    let names: Vec<_> = names
        .map(|table| table["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["a", "a.tsv", "all", "b", "parts.1", "parts.2"]);
    let sum = server.sql("select sum(n) from \"all\"").await;
    assert_eq!(sum.numbers(), [3]);
}
