//! Parquet files of other writers: old types, encryption and damaged pages.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use colonnade_server::source::open_all;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::data_type::{Int96, Int96Type};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

use crate::support::*;

/// Seconds since 1970 of 9999-12-31 03:00:00, which Spark writes.
const YEAR_9999: i64 = 253_402_225_200;

fn int96((seconds, nanos): (i64, i64)) -> Int96 {
    const DAY_SECONDS: i64 = 86_400;
    let day = 2_440_588 + seconds.div_euclid(DAY_SECONDS);
    let nanos = seconds.rem_euclid(DAY_SECONDS) * 1_000_000_000 + nanos;
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, day as u32);
    value
}

/// Writes column `t`; a time is seconds since 1970 and nanoseconds. Nulls are between the values.
fn write_int96(path: &Path, times: &[(i64, i64)]) {
    let schema = parse_message_type("message rows { optional int96 t; }").unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    let values: Vec<_> = times.iter().copied().map(int96).collect();
    let levels: Vec<_> = times.iter().flat_map(|_| [1, 0]).collect();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let typed = column.typed::<Int96Type>();
    typed.write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

/// Every second row of column 0.
fn micros(rows: &RecordBatch) -> Vec<i64> {
    let column = rows.column(0).as_primitive::<TimestampMicrosecondType>();
    column.iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn int96_has_the_unit_that_holds_its_values() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let old = (1_600_000_000, 123_456_000);
    write_int96(
        &at("far.parquet"),
        &[old, (YEAR_9999, 0), (-62_135_596_800, 1000)],
    );
    write_int96(&at("fine.parquet"), &[old, (-1, 999_999_999)]);
    write_int96(&at("plain.parquet"), &[old]);
    let one = |name: &str| at(&format!("{name}.parquet")).display().to_string();
    let sources = [
        one("far"),
        one("fine"),
        format!("two={}/[fp][al]*.parquet", folder.path().display()),
    ];
    let server = Server::of_files(&sources).await;
    let old_micros = 1_600_000_000_123_456;
    let far = [old_micros, YEAR_9999 * 1_000_000, -62_135_596_799_999_999];
    let rows = server.get("/v1/tables/far/rows").await.rows();
    assert_eq!(micros(&rows), far);
    assert_eq!(rows.num_rows(), 6);
    let rows = server
        .get("/v1/tables/far/rows?offset=2&limit=2")
        .await
        .rows();
    assert_eq!(micros(&rows), far[1..2]);
    let rows = server
        .sql("select t from far where extract(year from t) > 9000")
        .await
        .rows();
    assert_eq!(micros(&rows), far[1..2]);
    let rows = server.get("/v1/tables/two/rows").await.rows();
    assert_eq!(micros(&rows), [&far[..], &[old_micros]].concat());
    // The digits after the microseconds are kept.
    let rows = server.get("/v1/tables/fine/rows").await.rows();
    let fine = rows.column(0).as_primitive::<TimestampNanosecondType>();
    let nanos = [old_micros * 1000, -1];
    assert!(fine.iter().flatten().eq(nanos));
    assert_eq!(
        rows.column(0).data_type(),
        &DataType::Timestamp(TimeUnit::Nanosecond, None)
    );
}

#[test]
fn int96_that_no_unit_holds_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_int96(&at("1.parquet"), &[(0, 1)]);
    write_int96(&at("2.parquet"), &[(YEAR_9999, 0)]);
    write_int96(&at("both.parquet"), &[(0, 1), (YEAR_9999, 0)]);
    let both = at("both.parquet").display().to_string();
    let two = format!("two={}/[12].parquet", folder.path().display());
    for source in [both, two] {
        let error = open_all(std::slice::from_ref(&source)).unwrap_err();
        assert!(error.to_string().contains("INT96"), "{source}: {error}");
    }
}

#[test]
fn an_encrypted_file_is_called_encrypted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    write_rows(&path, 0, 10);
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len() - 4;
    bytes[..4].copy_from_slice(b"PARE");
    bytes[end..].copy_from_slice(b"PARE");
    fs::write(&path, bytes).unwrap();
    let error = open_all(&[path.display().to_string()]).unwrap_err();
    assert!(error.to_string().contains("encrypted"), "{error}");
}

/// The library that reads Parquet panics at some of these bytes.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_pages_are_the_fault_of_their_file() {
    let folder = TempDir::new().unwrap();
    let batch = batch(0, 40);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("n".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("t".into(), Encoding::DELTA_BYTE_ARRAY)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.flush().unwrap();
    let data_bytes = writer.bytes_written();
    let bytes = writer.into_inner().unwrap();
    for at in 4..data_bytes {
        let mut damaged = bytes.clone();
        damaged[at] = 0x7F;
        fs::write(folder.path().join(format!("t{at}.parquet")), damaged).unwrap();
    }
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    let mut num_refused = 0;
    for at in 4..data_bytes {
        for question in ["", "?sort=t"] {
            let address = format!("/v1/tables/t{at}/rows{question}");
            let outcome = server.get(&address).await;
            if outcome.status != 200 {
                assert_eq!(outcome.code(), "source_unreadable", "{address}");
                num_refused += 1;
            }
        }
    }
    assert!(num_refused > 10, "only {num_refused} are refused");
}
