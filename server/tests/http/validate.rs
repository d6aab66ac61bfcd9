//! Uploads that can be read, but do not follow the Arrow specification.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date64Array, Decimal128Array, Int64Array, RecordBatch, StringArray, StructArray,
    Time32SecondArray, Time64NanosecondArray, UnionArray,
};
use datafusion::arrow::datatypes::{DataType, Field, UnionFields};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use crate::uploads::{put, server, stream};

fn of(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("x", array)]).unwrap()
}

fn of_offsets(offsets: Vec<i32>) -> RecordBatch {
    let fields = UnionFields::from_fields([Field::new("n", DataType::Int64, true)]);
    let children: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![1, 2, 3]))];
    let ids = vec![0; offsets.len()];
    let union = UnionArray::try_new(fields, ids.into(), Some(offsets.into()), children);
    of(Arc::new(union.unwrap()))
}

fn of_decimals(values: Vec<i128>) -> RecordBatch {
    let decimals = Decimal128Array::from(values).with_precision_and_scale(3, 1);
    of(Arc::new(decimals.unwrap()))
}

/// Values of a type inside a struct, in the second batch.
fn of_times(last: i64) -> RecordBatch {
    let times: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![Some(0), None, Some(last)]));
    let field = Field::new("t", times.data_type().clone(), true);
    let inner = StructArray::new(vec![field].into(), vec![times], None);
    of(Arc::new(inner))
}

/// A stream of numbers whose buffer begins `shift` bytes later than its writer stated.
fn of_shifted_buffer(shift: i64) -> Vec<u8> {
    let mut bytes = stream(&[of(Arc::new(Int64Array::from(vec![1, 2, 3])))]);
    let buffer = |offset: i64| [offset.to_le_bytes(), 24_i64.to_le_bytes()].concat();
    // It follows the bitmap, if there is one.
    let (offset, at) = [0, 64]
        .into_iter()
        .find_map(|offset| {
            let mut windows = bytes.windows(16);
            Some((offset, windows.position(|bytes| bytes == buffer(offset))?))
        })
        .unwrap();
    bytes[at..at + 16].copy_from_slice(&buffer(offset + shift));
    bytes
}

/// A stream with a zstd frame whose header has these additional bits.
fn of_zstd(bits: u8) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(Some(CompressionType::ZSTD))
        .unwrap();
    let batch = of(Arc::new(StringArray::from(vec!["a text".repeat(99)])));
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    let mut bytes = writer.into_inner().unwrap();
    let magic = [0x28, 0xB5, 0x2F, 0xFD];
    let at = bytes.windows(4).position(|bytes| bytes == magic).unwrap();
    bytes[at + 4] |= bits;
    bytes
}

fn file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_finds_what_reading_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let dates = |ms| of(Arc::new(Date64Array::from(vec![0, ms])));
    let seconds = |s| of(Arc::new(Time32SecondArray::from(vec![0, s])));
    let day = 86_400_000_000_000;
    // A valid upload, one that is not, and words of the error.
    let cases: [(&str, Vec<u8>, Vec<u8>, &str); 7] = [
        (
            "date",
            stream(&[dates(86_400_000)]),
            stream(&[dates(5)]),
            "row 1",
        ),
        (
            "time",
            file(&seconds(86_399)),
            file(&seconds(86_400)),
            "row 1",
        ),
        (
            "struct",
            stream(&[of_times(0), of_times(day - 1)]),
            stream(&[of_times(0), of_times(day)]),
            "begins at row 3",
        ),
        (
            "decimal",
            stream(&[of_decimals(vec![999])]),
            stream(&[of_decimals(vec![1000])]),
            "column",
        ),
        (
            "union",
            stream(&[of_offsets(vec![0, 1, 1])]),
            stream(&[of_offsets(vec![0, 1, 0])]),
            "row 2",
        ),
        (
            "alignment",
            of_shifted_buffer(8),
            of_shifted_buffer(4),
            "multiple of 8",
        ),
        ("zstd", of_zstd(0), of_zstd(8), "begins at row 0"),
    ];
    for (name, valid, invalid, words) in &cases {
        for (bytes, parameter, status) in [
            (valid, "?validate=full", 201),
            (invalid, "", 200),
            (invalid, "?validate=full", 400),
        ] {
            let outcome = put(&server, &format!("{name}{parameter}"), bytes).await;
            let answer = String::from_utf8_lossy(&outcome.body).into_owned();
            assert_eq!(outcome.status, status, "{name}{parameter}: {answer}");
            if status == 400 {
                assert_eq!(outcome.code(), "bad_upload");
                assert!(answer.contains(words), "{name}: {answer}");
            }
        }
    }
    for parameter in ["validate=some", "other=1"] {
        let outcome = put(&server, &format!("t?{parameter}"), &cases[0].1).await;
        outcome.assert_refused(400, "bad_parameter");
    }
}
