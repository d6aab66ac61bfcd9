//! Open files, as Linux lists them.

use std::fs;
use std::path::{Path, PathBuf};

use colonnade_server::AppConfig;
use serde_json::json;

use crate::support::*;

/// Files of this folder that are deleted but open.
fn deleted_but_open(folder: &Path) -> Vec<PathBuf> {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let deleted = |link: &PathBuf| {
        link.starts_with(folder) && link.display().to_string().ends_with("(deleted)")
    };
    links.filter(deleted).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_tables_take_no_disk() {
    let folder = tempfile::tempdir().unwrap();
    let config = AppConfig {
        writable: true,
        data_dir: Some(folder.path().to_owned()),
        ..config()
    };
    let server = Server::start(&config, Vec::new()).await;
    for number in 0..6 {
        let csv = [("content-type", "text/csv")];
        let put = server
            .ask("PUT", "/v1/tables/t", &csv, b"n\n3\n1\n2\n")
            .await;
        assert!(put.status == 200 || put.status == 201);
        let sorted = json!({ "table": "t", "sort": ["n"], "id": id(number) });
        assert_eq!(server.post(&sorted).await.numbers(), [1, 2, 3]);
        let path = format!("/v1/query/{}", id(number));
        assert_eq!(server.ask("DELETE", &path, &[], b"").await.status, 204);
    }
    let still_open = || deleted_but_open(folder.path());
    until(
        || still_open().is_empty(),
        "a replaced table keeps its file open",
    )
    .await;
}
