//! Folders of table formats in places where they are easily missed, and folders that only look like them.

use std::fs;
use std::time::Instant;

use colonnade_server::AppConfig;
use tempfile::TempDir;

use crate::lakes::{assert_lake, assert_refused, names, put, write_delta};
use crate::support::*;
use crate::uploads;

async fn until_names(server: &Server, expected: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let names = names(server).await;
        if names == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{names:?}");
    }
}

/// A server that follows changes of a folder.
async fn following(config: &AppConfig, folder: &TempDir) -> Server {
    let sources = [folder.path().display().to_string()];
    Server::following(config, &sources).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_looks_like_a_lake_is_a_folder_of_files() {
    let folder = TempDir::new().unwrap();
    for (name, text) in [
        ("a/_delta_log", "a file\n"),
        ("b/metadata/notes.json", "{}\n"),
        ("b/metadata/metadata.json", "{}\n"),
        ("b/metadata/deep/v1.metadata.json", "{}\n"),
        ("c/_versions/notes.txt", "\n"),
        ("c/versions/1.manifest", "m"),
        ("d/_delta_log.bak/0.json", "{}\n"),
        ("e/hoodie/hoodie.properties", "\n"),
    ] {
        put(folder.path(), name, text);
    }
    fs::create_dir_all(folder.path().join("f/_versions")).unwrap();
    fs::create_dir_all(folder.path().join("f/metadata")).unwrap();
    let tables = ["a.t", "b.t", "c.t", "d.t", "e.t", "f.t"];
    for table in tables {
        let name = format!("{}.csv", table.replace('.', "/"));
        put(folder.path(), &name, "n\n1\n2\n");
    }
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    let found = names(&server).await;
    assert!(
        tables
            .iter()
            .all(|table| found.iter().any(|name| name == table)),
        "{found:?}"
    );
    for table in tables {
        let rows = server.get(&format!("/v1/tables/{table}/rows")).await;
        assert_eq!(rows.numbers(), [1, 2], "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_in_a_lake_is_a_part_of_it() {
    let folder = TempDir::new().unwrap();
    let outer = folder.path().join("outer");
    write_delta(&outer);
    write_delta(&outer.join("between/inner"));
    for version in 2..500 {
        put(&outer, &format!("_delta_log/{version:020}.json"), "{}\n");
    }
    put(&outer, "between/t.csv", "n,t\n1,a\n");
    let at = |name: &str| path(folder.path(), name);
    assert_lake(folder.path().display().to_string(), "outer", "delta").await;
    assert_lake(at("outer/between"), "between", "delta").await;
    assert_lake(at("outer/between/*.csv"), "between", "delta").await;
    assert_lake(at("outer/between/inner"), "inner", "delta").await;
    assert_lake(at("outer/**/*.parquet"), "outer", "delta").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_lakes_are_those_of_their_folders() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    for name in ["orders", "v1.0", "v1.5", "spark.parquet"] {
        write_delta(&data.join(name));
    }
    put(&data, "orders.csv", "n,t\n1,a\n");
    put(&data, "_staged/lake/_delta_log/0.json", "{}\n");
    let server = Server::of_files(&[data.display().to_string()]).await;
    let expected = ["orders", "orders.csv", "spark", "v1.0", "v1.5"];
    assert_eq!(names(&server).await, expected);
    for lake in ["orders", "spark", "v1.0", "v1.5"] {
        assert_refused(&server, lake, "delta").await;
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn links_to_lakes_lead_to_lakes() {
    use std::os::unix::fs::symlink;

    let folder = TempDir::new().unwrap();
    let lake = folder.path().join("lake");
    write_delta(&lake);
    let served = folder.path().join("served");
    put(&served, "t.csv", "n,t\n1,a\n");
    symlink(&lake, folder.path().join("link")).unwrap();
    symlink(&lake, served.join("inside")).unwrap();
    let at = |name: &str| path(folder.path(), name);
    assert_lake(at("link"), "lake", "delta").await;
    assert_lake(at("link/*.parquet"), "link", "delta").await;
    assert_lake(at("link/../lake/part-*"), "lake", "delta").await;
    // Links to folders are not followed.
    let server = Server::of_files(&[served.display().to_string()]).await;
    assert_eq!(names(&server).await, ["t"]);
    // The log can be elsewhere.
    let moved = folder.path().join("moved");
    fs::rename(lake.join("_delta_log"), &moved).unwrap();
    symlink(&moved, lake.join("_delta_log")).unwrap();
    assert_lake(at("lake"), "lake", "delta").await;
    // A link in a lake to a folder outside leads out of it.
    symlink(&served, lake.join("out")).unwrap();
    let server = Server::of_files(&[at("lake/out")]).await;
    assert_eq!(names(&server).await, ["t"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_comes_and_goes_beside_uploads() {
    let folder = TempDir::new().unwrap();
    let data = TempDir::new().unwrap();
    put(folder.path(), "b.csv", "n,t\n1,a\n");
    put(folder.path(), "t/x=1/part.csv", "n\n1\n");
    put(folder.path(), "t/x=2/part.csv", "n\n2\n");
    let server = following(&uploads::writable(data.path()), &folder).await;
    assert_eq!(names(&server).await, ["b", "t"]);
    let upload = uploads::stream(&[batch(0, 3)]);
    assert_eq!(uploads::put(&server, "u", &upload).await.status, 201);

    // The table of a partitioned folder becomes a lake with the same name.
    put(folder.path(), "t/_delta_log/0.json", "{}\n");
    put(folder.path(), "u/_delta_log/0.json", "{}\n");
    until_names(&server, &["b", "t", "u", "u_2"]).await;
    assert_refused(&server, "t", "delta").await;
    assert_refused(&server, "u_2", "delta").await;
    assert!(server.get("/v1/tables/u/rows").await.has_numbers(0..3));
    let refused = uploads::put(&server, "u_2", &upload).await;
    refused.assert_refused(409, "name_in_use");

    fs::remove_dir_all(folder.path().join("t/_delta_log")).unwrap();
    fs::remove_dir_all(folder.path().join("u")).unwrap();
    until_names(&server, &["b", "t", "u"]).await;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rows = server.get("/v1/tables/t/rows").await;
        if rows.status == 200 {
            assert_eq!(rows.numbers(), [1, 2]);
            break;
        }
        assert!(Instant::now() < deadline);
    }
    assert_eq!(uploads::put(&server, "u_2", &upload).await.status, 201);
}

/// A glob in the working directory has no folder in its paths.
#[cfg(unix)]
#[test]
fn a_glob_in_the_working_directory_is_named_by_it() {
    use crate::program::tables_of;

    let folder = TempDir::new().unwrap();
    let lake = folder.path().join("lake");
    write_delta(&lake);
    let plain = folder.path().join("plain");
    put(&plain, "a.csv", "n,t\n1,a\n");
    put(&plain, "b.csv", "n,t\n2,a\n");
    for pattern in [
        "*.parquet",
        "./*.parquet",
        "part-?.parquet",
        "../lake/*.parquet",
    ] {
        let tables = tables_of(&lake, pattern);
        assert_eq!(tables[0]["name"], "lake", "{pattern}");
        assert_eq!(tables[0]["format"], "delta", "{pattern}");
    }
    for pattern in ["*.csv", "./[ab].csv"] {
        let tables = tables_of(&plain, pattern);
        assert_eq!(tables[0]["name"], "plain", "{pattern}");
        assert_eq!(tables[0]["bytes"], 16, "{pattern}");
    }
}
