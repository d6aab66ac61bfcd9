//! Files of every kind at URLs of a web server.

use std::path::Path;
use std::time::Instant;

use colonnade_server::source::open_all;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;
use crate::web_files::WebFiles;

const NUM_ROWS: i64 = 200_000;

pub(crate) fn parquet(start: i64, num_rows: i64) -> Vec<u8> {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10_000));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema(), Some(properties.build())).unwrap();
    writer.write(&batch(start, num_rows)).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn csv(start: i64, num_rows: i64) -> String {
    let mut text = String::from("n,t\n");
    for n in start..start + num_rows {
        text.push_str(&format!("{n},row {n}\n"));
    }
    text
}

fn ndjson(num_rows: i64) -> String {
    (0..num_rows)
        .map(|n| format!("{{\"n\":{n},\"t\":\"row {n}\"}}\n"))
        .collect()
}

/// The refusal of a source, on a thread where blocking is allowed.
async fn refusal(source: String) -> String {
    let opened = tokio::task::spawn_blocking(move || open_all(&[source]).map(drop));
    opened.await.unwrap().unwrap_err().to_string()
}

async fn serve(sources: Vec<String>) -> Server {
    let tables = tokio::task::spawn_blocking(move || open_all(&sources).unwrap());
    Server::of(tables.await.unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_file_at_an_address() {
    let web = WebFiles::start().await;
    web.put("data/a.parquet", parquet(0, NUM_ROWS));
    web.put("b.csv", csv(0, NUM_ROWS));
    web.put("c.ndjson", ndjson(NUM_ROWS));
    let mut file = FileWriter::try_new(Vec::new(), &schema()).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &schema()).unwrap();
    for start in (0..NUM_ROWS).step_by(10_000) {
        file.write(&batch(start, 10_000)).unwrap();
        stream.write(&batch(start, 10_000)).unwrap();
    }
    web.put("d.arrow", file.into_inner().unwrap());
    stream.finish().unwrap();
    web.put("e f.arrows", stream.into_inner().unwrap());
    let sources = [
        "data/a.parquet?signature=x",
        "b.csv",
        "c.ndjson",
        "d.arrow",
        "e%20f.arrows",
    ];
    let mut sources: Vec<_> = sources.map(|name| format!("{}/{name}", web.url)).into();
    sources.push(format!("named={}/b.csv", web.url));
    let server = serve(sources).await;
    for name in ["a", "b", "c", "d", "e%20f", "named"] {
        let rows = server.get(&format!("/v1/tables/{name}/rows")).await;
        assert!(rows.has_numbers(0..NUM_ROWS), "{name}");
        let some = format!("/v1/tables/{name}/rows?offset=150000&limit=10&columns=n");
        assert!(
            server.get(&some).await.has_numbers(150_000..150_010),
            "{name}"
        );
        let sql = format!("select count(*) from \"{}\"", name.replace("%20", " "));
        assert_eq!(server.sql(&sql).await.numbers(), [NUM_ROWS]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_the_middle_are_read_without_the_others() {
    let web = WebFiles::start().await;
    let bytes = parquet(0, NUM_ROWS);
    let num_bytes = bytes.len() as u64;
    web.put("a.parquet", bytes);
    let server = serve(vec![format!("{}/a.parquet", web.url)]).await;
    let read = server.get("/v1/tables/a/rows?offset=100000&limit=1").await;
    assert!(read.has_numbers(100_000..100_001));
    let (sent, requests) = (web.sent_bytes(), web.requests());
    let again = server.get("/v1/tables/a/rows?offset=190000&limit=1").await;
    assert!(again.has_numbers(190_000..190_001));
    let (sent, requests) = (web.sent_bytes() - sent, web.requests() - requests);
    assert!(sent < num_bytes / 10, "{sent} of {num_bytes} bytes");
    assert!(requests <= 4, "{requests} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_gives_no_mixture() {
    for (name, first, second) in [
        ("a.parquet", parquet(0, NUM_ROWS), parquet(1, NUM_ROWS)),
        ("a.csv", csv(0, NUM_ROWS).into(), csv(1, NUM_ROWS).into()),
    ] {
        let web = WebFiles::start().await;
        web.put(name, first);
        let server = serve(vec![format!("{}/{name}", web.url)]).await;
        let before = server.json("/v1/tables/a").await["version"].clone();
        web.put(name, second);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let read = server.get("/v1/tables/a/rows").await;
            if read.status == 200 && read.is_complete() {
                assert!(read.has_numbers(1..NUM_ROWS + 1), "{name}");
                break;
            }
            if read.status != 200 {
                read.assert_refused(409, "source_changed");
            }
            assert!(Instant::now() < deadline, "it is never reloaded");
        }
        assert_ne!(server.json("/v1/tables/a").await["version"], before);
        web.remove(name);
        let deadline = Instant::now() + PATIENCE;
        while server.get("/v1/tables/a/rows").await.status == 200 {
            assert!(
                Instant::now() < deadline,
                "it is still served after its removal"
            );
        }
        server
            .get("/v1/tables/a/rows")
            .await
            .assert_refused(409, "source_changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_in_one_line() {
    let web = WebFiles::start().await;
    web.put("whole/a.csv", csv(0, 10));
    web.put("more/a.csv", csv(0, 10_000));
    web.put("empty.csv", "");
    web.put("a.html", "<html>\n<p>no table</p>");
    for (name, words) in [
        ("missing.csv", "not found (404)"),
        ("secret.csv?password=hunter2", "access is denied (403)"),
        ("broken.csv", "the store answered with status 500"),
        ("whole/a.csv", "does not answer Range requests"),
        ("more/a.csv", "fewer or more than the requested 4096 bytes"),
        ("empty.csv", "no header line"),
        ("a.html", "unsupported file type"),
    ] {
        let error = refusal(format!("{}/{name}", web.url)).await;
        assert!(error.contains(words), "{name}: {error}");
        assert!(
            !error.contains("hunter2") && !error.contains('\n'),
            "{error}"
        );
    }
    let nobody = "http://127.0.0.1:1/a.csv".to_owned();
    assert!(refusal(nobody).await.contains("the host cannot be reached"));
    let nowhere = "http://no-such-host.invalid/a.csv".to_owned();
    assert!(refusal(nowhere).await.contains("there is no such host"));
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_such_as_year_2024_are_columns() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str, bytes: &[u8]| write(folder.path(), name, bytes);
    let mut arrow = FileWriter::try_new(Vec::new(), &schema()).unwrap();
    arrow.write(&batch(0, 3000)).unwrap();
    let arrow = arrow.into_inner().unwrap();
    let mut start = 0;
    for year in [2023, 2024] {
        for day in ["2024-01-31", "__HIVE_DEFAULT_PARTITION__"] {
            let place = |table: &str, name: &str| format!("{table}/year={year}/day={day}/{name}");
            at(&place("p", "x.parquet"), &parquet(start, 3000));
            at(&place("c", "x.csv"), csv(start, 3000).as_bytes());
            at(&place("a", "x.arrow"), &arrow);
            start += 3000;
        }
    }
    at("plain.csv", csv(0, 3).as_bytes());
    let server = serve(vec![
        folder.path().display().to_string(),
        format!("globbed={}/p/**/*.parquet", folder.path().display()),
        format!("alone={}/c", folder.path().display()),
    ])
    .await;
    for (name, is_counted) in [
        ("p", true),
        ("c", true),
        ("a", false),
        ("globbed", true),
        ("alone", true),
    ] {
        let table = server.json(&format!("/v1/tables/{name}")).await;
        let fields: Vec<_> = table["fields"].as_array().unwrap().iter().collect();
        let types: Vec<_> = fields.iter().map(|f| f["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["int64", "string", "int64", "date32[day]"], "{name}");
        let rows = server.get(&format!("/v1/tables/{name}/rows")).await;
        assert_eq!(rows.rows().num_rows(), 12_000);
        if is_counted {
            assert!(rows.has_numbers(0..12_000), "{name}");
        }
        let some = format!("/v1/tables/{name}/rows?columns=year&offset=5998&limit=4");
        assert_eq!(
            server.get(&some).await.numbers(),
            [2023, 2023, 2024, 2024],
            "{name}"
        );
        let sql = format!(
            "select count(*), count(day), min(year) from {name} where year = 2024 and n >= 0"
        );
        let counted = server.sql(&sql).await.rows();
        let counted: Vec<_> = (0..3).map(|column| numbers(&counted, column)[0]).collect();
        assert_eq!(counted, [6000, 3000, 2024], "{name}");
        let none = format!("/v1/tables/{name}/rows?filter=year%3D1999");
        assert_eq!(server.get(&none).await.rows().num_rows(), 0);
    }
    assert_eq!(
        server.sql("select count(*) from plain").await.numbers(),
        [3]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_folders_say_twice_is_refused() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "k=1/k=2/a.csv", csv(0, 10).as_bytes());
    let error = refusal(format!("t={}/*/*/*.csv", folder.path().display())).await;
    assert!(error.contains("two columns are named \"k\""), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_of_folders_leaves_files_alone() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "k=1/a.csv", csv(0, 10).as_bytes());
    // After the rows from which types are inferred, so it fails when it is read.
    let broken = format!("{}1,2,3\n", csv(0, 30_000));
    write(folder.path(), "k=3/c.csv", broken.as_bytes());
    let server = serve(vec![format!("t={}/*/*.csv", folder.path().display())]).await;
    let broken = "select count(t) from t where k = 3";
    server.post(&json!({ "sql": broken, "id": id(1) })).await;
    let record = server.until_state(&id(1), "failed").await;
    assert_eq!(record["error"]["code"], "broken_row");
    assert_eq!(
        server
            .sql("select count(t) from t where k = 1")
            .await
            .numbers(),
        [10]
    );
    let both = "select count(t) from t where k < 2 and n is not null";
    assert_eq!(server.sql(both).await.numbers(), [10]);
}
