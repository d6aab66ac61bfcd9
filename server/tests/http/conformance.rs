//! Arrow files of another project.

use std::fs;
use std::path::{Path, PathBuf};

use colonnade_server::source::open_all;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int32Type;
use serde_json::json;

use crate::support::*;

/// The data of apache/arrow-testing, if the environment names its folder.
fn arrow_testing() -> Option<PathBuf> {
    let folder = std::env::var_os("COLONNADE_CONFORMANCE")
        .map(PathBuf::from)
        .filter(|folder| folder.exists());
    if folder.is_none() {
        println!("skipped: COLONNADE_CONFORMANCE names no folder with Arrow's test files");
    }
    folder.map(|folder| folder.join("arrow"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if !path
            .extension()
            .is_some_and(|e| e == "gz" || e == "json" || e == "md")
        {
            found.push(path);
        }
    }
}

/// Files whose writers did not follow the specification. Other readers read them, or refuse them as a whole.
#[tokio::test(flavor = "multi_thread")]
async fn parquet_files_of_old_writers() {
    let Some(folder) = arrow_testing() else {
        return;
    };
    let source = |name: &str| {
        let file = format!("../parquet/data/{name}.parquet");
        folder.join(file).display().to_string()
    };
    // Its pages are compressed, but do not say so.
    let error = open_all(&[source("ARROW-17100")]).unwrap_err().to_string();
    assert!(error.contains("parquet-cpp"), "{error}");
    // Its footer gives 0 rows; the row group has 6.
    let sources = ["repeated_no_annotation", "int96_from_spark", "strings"].map(source);
    let server = Server::of_files(&sources).await;
    let rows = server.get("/v1/tables/repeated_no_annotation/rows").await;
    assert_eq!(rows.rows().num_rows(), 6);
    let sql = "select extract(year from a) as year from int96_from_spark offset 2 limit 1";
    let year = server.sql(sql).await.rows();
    assert_eq!(year.column(0).as_primitive::<Int32Type>().value(0), 9999);
    // Its columns have no repetition. pyarrow and DuckDB read them as required.
    let table = server.json("/v1/tables/strings").await;
    let fields = [
        ("bytes", "binary"),
        ("c_utf8", "string"),
        ("l_utf8", "string"),
    ];
    let fields = fields.map(|(name, kind)| json!({"name": name, "type": kind, "nullable": false}));
    assert_eq!(table["fields"], json!(fields));
    let words = ["alpha", "bravo", "charlie", "delta"];
    for rows in [
        server.get("/v1/tables/strings/rows").await.rows(),
        server.sql("select * from strings").await.rows(),
    ] {
        let bytes = rows.column(0).as_binary::<i32>().iter().flatten();
        assert!(bytes.eq(words.map(str::as_bytes)));
        for column in [1, 2] {
            let texts = rows.column(column).as_string::<i32>().iter().flatten();
            assert!(texts.eq(words));
        }
    }
}

/// Every file is refused when it is opened or read, or is read. None harms the server, and no failure looks
/// complete.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_arrow_files_do_no_harm() {
    let Some(folder) = arrow_testing() else {
        return;
    };
    let mut found = Vec::new();
    files(&folder, &mut found);
    assert!(found.len() > 20, "{} holds no test files", folder.display());
    found.sort();
    let mut tables = Vec::new();
    for (number, file) in found.iter().enumerate() {
        if let Ok(opened) = open_all(&[format!("t{number}={}", file.display())]) {
            tables.extend(opened);
        }
    }
    assert!(
        tables.len() > 20,
        "only {} of {} can be opened",
        tables.len(),
        found.len()
    );
    let names: Vec<_> = tables
        .iter()
        .map(|table| (table.name.clone(), table.num_rows))
        .collect();
    let server = Server::of(tables).await;
    let mut num_read = 0;
    for (name, num_rows) in &names {
        let outcome = server.get(&format!("/v1/tables/{name}/rows")).await;
        if outcome.is_complete() {
            let rows: u64 = datafusion::arrow::ipc::reader::StreamReader::try_new(
                outcome.body.as_slice(),
                None,
            )
            .unwrap()
            .map(|batch| batch.unwrap().num_rows() as u64)
            .sum();
            assert_eq!(Some(rows), num_rows.or(Some(rows)), "{name}");
            num_read += 1;
        }
    }
    println!(
        "{} files, {} opened, {num_read} read",
        found.len(),
        names.len()
    );
    assert!(num_read > 20, "only {num_read} can be read");
    assert_eq!(server.get("/healthz").await.status, 200);
}
