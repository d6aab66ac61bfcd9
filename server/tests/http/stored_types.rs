//! The types of uploaded texts are stored, and not decided again at each start.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use colonnade_server::AppConfig;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;
use crate::uploads::writable;

/// A server that uses the uploads in `folder` while it runs, for several starts.
struct Restarted {
    folder: TempDir,
    config: AppConfig,
}

impl Restarted {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let config = writable(folder.path());
        Self { folder, config }
    }

    async fn start(&self) -> Server {
        Server::start(&self.config, vec![]).await
    }

    /// The types of table `t` after a start.
    async fn types(&self) -> Vec<String> {
        let mut server = self.start().await;
        let types = types(&server, "t").await;
        server.stop_and_wait().await;
        types
    }

    /// The only upload's manifest and bytes.
    fn files(&self) -> [PathBuf; 2] {
        let entries = fs::read_dir(self.folder.path().join("uploads")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_manifest = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        let (manifests, bytes): (Vec<_>, Vec<_>) = paths.partition(is_manifest);
        assert_eq!((manifests.len(), bytes.len()), (1, 1));
        [manifests[0].clone(), bytes[0].clone()]
    }
}

async fn upload(server: &Server, name: &str, text: &[u8]) {
    let media_type = match name {
        "tsv" => "text/tab-separated-values",
        "json" => "application/json",
        "ndjson" => "application/x-ndjson",
        _ => "text/csv",
    };
    let headers = [("content-type", media_type)];
    let path = format!("/v1/tables/{name}");
    let outcome = read(server.ask("PUT", &path, &headers, text).await).await;
    let body = String::from_utf8_lossy(&outcome.body);
    assert_eq!(outcome.status, 201, "{name}: {body}");
}

async fn types(server: &Server, name: &str) -> Vec<String> {
    let table = server.json(&format!("/v1/tables/{name}")).await;
    let fields = table["fields"].as_array().unwrap().iter();
    let types = fields.map(|field| field["type"].as_str().unwrap().to_owned());
    types.collect()
}

/// Writes other bytes, and leaves the time of the last write as it was.
fn write_unnoticed(path: &Path, bytes: &[u8]) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, bytes).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(modified).unwrap();
}

fn change(manifest: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    change(&mut value);
    fs::write(manifest, value.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_reads_the_manifest_instead_of_the_text() {
    let restarted = Restarted::new();
    let mut server = restarted.start().await;
    // More text than a sample, and the last row decides the type.
    let row = |value: &str| format!("{value},{}\n", "x".repeat(200));
    let text = format!("v,w\n{}{}", row("100").repeat(50_000), row("1.5"));
    assert!(text.len() > 9 << 20);
    upload(&server, "t", text.as_bytes()).await;
    assert_eq!(types(&server, "t").await, ["double", "string"]);
    server.stop_and_wait().await;

    let [manifest, bytes] = restarted.files();
    let other = text.replace("100,x", "abc,x");
    write_unnoticed(&bytes, other.as_bytes());
    assert_eq!(restarted.types().await, ["double", "string"]);
    // An earlier version of the server wrote no types, and a later one can write others.
    let without = |value: &mut Value| drop(value.as_object_mut().unwrap().remove("types"));
    let changes: [&dyn Fn(&mut Value); 4] = [
        &without,
        &|value| value["types"]["format"] = json!(1_000_000),
        &|value| value["types"]["text"] = json!({"splits": true}),
        &|value| value["types"]["schema"] = json!("AAAA"),
    ];
    for changed in changes {
        write_unnoticed(&bytes, text.as_bytes());
        change(&manifest, without);
        assert_eq!(restarted.types().await, ["double", "string"]);
        change(&manifest, changed);
        write_unnoticed(&bytes, other.as_bytes());
        assert_eq!(restarted.types().await, ["string", "string"]);
        // They are stored now.
        write_unnoticed(&bytes, text.as_bytes());
        assert_eq!(restarted.types().await, ["string", "string"]);
    }
    // A file of another size is read.
    fs::write(&bytes, "v,w\n1,2\n").unwrap();
    assert_eq!(restarted.types().await, ["int64", "int64"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_text_is_the_same_after_a_restart() {
    let restarted = Restarted::new();
    let mut server = restarted.start().await;
    let utf16: Vec<u8> = "\u{feff}a;b\n1;\u{e4}\n2;\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&str, &[u8]); 7] = [
        ("csv", b"n,day,t\n1,2024-01-31,\"a\nb\"\n-2,,\"\"\n"),
        (
            "numbers",
            b"n,d\n18446744073709551615,0.12345678901234567890\n",
        ),
        ("zone", b"t\n2024-01-31T09:30:00.5+02:00\n"),
        ("tsv", b"a\tb\n1\t2\n"),
        ("utf16", &utf16),
        (
            "json",
            b"[{\"a\": {\"b\": [1.5]}, \"c\": 1}, {\"c\": \"x\"}]",
        ),
        (
            "ndjson",
            b"{\"a\":[1,2],\"b\":{}}\n{\"a\":null,\"b\":{\"c\":true}}\n",
        ),
    ];
    for (name, text) in cases {
        upload(&server, name, text).await;
    }
    let options =
        "options?delimiter=;&header=false&null=NA&types=column_1:text,column_2:decimal(5,1)";
    upload(&server, options, b"01;NA\n02;1.5\n").await;
    let names = cases.map(|(name, _)| name).into_iter().chain(["options"]);
    let mut before = Vec::new();
    for name in names.clone() {
        let rows = server.get(&format!("/v1/tables/{name}/rows")).await.rows();
        before.push((types(&server, name).await, rows));
    }
    server.stop_and_wait().await;
    drop(server);
    for _ in 0..2 {
        let mut server = restarted.start().await;
        for (name, (old_types, old_rows)) in names.clone().zip(&before) {
            let rows = server.get(&format!("/v1/tables/{name}/rows")).await.rows();
            assert_eq!(&types(&server, name).await, old_types, "{name}");
            assert_eq!(&rows, old_rows, "{name}");
            let counted = server.sql(&format!("select * from {name}")).await.rows();
            assert_eq!(counted.num_rows(), old_rows.num_rows(), "{name}");
        }
        server.stop_and_wait().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_cannot_be_read_costs_its_own_table_alone() {
    let restarted = Restarted::new();
    let mut server = restarted.start().await;
    upload(&server, "t", b"a\n1\n").await;
    let [manifest, bytes] = restarted.files();
    upload(&server, "other", b"b\n2\n").await;
    server.stop_and_wait().await;
    let whole = fs::read(&manifest).unwrap();

    let another = manifest.with_file_name("00000000-3a5b-4c1d-9e2f-0a1b2c3d4e5f.json");
    for damaged in [&b""[..], b"{", b"[]", &whole[..whole.len() / 2], b"\xff"] {
        fs::write(&manifest, damaged).unwrap();
        fs::write(&another, &whole).unwrap();
        let mut server = restarted.start().await;
        let list = server.json("/v1/tables").await;
        let tables = list["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 1, "{damaged:?}: {list}");
        assert_eq!(tables[0]["name"], "other");
        server.stop_and_wait().await;
        assert!(bytes.exists(), "{damaged:?}");
    }

    fs::remove_file(another).unwrap();
    fs::write(&manifest, whole).unwrap();
    assert_eq!(restarted.types().await, ["int64"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_upload_whose_manifest_is_mended_does_not_replace_a_newer_one() {
    let restarted = Restarted::new();
    let mut server = restarted.start().await;
    upload(&server, "t", b"a\n1\n").await;
    server.stop_and_wait().await;
    let [manifest, _] = restarted.files();
    // As after a replacement.
    change(&manifest, |manifest| manifest["version"] = json!(2));
    let older = fs::read(&manifest).unwrap();

    fs::write(&manifest, "{").unwrap();
    let mut server = restarted.start().await;
    upload(&server, "t", b"a\nx\n").await;
    server.stop_and_wait().await;
    fs::write(&manifest, older).unwrap();
    assert_eq!(restarted.types().await, ["string"]);
    restarted.files();
}
