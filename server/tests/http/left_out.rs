//! Files of globs and folders that cannot be read: the others are shown, and each answer says that files are missing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use datafusion::parquet::file::metadata::ParquetMetaDataReader;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::compressed_files::gzip;
use crate::support::*;

/// A Parquet file of the rows `start` to `start + 10`.
fn parquet(start: i64) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("f");
    write_rows(&file, start, 10);
    fs::read(file).unwrap()
}

/// What is there of it while it is copied.
fn cut(file: &[u8]) -> &[u8] {
    &file[..file.len() - 100]
}

async fn left_out(server: &Server, table: &str) -> Vec<String> {
    let table = server.json(&format!("/v1/tables/{table}")).await;
    assert_eq!(table["error"], Value::Null, "{table}");
    let files = table["left_out"].as_array().unwrap().iter();
    let files = files.map(|file| {
        assert!(!file["detail"].as_str().unwrap().is_empty(), "{file}");
        file["path"].as_str().unwrap().to_owned()
    });
    files.collect()
}

/// Waits until the table lacks just these files.
async fn until_left_out(server: &Server, table: &str, files: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lacks = left_out(server, table).await;
        if lacks == files {
            return;
        }
        assert!(Instant::now() < deadline, "{lacks:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn assert_lacks(outcome: &Outcome, num_files: usize) {
    assert_eq!(
        outcome.status,
        200,
        "{}",
        String::from_utf8_lossy(&outcome.body)
    );
    let said = outcome.headers.get("x-left-out");
    let said = said.map(|number| number.to_str().unwrap().to_owned());
    assert_eq!(said, (num_files > 0).then(|| num_files.to_string()));
}

fn glob(folder: &Path, pattern: &str) -> Vec<String> {
    vec![format!("t={}", path(folder, pattern))]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_good_files_of_a_glob_are_shown_until_the_others_can_be_read() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.parquet"), parquet(0)).unwrap();
    fs::write(at("b.parquet"), cut(&parquet(10))).unwrap();
    fs::write(at("c.parquet"), parquet(20)).unwrap();
    fs::write(at("d.parquet"), "").unwrap();
    fs::write(at("e.parquet"), "n,t\n1,x\n").unwrap();
    let server = Server::following(&config(), &glob(folder.path(), "*.parquet")).await;
    assert_eq!(
        left_out(&server, "t").await,
        ["b.parquet", "d.parquet", "e.parquet"]
    );

    let rows = server.get(&format!("/v1/tables/t/rows?id={}", id(1))).await;
    assert_lacks(&rows, 3);
    assert_eq!(rows.numbers(), (0..10).chain(20..30).collect::<Vec<_>>());
    let record = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(record["left_out"].as_array().unwrap().len(), 3);
    assert_eq!(record["left_out"][0]["path"], "b.parquet");
    let export = server
        .get(&format!("/v1/query/{}/export?format=csv", id(1)))
        .await;
    assert_lacks(&export, 3);
    let sum = json!({"id": id(2), "sql": "select count(*) from t x join t y on x.n = y.n"});
    let sum = server.post(&sum).await;
    assert_lacks(&sum, 3);
    assert_eq!(sum.numbers(), [20]);
    let over = json!({"id": id(3), "query": id(2), "limit": 1});
    assert_lacks(&server.post(&over).await, 3);

    fs::write(at("b.parquet"), parquet(10)).unwrap();
    fs::remove_file(at("d.parquet")).unwrap();
    until_left_out(&server, "t", &["e.parquet"]).await;
    fs::write(at("e.parquet"), parquet(30)).unwrap();
    until_left_out(&server, "t", &[]).await;
    let rows = server.get("/v1/tables/t/rows").await;
    assert_lacks(&rows, 0);
    assert!(rows.has_numbers(0..40));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_arrives_in_pieces_breaks_nothing() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.parquet"), parquet(0)).unwrap();
    let server = Server::following(&config(), &glob(folder.path(), "*.parquet")).await;
    let whole = parquet(10);
    for num_bytes in [0, 3, 4, 100, whole.len() - 1] {
        fs::write(at("b.parquet"), &whole[..num_bytes]).unwrap();
        until_left_out(&server, "t", &["b.parquet"]).await;
        assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..10));
    }
    fs::write(at("b.parquet"), whole).unwrap();
    until_left_out(&server, "t", &[]).await;
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..20));
}

/// A Parquet file of this footer alone.
fn parquet_of(footer: &[u8]) -> Vec<u8> {
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", footer, &length, b"PAR1"].concat()
}

/// A reader of such a footer may call itself for each level, or believe a number of row groups.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_footers_are_left_out() {
    const NUM_LEVELS: [u8; 3] = [0xFC, 0x90, 0x4E];
    const NUM_GROUPS: [u8; 6] = [0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07];
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.parquet"), parquet(0)).unwrap();
    let level = [0x48, 1, b'c', 0x15, 2, 0].repeat(10_000);
    let deep = [&[0x15, 2, 0x19], &NUM_LEVELS[..], &level, &[0]].concat();
    fs::write(at("deep.parquet"), parquet_of(&deep)).unwrap();
    let root = [0x15, 2, 0x19, 0x1C, 0x48, 1, b'm', 0x15, 0, 0];
    let groups = [&root[..], &[0x16, 0, 0x19], &NUM_GROUPS].concat();
    fs::write(at("groups.parquet"), parquet_of(&groups)).unwrap();
    let server = Server::following(&config(), &glob(folder.path(), "*.parquet")).await;
    assert_eq!(
        left_out(&server, "t").await,
        ["deep.parquet", "groups.parquet"]
    );
    let table = server.json("/v1/tables/t").await;
    let detail = |index: usize| table["left_out"][index]["detail"].to_string();
    assert!(detail(0).contains("more than 192 levels"), "{table}");
    assert!(
        detail(1).contains("the Parquet footer is damaged"),
        "{table}"
    );
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..10));
}

/// A reader of such an index may believe a number of pages. It is not needed.
#[tokio::test(flavor = "multi_thread")]
async fn files_with_hostile_page_indexes_are_read() {
    const NUM_PAGES: [u8; 7] = [0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07];
    let folder = TempDir::new().unwrap();
    let mut file = parquet(0);
    let footer = ParquetMetaDataReader::new()
        .parse_and_finish(&Bytes::from(file.clone()))
        .unwrap();
    for column in footer.row_group(0).columns() {
        let start = column.offset_index_offset().unwrap() as usize;
        file[start..start + NUM_PAGES.len()].copy_from_slice(&NUM_PAGES);
    }
    fs::write(folder.path().join("a.parquet"), file).unwrap();
    let server = Server::following(&config(), &glob(folder.path(), "*.parquet")).await;
    assert!(left_out(&server, "t").await.is_empty());
    let rows = server.get("/v1/tables/t/rows?offset=5").await;
    assert!(rows.has_numbers(5..10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_read_is_never_left_out() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (index, name) in ["a.parquet", "b.parquet"].iter().enumerate() {
        fs::write(at(name), parquet(10 * index as i64)).unwrap();
    }
    let server = Server::following(&config(), &glob(folder.path(), "*.parquet")).await;
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..20));
    fs::write(at("b.parquet"), cut(&parquet(10))).unwrap();
    let refused = || async { server.get("/v1/tables/t/rows").await.code() };
    assert_eq!(refused().await, "source_changed");
    // A new file does not make the changed one a new one.
    fs::write(at("c.parquet"), parquet(20)).unwrap();
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert_eq!(refused().await, "source_changed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fs::write(at("b.parquet"), parquet(10)).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rows = server.get("/v1/tables/t/rows").await;
        if rows.status == 200 && rows.has_numbers(0..30) {
            break;
        }
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_and_folders_of_values_leave_files_out_too() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["texts", "hive/k=1", "hive/k=2"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    let text: String = (0..10).map(|n| format!("{n},row {n}\n")).collect();
    let packed = gzip(format!("n,t\n{text}").as_bytes());
    fs::write(at("texts/a.csv.gz"), &packed[..packed.len() - 9]).unwrap();
    fs::write(at("texts/b.csv.gz"), &packed).unwrap();
    fs::write(at("texts/c.csv.gz"), &packed[..2]).unwrap();
    fs::write(at("texts/d.csv"), "n,t\n1,x\n").unwrap();
    fs::write(at("hive/k=1/a.parquet"), parquet(0)).unwrap();
    fs::write(at("hive/k=1/notes.txt"), "some words\n").unwrap();
    fs::write(at("hive/k=2/b.parquet"), cut(&parquet(10))).unwrap();
    let sources = [
        format!("t={}", path(folder.path(), "texts/*")),
        path(folder.path(), "hive"),
    ];
    let server = Server::following(&config(), &sources).await;
    assert_eq!(
        left_out(&server, "t").await,
        ["a.csv.gz", "c.csv.gz", "d.csv"]
    );
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..10));
    let hive = ["k=1/notes.txt", "k=2/b.parquet"];
    assert_eq!(left_out(&server, "hive").await, hive);
    let sum = server.sql("select sum(n) + max(k) from hive").await;
    assert_lacks(&sum, 2);
    assert_eq!(sum.numbers(), [46]);
    fs::write(at("texts/a.csv.gz"), &packed).unwrap();
    until_left_out(&server, "t", &["c.csv.gz", "d.csv"]).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_is_left_out() {
    let (folder, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(folder.path().join("a.parquet"), parquet(0)).unwrap();
    let target = outside.path().join("secret");
    fs::write(&target, parquet(10)).unwrap();
    let link = folder.path().join("b.parquet");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let server = Server::following(&config(), &glob(folder.path(), "*.parquet")).await;
    assert_eq!(left_out(&server, "t").await, ["b.parquet"]);
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..10));
    fs::remove_file(&link).unwrap();
    fs::rename(&target, &link).unwrap();
    until_left_out(&server, "t", &[]).await;
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glob_of_no_readable_file_is_an_error() {
    let folder = TempDir::new().unwrap();
    for name in ["a.parquet", "b.parquet"] {
        fs::write(folder.path().join(name), cut(&parquet(0))).unwrap();
    }
    let error = colonnade_server::source::open_all(&glob(folder.path(), "*.parquet"));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a.parquet"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_folder_that_are_no_tables_are_named() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    let unicode = "\u{feff}name\tprice\n\u{e4}pple\t1,5\n".encode_utf16();
    let unicode: Vec<u8> = unicode.flat_map(u16::to_le_bytes).collect();
    write("excel.txt", &unicode);
    write("names.txt", b"name\nAnna Lee\nBo\n");
    write("quoted.txt", b"\"a;b\";c\n\"1\n2\";3\n");
    write(
        "letter.txt",
        b"Dear Anna,\n\nthank you for the letter, which came today.\n",
    );
    write("sales.xlsx", b"PK\x03\x04\x14\0\x06\0");
    write(".hidden", b"");
    let sources = [folder.path().to_str().unwrap().to_owned()];
    let server = Server::following(&config(), &sources).await;
    let list = server.json("/v1/tables").await;
    let names: Vec<_> = list["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].clone())
        .collect();
    assert_eq!(names, ["excel", "names", "quoted"]);
    let left_out = |list: &Value| -> Vec<String> {
        let files = list["left_out"].as_array().unwrap().iter();
        files
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(left_out(&list), ["letter.txt", "sales.xlsx"]);
    assert_eq!(
        list["left_out"][1]["detail"],
        "an Excel workbook; save it as CSV"
    );
    let rows = server.get("/v1/tables/excel/rows").await.rows();
    assert_eq!(
        rows.schema().field(1).data_type().to_string(),
        "Decimal128(18, 1)"
    );

    // A file that is looked at before it is written.
    write("late.parquet", b"");
    let deadline = Instant::now() + PATIENCE;
    while !left_out(&server.json("/v1/tables").await).contains(&"late.parquet".to_owned()) {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let elsewhere = TempDir::new().unwrap();
    let whole = write_parquet(elsewhere.path(), "whole.parquet", &batch(0, 10));
    write("late.parquet", &fs::read(whole).unwrap());
    while server.get("/v1/tables/late/rows").await.status != 200 {
        assert!(Instant::now() < deadline, "it never becomes a table");
        server.json("/v1/tables").await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        left_out(&server.json("/v1/tables").await),
        ["letter.txt", "sales.xlsx"]
    );

    write("more.xlsx", b"PK");
    let deadline = Instant::now() + PATIENCE;
    while left_out(&server.json("/v1/tables").await) != ["letter.txt", "more.xlsx", "sales.xlsx"] {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glob_takes_texts_by_their_content() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.txt"), "id\n1\n2\n").unwrap();
    let server = Server::of_files(&[format!("t={}/*.txt", folder.path().display())]).await;
    assert_eq!(server.get("/v1/tables/t/rows").await.rows().num_rows(), 2);
}
