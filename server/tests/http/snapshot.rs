//! Files that change while they are served, and files outside the source.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;
use tempfile::TempDir;

use crate::support::*;

const NUM_ROWS: i64 = 2_000_000;

/// Writes the same number of rows and, in most formats, of bytes for any `start`.
fn write(path: &Path, start: i64, num_rows: i64) {
    let file = File::create(path).unwrap();
    // Batches of a size at which those of an Arrow file are sent as they are stored.
    let batches = (0..num_rows / 25_000).map(|k| batch(start + k * 25_000, 25_000));
    match path.extension().and_then(|e| e.to_str()) {
        Some("parquet") => {
            let mut writer = ArrowWriter::try_new(file, schema(), None).unwrap();
            for batch in batches {
                writer.write(&batch).unwrap();
                writer.flush().unwrap();
            }
            writer.close().unwrap();
        }
        Some("arrow") => {
            let mut writer = FileWriter::try_new(file, &schema()).unwrap();
            batches.for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        Some("arrows") => {
            let mut writer = StreamWriter::try_new(file, &schema()).unwrap();
            batches.for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        _ => {
            let mut file = std::io::BufWriter::new(file);
            writeln!(file, "n,t").unwrap();
            (start..start + num_rows).for_each(|n| writeln!(file, "{n},row {n}").unwrap());
            file.flush().unwrap();
        }
    }
}

/// An Arrow file of one row.
fn write_arrow(path: &Path, number: i64) {
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &schema()).unwrap();
    writer.write(&batch(number, 1)).unwrap();
    writer.finish().unwrap();
}

type Change = fn(&Path);

const CHANGES: [(&str, Change); 5] = [
    ("replaced", |path| {
        let other = path.with_file_name("new");
        let new = other.with_extension(path.extension().unwrap());
        write(&new, 5_000_000, NUM_ROWS);
        fs::rename(new, path).unwrap();
    }),
    ("rewritten", |path| write(path, 5_000_000, NUM_ROWS)),
    // As `rsync --inplace --times` does.
    ("rewritten in its old time", |path| {
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        write(path, 5_000_000, NUM_ROWS);
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    }),
    ("cut", |path| {
        let file = File::options().write(true).open(path).unwrap();
        let num_bytes = file.metadata().unwrap().len();
        file.set_len(num_bytes / 2).unwrap();
    }),
    ("appended", |path| {
        let mut file = File::options().append(true).open(path).unwrap();
        file.write_all(b"7,row 7\n").unwrap();
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_of_one_state_of_a_file_or_there_is_no_marker() {
    let mut number = 200;
    for kind in ["parquet", "arrow", "arrows", "csv"] {
        for (name, change) in CHANGES {
            let folder = TempDir::new().unwrap();
            let file = folder.path().join(format!("t.{kind}"));
            write(&file, 1_000_000, NUM_ROWS);
            let config = AppConfig {
                stream_memory_bytes: 1 << 20,
                ..config()
            };
            let tables = open_all(&[file.display().to_string()]).unwrap();
            let server = Server::start(&config, tables).await;
            number += 1;
            let id = id(number);
            let mut response = server.open(&format!("/v1/tables/t/rows?id={id}")).await;
            let first = response.chunk().await.unwrap().unwrap();
            change(&file);
            let rest = read(response).await;
            let body = [&first[..], &rest.body].concat();
            assert!(!rest.is_whole && !body.ends_with(&MARKER), "{kind} {name}");
            let record = server.until_state(&id, "failed").await;
            assert_eq!(record["error"]["code"], "source_changed", "{kind} {name}");
            let mut next = 1_000_000;
            let reader = StreamReader::try_new(body.as_slice(), None).unwrap();
            for batch in reader.map_while(Result::ok) {
                let read = numbers(&batch, 0);
                assert!(
                    read.into_iter().eq(next..next + batch.num_rows() as i64),
                    "{kind} {name}"
                );
                next += batch.num_rows() as i64;
            }
            assert!(next < 1_000_000 + NUM_ROWS, "{kind} {name}");
            let again = server.get("/v1/tables/t/rows?offset=3&limit=2").await;
            match (name, kind) {
                ("replaced" | "rewritten" | "rewritten in its old time", _) => {
                    assert_eq!(again.numbers(), [5_000_003, 5_000_004], "{kind} {name}");
                }
                (_, "csv") => assert_eq!(again.numbers(), [1_000_003, 1_000_004], "{name}"),
                ("appended", "arrows") => assert_eq!(again.numbers(), [1_000_003, 1_000_004]),
                _ => assert_eq!(again.code(), "source_changed", "{kind} {name}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_reader_whose_file_was_replaced_fails() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.parquet");
    write(&file, 1_000_000, NUM_ROWS);
    let config = AppConfig {
        stall_timeout: Duration::from_millis(10),
        ..config()
    };
    let server = Server::start(
        &config,
        open_all(&[path(folder.path(), "t.parquet")]).unwrap(),
    )
    .await;
    let response = server
        .open(&format!("/v1/tables/t/rows?id={}", id(1)))
        .await;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let metrics = server.get("/metrics").await;
        if String::from_utf8_lossy(&metrics.body).contains("\ncolonnade_stream_slots_taken 0\n") {
            break;
        }
        assert!(Instant::now() < deadline, "it holds its slot");
    }
    CHANGES[0].1(&file);
    assert!(!read(response).await.is_whole);
    let record = server.until_state(&id(1), "failed").await;
    assert_eq!(record["error"]["code"], "source_changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_may_have_more_files_than_descriptors_are_kept() {
    let folder = TempDir::new().unwrap();
    for number in 0..300 {
        write_rows(
            &folder.path().join(format!("{number:03}.parquet")),
            number,
            1,
        );
    }
    let server = Server::of_files(&[format!("t={}/*.parquet", folder.path().display())]).await;
    assert!(server.get("/v1/tables/t/rows").await.has_numbers(0..300));
    let part = server.get("/v1/tables/t/rows?offset=250&limit=20").await;
    assert!(part.has_numbers(250..270));
    write_rows(&folder.path().join("260.parquet"), 7000, 2);
    let part = server.get("/v1/tables/t/rows?offset=259&limit=4").await;
    assert_eq!(part.numbers(), [259, 7000, 7001, 261]);
}

/// More files than a request looks at.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_replaced_file_among_thousands_are_not_sent() {
    for kind in ["parquet", "arrow"] {
        let folder = TempDir::new().unwrap();
        let file = |number: i64| folder.path().join(format!("{number:04}.{kind}"));
        let small = |path: &Path, number: i64| match kind {
            "parquet" => write_rows(path, number, 1),
            _ => write_arrow(path, number),
        };
        (0..1_200).for_each(|number| small(&file(number), number));
        let server = Server::of_files(&[format!("t={}/*.{kind}", folder.path().display())]).await;
        let window = "/v1/tables/t/rows?limit=3";
        let mut last = vec![0, 1, 2];
        for number in 7_000..7_005 {
            // Its rows are kept for the next request.
            assert_eq!(server.get(window).await.numbers(), last, "{kind}");
            small(&folder.path().join("new"), number);
            fs::rename(folder.path().join("new"), file(1)).unwrap();
            let outcome = server.get(window).await;
            last = vec![0, number, 2];
            if outcome.status != 200 {
                assert_eq!(outcome.code(), "source_changed", "{kind}");
            } else {
                assert_eq!(outcome.numbers(), last, "{kind}");
            }
        }
    }
}

#[cfg(unix)]
fn names(sources: &[String]) -> Vec<String> {
    let tables = open_all(sources).unwrap();
    let mut names: Vec<_> = tables.into_iter().map(|table| table.name).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn links_do_not_lead_out_of_a_directory() {
    use std::os::unix::fs::symlink;
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("data/sub")).unwrap();
    fs::write(at("secret.csv"), "n\n1\n").unwrap();
    fs::write(at("data/own.csv"), "n\n2\n").unwrap();
    fs::write(at("data/sub/deep.csv"), "n\n3\n").unwrap();
    symlink(at("secret.csv"), at("data/out.csv")).unwrap();
    symlink("../secret.csv", at("data/relative.csv")).unwrap();
    symlink("nowhere.csv", at("data/dangling.csv")).unwrap();
    symlink("loop.csv", at("data/loop.csv")).unwrap();
    symlink(folder.path(), at("data/up")).unwrap();
    symlink("sub/deep.csv", at("data/inside.csv")).unwrap();
    fs::hard_link(at("data/own.csv"), at("data/hard.csv")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(at("data/fifo.csv"))
        .status();
    assert!(fifo.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(at("data/socket.csv")).unwrap();

    let data = path(folder.path(), "data");
    assert_eq!(
        names(std::slice::from_ref(&data)),
        ["hard", "inside", "own", "sub.deep"]
    );
    // A named source is served, even if it is a link or below one.
    symlink("data", at("alias")).unwrap();
    assert_eq!(names(&[path(folder.path(), "alias")]).len(), 4);
    assert_eq!(names(&[format!("{data}/out.csv")]), ["out"]);
    assert_eq!(names(&[format!("{data}/../secret.csv")]), ["secret"]);
    let by_glob = open_all(&[format!("{data}/*.csv")]).unwrap();
    let server = Server::of(by_glob).await;
    let mut rows = server.get("/v1/tables/data/rows").await.numbers();
    rows.sort_unstable();
    assert_eq!(rows, [2, 2, 3]);
    for name in [
        "data/fifo.csv",
        "data/socket.csv",
        "data/dangling.csv",
        "data/loop.csv",
    ] {
        let error = open_all(&[path(folder.path(), name)]).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{name}: {error}");
    }

    // A file that becomes a link out of the directory is not followed either.
    let server = Server::of_files(&[data]).await;
    assert_eq!(server.get("/v1/tables/own/rows").await.numbers(), [2]);
    fs::remove_file(at("data/own.csv")).unwrap();
    symlink(at("secret.csv"), at("data/own.csv")).unwrap();
    assert_eq!(
        server.get("/v1/tables/own/rows").await.code(),
        "source_changed"
    );
    assert_eq!(server.get("/v1/tables/hard/rows").await.numbers(), [2]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_was_named_may_be_turned() {
    use std::os::unix::fs::symlink;
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old.csv"), "n\n1\n").unwrap();
    fs::write(at("new.csv"), "n\n2\n").unwrap();
    symlink("old.csv", at("current.csv")).unwrap();
    let server = Server::of_files(&[path(folder.path(), "current.csv")]).await;
    assert_eq!(server.get("/v1/tables/current/rows").await.numbers(), [1]);
    symlink("new.csv", at("next")).unwrap();
    fs::rename(at("next"), at("current.csv")).unwrap();
    assert_eq!(server.get("/v1/tables/current/rows").await.numbers(), [2]);
}
