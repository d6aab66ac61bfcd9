//! Files whose pages or batches need more memory than there is, against the same files with enough of it.
//!
//! `COLONNADE_SEED` repeats a seed.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use colonnade_server::app::AppConfig;
use colonnade_server::source::open_all;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray,
    RecordBatch, StringArray, StringViewArray, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Int32Type, Int64Type};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

const NUM_CASES: usize = 12;
const FULL_CASES: usize = 400;

/// Values of one drawn type for rows `numbers`.
fn draw_column(random: &mut Random, numbers: &[i64]) -> ArrayRef {
    let salt = random.below(1000) as i64;
    let nulls = random.below(4) as i64;
    let is_valid = |n: i64| nulls == 0 || (n + salt) % (nulls + 2) != 0;
    let numbers = || numbers.iter().copied();
    let optional = || numbers().map(|n| is_valid(n).then_some(n * salt));
    let width = [1, 10, 3000][random.below(3) as usize];
    let text = |n: i64| is_valid(n).then(|| format!("{}{n}", "x".repeat((n % width) as usize)));
    match random.below(9) {
        0 => Arc::new(Int64Array::from_iter(optional())),
        1 => Arc::new(StringArray::from_iter(numbers().map(text))),
        2 => {
            let few = numbers().map(|n| is_valid(n).then(|| ["a", "bb", "ccc"][n as usize % 3]));
            Arc::new(few.collect::<DictionaryArray<Int32Type>>())
        }
        3 => Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
            numbers().map(|n| is_valid(n).then(|| (0..n % 4).map(Some).collect::<Vec<_>>())),
        )),
        4 => {
            let inner: ArrayRef = Arc::new(Int64Array::from_iter(optional()));
            let texts: ArrayRef = Arc::new(StringArray::from_iter(numbers().map(text)));
            Arc::new(StructArray::from(vec![
                (Arc::new(Field::new("k", DataType::Int64, true)), inner),
                (Arc::new(Field::new("t", DataType::Utf8, true)), texts),
            ]))
        }
        5 => Arc::new(BooleanArray::from_iter(
            numbers().map(|n| is_valid(n).then_some(n % 2 == 0)),
        )),
        6 => Arc::new(StringViewArray::from_iter(numbers().map(text))),
        7 => Arc::new(Float64Array::from_iter(
            optional().map(|n| n.map(|n| n as f64 / 3.0)),
        )),
        _ => Arc::new(Decimal128Array::from_iter(
            optional().map(|n| n.map(i128::from)),
        )),
    }
}

fn draw_properties(random: &mut Random) -> WriterProperties {
    let codecs = [Compression::UNCOMPRESSED, Compression::SNAPPY];
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(1 + random.below(300) as usize))
        .set_data_page_row_count_limit(1 + random.below(100) as usize)
        .set_write_batch_size(1 + random.below(20) as usize)
        .set_dictionary_enabled(random.below(2) == 0)
        .set_compression(codecs[random.below(2) as usize])
        .set_offset_index_disabled(random.below(2) == 0)
        .build()
}

/// Writes an Arrow file of drawn batches and compression.
fn write_arrow(random: &mut Random, file: File, batch: &RecordBatch) {
    let codecs = [
        None,
        Some(CompressionType::ZSTD),
        Some(CompressionType::LZ4_FRAME),
    ];
    let codec = codecs[random.below(3) as usize];
    let options = IpcWriteOptions::default()
        .try_with_compression(codec)
        .unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
    let mut start = 0;
    while start < batch.num_rows() {
        let length = (1 + random.below(400) as usize).min(batch.num_rows() - start);
        writer.write(&batch.slice(start, length)).unwrap();
        start += length;
    }
    writer.finish().unwrap();
}

/// Writes files with column `n`, the number of the row, and drawn ones below folders `part=0` and so on. Returns the
/// number of rows.
fn draw_files(random: &mut Random, folder: &Path) -> i64 {
    let types = random.0;
    let num_columns = 1 + random.below(12);
    let is_arrow = random.below(3) == 0;
    let mut end = 0;
    for part in 0..=random.below(2) {
        let start = end;
        end += 1 + random.below(500) as i64;
        let numbers: Vec<i64> = (start..end).collect();
        let mut types = Random(types);
        let mut columns: Vec<(String, ArrayRef)> = (0..num_columns)
            .map(|k| (format!("c{k}"), draw_column(&mut types, &numbers)))
            .collect();
        let place = (types.0 % num_columns) as usize;
        columns.insert(place, ("n".to_owned(), Arc::new(Int64Array::from(numbers))));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let folder = folder.join(format!("part={part}"));
        fs::create_dir_all(&folder).unwrap();
        if is_arrow {
            write_arrow(
                random,
                File::create(folder.join("a.arrow")).unwrap(),
                &batch,
            );
            continue;
        }
        let file = File::create(folder.join("a.parquet")).unwrap();
        let properties = Some(draw_properties(random));
        let mut writer = ArrowWriter::try_new(file, batch.schema(), properties).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    end
}

async fn server(sources: &[String], memory_bytes: u64) -> Server {
    let config = AppConfig {
        memory_bytes,
        engine_program: None,
        ..config()
    };
    Server::start(&config, open_all(sources).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn little_memory_gives_the_same_rows() {
    let seed = setting("COLONNADE_SEED").unwrap_or(1);
    println!("COLONNADE_SEED={seed}");
    let mut random = Random(seed | 1 << 40);
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    let num_cases = if is_full { FULL_CASES } else { NUM_CASES };
    for case in 0..num_cases {
        let folder = TempDir::new().unwrap();
        let num_rows = draw_files(&mut random, folder.path());
        let sources = [format!("t={}", folder.path().display())];
        let ample = server(&sources, 1 << 30).await;
        let memory_bytes = [1, 64 << 10, 1 << 20][random.below(3) as usize];
        let scarce = server(&sources, memory_bytes).await;
        for _ in 0..6 {
            let (a, b) = (random.below(600), random.below(600));
            let body = match random.below(5) {
                0 => json!({ "table": "t" }),
                1 => {
                    json!({ "table": "t", "offset": a, "limit": b, "columns": ["c0", "n", "part"] })
                }
                2 => json!({ "table": "t", "offset": a }),
                3 => {
                    json!({ "sql": format!("select *, n + 1 from t where n > {a} and n % 3 <> 1") })
                }
                _ => json!({ "sql": format!("select c0, n from t limit {b}") }),
            };
            let [expected, found] = [ample.post(&body).await, scarce.post(&body).await];
            let context = format!("case {case}, {memory_bytes} bytes, {num_rows} rows: {body}");
            assert!(found.is_complete(), "{context}: {}", found.problem());
            let [expected, found] = [expected.rows(), found.rows()];
            assert_eq!(expected.schema(), found.schema(), "{context}");
            assert_eq!(expected.columns(), found.columns(), "{context}");
        }
    }
}
