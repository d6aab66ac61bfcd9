//! Exports of a whole result as one file.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use colonnade_server::error::{ErrorKind, QueryError};
use colonnade_server::message::MessageKind;
use colonnade_server::results::export::{
    Compression, CsvOptions, ExportOptions, ExportProgress, Format, export,
};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal32Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, Float64Array, Int8Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray, TimestampSecondArray,
};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Int8Type, Schema, TimeUnit};
use datafusion::arrow::ipc::reader::FileReader;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use futures::StreamExt;
use serde_json::Value;

use crate::result_bytes::{column, file_of, fixture, messages, result_of, stream_of, text_of};
use crate::support::read_stream;

const FORMATS: [Format; 4] = [Format::Parquet, Format::Csv, Format::Arrow, Format::Ndjson];

fn read_arrow(file: Vec<u8>) -> RecordBatch {
    let reader = FileReader::try_new(Cursor::new(file), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

pub(crate) fn read_parquet(file: Vec<u8>) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
    let schema = Arc::clone(builder.schema());
    let batches: Vec<_> = builder.build().unwrap().map(|b| b.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

async fn plain(stream: &[u8], format: Format) -> Vec<u8> {
    let file = file_of(result_of(stream), ExportOptions::new(format)).await;
    file.unwrap().0
}

/// The records of a CSV file; `None` is an empty field without quotes.
pub(crate) fn records(text: &str) -> Vec<Vec<Option<String>>> {
    let mut records = vec![Vec::new()];
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        let is_quoted = rest.next_if_eq(&'"').is_some();
        let mut field = String::new();
        while let Some(&c) = rest.peek() {
            if is_quoted && c == '"' {
                rest.next();
                if rest.next_if_eq(&'"').is_none() {
                    break;
                }
            } else if !is_quoted && (c == ',' || c == '\n') {
                break;
            } else {
                rest.next();
            }
            field.push(c);
        }
        let last = records.last_mut().unwrap();
        last.push((is_quoted || !field.is_empty()).then_some(field));
        if rest.next() == Some('\n') {
            records.push(Vec::new());
        }
    }
    assert_eq!(records.pop(), Some(Vec::new()), "the last line ends");
    records
}

#[tokio::test]
async fn csv_holds_the_texts_of_every_type() {
    let expected: Vec<Value> = serde_json::from_slice(&fixture("every_type.json")).unwrap();
    for name in [
        "every_type.arrows",
        "every_type_lz4.arrows",
        "every_type_zstd.arrows",
    ] {
        let text = text_of(&fixture(name), Format::Csv).await;
        let records = records(&text);
        assert_eq!(records.len(), 22);
        for (index, column) in expected.iter().enumerate() {
            assert_eq!(records[0][index].as_deref(), column["name"].as_str());
            for (row, text) in column["text"].as_array().unwrap().iter().enumerate() {
                let field = &records[row + 1][index];
                assert_eq!(
                    field.as_deref(),
                    text.as_str(),
                    "{} row {row}",
                    column["name"]
                );
            }
        }
    }
}

#[tokio::test]
async fn ndjson_holds_every_type() {
    let expected: Vec<Value> = serde_json::from_slice(&fixture("every_type.json")).unwrap();
    let text = text_of(&fixture("every_type.arrows"), Format::Ndjson).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 21);
    assert!(text.ends_with('\n'));
    for (row, line) in lines.iter().enumerate() {
        let parsed: Value = serde_json::from_str(line).unwrap();
        assert_eq!(parsed.as_object().unwrap().len(), expected.len());
        for column in &expected {
            let name = column["name"].as_str().unwrap();
            let type_name = column["type"].as_str().unwrap();
            let text = &column["text"][row];
            let value = &parsed[name];
            if text.is_null() {
                assert!(value.is_null(), "{name} row {row}: {value}");
            } else if value.is_string() && !type_name.contains("binary") {
                assert_eq!(value, text, "{name} row {row}");
            } else if type_name.starts_with("int") || type_name.starts_with("decimal") {
                // Compared as text, because a parser would round it.
                let key = format!("\"{name}\":{}", text.as_str().unwrap());
                assert!(line.contains(&key), "{key} in {line}");
            }
        }
    }
    assert!(
        lines[0].starts_with(r#"{"int8":0,"uint8":0,"int16":0"#),
        "{}",
        lines[0]
    );
}

#[tokio::test]
async fn arrow_files_equal_their_source() {
    for name in [
        "every_type.arrows",
        "every_type_lz4.arrows",
        "every_type_zstd.arrows",
    ] {
        let source = read_stream(&fixture(name));
        let file = read_arrow(plain(&fixture(name), Format::Arrow).await);
        assert_eq!(file.num_rows(), source.num_rows());
        for (index, field) in source.schema().fields().iter().enumerate() {
            let wanted = match field.data_type() {
                DataType::Dictionary(_, value) => cast(source.column(index), value).unwrap(),
                _ => Arc::clone(source.column(index)),
            };
            assert_eq!(file.column(index), &wanted, "{}", field.name());
        }
    }
}

/// `every_type` without what Parquet cannot hold.
fn parquet_source() -> RecordBatch {
    let source = read_stream(&fixture("every_type.arrows"));
    let columns: Vec<usize> = (0..source.num_columns())
        .filter(|index| {
            let schema = source.schema();
            let field = schema.field(*index);
            let is_refused = matches!(
                field.data_type(),
                DataType::Union(..) | DataType::Interval(_)
            );
            !is_refused && field.name() != "timestamp_beyond_calendar"
        })
        .collect();
    source.project(&columns).unwrap()
}

#[tokio::test]
async fn parquet_files_equal_their_source() {
    let source = parquet_source();
    let stream = stream_of(&[source.slice(0, 13), source.slice(13, 8)], false);
    for compression in [
        Compression::Zstd,
        Compression::Snappy,
        Compression::Lz4,
        Compression::None,
    ] {
        let options = ExportOptions {
            compression,
            ..ExportOptions::new(Format::Parquet)
        };
        let (file, status) = file_of(result_of(&stream), options).await.unwrap();
        assert_eq!(status["rows"], 21);
        assert_eq!(status["bytes"], file.len());
        assert_eq!(status["state"], "done");
        let file = read_parquet(file);
        for (index, field) in source.schema().fields().iter().enumerate() {
            let column = source.column(index);
            let wanted = match field.data_type() {
                DataType::RunEndEncoded(_, values) => cast(column, values.data_type()).unwrap(),
                DataType::Date64 => {
                    cast(column, &DataType::Timestamp(TimeUnit::Millisecond, None)).unwrap()
                }
                DataType::Time32(TimeUnit::Second) => {
                    cast(column, &DataType::Time32(TimeUnit::Millisecond)).unwrap()
                }
                DataType::Timestamp(TimeUnit::Second, zone) => {
                    let kind = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
                    cast(column, &kind).unwrap()
                }
                _ => Arc::clone(column),
            };
            let read = file.column(index);
            match field.data_type() {
                DataType::Dictionary(_, value) => {
                    assert_eq!(read.data_type(), field.data_type());
                    assert_eq!(&cast(read, value).unwrap(), &cast(&wanted, value).unwrap());
                }
                _ => assert_eq!(read, &wanted, "{}", field.name()),
            }
        }
    }
}

#[tokio::test]
async fn rows_keep_their_order_over_row_groups() {
    const NUM_ROWS: i64 = (1 << 20) + 70_000;
    let batches: Vec<RecordBatch> = (0..NUM_ROWS)
        .step_by(50_000)
        .map(|start| {
            let end = NUM_ROWS.min(start + 50_000);
            let texts = StringArray::from_iter_values((start..end).map(|k| format!("row {k}")));
            RecordBatch::try_from_iter([
                (
                    "n",
                    Arc::new(Int64Array::from_iter_values(start..end)) as ArrayRef,
                ),
                ("t", Arc::new(texts) as ArrayRef),
            ])
            .unwrap()
        })
        .collect();
    let file = plain(&stream_of(&batches, false), Format::Parquet).await;
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file.clone())).unwrap();
    let groups: Vec<i64> = builder
        .metadata()
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(groups, [1 << 20, 70_000]);
    assert_eq!(
        read_parquet(file),
        concat_batches(&batches[0].schema(), &batches).unwrap()
    );
}

/// Other readers do not know the Arrow schema in the file, or do not follow it.
#[tokio::test]
async fn parquet_has_the_values_for_readers_that_see_its_own_types_only() {
    let keys = || Int8Array::from(vec![Some(1), Some(0), None]);
    let dictionary = |values: ArrayRef| Arc::new(DictionaryArray::new(keys(), values)) as ArrayRef;
    let narrow = |raw: [i32; 2], precision, scale| {
        let values = Decimal32Array::from(raw.to_vec());
        values.with_precision_and_scale(precision, scale).unwrap()
    };
    let wide = |raw: [i128; 2], precision, scale| {
        let values = Decimal128Array::from(raw.to_vec());
        values.with_precision_and_scale(precision, scale).unwrap()
    };
    let bytes = FixedSizeBinaryArray::try_from_iter([*b"0000", [0; 4]].iter()).unwrap();
    let columns: [ArrayRef; 9] = [
        dictionary(Arc::new(bytes)),
        dictionary(Arc::new(BooleanArray::from(vec![true, false]))),
        dictionary(Arc::new(wide([1, -2], 5, 2))),
        dictionary(Arc::new(StringArray::from(vec!["a", ""]))),
        Arc::new(narrow([9, -9], 1, 0)),
        Arc::new(narrow([9, -9], 1, 1)),
        Arc::new(narrow([123, -1], 3, -6)),
        Arc::new(wide([123, -1], 10, -3)),
        Arc::new(wide([123, -1], 38, -38)),
    ];
    for values in columns {
        let batch = column("v", Arc::clone(&values));
        let file = plain(&stream_of(&[batch], false), Format::Parquet).await;
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let file = Bytes::from(file);
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
        let read = reader.build().unwrap().next().unwrap().unwrap();
        let read = read.column(0);
        let expected = cast(&values, read.data_type()).unwrap();
        assert_eq!(&expected, read, "{}", values.data_type());
        assert_eq!(expected.null_count(), values.logical_null_count());
    }
}

#[tokio::test]
async fn what_parquet_cannot_hold_is_refused_before_the_first_byte() {
    for (number, name) in [("union", "dense_union"), ("interval", "month_day_nano")] {
        let source = read_stream(&fixture("every_type.arrows"));
        let index = source.schema().index_of(name).unwrap();
        let source = source.project(&[index]).unwrap();
        let options = ExportOptions::new(Format::Parquet);
        let refused = file_of(result_of(&stream_of(&[source], false)), options).await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotExportable);
        assert!(error.message.contains(&format!("{name:?}")), "{error}");
        assert!(error.message.contains(number), "{error}");
    }
}

#[tokio::test]
async fn a_value_beyond_the_format_is_an_error_and_no_null() {
    let array = TimestampSecondArray::from(vec![0, i64::MAX]);
    let batch = column("t", Arc::new(array) as ArrayRef);
    let options = ExportOptions::new(Format::Parquet);
    let failed = file_of(result_of(&stream_of(&[batch], false)), options).await;
    let error = failed.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotExportable);
    assert!(error.message.contains("\"t\""), "{error}");
}

#[tokio::test]
async fn no_rows() {
    let source = RecordBatch::new_empty(parquet_source().schema());
    let stream = stream_of(std::slice::from_ref(&source), false);
    assert_eq!(
        read_parquet(plain(&stream, Format::Parquet).await).num_rows(),
        0
    );
    assert_eq!(
        read_arrow(plain(&stream, Format::Arrow).await).num_rows(),
        0
    );
    assert_eq!(text_of(&stream, Format::Ndjson).await, "");
    let csv = text_of(&stream, Format::Csv).await;
    assert_eq!(records(&csv)[0].len(), source.num_columns());
    assert_eq!(records(&csv).len(), 1);
}

#[tokio::test]
async fn no_columns() {
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let none = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options);
    let stream = stream_of(&[none.unwrap()], false);
    assert_eq!(text_of(&stream, Format::Ndjson).await, "{}\n{}\n{}\n");
    let file = plain(&stream, Format::Arrow).await;
    let rows: usize = FileReader::try_new(Cursor::new(file), None)
        .unwrap()
        .map(|batch| batch.unwrap().num_rows())
        .sum();
    assert_eq!(rows, 3);
    for format in [Format::Parquet, Format::Csv] {
        let refused = file_of(result_of(&stream), ExportOptions::new(format)).await;
        assert_eq!(refused.unwrap_err().kind, ErrorKind::NotExportable);
    }
}

/// Two batches of a dictionary column; the second has other values, or additional ones.
fn dictionaries(second: &[&str]) -> [RecordBatch; 2] {
    let batch = |values: &[&str], keys: Vec<Option<i8>>| {
        let keys = datafusion::arrow::array::PrimitiveArray::<Int8Type>::from(keys);
        let values = Arc::new(StringArray::from(values.to_vec()));
        let array = DictionaryArray::<Int8Type>::try_new(keys, values).unwrap();
        column("d", Arc::new(array) as ArrayRef)
    };
    [
        batch(&["a", "b"], vec![Some(0), None, Some(1)]),
        batch(second, vec![Some(1), Some(0), Some(1)]),
    ]
}

#[tokio::test]
async fn dictionaries_may_be_replaced_and_grow() {
    for (second, deltas, wanted) in [
        (&["x", "y"][..], false, ["y", "x", "y"]),
        (&["a", "b", "c"][..], true, ["b", "a", "b"]),
    ] {
        let stream = stream_of(&dictionaries(second), deltas);
        let is_delta = messages(&stream)
            .iter()
            .any(|message| matches!(message.kind, MessageKind::Dictionary { is_delta: true, .. }));
        assert_eq!(is_delta, deltas);
        let wanted = [Some("a"), None, Some("b")]
            .into_iter()
            .chain(wanted.map(Some));
        let wanted = StringArray::from_iter(wanted);
        for format in FORMATS {
            let file = plain(&stream, format).await;
            let texts = match format {
                Format::Arrow => Arc::clone(read_arrow(file).column(0)),
                Format::Parquet => cast(read_parquet(file).column(0), &DataType::Utf8).unwrap(),
                Format::Csv => {
                    let records = records(std::str::from_utf8(&file).unwrap());
                    let column = records[1..].iter().map(|record| record[0].clone());
                    Arc::new(column.collect::<StringArray>())
                }
                Format::Ndjson => {
                    let lines = std::str::from_utf8(&file).unwrap().lines();
                    let column = lines.map(|line| {
                        let line: HashMap<String, Option<String>> =
                            serde_json::from_str(line).unwrap();
                        line["d"].clone()
                    });
                    Arc::new(column.collect::<StringArray>())
                }
            };
            assert_eq!(texts.as_string::<i32>(), &wanted, "{format:?}");
        }
    }
}

#[tokio::test]
async fn repeated_names_differ_in_ndjson() {
    let fields: Vec<Field> = ["a", "a", "a (2)", "a"]
        .map(|name| Field::new(name, DataType::Int64, true))
        .to_vec();
    let columns = (0..4).map(|k| Arc::new(Int64Array::from(vec![k])) as ArrayRef);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap();
    let text = text_of(&stream_of(&[batch], false), Format::Ndjson).await;
    assert_eq!(text, "{\"a\":0,\"a (3)\":1,\"a (2)\":2,\"a (4)\":3}\n");
}

#[tokio::test]
async fn only_texts_are_neutralised() {
    let texts = ["=1+1", "@x", "plain", "-5", ""];
    let batch = RecordBatch::try_from_iter([
        (
            "=name",
            Arc::new(StringArray::from(texts.to_vec())) as ArrayRef,
        ),
        (
            "n",
            Arc::new(Int64Array::from(vec![-1, -2, -3, -4, -5])) as ArrayRef,
        ),
    ])
    .unwrap();
    let stream = stream_of(&[batch], false);
    let options = csv_options(CsvOptions {
        escape_formulas: true,
        ..CsvOptions::default()
    });
    let (file, _) = file_of(result_of(&stream), options).await.unwrap();
    let text = String::from_utf8(file).unwrap();
    let wanted = "\"'=name\",n\n\"'=1+1\",-1\n\"'@x\",-2\nplain,-3\n\"'-5\",-4\n\"\",-5\n";
    assert_eq!(text, wanted);
    let untouched = text_of(&stream, Format::Csv).await;
    assert_eq!(
        untouched,
        "=name,n\n=1+1,-1\n@x,-2\nplain,-3\n-5,-4\n\"\",-5\n"
    );
}

fn csv_options(csv: CsvOptions) -> ExportOptions {
    ExportOptions {
        csv,
        ..ExportOptions::new(Format::Csv)
    }
}

#[tokio::test]
async fn csv_for_spreadsheets_of_other_countries() {
    let amounts = Decimal128Array::from(vec![Some(-123_450), None]);
    let amounts = amounts.with_precision_and_scale(9, 2).unwrap();
    let batch = RecordBatch::try_from_iter([
        (
            "a;b",
            Arc::new(StringArray::from(vec!["1.5", "x;y"])) as ArrayRef,
        ),
        ("n", Arc::new(amounts) as ArrayRef),
        (
            "f",
            Arc::new(Float64Array::from(vec![1e-7, f64::NAN])) as ArrayRef,
        ),
    ])
    .unwrap();
    let stream = stream_of(&[batch], false);
    for (delimiter, wanted) in [
        (
            ';',
            "\u{feff}\"a;b\";n;f\n1.5;-1234,50;1e-7\n\"x;y\";;NaN\n",
        ),
        (',', "\u{feff}a;b,n,f\n1.5,\"-1234,50\",1e-7\nx;y,,NaN\n"),
        ('\t', "\u{feff}a;b\tn\tf\n1.5\t-1234,50\t1e-7\nx;y\t\tNaN\n"),
    ] {
        let options = csv_options(CsvOptions {
            delimiter,
            has_decimal_comma: true,
            has_bom: true,
            ..CsvOptions::default()
        });
        let (file, _) = file_of(result_of(&stream), options).await.unwrap();
        assert_eq!(String::from_utf8(file).unwrap(), wanted);
    }
}

#[tokio::test]
async fn a_failure_ends_the_file_and_shows() {
    for format in FORMATS {
        let mut result = result_of(&fixture("zones.arrows"));
        let failure = QueryError::new(ErrorKind::SourceChanged, "it changed", "");
        let broken = futures::stream::iter([Err(failure)]);
        result.messages = result.messages.chain(broken).boxed();
        let progress = Arc::new(ExportProgress::new(format));
        let options = ExportOptions::new(format);
        let file = export(result, &options, 2, Arc::clone(&progress)).unwrap();
        let pieces: Vec<_> = file.collect().await;
        let error = pieces.last().unwrap().as_ref().unwrap_err();
        assert_eq!(error.kind, ErrorKind::SourceChanged);
        assert!(pieces[..pieces.len() - 1].iter().all(Result::is_ok));
        assert_eq!(progress.status().state, "failed");
    }
}

#[tokio::test]
async fn nothing_runs_ahead_of_the_reader() {
    for format in FORMATS {
        let polled = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&polled);
        let mut result = result_of(&fixture("zones.arrows"));
        let batch = messages(&fixture("zones.arrows")).remove(1);
        result.messages = futures::stream::repeat_with(move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok(batch.clone())
        })
        .boxed();
        let progress = Arc::new(ExportProgress::new(format));
        let options = ExportOptions::new(format);
        let mut file = export(result, &options, 2, Arc::clone(&progress)).unwrap();
        assert_eq!(polled.load(std::sync::atomic::Ordering::SeqCst), 0);
        if format != Format::Parquet {
            for _ in 0..3 {
                file.next().await.unwrap().unwrap();
            }
            assert!(polled.load(std::sync::atomic::Ordering::SeqCst) < 10);
        }
        drop(file);
        assert_eq!(progress.status().state, "cancelled");
    }
}

#[test]
fn parameters() {
    let parse = |pairs: &[(&str, &str)]| {
        let value = |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
        ExportOptions::parse(
            value("format"),
            value("compression"),
            &["delimiter", "decimal", "bom", "escape_formulas"].map(|name| (name, value(name))),
        )
    };
    assert_eq!(parse(&[("format", "csv")]).unwrap().format, Format::Csv);
    let lz4 = parse(&[("format", "parquet"), ("compression", "lz4")]).unwrap();
    assert_eq!(lz4.compression, Compression::Lz4);
    for wrong in [
        &[][..],
        &[("format", "xlsx")],
        &[("format", "csv"), ("compression", "zstd")],
        &[("format", "parquet"), ("compression", "gzip")],
        &[("format", "parquet"), ("escape_formulas", "true")],
        &[("format", "csv"), ("escape_formulas", "yes")],
        &[("format", "csv"), ("delimiter", "x")],
        &[("format", "csv"), ("decimal", "")],
        &[("format", "csv"), ("bom", "1")],
        &[("format", "ndjson"), ("decimal", ",")],
    ] {
        let error = parse(wrong).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadParameter, "{wrong:?}");
        assert!(!error.hint.is_empty());
    }
}
