//! What exceeds the memory goes on on disk, with the same rows.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::DataType;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use futures::future::join_all;
use serde_json::json;

use crate::compare::decode;
use crate::oracle;
use crate::program::{Ending, Program, Reader, alone};
use crate::random::Random;
use crate::tables;

/// 900,000 rows, 200 MB as Arrow.
const SCALE: f64 = 0.15;

/// A statement gets at most 60 MiB of it for what it can also do on disk.
const MEMORY: &str = "256MiB";

const GROUP_ROWS: usize = 1 << 16;

const ORACLE_BYTES: usize = 16 << 30;

const PATIENCE: Duration = Duration::from_secs(120);

/// Each has one order of its rows, of which all columns are integers.
const STATEMENTS: [&str; 5] = [
    "select l_orderkey, l_linenumber from lineitem order by l_comment, l_orderkey, l_linenumber",
    "select l_orderkey, l_linenumber from lineitem \
     order by l_shipmode desc, l_extendedprice, l_orderkey, l_linenumber",
    "select l_orderkey, l_linenumber, row_number() over (order by l_comment, l_orderkey, l_linenumber) n, \
     rank() over (partition by l_suppkey order by l_extendedprice) r from lineitem order by 1, 2",
    "select min(l_orderkey) k, count(*) c from lineitem group by l_comment order by k, c",
    "select l_orderkey, l_linenumber, length(wide) from \
     (select *, repeat(l_comment, 20) wide from lineitem where l_orderkey % 4 = 0) \
     order by wide, l_orderkey, l_linenumber",
];

/// The file of `lineitem` with texts as views. It is kept for the next run.
fn lineitem() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("views");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("lineitem.parquet");
    if !path.exists() {
        let unfinished = path.with_extension(std::process::id().to_string());
        let file = File::create(&unfinished).unwrap();
        let reader = tables::reader(SCALE, "lineitem");
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let mut writer = ArrowWriter::try_new(file, reader.schema(), Some(properties)).unwrap();
        for batch in reader {
            writer.write(&batch.unwrap()).unwrap();
        }
        writer.close().unwrap();
        fs::rename(unfinished, &path).unwrap();
    }
    path
}

/// The columns of all rows, as 64-bit integers.
fn columns(batches: &[RecordBatch]) -> Vec<ArrayRef> {
    let column = |index: usize| {
        let parts: Vec<_> = batches
            .iter()
            .map(|batch| cast(batch.column(index), &DataType::Int64).unwrap())
            .collect();
        concat(&Vec::from_iter(parts.iter().map(AsRef::as_ref))).unwrap()
    };
    (0..batches[0].num_columns()).map(column).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sorts_windows_and_groups_go_on_on_disk() {
    let _alone = alone().await;
    let path = lineitem();
    let folder = path.parent().unwrap();
    let file = path.display().to_string();
    let mut program = Program::start(folder, &[&file, "--memory", MEMORY]);
    let context = oracle::context(2, ORACLE_BYTES);
    oracle::register_parquet(&context, folder, "lineitem").await;
    for (number, sql) in STATEMENTS.iter().enumerate() {
        let id = Random::new(2, number as u64).uuid();
        let query = json!({ "sql": sql, "id": id });
        let ended = program.run(&query, Reader::Whole, PATIENCE);
        let ended = ended.await.unwrap();
        let Ending::Rows(stream) = ended else {
            panic!("{sql}: {ended:?}");
        };
        let expected = context.sql(sql).await.unwrap().collect().await.unwrap();
        let found = columns(&decode(&stream).unwrap());
        assert!(found == columns(&expected), "{sql}: the rows differ");
    }
    assert_eq!(program.death().await, None);
}

/// Each of them spills more than what all statements together may hold.
#[tokio::test(flavor = "multi_thread")]
async fn sorts_of_tables_at_the_same_time_come_in_turn() {
    let _alone = alone().await;
    let path = lineitem();
    let file = path.display().to_string();
    let mut program = Program::start(path.parent().unwrap(), &[&file, "--memory", MEMORY]);
    // Not more than results may be in progress: one more would be told that the server is busy.
    let keys = [
        "l_orderkey",
        "l_partkey",
        "l_comment",
        "l_shipdate",
        "l_extendedprice",
        "l_receiptdate",
    ];
    let sorts = keys.iter().enumerate().map(|(number, key)| {
        let query = json!({
            "table": "lineitem",
            "sort": [{ "column": key, "descending": number % 2 == 0 }],
            "id": Random::new(3, number as u64).uuid(),
        });
        let program = &program;
        async move { program.run(&query, Reader::Discards, PATIENCE).await }
    });
    for ended in join_all(sorts).await {
        assert!(matches!(ended, Ok(Ending::Rows(_))), "{ended:?}");
    }
    assert_eq!(program.death().await, None);
}
