//! Footers of Parquet files at a server with little memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::parquet::arrow::ArrowWriter;
use futures::future::try_join_all;

use crate::program::Program;

const NUM_COLUMNS: usize = 1000;

/// Writes a file of one row in each row group.
fn write(path: &Path, num_groups: usize) {
    let value: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let columns = (0..NUM_COLUMNS).map(|column| (format!("c{column}"), Arc::clone(&value)));
    let row = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, row.schema(), None).unwrap();
    for _ in 0..num_groups {
        writer.write(&row).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
}

/// A footer may have 8 MiB of the 16 MiB for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn footers_have_a_part_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    for (name, num_groups) in [("a", 10), ("b", 10), ("c", 10), ("large", 20)] {
        write(&folder.path().join(format!("{name}.parquet")), num_groups);
    }
    let source = folder.path().to_str().unwrap();
    let program = Program::start(folder.path(), &[source, "--memory", "64MiB"]);
    for name in ["a", "b", "c", "a"] {
        // Readers of one table share its footer, also while it takes the memory of another table's.
        let path = format!("/v1/tables/{name}/rows");
        let readers = (0..4).map(|_| program.get(&path));
        for (status, answer) in try_join_all(readers).await.unwrap() {
            assert_eq!(status, 200, "{name}: {answer}");
        }
    }
    let (_, table) = program.get("/v1/tables/large").await.unwrap();
    let error = table["error"].to_string();
    assert!(error.contains("20000 column chunks needs"), "{table}");
    assert!(error.contains("at most 8 MiB"), "{table}");
    assert!(error.contains("larger row groups"), "{table}");
}
