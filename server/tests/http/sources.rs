//! Files of every kind, valid and broken.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use colonnade_server::source::open_all;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use tempfile::TempDir;

use crate::compressed_files::{gzip, zstandard};
use crate::support::*;

fn csv(num_rows: i64) -> String {
    let mut text = String::from("n,t\n");
    for n in 0..num_rows {
        text.push_str(&format!("{n},row {n}\n"));
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_file() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = csv(3000);
    let lines: String = (0..3000)
        .map(|n| format!("{{\"n\":{n},\"t\":\"row {n}\"}}\n"))
        .collect();
    fs::write(at("a.csv"), &text).unwrap();
    fs::write(at("b.tsv"), text.replace(',', "\t")).unwrap();
    fs::write(at("c.csv.gz"), gzip(text.as_bytes())).unwrap();
    fs::write(at("d.csv.zst"), zstandard(text.as_bytes())).unwrap();
    fs::write(at("e.ndjson"), &lines).unwrap();
    fs::write(at("f.jsonl.gz"), gzip(lines.as_bytes())).unwrap();
    write_rows(&at("g.parquet"), 0, 3000);
    let mut file = FileWriter::try_new(File::create(at("h.arrow")).unwrap(), &schema()).unwrap();
    let mut stream =
        StreamWriter::try_new(File::create(at("i.arrows")).unwrap(), &schema()).unwrap();
    for start in 0..3 {
        file.write(&batch(start * 1000, 1000)).unwrap();
        stream.write(&batch(start * 1000, 1000)).unwrap();
    }
    file.finish().unwrap();
    stream.finish().unwrap();
    // By content, where the extension is missing or wrong.
    fs::copy(at("g.parquet"), at("j")).unwrap();
    fs::copy(at("h.arrow"), at("k.csv")).unwrap();
    fs::copy(at("c.csv.gz"), at("l")).unwrap();
    fs::write(
        at("m.csv"),
        "n,t\n0,\"two\nlines\"\n1,\"a \"\"quote\"\"\"\n",
    )
    .unwrap();

    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    for (name, format, rows) in [
        ("a", "csv", None),
        ("b", "tsv", None),
        ("c", "csv", None),
        ("d", "csv", None),
        ("e", "ndjson", None),
        ("f", "ndjson", None),
        ("g", "parquet", Some(3000)),
        ("h", "arrow", Some(3000)),
        ("i", "arrows", Some(3000)),
        ("j", "parquet", Some(3000)),
        ("k", "arrow", Some(3000)),
        ("l", "csv", None),
    ] {
        let table = server.json(&format!("/v1/tables/{name}")).await;
        assert_eq!(
            (table["format"].as_str(), table["rows"].as_u64()),
            (Some(format), rows),
            "{name}"
        );
        assert!(table["bytes"].as_u64() > Some(0) && table["version"].is_string());
        let read = server.get(&format!("/v1/tables/{name}/rows")).await;
        assert_eq!(read.header("x-result-order"), "partition");
        assert!(read.has_numbers(0..3000), "{name}");
        assert_eq!(read.rows().column(1), batch(0, 3000).column(1), "{name}");
    }
    assert_eq!(server.get("/v1/tables/m/rows").await.rows().num_rows(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_names_of_a_csv_differ() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("t.csv"), "a,a,a (2),,a\n1,2,3,4,5\n").unwrap();
    let server = Server::of_files(&[path(folder.path(), "t.csv")]).await;
    let schema = server.get("/v1/tables/t/rows").await.rows().schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, ["a", "a (3)", "a (2)", "column_4", "a (4)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_csv_is_cut_and_stays_in_order() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.csv"), csv(1_500_000)).unwrap();
    let server = Server::of_files(&[path(folder.path(), "a.csv")]).await;
    assert!(
        server
            .get("/v1/tables/a/rows?columns=n")
            .await
            .has_numbers(0..1_500_000)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_text_names_file_line_and_remedy() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("early.csv", "n,t\n1,a\n2,b,c\n".into());
    write("late.csv", csv(40_000) + "1,2,3\n");
    write("short.csv", csv(30_000) + "1\n");
    write("quoted.csv", "n,t\n1,\"two\nlines\"\n\n2,b,c\n".into());
    write("latin.csv", "n,t\n1,a\n".into());
    let mut latin = fs::read(folder.path().join("latin.csv")).unwrap();
    latin.extend_from_slice(b"2,\xe9\n");
    fs::write(folder.path().join("latin.csv"), latin).unwrap();
    let lines: String = (0..30_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    write("cut.ndjson", lines + "{\"n\": \n");
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    for (number, (table, expected)) in [
        ("early", vec!["early.csv, line 3", "3 fields", "2"]),
        ("late", vec!["late.csv, line 40002", "3 fields"]),
        ("short", vec!["short.csv, line 30002", "1 fields"]),
        ("quoted", vec!["quoted.csv, line 5", "3 fields"]),
        ("latin", vec!["latin.csv, line 3", "UTF-8"]),
        ("cut", vec!["cut.ndjson, line 30001"]),
    ]
    .into_iter()
    .enumerate()
    {
        let id = id(number as u32);
        let outcome = server
            .get(&format!("/v1/tables/{table}/rows?id={id}"))
            .await;
        assert!(!outcome.is_complete(), "{table}");
        let record = server.until_state(&id, "failed").await;
        assert_eq!(record["error"]["code"], "broken_row", "{table}: {record}");
        let message = record["error"]["message"].as_str().unwrap();
        for part in expected {
            assert!(message.contains(part), "{table}: {message}");
        }
        assert!(
            !message.contains(&folder.path().display().to_string()),
            "{message}"
        );
        assert_ne!(record["error"]["hint"], "");
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[test]
fn names() {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("data/sub/.hidden")).unwrap();
    for name in [
        "data/a.csv",
        "data/a.tsv",
        "data/B.csv",
        "data/sub/c.csv",
        "data/.h.csv",
        "data/sub/.hidden/d.csv",
    ] {
        fs::write(folder.path().join(name), "x\ty,z\n1\t2,3\n").unwrap();
    }
    fs::write(folder.path().join("data/readme.md"), "# Not a table\n").unwrap();
    let names = |sources: &[String]| -> Vec<String> {
        let mut names: Vec<_> = open_all(sources)
            .unwrap()
            .into_iter()
            .map(|table| table.name)
            .collect();
        names.sort();
        names
    };
    let data = path(folder.path(), "data");
    assert_eq!(
        names(std::slice::from_ref(&data)),
        ["B", "a.csv", "a.tsv", "sub.c"]
    );
    assert_eq!(names(&[format!("{data}/*.csv")]), ["data"]);
    assert_eq!(names(&[format!("{data}/**/*.csv")]), ["data"]);
    assert_eq!(
        names(&[format!("mine={data}/a.csv"), format!("{data}/B.csv")]),
        ["B", "mine"]
    );
    assert_eq!(
        names(&[format!("{data}/a.csv"), format!("{data}/a.tsv")]),
        ["a.csv", "a.tsv"]
    );
}

#[test]
fn sources_are_refused() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("notes.md", b"# Not a table");
    write("cut.parquet", b"PAR1 and then nothing");
    write("empty.csv", b"");
    write("cut.arrow", b"ARROW1\0\0 and then nothing");
    fs::create_dir(folder.path().join("none")).unwrap();
    fs::create_dir(folder.path().join("mixed")).unwrap();
    write("mixed/a.csv", b"a\n1\n");
    write("mixed/b.csv", b"b\n1\n");
    for (source, part) in [
        ("missing.csv", "no such file"),
        ("notes.md", "unsupported file type"),
        ("cut.parquet", "cut.parquet"),
        ("cut.arrow", "cut.arrow"),
        ("empty.csv", "empty.csv"),
        ("none", "no file in it"),
        ("*.orc", "no file matches"),
        ("mixed/*.csv", "b.csv: it has the columns"),
    ] {
        let error = open_all(&[path(folder.path(), source)]).unwrap_err();
        let line = error.to_string();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(
            line.contains(part) && !line.contains('\n'),
            "{source}: {line}"
        );
    }
    for source in ["sc://h:1", "flightsql://h:1", "gopher://x"] {
        assert!(
            open_all(&[source.to_owned()])
                .unwrap_err()
                .to_string()
                .contains("give a file"),
            "{source}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_is_loaded_again() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.parquet");
    write_rows(&file, 0, 10);
    let server = Server::of_files(&[file.display().to_string()]).await;
    let before = server.json("/v1/tables/t").await;
    assert_eq!(before["rows"], 10);
    fs::remove_file(&file).unwrap();
    write_rows(&file, 100, 20);
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(100..120));
    assert_eq!(server.sql("select count(*) from t").await.numbers(), [20]);
    let after = server.json("/v1/tables/t").await;
    assert_eq!(after["rows"], 20);
    assert_ne!(before["version"], after["version"]);
    fs::remove_file(&file).unwrap();
    let gone = server.get("/v1/tables/t/rows").await;
    gone.assert_refused(409, "source_changed");
    write_rows(&file, 0, 5);
    assert_eq!(server.get("/v1/tables/t/rows").await.numbers().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_arrow_file_is_refused_and_the_server_stays_up() {
    let folder = TempDir::new().unwrap();
    let good = folder.path().join("good.arrow");
    let mut writer = FileWriter::try_new(File::create(&good).unwrap(), &schema()).unwrap();
    writer.write(&batch(0, 1000)).unwrap();
    writer.finish().unwrap();
    let bytes = fs::read(&good).unwrap();
    let mut random = Random(7);
    let mut sources = vec![good.display().to_string()];
    for number in 0..300 {
        let mut hostile = bytes.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(hostile.len() as u64) as usize;
            hostile[at] ^= 1 << random.below(8);
        }
        if random.below(4) == 0 {
            hostile.truncate(random.below(hostile.len() as u64) as usize);
        }
        let file = folder.path().join(format!("h{number}.arrow"));
        File::create(&file).unwrap().write_all(&hostile).unwrap();
        sources.push(file.display().to_string());
    }
    let tables: Vec<_> = sources
        .iter()
        .filter_map(|source| open_all(std::slice::from_ref(source)).ok())
        .flatten()
        .collect();
    let names: Vec<_> = tables.iter().map(|table| table.name.clone()).collect();
    assert!(names.len() < 300, "none is refused");
    let server = Server::of(tables).await;
    for name in &names {
        // A changed value cannot be detected, but a stream that ends as complete can be read.
        let outcome = server.get(&format!("/v1/tables/{name}/rows")).await;
        if outcome.is_complete() {
            outcome.rows();
        }
    }
    assert!(
        server
            .get("/v1/tables/good/rows")
            .await
            .has_numbers(0..1000)
    );
}

/// A stream that ends between two messages could be complete, if its producer did not write the marker. But
/// it could also be a part, and then rows would be missing without a sign.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_its_marker_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema()).unwrap();
    writer.write(&batch(0, 100)).unwrap();
    let num_bytes = writer.get_ref().len();
    writer.write(&batch(100, 200)).unwrap();
    let whole = writer.into_inner().unwrap();
    let cut = &whole[..num_bytes];
    let marker_first = [&MARKER[..], &whole].concat();
    fs::write(at("whole.arrows"), &whole).unwrap();
    let refused: [(&str, &[u8], &str); 4] = [
        ("cut", cut, "ends after 100 rows, at byte"),
        ("empty", &[], "is empty"),
        ("marker_first", &marker_first, "begins with"),
        ("zeros", &[0; 4096], "begins with"),
    ];
    for (name, bytes, words) in refused {
        let file = at(&format!("{name}.arrows"));
        fs::write(&file, bytes).unwrap();
        let error = open_all(&[file.display().to_string()]).unwrap_err();
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    let tables = server.json("/v1/tables").await;
    let tables = tables["tables"].as_array().unwrap().iter();
    let readable = tables.filter(|table| table["error"].is_null());
    assert!(readable.map(|table| &table["name"]).eq(["whole"]));
    assert!(
        server
            .get("/v1/tables/whole/rows")
            .await
            .has_numbers(0..300)
    );
    // Also when it is cut while it is served.
    fs::write(at("whole.arrows"), cut).unwrap();
    let problem = server.get("/v1/tables/whole/rows").await.problem();
    assert_eq!(problem["code"], "source_changed");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("without its end-of-stream marker"),
        "{detail}"
    );
}

#[test]
fn the_program_refuses_in_one_line() {
    let folder = TempDir::new().unwrap();
    let table = folder.path().join("t.csv");
    fs::write(&table, "a,b\n1,2\n").unwrap();
    let table = table.display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, code, part) in [
        (vec![], 2, "serve"),
        (vec!["serve", "/no/such/file.csv"], 2, "no such file"),
        (vec!["serve", &table, "--memory", "lots"], 2, "64MiB"),
        (vec!["serve", &table, "--listen", "nowhere"], 2, "HOST:PORT"),
        (
            vec!["serve", &table, "--listen", "0.0.0.0:0"],
            2,
            "--token-file",
        ),
        (
            vec!["serve", &table, "--token-file", "/no/such"],
            2,
            "--token-file",
        ),
        (
            vec!["serve", &table, "--allow-origin", "example.org"],
            2,
            "https://example.org",
        ),
        (vec!["serve", &table, "--frobnicate"], 2, "--frobnicate"),
        (vec!["serve", "gopher://x/y"], 2, "not a supported source"),
        (vec!["serve", &table, "--listen", &taken], 1, "in use"),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_colonnade"));
        program.args(&arguments);
        if !arguments.is_empty() && !arguments.contains(&"--listen") {
            // The default port may be in use.
            program.args(["--listen", "127.0.0.1:0"]);
        }
        let output = program.output().unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{arguments:?}: {line}");
        assert!(line.contains(part), "{arguments:?}: {line}");
        assert!(output.stdout.is_empty());
    }
}
