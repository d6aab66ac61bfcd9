//! Uploaded tables, and uploads that are refused.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use colonnade_server::AppConfig;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::support::*;

pub(crate) fn writable(folder: &Path) -> AppConfig {
    AppConfig {
        writable: true,
        data_dir: Some(folder.to_owned()),
        max_upload_bytes: 64 << 20,
        body_timeout: Duration::from_secs(5),
        ..config()
    }
}

/// A server with a source `source` and an empty data folder.
pub(crate) async fn server(folder: &Path) -> Server {
    let rows = vec![Step::rows(0, 5)];
    let (table, _) = scripted("source", vec![rows]);
    Server::start(&writable(folder), vec![table]).await
}

/// The server with the data folder of one that has just ended.
async fn started_again(folder: &Path) -> Server {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (table, _) = scripted("source", vec![]);
        match colonnade_server::App::try_new(&writable(folder), vec![table]) {
            Ok(_) => break,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server(folder).await
}

pub(crate) fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn file(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn parquet(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

pub(crate) async fn put(server: &Server, name: &str, body: &[u8]) -> Outcome {
    put_as(server, name, &[], body).await
}

async fn put_as(server: &Server, name: &str, headers: &[(&str, &str)], body: &[u8]) -> Outcome {
    let path = format!("/v1/tables/{name}");
    read(server.ask("PUT", &path, headers, body).await).await
}

async fn delete(server: &Server, name: &str) -> Outcome {
    let path = format!("/v1/tables/{name}");
    read(server.ask("DELETE", &path, &[], b"").await).await
}

/// The files in the folder of uploads.
fn left_over(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("uploads")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

async fn until_left_over(folder: &Path, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while left_over(folder).len() != count {
        let found = left_over(folder);
        assert!(Instant::now() < deadline, "{count} expected: {found:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_becomes_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let batches = [batch(0, 1000), batch(1000, 500)];
    let csv: String = (0..1500).fold("n,t\n".to_owned(), |csv, n| csv + &format!("{n},row {n}\n"));
    let tsv = csv.replace(',', "\t");
    let ndjson: String = (0..1500).fold(String::new(), |all, n| {
        all + &format!("{{\"n\":{n},\"t\":\"row {n}\"}}\n")
    });
    let one_column: String = (0..1500).fold("n\n".to_owned(), |csv, n| csv + &format!("{n}\n"));
    let zstd = zstd_of(&csv);
    let cases: Vec<(&str, &str, &str, Vec<u8>)> = vec![
        ("stream", "", "arrows", stream(&batches)),
        ("file", "", "arrow", file(&batches)),
        ("parquet", "", "parquet", parquet(&batches)),
        ("csv", "", "csv", csv.into_bytes()),
        ("tsv", "text/tab-separated-values", "tsv", tsv.into_bytes()),
        (
            "ndjson",
            "application/x-ndjson",
            "ndjson",
            ndjson.into_bytes(),
        ),
        (
            "one",
            "text/csv; charset=utf-8",
            "csv",
            one_column.into_bytes(),
        ),
        ("zstd", "text/csv", "csv", zstd),
    ];
    for (name, media_type, format, body) in &cases {
        let headers = [("content-type", *media_type)];
        let headers = if media_type.is_empty() {
            &headers[..0]
        } else {
            &headers
        };
        let outcome = put_as(&server, name, headers, body).await;
        let text = String::from_utf8_lossy(&outcome.body).into_owned();
        assert_eq!(outcome.status, 201, "{name}: {text}");
        assert_eq!(outcome.header("location"), format!("/v1/tables/{name}"));
        let info: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(info["format"], *format);
        assert_eq!(info["uploaded"], true);
        let mut one = server.json(&format!("/v1/tables/{name}")).await;
        // Only the description of a single table has the Parquet layout.
        one.as_object_mut().unwrap().remove("parquet");
        assert_eq!(info, one);
        let expected: Vec<i64> = (0..1500).collect();
        let rows = server.get(&format!("/v1/tables/{name}/rows")).await;
        assert_eq!(rows.numbers(), expected, "{name}");
        let counted = server.sql(&format!("select n from \"{name}\"")).await;
        assert_eq!(counted.numbers(), expected, "{name}");
    }
    assert_eq!(left_over(folder.path()).len(), cases.len() * 2);
    let text = String::from_utf8(server.get("/metrics").await.body).unwrap();
    assert!(
        text.contains("colonnade_uploads_total{result=\"ok\"} 8"),
        "{text}"
    );
}

/// A zstd frame with one raw block, RFC 8878: no compression, so that no encoder is needed.
fn zstd_of(text: &str) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0];
    bytes.extend((text.len() as u32).to_le_bytes());
    let block = (text.len() as u32) << 3 | 1;
    bytes.extend(&block.to_le_bytes()[..3]);
    bytes.extend(text.as_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_bytes_are_text_as_in_a_file_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let text = "n,t\n1,a\0b\n2,\0\n";
    let file = folder.path().join("file.csv");
    fs::write(&file, text).unwrap();
    let config = writable(&folder.path().join("data"));
    let sources = [file.display().to_string()];
    let server = Server::start(
        &config,
        colonnade_server::source::open_all(&sources).unwrap(),
    )
    .await;
    let headers = [("content-type", "text/csv")];
    let outcome = put_as(&server, "upload", &headers, text.as_bytes()).await;
    assert_eq!(
        outcome.status,
        201,
        "{}",
        String::from_utf8_lossy(&outcome.body)
    );
    let upload = server.get("/v1/tables/upload/rows").await.rows();
    assert_eq!(upload.num_rows(), 2);
    assert_eq!(upload, server.get("/v1/tables/file/rows").await.rows());
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = server(folder.path()).await;
    assert_eq!(
        put(&first, "a%20%C3%A4", &stream(&[batch(0, 10)]))
            .await
            .status,
        201
    );
    assert_eq!(put(&first, "b", &stream(&[batch(0, 10)])).await.status, 201);
    assert_eq!(put(&first, "b", &stream(&[batch(5, 10)])).await.status, 200);
    assert_eq!(
        put(&first, "gone", &stream(&[batch(0, 10)])).await.status,
        201
    );
    assert_eq!(delete(&first, "gone").await.status, 204);
    first.stop();
    drop(first);
    // Remains of a crash: a partial upload, and a file without a manifest.
    let uploads = folder.path().join("uploads");
    let id = "6f1c8f2e-3a5b-4c1d-9e2f-0a1b2c3d4e5f";
    fs::write(uploads.join(format!("{id}.part.csv")), "a,b\n1").unwrap();
    fs::write(uploads.join(format!("{id}.csv")), "a,b\n1").unwrap();
    fs::write(uploads.join("notes.txt"), "not ours").unwrap();
    // Also a table that another had just replaced.
    let old = "00000000-3a5b-4c1d-9e2f-0a1b2c3d4e5f";
    let manifest = serde_json::json!({"id": old, "name": "b", "extension": "csv", "version": 1});
    fs::write(uploads.join(format!("{old}.json")), manifest.to_string()).unwrap();
    fs::write(uploads.join(format!("{old}.csv")), "n,t\n1,2\n").unwrap();
    // A manifest that a broken disk has changed: its table is left out, and its files stay.
    let broken = "11111111-3a5b-4c1d-9e2f-0a1b2c3d4e5f";
    fs::write(uploads.join(format!("{broken}.json")), "{\"id\": ").unwrap();
    fs::write(uploads.join(format!("{broken}.csv")), "n,t\n1,2\n").unwrap();

    let again = started_again(folder.path()).await;
    let list = again.json("/v1/tables").await;
    let names: Vec<_> = list["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["name"])
        .collect();
    assert_eq!(names, ["a ä", "b", "source"]);
    assert_eq!(list["writable"], true);
    assert!(list["max_upload_bytes"].as_u64().is_some());
    let rows = again.get("/v1/tables/b/rows").await;
    assert_eq!(rows.numbers(), (5..15).collect::<Vec<_>>());
    assert_eq!(left_over(folder.path()).len(), 4 + 1 + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_cannot_be_read_after_a_restart_is_replaced_or_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = server(folder.path()).await;
    for (name, status) in [("a", 201), ("a", 200), ("b", 201)] {
        assert_eq!(put(&first, name, b"n,m\n1,2\n").await.status, status);
    }
    first.stop();
    drop(first);
    for path in left_over(folder.path()) {
        if path.extension().is_some_and(|extension| extension == "csv") {
            fs::write(path, "n,m\n1,2\n\"").unwrap();
        }
    }
    let mut second = started_again(folder.path()).await;
    assert_eq!(second.get("/v1/tables/a/rows").await.status, 404);
    assert_eq!(put(&second, "a", b"n,m\n5,6\n").await.status, 200);
    assert_eq!(delete(&second, "b").await.status, 204);
    until_left_over(folder.path(), 2).await;
    second.stop();
    drop(second);
    let third = started_again(folder.path()).await;
    assert_eq!(third.get("/v1/tables/a/rows").await.numbers(), [5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_table_cannot_be_read_with_other_options() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    put(&server, "t", b"n;m\n1,5;2\n").await;
    let rows = "/v1/tables/t/rows?delimiter=%3B&decimal=%2C";
    assert_eq!(server.get(rows).await.status, 200);
    assert_eq!(delete(&server, "t").await.status, 204);
    assert_eq!(server.get(rows).await.status, 404);
    until_left_over(folder.path(), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let good = stream(&[batch(0, 1000), batch(1000, 1000)]);
    let no_marker = &good[..good.len() - 8];
    let trailing = [good.as_slice(), b"more"].concat();
    let twice = [good.as_slice(), good.as_slice()].concat();
    let no_parquet = [b"PAR1".as_slice(), &[0; 100], b"PAR1"].concat();
    let zstd = zstd_of(&"a,b\n1,2\n".repeat(1000));
    let cut_zstd = &zstd[..zstd.len() - 1];
    // A frame of 128 KiB blocks, each of which is one byte and a repeat count.
    let mut bomb = zstd_of("a,b\n1,2\n");
    let first = bomb.len();
    bomb[9] &= !1;
    for _ in 0..10_000 {
        bomb.extend([0x02, 0x00, 0x10, b'1']);
    }
    bomb.extend([0x03, 0x00, 0x00, b'\n']);
    // Without a size in the frame's header.
    bomb.splice(4..9, [0x00, 0x58]);
    assert!(first < bomb.len());
    let cut_parquet = parquet(&[batch(0, 1000)]);
    let cut_parquet = &cut_parquet[..cut_parquet.len() - 1];
    let cut_file = file(&[batch(0, 1000)]);
    let cut_file = &cut_file[..cut_file.len() - 1];
    let mut broken_body = parquet(&[batch(0, 1000)]);
    // Damage in the pages, after the magic number; the footer stays valid.
    broken_body[4..2000].fill(0xFF);
    for (name, body, status, code) in [
        ("x", no_marker, 400, "missing_end_of_stream"),
        ("x", &good[..good.len() - 9], 400, "missing_end_of_stream"),
        ("x", &good[..good.len() / 2], 400, "missing_end_of_stream"),
        ("x", &good[..100], 400, "missing_end_of_stream"),
        ("x", &trailing, 400, "bad_upload"),
        ("x", &twice, 400, "bad_upload"),
        ("x", b"", 400, "bad_upload"),
        ("x", b"\0\x01\x02\x03", 415, "unsupported_media_type"),
        ("x", &no_parquet, 400, "bad_upload"),
        ("x", cut_zstd, 400, "bad_upload"),
        ("x", &bomb, 400, "bad_upload"),
        ("x", cut_parquet, 400, "bad_upload"),
        ("x", cut_file, 400, "bad_upload"),
        ("x", b"a,b\n1,2\n3,4,5\n", 400, "bad_upload"),
        ("x", b"a,b\n1,2\n3,\xFF\n", 400, "bad_upload"),
        ("x", b"{\"a\":1}\n{\"a\":2}\n{a", 400, "bad_upload"),
        ("x", &broken_body, 400, "bad_upload"),
        ("source", &good, 409, "name_in_use"),
        ("..%2Fx", &good, 400, "bad_name"),
        ("%2E%2E", &good, 400, "bad_name"),
        ("a%0Ab", &good, 400, "bad_name"),
        ("a%00b", &good, 400, "bad_name"),
    ] {
        let outcome = put(&server, name, body).await;
        let text = String::from_utf8_lossy(&outcome.body);
        assert_ne!(outcome.status, 201, "{code} expected: {text}");
        assert_eq!(
            (outcome.status, outcome.code()),
            (status, code.to_owned()),
            "{name}"
        );
        if code == "missing_end_of_stream" {
            let detail = outcome.problem()["detail"].to_string();
            let row = if body == no_marker {
                "2000 rows"
            } else {
                "000 rows"
            };
            assert!(detail.contains(row) || body.len() == 100, "{detail}");
        }
    }
    let csv = [("content-type", "text/csv")];
    let ndjson = [("content-type", "application/x-ndjson")];
    for (headers, body, place) in [
        (csv, b"a,b\n1\n2,3,4\n".as_slice(), "x: line 2"),
        (csv, b"a,b\n1,2\n3,\xE4\n", "x: line 3"),
        (ndjson, b"{\"a\":1}\n{a", "x: line 2"),
    ] {
        let outcome = put_as(&server, "x", &headers, body).await;
        outcome.assert_refused(400, "bad_upload");
        let detail = outcome.problem()["detail"].to_string();
        assert!(detail.contains(place), "{detail}");
    }
    let endless = format!("a,b\n1,\"{}\"\n", "\n".repeat(17 << 20));
    let outcome = put_as(&server, "x", &csv, endless.as_bytes()).await;
    assert_eq!(outcome.code(), "bad_upload");
    let brotli = [("content-encoding", "br")];
    assert_eq!(put_as(&server, "x", &brotli, &good).await.status, 415);
    assert_eq!(delete(&server, "source").await.code(), "name_in_use");
    assert_eq!(delete(&server, "x").await.code(), "unknown_table");
    until_left_over(folder.path(), 0).await;

    let read_only = Server::start(&config(), vec![]).await;
    assert_eq!(put(&read_only, "x", &good).await.code(), "not_writable");
    assert_eq!(delete(&read_only, "x").await.code(), "not_writable");
    let list = read_only.json("/v1/tables").await;
    assert_eq!(
        (&list["writable"], &list["max_upload_bytes"]),
        (&json!(false), &json!(null))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let config = AppConfig {
        max_upload_bytes: 100_000,
        upload_quota_bytes: 150_000,
        ..writable(folder.path())
    };
    let server = Server::start(&config, vec![]).await;
    let csv = format!("a,b\n{}", "1,2\n".repeat(20_000));
    assert_eq!(put(&server, "a", csv.as_bytes()).await.status, 201);
    // Refused by its length or, if that is not sent, by the bytes received.
    assert_eq!(
        put(&server, "b", csv.as_bytes()).await.code(),
        "storage_full"
    );
    let chunked = [("transfer-encoding", "chunked")];
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let outcome = raw_put(&server, "b", &chunked, &chunk(&csv)).await;
    assert!(outcome.contains("storage_full"), "{outcome}");
    let large = csv.repeat(2);
    assert_eq!(
        put(&server, "b", large.as_bytes()).await.code(),
        "body_too_large"
    );
    let outcome = raw_put(&server, "b", &chunked, &chunk(&large)).await;
    assert!(outcome.contains("body_too_large"), "{outcome}");
    until_left_over(folder.path(), 2).await;
    assert_eq!(delete(&server, "a").await.status, 204);
    until_left_over(folder.path(), 0).await;
    assert_eq!(put(&server, "b", csv.as_bytes()).await.status, 201);
}

/// Sends a request whose body does not match its header, and reads the response.
async fn raw_put(server: &Server, name: &str, headers: &[(&str, &str)], body: &str) -> String {
    let address = server.url.strip_prefix("http://").unwrap();
    let socket = TcpStream::connect(address).await.unwrap();
    let mut request = format!("PUT /v1/tables/{name} HTTP/1.1\r\nhost: {address}\r\n");
    for (key, value) in headers {
        request += &format!("{key}: {value}\r\n");
    }
    let mut socket = socket.into_std().unwrap();
    let bytes = format!("{request}\r\n{body}").into_bytes();
    tokio::task::spawn_blocking(move || {
        socket.set_nonblocking(false).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        // The server may answer before it has read everything.
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut socket, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let csv = "a,b\n1,2\n".repeat(10_000);
    for headers in [
        [("content-length", "1000000")],
        [("transfer-encoding", "chunked")],
    ] {
        let body = match headers[0].0 {
            "content-length" => csv.clone(),
            _ => format!("{:x}\r\n{csv}", csv.len() + 1),
        };
        let text = raw_put(&server, "cut", &headers, &body).await;
        assert!(!text.contains(" 201 ") && !text.contains(" 200 "), "{text}");
        until_left_over(folder.path(), 0).await;
    }
    assert_eq!(server.get("/v1/tables/cut").await.status, 404);
    let text = String::from_utf8(server.get("/metrics").await.body).unwrap();
    assert!(
        text.contains("colonnade_uploads_total{result=\"failed\"} 2"),
        "{text}"
    );
    assert!(text.contains("colonnade_upload_stored_bytes 0"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_with_the_table_that_it_began() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let num_rows = 1_000_000;
    let old = parquet(&[batch(0, num_rows)]);
    assert_eq!(put(&server, "t", &old).await.status, 201);
    let mut reader = server.open("/v1/tables/t/rows").await;
    assert_eq!(reader.status, 200);
    let mut body = reader.chunk().await.unwrap().unwrap();
    let outcome = put(&server, "t", &parquet(&[batch(7, 3)])).await;
    assert_eq!(outcome.status, 200);
    assert_eq!(server.get("/v1/tables/t/rows").await.numbers(), [7, 8, 9]);
    assert_eq!(delete(&server, "t").await.status, 204);
    assert_eq!(server.get("/v1/tables/t/rows").await.status, 404);
    let rest = read(reader).await;
    body.extend_from_slice(&rest.body);
    let whole = Outcome { body, ..rest };
    assert_eq!(whole.numbers(), (0..num_rows).collect::<Vec<_>>());
    until_left_over(folder.path(), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_at_once_wins_whole() {
    let folder = tempfile::tempdir().unwrap();
    let server = Arc::new(server(folder.path()).await);
    let mut tasks = Vec::new();
    for writer in 0..6_i64 {
        let server = Arc::clone(&server);
        let body = stream(&[batch(writer * 1000, 100 + writer), batch(0, writer)]);
        tasks.push(tokio::spawn(async move {
            put(&server, "t", &body).await.status
        }));
    }
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 201]);
    let numbers = server.get("/v1/tables/t/rows").await.numbers();
    let writer = numbers[0] / 1000;
    let expected: Vec<i64> = (writer * 1000..writer * 1000 + 100 + writer)
        .chain(0..writer)
        .collect();
    assert_eq!(numbers, expected);
    until_left_over(folder.path(), 2).await;
}

/// Apache's hostile and golden files: each becomes a table or is refused, and no file is left over.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_are_refused_or_read() {
    let Some(conformance) = std::env::var_os("COLONNADE_CONFORMANCE").map(PathBuf::from) else {
        println!("skipped: COLONNADE_CONFORMANCE is not set");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let mut paths = Vec::new();
    for below in ["arrow/fuzz-stream", "arrow/gold", "parquet/bad_data"] {
        files_below(&conformance.join(below), &mut paths);
    }
    assert!(paths.len() > 40, "{}", paths.len());
    let (mut num_tables, mut num_refused) = (0, 0);
    for path in &paths {
        let body = fs::read(path).unwrap();
        for media_type in ["application/vnd.apache.arrow.stream", "text/csv"] {
            let outcome = put_as(&server, "t", &[("content-type", media_type)], &body).await;
            if outcome.status == 201 {
                num_tables += 1;
                let rows = server.get("/v1/tables/t/rows").await;
                assert!(rows.is_complete(), "{}", path.display());
                assert_eq!(delete(&server, "t").await.status, 204);
            } else {
                num_refused += 1;
                let problem = outcome.problem();
                assert!(outcome.status < 500, "{}: {problem}", path.display());
            }
            until_left_over(folder.path(), 0).await;
        }
    }
    println!("{num_tables} tables, {num_refused} refused");
    assert!(num_tables > 0 && num_refused > 0);
    assert_eq!(server.get("/v1/tables/source/rows").await.status, 200);
}

fn files_below(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, paths);
        } else {
            paths.push(path);
        }
    }
}
