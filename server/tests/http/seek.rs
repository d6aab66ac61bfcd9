//! Requests that begin in the middle of files.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use colonnade_core::wire::{Limits, SurveyedKind, survey_file, survey_stream};
use colonnade_server::backend::request::{Source, TableQuery};
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Int32Type, Schema, SchemaRef};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use crate::plain_scans::{engine, request};
use crate::result_bytes;
use crate::support::*;

/// Rows `[start, start + num_rows)` with nulls, booleans, nested and short values.
fn mixed(start: i64, num_rows: i64) -> RecordBatch {
    let rows = || start..start + num_rows;
    let text = || rows().map(|k| (k % 7 != 3).then(|| "x".repeat((k % 11) as usize)));
    let fields = Fields::from(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("t", DataType::Utf8, true),
    ]);
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter(
            rows().map(|k| (k % 5 != 0).then_some(k)),
        )),
        Arc::new(StringArray::from_iter(text())),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows())),
        Arc::new(StringArray::from_iter(text())),
        Arc::new(BooleanArray::from_iter(
            rows().map(|k| (k % 3 != 0).then_some(k % 2 == 0)),
        )),
        Arc::new(StructArray::new(fields.clone(), children, None)),
    ];
    let schema = Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("t", DataType::Utf8, true),
        Field::new("b", DataType::Boolean, true),
        Field::new("s", DataType::Struct(fields), true),
    ]);
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn write_parquet(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn tiny_pages(has_index: bool) -> WriterProperties {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(11))
        .set_data_page_row_count_limit(3)
        .set_write_batch_size(1)
        .set_offset_index_disabled(!has_index)
        .build()
}

fn lz4() -> IpcWriteOptions {
    IpcWriteOptions::default()
        .try_with_compression(Some(CompressionType::LZ4_FRAME))
        .unwrap()
}

fn write_arrow(path: &Path, batches: &[RecordBatch], options: IpcWriteOptions) {
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batches[0].schema(), options).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

fn write_stream(path: &Path, batches: &[RecordBatch], options: IpcWriteOptions) {
    let file = File::create(path).unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(file, &batches[0].schema(), options).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

/// `batch` in pieces of uneven sizes, some of them empty.
fn pieces(batch: &RecordBatch) -> Vec<RecordBatch> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for length in [3, 0, 17, 1, 0, 9, 40].iter().cycle() {
        let length = batch.num_rows().saturating_sub(start).min(*length);
        pieces.push(batch.slice(start, length));
        start += length;
        if start == batch.num_rows() {
            return pieces;
        }
    }
    unreachable!()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_offset_and_limit_is_a_slice_of_the_whole() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let all = mixed(0, 90);
    write_parquet(&at("indexed.parquet"), &all, tiny_pages(true));
    write_parquet(&at("plain.parquet"), &all, tiny_pages(false));
    write_arrow(&at("file.arrow"), &pieces(&all), IpcWriteOptions::default());
    write_arrow(&at("lz4.arrow"), &pieces(&all), lz4());
    write_stream(
        &at("stream.arrows"),
        &pieces(&all),
        IpcWriteOptions::default(),
    );
    write_stream(&at("lz4stream.arrows"), &pieces(&all), lz4());
    for kind in ["parquet", "arrow"] {
        fs::create_dir(at(kind)).unwrap();
        for (number, rows) in [(0, 13), (13, 0), (13, 30), (43, 47)].iter().enumerate() {
            let path = at(kind).join(format!("{number}.{kind}"));
            let some = mixed(rows.0, rows.1);
            match kind {
                "parquet" => write_parquet(&path, &some, tiny_pages(number % 2 == 0)),
                _ => write_arrow(&path, &pieces(&some), IpcWriteOptions::default()),
            }
        }
    }
    let mut sources: Vec<String> = [
        "indexed.parquet",
        "plain.parquet",
        "file.arrow",
        "lz4.arrow",
    ]
    .iter()
    .chain(&["stream.arrows", "lz4stream.arrows"])
    .map(|name| path(folder.path(), name))
    .collect();
    sources.push(format!("many={}/*.parquet", at("parquet").display()));
    sources.push(format!("several={}/*.arrow", at("arrow").display()));
    let server = Server::of_files(&sources).await;
    for table in [
        "indexed",
        "plain",
        "file",
        "lz4",
        "stream",
        "lz4stream",
        "many",
        "several",
    ] {
        let whole = server.get(&format!("/v1/tables/{table}/rows")).await;
        assert_eq!(whole.rows().columns(), all.columns(), "{table}");
        for offset in (0..100).step_by(7).chain([1, 8, 89, 90, 91, 5000]) {
            for limit in [0, 1, 2, 10, 37, 1000] {
                let part = server
                    .get(&format!(
                        "/v1/tables/{table}/rows?offset={offset}&limit={limit}"
                    ))
                    .await;
                assert_eq!(part.header("x-result-order"), "partition");
                let start = offset.min(90);
                let expected = all.slice(start, limit.min(90 - start));
                assert_eq!(
                    part.rows().columns(),
                    expected.columns(),
                    "{table} {offset} {limit}"
                );
            }
            let address = format!("/v1/tables/{table}/rows?offset={offset}&columns=t,n");
            let rest = server.get(&address);
            let expected = all.slice(offset.min(90), 90 - offset.min(90));
            let expected = expected.project(&[1, 0]).unwrap();
            assert_eq!(
                rest.await.rows().columns(),
                expected.columns(),
                "{table} {offset}"
            );
        }
        let sql = format!("select t as word, n, n as again from {table} limit 20 offset 30");
        let part = server.sql(&sql).await.rows();
        let expected = all.slice(30, 20).project(&[1, 0, 0]).unwrap();
        assert_eq!(part.columns(), expected.columns(), "{table}");
        assert_eq!(part.schema().field(0).name(), "word");
        assert_eq!(
            server
                .sql(&format!("select count(*) from {table}"))
                .await
                .numbers(),
            [90]
        );
    }
}

/// A batch of columns of every type, alone, in a struct, and in a list of structs. Their names are numbers.
fn every_type() -> RecordBatch {
    let fixture = result_bytes::fixture("every_type.arrows");
    let mut batches = StreamReader::try_new(fixture.as_slice(), None).unwrap();
    let batch = batches.next().unwrap().unwrap();
    let mut columns = batch.columns().to_vec();
    for column in batch.columns() {
        let field = Field::new("in", column.data_type().clone(), true);
        let nulls = (0..batch.num_rows()).map(|row| row % 4 != 1).collect();
        let inner = StructArray::new(vec![field].into(), vec![Arc::clone(column)], Some(nulls));
        let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
        let ones = OffsetBuffer::from_lengths(std::iter::repeat_n(1, batch.num_rows()));
        columns.push(Arc::new(inner.clone()));
        columns.push(Arc::new(ListArray::new(item, ones, Arc::new(inner), None)));
    }
    let columns = columns.into_iter().enumerate();
    let columns = columns.map(|(index, column)| (format!("c{index}"), column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The values of the only column of a stream, as text.
fn texts(outcome: &Outcome) -> Vec<String> {
    assert!(
        outcome.is_complete(),
        "{}",
        String::from_utf8_lossy(&outcome.body)
    );
    let batches = StreamReader::try_new(outcome.body.as_slice(), None).unwrap();
    let batches = batches.map(Result::unwrap);
    batches
        .flat_map(|batch| column_texts(batch.column(0)))
        .collect()
}

fn column_texts(column: &dyn Array) -> Vec<String> {
    let rows = 0..column.len();
    rows.map(|row| array_value_to_string(column, row).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_inside_a_batch_of_every_type() {
    let folder = TempDir::new().unwrap();
    let all = [every_type()];
    let at = |name: &str| folder.path().join(name);
    write_stream(&at("plain.arrows"), &all, IpcWriteOptions::default());
    write_stream(&at("lz4.arrows"), &all, lz4());
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    let num_rows = all[0].num_rows();
    for table in ["plain", "lz4"] {
        for (index, column) in all[0].columns().iter().enumerate() {
            let expected = column_texts(column);
            for (offset, limit) in [(0, 3), (1, 1), (5, 6), (9, 8), (num_rows - 2, 9)] {
                let address = format!(
                    "/v1/tables/{table}/rows?columns=c{index}&offset={offset}&limit={limit}"
                );
                let rows = texts(&server.get(&address).await);
                let end = num_rows.min(offset + limit);
                let data_type = column.data_type();
                assert_eq!(rows, expected[offset..end], "{address} {data_type}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_or_row_group_is_read_in_parts() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let all = mixed(0, 1_500_000);
    write_arrow(
        &at("a.arrow"),
        std::slice::from_ref(&all),
        IpcWriteOptions::default(),
    );
    let one_group = |has_index: bool, has_dictionary: bool| {
        WriterProperties::builder()
            .set_max_row_group_row_count(Some(usize::MAX))
            .set_compression(Compression::UNCOMPRESSED)
            .set_offset_index_disabled(!has_index)
            .set_dictionary_enabled(has_dictionary)
            .build()
    };
    write_parquet(&at("b.parquet"), &all, one_group(true, false));
    write_parquet(&at("c.parquet"), &all, one_group(false, false));
    write_parquet(&at("d.parquet"), &all, one_group(false, true));
    let sources = [folder.path().display().to_string()];
    let engine = engine(&folder, &sources);
    let server = Server::of_files(&sources).await;
    for table in ["a", "b", "c", "d"] {
        let query = TableQuery {
            table: table.to_owned(),
            ..TableQuery::default()
        };
        let request = request(Source::Table(query), 0, None);
        let num_partitions = engine
            .plan(&request, None, None)
            .await
            .unwrap()
            .partitions
            .len();
        assert!(
            num_partitions > 3,
            "{table} is read in {num_partitions} parts"
        );
        let whole = server.get(&format!("/v1/tables/{table}/rows")).await.rows();
        assert_eq!(whole.columns(), all.columns(), "{table}");
        for (offset, limit) in [
            (0, 10),
            (7, 3),
            (777_777, 1000),
            (1_499_990, 100),
            (700_001, 300_000),
        ] {
            let part = server
                .get(&format!(
                    "/v1/tables/{table}/rows?offset={offset}&limit={limit}"
                ))
                .await;
            let expected = all.slice(offset, limit.min(1_500_000 - offset));
            assert_eq!(
                part.rows().columns(),
                expected.columns(),
                "{table} {offset} {limit}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dictionaries_before_the_offset_count() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("d.arrows");
    let field = Field::new_dictionary("d", DataType::Int32, DataType::Utf8, true);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    // Each batch has a dictionary that replaces the one before.
    let batches: Vec<RecordBatch> = (0..6)
        .map(|batch| {
            let values = StringArray::from_iter_values((0..3).map(|v| format!("{batch}-{v}")));
            let keys = Int32Array::from_iter_values([2, 0, 1, 0]);
            let column = DictionaryArray::<Int32Type>::new(keys, Arc::new(values));
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column)]).unwrap()
        })
        .collect();
    write_stream(&file, &batches, IpcWriteOptions::default());
    let expected: Vec<String> = (0..6)
        .flat_map(|batch| [2, 0, 1, 0].map(|value| format!("{batch}-{value}")))
        .collect();
    let server = Server::of_files(&[file.display().to_string()]).await;
    for offset in 0..=24 {
        let rows = server
            .get(&format!("/v1/tables/d/rows?offset={offset}"))
            .await
            .rows();
        let texts = datafusion::arrow::compute::cast(rows.column(0), &DataType::Utf8).unwrap();
        let texts = texts.as_any().downcast_ref::<StringArray>().unwrap();
        let read: Vec<&str> = texts.iter().flatten().collect();
        assert_eq!(read, expected[offset..], "{offset}");
    }
}

/// The file is broken before the offset, so a read of that part would fail.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_before_the_offset_is_read() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let all = mixed(0, 4000);
    let snappy = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_compression(Compression::SNAPPY)
        .build();
    write_parquet(&at("p.parquet"), &all, snappy);
    let batches: Vec<_> = (0..4).map(|k| all.slice(k * 1000, 1000)).collect();
    write_arrow(&at("a.arrow"), &batches, lz4());
    write_stream(&at("s.arrows"), &batches, lz4());
    let scratch = |name: &str, start: u64, num_bytes: usize| {
        let mut file = File::options().write(true).open(at(name)).unwrap();
        file.seek(SeekFrom::Start(start)).unwrap();
        file.write_all(&vec![0xEE; num_bytes]).unwrap();
    };
    scratch("p.parquet", 4, 4000);
    for name in ["a.arrow", "s.arrows"] {
        let file = File::open(at(name)).unwrap();
        let survey = match name {
            "a.arrow" => survey_file(file, &Limits::default()),
            _ => survey_stream(file, &Limits::default()),
        };
        let first = survey.unwrap().messages[0];
        scratch(
            name,
            first.body_start,
            (first.end - first.body_start) as usize,
        );
    }
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    for (number, table) in ["p", "a", "s"].iter().enumerate() {
        let part = server
            .get(&format!("/v1/tables/{table}/rows?offset=1000"))
            .await;
        assert_eq!(
            part.rows().columns(),
            all.slice(1000, 3000).columns(),
            "{table}"
        );
        let id = id(100 + number as u32);
        let outcome = server
            .get(&format!("/v1/tables/{table}/rows?id={id}"))
            .await;
        assert!(!outcome.is_complete(), "{table}");
        let record = server.until_state(&id, "failed").await;
        assert_eq!(
            record["error"]["code"], "source_unreadable",
            "{table}: {record}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_compressed_bodies_are_capped() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let claims = [
        i64::MAX,
        i64::MIN,
        -2,
        1 << 40,
        4 << 30,
        (4 << 30) - 1,
        1,
        0,
    ];
    for (number, claim) in claims.iter().enumerate() {
        for name in ["a.arrow", "s.arrows"] {
            let target = at(&format!("c{number}{name}"));
            match name {
                "a.arrow" => write_arrow(&target, &[batch(0, 5000)], lz4()),
                _ => write_stream(&target, &[batch(0, 5000)], lz4()),
            }
            let file = File::open(&target).unwrap();
            let survey = match name {
                "a.arrow" => survey_file(file, &Limits::default()),
                _ => survey_stream(file, &Limits::default()),
            };
            let message = survey.unwrap().messages[0];
            assert!(matches!(
                message.kind,
                SurveyedKind::Batch {
                    num_rows: 5000,
                    is_compressed: true
                }
            ));
            let mut file = File::options().write(true).open(&target).unwrap();
            file.seek(SeekFrom::Start(message.body_start)).unwrap();
            file.write_all(&claim.to_le_bytes()).unwrap();
        }
    }
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    let list = server.json("/v1/tables").await;
    let tables = list["tables"].as_array().unwrap();
    assert_eq!(tables.len(), claims.len() * 2);
    for (number, table) in (1..).zip(tables) {
        let name = table["name"].as_str().unwrap();
        let path = format!("/v1/tables/{name}/rows?id={}", id(number));
        assert!(!server.get(&path).await.is_complete(), "{name}");
        // A failure can take longer than the status waits.
        let record = server.until_state(&id(number), "failed").await;
        assert_eq!(record["error"]["code"], "source_unreadable", "{name}");
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}
