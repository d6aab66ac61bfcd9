//! How far a statement has come.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

use crate::messages::messages;
use crate::scripted::batch;
use crate::support::*;

/// The bytes of the first column of a Parquet file.
fn column_bytes(path: &str) -> u64 {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter();
    groups
        .map(|group| group.column(0).compressed_size() as u64)
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_bytes_that_a_statement_reads() {
    let folder = tempfile::tempdir().unwrap();
    let rows = batch(0, 300_000);
    let parquet = write_parquet(folder.path(), "p.parquet", &rows);
    let arrow = write_arrow(folder.path(), "a.arrow", &rows);
    let csv = path(folder.path(), "c.csv");
    let lines: String = (0..300_000).map(|n| format!("{n},row {n}\n")).collect();
    fs::write(&csv, format!("n,t\n{lines}")).unwrap();
    let size = |path| fs::metadata(path).unwrap().len();
    // What reading adds: footers and indexes, and of text what each of four ranges reads of the next one.
    let wanted = [
        ("p", column_bytes(&parquet), 64 << 10),
        ("a", size(&arrow), 256 << 10),
        ("c", size(&csv), 1 << 20),
    ];
    let server = Server::of_files(&[parquet, arrow, csv]).await;
    for (k, (table, bytes, more_bytes)) in (1..).zip(wanted) {
        // All columns of the Arrow file, because those of some are not known.
        let key = if table == "a" {
            "a.n + length(a.t)"
        } else {
            "a.n"
        };
        let sql = format!(
            "select count(*) as c from {table} a, generate_series(1, 100000000) b(v) \
             where ({key} + b.v) % 7 = 3"
        );
        let body = json!({ "sql": sql, "id": id(k) }).to_string();
        let headers = [("content-type", "application/json")];
        let asked = server.ask("POST", "/v1/query", &headers, body.as_bytes());
        let response = asked.await;
        let path = format!("/v1/query/{}", id(k));
        let deadline = Instant::now() + PATIENCE;
        let progress = loop {
            let record = server.json(&path).await;
            assert_eq!(record["state"], "running");
            let progress = record["progress"].clone();
            if progress["bytes_read"] == progress["bytes_total"] && progress["bytes_total"].is_u64()
            {
                break progress;
            }
            assert!(Instant::now() < deadline, "{table}: {progress}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let total = progress["bytes_total"].as_u64().unwrap();
        assert!(
            (bytes..bytes + more_bytes).contains(&total),
            "{table}: {total}, not {bytes}"
        );
        assert_eq!(progress["fraction"], json!(1.0), "{table}");
        assert_eq!(progress["rows"], json!(0), "{table}");
        drop(response);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_rows_and_of_what_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = write_parquet(folder.path(), "p.parquet", &batch(0, 1000));
    let server = Server::of_files(&[parquet]).await;
    let rows = format!("/v1/tables/p/rows?id={}", id(1));
    assert!(server.get(&rows).await.is_complete());
    let nothing = json!({ "sql": "select 1 as one", "id": id(2) });
    assert!(server.post(&nothing).await.is_complete());
    for (k, num_rows) in [(1, 1000), (2, 1)] {
        let progress = server.json(&format!("/v1/query/{}", id(k))).await["progress"].clone();
        assert_eq!(progress["fraction"], json!(1.0), "{progress}");
        assert_eq!(progress["bytes_total"], Value::Null, "{progress}");
        assert_eq!(progress["rows"], json!(num_rows), "{progress}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_messages_of_a_statement() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = write_parquet(folder.path(), "p.parquet", &batch(0, 2_000_000));
    let server = Server::of_files(&[parquet]).await;
    let body = json!({ "sql": "select n, t from p where n >= 0", "id": id(1) }).to_string();
    let headers = [("content-type", "application/json")];
    let mut response = server
        .ask("POST", "/v1/query", &headers, body.as_bytes())
        .await;
    let mut bytes = response.chunk().await.unwrap().unwrap();
    // The statement goes on as far as it may, and reports how far that is.
    tokio::time::sleep(Duration::from_secs(1)).await;
    while let Some(piece) = response.chunk().await.unwrap() {
        bytes.extend(piece);
    }
    let told: Vec<Value> = messages(&bytes)
        .iter()
        .filter_map(|message| serde_json::from_str(message.progress.as_deref()?).ok())
        .collect();
    let read = |progress: &Value| progress["bytes_read"].as_u64().unwrap();
    assert!(told.is_sorted_by_key(read), "{told:?}");
    let last = told.last().unwrap();
    assert!(
        read(last) > 0 && last["fraction"].as_f64().unwrap() > 0.0,
        "{last}"
    );
}

/// A process of a statement is told what the server knows of the files.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_reads_only_files_that_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    for k in 0..50 {
        let part = folder.path().join(format!("p/k={k}"));
        fs::create_dir_all(&part).unwrap();
        write_parquet(&part, "f.parquet", &batch(k * 10, 10));
    }
    let file_bytes = fs::metadata(folder.path().join("p/k=7/f.parquet"))
        .unwrap()
        .len();
    let server = Server::of_files(&[path(folder.path(), "p")]).await;
    let statements = [
        ("select count(*) as c from p", 0),
        ("select sum(n) as s from p where k = 7", 2 * file_bytes),
    ];
    for (k, (sql, max_bytes)) in (1..).zip(statements) {
        let query = json!({ "sql": sql, "id": id(k) });
        assert!(server.post(&query).await.is_complete(), "{sql}");
        let record = server.json(&format!("/v1/query/{}", id(k))).await;
        let bytes = record["usage"]["scanned_bytes"].as_u64().unwrap();
        assert!(bytes <= max_bytes, "{sql}: {bytes} of {max_bytes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_sorts_and_filters_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    let rows = batch(0, 300_000);
    let parquet = write_parquet(folder.path(), "p.parquet", &rows);
    let arrow = write_arrow(folder.path(), "a.arrow", &rows);
    let csv = path(folder.path(), "c.csv");
    let lines: String = (0..300_000).map(|n| format!("{n},row {n}\n")).collect();
    fs::write(&csv, format!("n,t\n{lines}")).unwrap();
    let size = |path: &str| fs::metadata(path).unwrap().len();
    let all = [
        ("p", size(&parquet)),
        ("a", size(&arrow)),
        ("c", size(&csv)),
    ];
    let server = Server::of_files(&[parquet, arrow, csv]).await;
    let parts = [
        ("sort", json!(["-n"])),
        (
            "filter",
            json!({ "op": "ge", "column": "n", "value": 299_999 }),
        ),
    ];
    for (k, (table, file_bytes)) in (1..).step_by(2).zip(all) {
        // The server knows a file from its first rows on.
        let first = format!("/v1/tables/{table}/rows?limit=1");
        assert!(server.get(&first).await.is_complete());
        for (k, (part, value)) in (k..).zip(&parts) {
            let query = json!({ "table": table, *part: value, "id": id(k) });
            assert!(server.post(&query).await.is_complete(), "{query}");
            let record = server.json(&format!("/v1/query/{}", id(k))).await;
            let progress = record["progress"].clone();
            let [read, total] = ["bytes_read", "bytes_total"].map(|key| progress[key].as_u64());
            // Statistics exclude some row groups from a filter.
            assert!(read.unwrap() > 0 && read <= total, "{query}: {record}");
            assert!(*part == "filter" || read == total, "{query}: {record}");
            // Without the footer, and what ranges of text read of the next one.
            let expected = file_bytes * 3 / 4..file_bytes + (5 << 20);
            assert!(
                expected.contains(&total.unwrap()),
                "{query}: {file_bytes}, {progress}"
            );
        }
    }
    let some = format!("/v1/tables/a/rows?sort=-n&columns=n&id={}", id(9));
    assert!(server.get(&some).await.is_complete());
    let record = server.json(&format!("/v1/query/{}", id(9))).await;
    assert_eq!(record["progress"]["bytes_total"], Value::Null, "{record}");
}
