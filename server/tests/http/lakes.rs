//! Folders of table formats that keep a log, and names that are skipped.

use std::fs;
use std::path::Path;

use colonnade_server::source::open_all;
use tempfile::TempDir;

use crate::support::*;

const WORDS: [(&str, &str); 4] = [
    ("delta", "Delta Lake table"),
    ("iceberg", "Apache Iceberg table"),
    ("hudi", "Apache Hudi table"),
    ("lance", "Lance dataset"),
];

pub(crate) fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A Delta table of two rows that were overwritten by two others: all four are in its files.
pub(crate) fn write_delta(folder: &Path) {
    let parts = ["part-0.parquet", "part-1.parquet"];
    for (version, part) in parts.iter().enumerate() {
        let remove = match version {
            0 => String::new(),
            _ => "{\"remove\":{\"path\":\"part-0.parquet\",\"dataChange\":true}}\n".to_owned(),
        };
        let add = format!(
            "{remove}{{\"add\":{{\"path\":\"{part}\",\"partitionValues\":{{}},\"dataChange\":true}}}}\n"
        );
        put(folder, &format!("_delta_log/{version:020}.json"), &add);
        write_rows(&folder.join(part), 10 * version as i64, 2);
    }
}

/// A table of each format in folders of these names.
fn write_lakes(folder: &Path) {
    write_delta(&folder.join("delta"));
    put(folder, "iceberg/metadata/snap-1.avro", "Obj");
    put(
        folder,
        "iceberg/metadata/00000-a.metadata.json",
        "{\"format-version\":2}\n",
    );
    put(folder, "iceberg/data/day=1/a.csv", "n,t\n1,a\n");
    put(
        folder,
        "hudi/.hoodie/hoodie.properties",
        "hoodie.table.name=t\n",
    );
    put(folder, "hudi/2024/01/a.csv", "n,t\n1,a\n");
    put(folder, "lance/_versions/1.manifest", "m");
    put(folder, "lance/data/a.csv", "n,t\n1,a\n");
}

pub(crate) async fn names(server: &Server) -> Vec<String> {
    let list = server.json("/v1/tables").await;
    let tables = list["tables"].as_array().unwrap().iter();
    let names = tables.map(|table| table["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// Checks that the server has one table, which says what it is.
pub(crate) async fn assert_lake(source: String, name: &str, format: &str) {
    let server = Server::of_files(std::slice::from_ref(&source)).await;
    assert_eq!(names(&server).await, [name], "{source}");
    assert_refused(&server, name, format).await;
}

pub(crate) async fn assert_refused(server: &Server, name: &str, format: &str) {
    let table = server.json(&format!("/v1/tables/{name}")).await;
    assert_eq!(table["format"], format);
    let (_, words) = WORDS.iter().find(|(known, _)| *known == format).unwrap();
    let error = table["error"].as_str().unwrap();
    assert!(error.contains(words), "{error}");
    let rows = server.get(&format!("/v1/tables/{name}/rows")).await;
    rows.assert_refused(422, "unsupported_table_feature");
    assert!(rows.problem()["detail"].as_str().unwrap().contains(words));
    let sql = server.sql(&format!("select * from \"{name}\"")).await;
    sql.assert_refused(422, "unsupported_table_feature");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_is_one_table_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    write_lakes(&data.join("a"));
    put(&data, "b.csv", "n,t\n1,a\n");
    for (format, _) in WORDS {
        let lake = path(&data, &format!("a/{format}"));
        assert_lake(lake.clone(), format, format).await;
        assert_lake(format!("mine={lake}/"), "mine", format).await;
    }
    // In a folder, beside tables that can be read.
    let server = Server::of_files(&[format!("x={}", data.display())]).await;
    let expected = ["x.a.delta", "x.a.hudi", "x.a.iceberg", "x.a.lance", "x.b"];
    assert_eq!(names(&server).await, expected);
    for (format, _) in WORDS {
        assert_refused(&server, &format!("x.a.{format}"), format).await;
    }
    assert_eq!(server.get("/v1/tables/x.b/rows").await.rows().num_rows(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glob_or_a_folder_inside_a_lake_is_no_table_of_its_files() {
    let folder = TempDir::new().unwrap();
    write_lakes(folder.path());
    for (source, name, format) in [
        ("delta/*.parquet", "delta", "delta"),
        ("x=*/*.parquet", "x", "delta"),
        ("delta/**/*", "delta", "delta"),
        ("iceberg/data/*/*.csv", "data", "iceberg"),
        ("iceberg/data/day=1", "day=1", "iceberg"),
        ("hudi/2024", "2024", "hudi"),
        ("lance/data/*.csv", "data", "lance"),
    ] {
        let source = match source.split_once("x=") {
            Some(("", glob)) => format!("x={}", path(folder.path(), glob)),
            _ => path(folder.path(), source),
        };
        assert_lake(source, name, format).await;
    }
    // Who names a file of it, or its log, gets that file.
    let server = Server::of_files(&[
        path(folder.path(), "delta/part-1.parquet"),
        format!("log={}", path(folder.path(), "delta/_delta_log/*.json")),
    ])
    .await;
    let rows = server.get("/v1/tables/part-1/rows").await;
    assert!(rows.has_numbers(10..12));
    let log = server.get("/v1/tables/log/rows").await;
    assert_eq!(log.rows().num_rows(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_becomes_a_lake_loses_the_tables_of_its_files() {
    let folder = TempDir::new().unwrap();
    let lake = folder.path().join("delta");
    put(folder.path(), "b.csv", "n,t\n1,a\n");
    put(folder.path(), "delta/part-0.csv", "n,t\n1,a\n");
    let sources = [folder.path().display().to_string()];
    let server = Server::following(&config(), &sources).await;
    assert_eq!(names(&server).await, ["b", "delta.part-0"]);
    write_delta(&lake);
    let deadline = std::time::Instant::now() + PATIENCE;
    while names(&server).await != ["b", "delta"] {
        assert!(std::time::Instant::now() < deadline);
    }
    assert_refused(&server, "delta", "delta").await;
    fs::remove_dir_all(lake.join("_delta_log")).unwrap();
    let expected = ["b", "delta.part-0", "delta.part-0.parquet", "delta.part-1"];
    while names(&server).await != expected {
        assert!(std::time::Instant::now() < deadline);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_alone_is_noticed_too() {
    let folder = TempDir::new().unwrap();
    put(folder.path(), "t/part-0.csv", "n,t\n1,a\n");
    let lake = path(folder.path(), "t");
    let sources = [format!("x={lake}"), format!("all={lake}/*.csv")];
    let server = Server::following(&config(), &sources).await;
    assert_eq!(names(&server).await, ["all", "x.part-0"]);
    put(folder.path(), "t/_delta_log/0.json", "{}\n");
    let deadline = std::time::Instant::now() + PATIENCE;
    while names(&server).await != ["all", "x"] {
        assert!(std::time::Instant::now() < deadline);
    }
    assert_refused(&server, "x", "delta").await;
    assert_refused(&server, "all", "delta").await;
}

#[test]
fn names_that_begin_with_an_underscore_are_skipped() {
    let folder = TempDir::new().unwrap();
    for name in [
        "data/a.csv",
        "data/_SUCCESS",
        "data/_staged.csv",
        "data/_temporary/0/b.csv",
        "data/.tmp/c.csv",
        "data/t/_year=2024/d.csv",
        "data/t/_year=2024/_e.csv",
    ] {
        put(folder.path(), name, "x,y\n1,2\n");
    }
    let tables = |source: &str| {
        let tables = open_all(&[path(folder.path(), source)])
            .unwrap()
            .into_iter();
        let mut tables: Vec<_> = tables
            .map(|table| (table.name, table.schema.fields().len(), table.num_bytes))
            .collect();
        tables.sort();
        tables
    };
    // Each table has one file.
    let one = |name: &str, num_columns| vec![(name.to_owned(), num_columns, Some(8))];
    assert_eq!(tables("data"), [one("a", 2), one("t", 3)].concat());
    assert_eq!(tables("data/*.csv"), one("data", 2));
    assert_eq!(tables("data/t/**/*"), one("t", 3));
    // What is named is served.
    assert_eq!(tables("data/_staged.csv"), one("_staged", 2));
    assert_eq!(tables("data/_s*.csv"), one("data", 2));
    assert_eq!(tables("data/_temporary"), one("0.b", 2));
    assert_eq!(tables("data/_temporary/*/*"), one("_temporary", 2));
    assert_eq!(tables("data/t/_year=2024/_*"), one("_year=2024", 2));
}
