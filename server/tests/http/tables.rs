//! Descriptions of tables.

use std::fs::File;

use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_parquet_table_says_how_it_is_stored() {
    let folder = TempDir::new().unwrap();
    let entry = KeyValue::new("origin".to_owned(), "a test".to_owned());
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("somebody".to_owned())
        .set_key_value_metadata(Some(vec![entry]))
        .build();
    let file = File::create(folder.path().join("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema(), Some(properties)).unwrap();
    writer.write(&batch(0, 2500)).unwrap();
    writer.close().unwrap();
    std::fs::write(folder.path().join("u.csv"), "n\n1\n").unwrap();

    let server = Server::of_files(&[
        path(folder.path(), "t.parquet"),
        path(folder.path(), "u.csv"),
    ])
    .await;
    let table = server.json("/v1/tables/t").await;
    assert_eq!(table["rows"], 2500);
    let facts = &table["parquet"];
    assert_eq!(
        (&facts["files"], &facts["files_read"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(facts["created_by"], json!(["somebody"]));
    assert_eq!(facts["metadata"], json!([["origin", "a test"]]));
    assert_eq!(facts["num_row_groups"], 3);
    let groups = facts["row_groups"].as_array().unwrap();
    let rows: Vec<_> = groups.iter().map(|group| group["rows"].clone()).collect();
    assert_eq!(rows, [1000, 1000, 500]);
    let columns = facts["columns"].as_array().unwrap();
    assert_eq!(columns.len(), schema().fields().len());
    for (column, field) in columns.iter().zip(schema().fields()) {
        assert_eq!(column["name"], field.name().as_str());
        assert_eq!(column["compression"], json!(["ZSTD"]));
        assert_eq!(column["statistics"], true);
        assert!(!column["encodings"].as_array().unwrap().is_empty());
    }
    let of_columns: i64 = columns.iter().map(|c| c["bytes"].as_i64().unwrap()).sum();
    let of_groups: i64 = groups.iter().map(|g| g["bytes"].as_i64().unwrap()).sum();
    assert_eq!(of_columns, of_groups);

    // Other formats and the list do not have it.
    assert!(server.json("/v1/tables/u").await.get("parquet").is_none());
    let list = server.json("/v1/tables").await;
    let listed = list["tables"].as_array().unwrap();
    assert!(listed.iter().all(|table| table.get("parquet").is_none()));
}
