//! Parquet files of other writers: old types, annotations, encryption and damaged pages.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use colonnade_server::source::open_all;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryArray, Int64Array, ListArray, RecordBatch, StructArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, Schema, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use datafusion::parquet::arrow::arrow_writer::ArrowWriterOptions;
use datafusion::parquet::arrow::{ArrowWriter, encode_arrow_schema};
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int96, Int96Type,
};
use datafusion::parquet::file::metadata::KeyValue;
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

/// Writes column `t`, a row group for each time: seconds since 1970 and nanoseconds, and then a null.
fn write_int96(path: &Path, times: &[(i64, i64)]) {
    let schema = parse_message_type("message rows { optional int96 t; }").unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    for time in times {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<Int96Type>();
        let levels = Some(&[1, 0][..]);
        typed.write_batch(&[int96(*time)], levels, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
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
    for (filter, expected) in [
        ("extract(year from t) > 9000", &far[1..2]),
        ("t > timestamp '2100-01-01'", &far[1..2]),
        ("t < timestamp '1900-01-01'", &far[2..3]),
        ("t = '2020-09-13 12:26:40.123456'", &far[..1]),
        ("t <> '2020-09-13 12:26:40.123456'", &far[1..]),
    ] {
        let sql = format!("select t from far where {filter}");
        assert_eq!(micros(&server.sql(&sql).await.rows()), expected, "{sql}");
    }
    let nulls = server.sql("select t from far where t is null").await;
    assert_eq!(nulls.rows().num_rows(), 3);
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

#[tokio::test(flavor = "multi_thread")]
async fn annotated_columns_have_the_extension_type() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = "message rows {
        required fixed_len_byte_array(16) u (UUID);
        required binary j (JSON);
        required binary s (STRING);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let uuid = FixedLenByteArray::from(vec![7; 16]);
    let typed = column.typed::<FixedLenByteArrayType>();
    typed.write_batch(&[uuid], None, None).unwrap();
    column.close().unwrap();
    for text in ["{}", "text"] {
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<ByteArrayType>();
        typed
            .write_batch(&[ByteArray::from(text)], None, None)
            .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();

    let server = Server::of_files(&[path.display().to_string()]).await;
    for rows in [
        server.get("/v1/tables/t/rows").await.rows(),
        server.sql("select * from t").await.rows(),
    ] {
        let schema = rows.schema();
        let names = schema
            .fields()
            .iter()
            .map(|field| field.extension_type_name());
        assert!(names.eq([Some("arrow.uuid"), Some("arrow.json"), None]));
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

/// Writes columns as another writer would have that converts them from `schema`.
fn write_converted(path: &Path, rows: &RecordBatch, schema: &Schema) {
    let hint = KeyValue::new("ARROW:schema".to_owned(), encode_arrow_schema(schema));
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![hint]))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, rows.schema(), options).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

/// A value of the type, and null.
fn one_and_null(of: &DataType) -> ArrayRef {
    let child = |field: &Field| one_and_null(field.data_type());
    let valid = Some(NullBuffer::from(vec![true, false]));
    match of {
        DataType::List(item) => {
            let lengths = OffsetBuffer::from_lengths([2, 0]);
            Arc::new(ListArray::new(item.clone(), lengths, child(item), valid))
        }
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| child(field)).collect();
            Arc::new(StructArray::new(fields.clone(), children, valid))
        }
        DataType::FixedSizeBinary(_) => {
            let values = [Some([0, 0, 0, 7]), None].into_iter();
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 4).unwrap())
        }
        _ => cast(&Int64Array::from(vec![Some(1), None]), of).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_types_before_a_writer_converted_them_are_followed() {
    let seconds = |zone: &str| DataType::Timestamp(TimeUnit::Second, Some(zone.into()));
    let millis = |zone: &str| DataType::Timestamp(TimeUnit::Millisecond, Some(zone.into()));
    let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int8), Box::new(values));
    let list = |of: DataType| DataType::new_list(of, true);
    let pair = |of: DataType| DataType::Struct(vec![Field::new("x", of, true)].into());
    let (york, utc) = ("America/New_York", "UTC");
    // In the file, before its writer converted it, and as it is read.
    let cases = [
        (millis(utc), seconds(york), millis(york)),
        (list(millis(utc)), list(seconds(york)), list(millis(york))),
        (pair(millis(utc)), pair(seconds(york)), pair(millis(york))),
        (millis(utc), dictionary(seconds("+05:30")), millis("+05:30")),
        (
            DataType::Boolean,
            dictionary(DataType::Boolean),
            DataType::Boolean,
        ),
        (
            DataType::Float16,
            dictionary(DataType::Float16),
            DataType::Float16,
        ),
        (
            DataType::Decimal128(5, 2),
            dictionary(DataType::Decimal128(5, 2)),
            DataType::Decimal128(5, 2),
        ),
        (
            DataType::FixedSizeBinary(4),
            dictionary(DataType::FixedSizeBinary(4)),
            DataType::FixedSizeBinary(4),
        ),
        (
            pair(list(DataType::Float16)),
            pair(list(dictionary(DataType::Float16))),
            pair(list(DataType::Float16)),
        ),
        (
            DataType::Utf8,
            dictionary(DataType::Utf8),
            dictionary(DataType::Utf8),
        ),
    ];
    let schema = |of: Vec<&DataType>| {
        let fields = of.into_iter().enumerate();
        let fields = fields.map(|(n, of)| Field::new(n.to_string(), of.clone(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    };
    let stored = schema(cases.iter().map(|case| &case.0).collect());
    let before = schema(cases.iter().map(|case| &case.1).collect());
    let expected = schema(cases.iter().map(|case| &case.2).collect());
    let columns = cases.iter().map(|(stored, ..)| one_and_null(stored));
    let rows = RecordBatch::try_new(stored, columns.collect()).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    write_converted(&path, &rows, &before);
    let server = Server::of_files(&[path.display().to_string()]).await;
    for route in [
        "/v1/tables/t/rows",
        "/v1/tables/t/rows?offset=0&limit=9&filter=true",
    ] {
        let read = server.get(route).await.rows();
        let types = |schema: &Schema| -> Vec<_> {
            let fields = schema.fields().iter();
            fields.map(|field| field.data_type().clone()).collect()
        };
        assert_eq!(types(&read.schema()), types(&expected));
        for (column, field) in rows.columns().iter().zip(expected.fields()) {
            let expected = cast(column, field.data_type()).unwrap();
            let read = read.column_by_name(field.name()).unwrap();
            assert_eq!(&expected.to_data(), &read.to_data(), "{field}");
        }
    }
}
