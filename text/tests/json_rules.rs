//! Rules of the JSON reader, one by one.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type, Time32MillisecondType, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use colonnade_text::json::{Decoder, Inference, Inferred, Layout, Options};
use colonnade_text::{Encoding, MAX_RECORD_BYTES, TextError, TextErrorKind};

fn infer(text: &str) -> Result<Inferred, TextError> {
    let mut inference = Inference::new(Options::detect(text.as_bytes()));
    inference.push(text.as_bytes())?;
    inference.finish()?;
    let empty = TextError {
        kind: TextErrorKind::Empty,
        offset_bytes: 0,
    };
    inference.into_inferred().ok_or(empty)
}

fn schema(text: &str) -> Schema {
    infer(text).unwrap().schema()
}

/// The type of the only field, or `None` for JSON text.
fn type_of(values: &[&str]) -> Option<DataType> {
    let text: String = values
        .iter()
        .map(|value| format!("{{\"v\":{value}}}\n"))
        .collect();
    let schema = schema(&text);
    let field = schema.field(0);
    let metadata = field.metadata();
    match metadata.get("ARROW:extension:name") {
        Some(name) => {
            assert_eq!(
                (name.as_str(), field.data_type()),
                ("arrow.json", &DataType::Utf8)
            );
            assert_eq!(
                metadata.get("ARROW:extension:metadata").map(String::as_str),
                Some("")
            );
            None
        }
        None => Some(field.data_type().clone()),
    }
}

fn decode(text: &[u8], schema: Schema, options: Options) -> (Vec<RecordBatch>, Option<TextError>) {
    let projection: Vec<_> = (0..schema.fields().len()).collect();
    let mut decoder =
        Decoder::new(options, &Arc::new(schema), &projection, 0..u64::MAX, 1_000).unwrap();
    let error = decoder.push(text).and_then(|_| decoder.finish()).err();
    (std::iter::from_fn(|| decoder.next_batch()).collect(), error)
}

/// The error and the rows before it, of a text read with the schema of a sample.
fn refused(sample: &str, text: &str) -> (TextError, usize) {
    let (batches, error) = decode(
        text.as_bytes(),
        schema(sample),
        Options::detect(text.as_bytes()),
    );
    (
        error.expect(text),
        batches.iter().map(RecordBatch::num_rows).sum(),
    )
}

fn misfit(sample: &str, text: &str) -> [String; 4] {
    match refused(sample, text).0.kind {
        TextErrorKind::Misfit {
            column,
            value,
            expected,
            fitting,
        } => [column, value, expected, fitting],
        TextErrorKind::NewField {
            column,
            value,
            fitting,
        } => [column, value, "no such field".to_owned(), fitting],
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_of_one_class_make_its_type_and_others_json() {
    use DataType::{Boolean, Float64, Int64, Utf8};
    let list = |item| Some(DataType::List(Arc::new(Field::new("item", item, true))));
    assert_eq!(type_of(&["null", "null"]), Some(Utf8));
    assert_eq!(type_of(&["true", "null"]), Some(Boolean));
    assert_eq!(type_of(&["1", "null", "2"]), Some(Int64));
    assert_eq!(type_of(&["1", "2.5"]), Some(Float64));
    assert_eq!(type_of(&["\"2024-01-01\""]), Some(Utf8));
    assert_eq!(type_of(&["[]", "null"]), list(Utf8));
    assert_eq!(type_of(&["[1]", "[null, 2.5]"]), list(Float64));
    let fields = vec![Field::new("a", Int64, true), Field::new("b", Utf8, true)];
    assert_eq!(
        type_of(&["{\"a\":1}", "{\"b\":null}"]),
        Some(DataType::Struct(fields.into()))
    );
    for mixed in [
        ["1", "\"a\""],
        ["true", "1"],
        ["{\"a\":1}", "1"],
        ["[1]", "{}"],
        ["{}", "null"],
    ] {
        assert_eq!(type_of(&mixed), None, "{mixed:?}");
    }
    assert_eq!(type_of(&["1e999"]), None);
    assert_eq!(type_of(&["1.234567890123456789", "1e99"]), None);
    let text = schema("{\"v\":[1,\"a\"]}");
    let DataType::List(item) = text.field(0).data_type() else {
        panic!()
    };
    assert_eq!(item.metadata().len(), 2);
}

#[test]
fn objects_with_more_than_1000_fields_are_json() {
    let object = |first: usize, end: usize| {
        let fields: Vec<_> = (first..end).map(|key| format!("\"k{key}\":1")).collect();
        format!("{{{}}}", fields.join(","))
    };
    assert!(matches!(
        type_of(&[&object(0, 600), &object(400, 1_000)]),
        Some(DataType::Struct(_))
    ));
    assert_eq!(type_of(&[&object(0, 600), &object(400, 1_001)]), None);
    let parts = [object(0, 600), object(400, 1_001)]
        .map(|object| infer(&format!("{{\"v\":{object}}}")).unwrap());
    let [mut one, other] = parts;
    one.merge(other);
    assert_eq!(one.schema().field(0).data_type(), &DataType::Utf8);
}

#[test]
fn json_columns_keep_digits_and_strings_without_blanks() {
    let text = "{\"v\": {\"a\" : [1.50, -0, \" x\\\" y\"], \"b\":{ } } }\n{\"v\":\"s\"}\n{\"v\":12e5}\n{\"v\":null}\n";
    let (batches, error) = decode(text.as_bytes(), schema(text), Options::default());
    assert_eq!(error, None);
    let values: Vec<_> = batches[0].column(0).as_string::<i32>().iter().collect();
    let expected = [
        Some("{\"a\":[1.50,-0,\" x\\\" y\"],\"b\":{}}"),
        Some("\"s\""),
        Some("12e5"),
        None,
    ];
    assert_eq!(values, expected);
}

#[test]
fn misfits_name_column_value_and_types() {
    let number = "{\"a\":{\"b\":1},\"l\":[1],\"s\":\"x\"}\n";
    assert_eq!(
        misfit(number, "{\"a\":{\"b\":1.5}}"),
        ["a.b", "1.5", "int64", "float64"]
    );
    assert_eq!(
        misfit(number, "{\"a\":{\"b\":\"x\"}}"),
        ["a.b", "\"x\"", "int64", "json"]
    );
    assert_eq!(
        misfit(number, "{\"a\":{\"b\":9223372036854775808}}")[3],
        "uint64"
    );
    assert_eq!(
        misfit(number, "{\"a\":{\"c\":[1]}}"),
        ["a.c", "[1]", "no such field", "list"]
    );
    assert_eq!(
        misfit(number, "{\"z\":null}"),
        ["z", "null", "no such field", "text"]
    );
    assert_eq!(
        misfit(number, "{\"l\":[1, true]}"),
        ["l.item", "true", "int64", "json"]
    );
    assert_eq!(misfit(number, "{\"l\":{}}"), ["l", "{}", "list", "json"]);
    assert_eq!(misfit(number, "{\"a\":[]}"), ["a", "[]", "struct", "json"]);
    assert_eq!(misfit(number, "{\"s\":1}"), ["s", "1", "text", "json"]);
    assert_eq!(
        misfit("{\"a\":0.5}", "{\"a\":1.234567890123456789}")[3],
        "json"
    );
    assert_eq!(
        misfit(
            "{\"a\":true}",
            &format!("{{\"a\":\"{}\"}}", "é".repeat(200))
        )[1]
        .chars()
        .count(),
        100
    );
    let (error, num_rows) = refused(number, &format!("{number}\n{number}{{\"s\":1}}\n{number}"));
    assert_eq!(
        (error.offset_bytes, num_rows),
        (2 * number.len() as u64 + 1, 2)
    );
}

#[test]
fn text_that_is_not_json_is_refused() {
    let good = "{\"a\":[1]}\n";
    for bad in [
        "{\"a\":[1}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":01}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":5.}",
        "{\"a\":1x}",
        "{\"a\":nul}",
        "{\"a\":True}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":-Infinity}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"x}",
        "{\"a\":1} {\"a\":1}",
        "{\"a\":1}]",
        "{\"a\":1",
        "{",
        "1",
        "null",
        "\"a\"",
        "[1]",
        "{\"a\":1,\"a\":1}",
        "{\"a\":{\"b\":1,\"\\u0062\":2}}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1/**/}",
        "{\"a\":\n1}",
    ] {
        let text = format!("{good}{bad}\n{good}");
        let error = infer(&text).map(|_| ()).expect_err(bad);
        assert!(
            matches!(error.kind, TextErrorKind::Json(_)),
            "{bad} {error:?}"
        );
        assert_eq!(error.offset_bytes, good.len() as u64, "{bad}");
        let field = Field::new("a", DataType::Utf8, true);
        let (_, found) = decode(bad.as_bytes(), Schema::new(vec![field]), Options::default());
        assert!(found.is_some(), "{bad}");
        let mut sample = Inference::new(Options::default()).with_max_rows(10);
        assert_eq!(sample.push(text.as_bytes()), Ok(true), "{bad}");
        sample.finish().unwrap();
        let found = sample.into_inferred().unwrap();
        assert_eq!(found.schema(), schema(good), "{bad}");
    }
    let duplicate = infer("{\"a\":1,\"b\":2,\"a\":1}").unwrap_err();
    assert!(duplicate.to_string().contains("\"a\""), "{duplicate}");
}

#[test]
fn broken_arrays_are_refused() {
    for (bad, offset) in [
        ("[", 1),
        ("[{}", 3),
        ("[{},", 4),
        ("[{},]", 4),
        ("[{}] x", 5),
        ("[{}]]", 4),
        ("[1]", 1),
        ("[{} {}]", 4),
        ("[,{}]", 1),
        ("[{},{\"a\":1]", 4),
        ("[{},{\"a]", 4),
    ] {
        let error = infer(bad).map(|_| ()).expect_err(bad);
        assert!(
            matches!(error.kind, TextErrorKind::Json(_)),
            "{bad} {error:?}"
        );
        assert_eq!(error.offset_bytes, offset, "{bad}");
    }
    for empty in ["", "\n \r\n", "\u{feff}", "[]", " [ ] "] {
        assert_eq!(
            infer(empty).map(|_| ()).unwrap_err().kind,
            TextErrorKind::Empty,
            "{empty}"
        );
    }
}

#[test]
fn nesting_beyond_64_levels_is_refused() {
    let nested = |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(infer(&nested(63)).is_ok());
    let text = nested(63);
    assert_eq!(
        decode(text.as_bytes(), schema(&text), Options::default()).1,
        None
    );
    for levels in [64, 1_000_000] {
        assert!(matches!(
            infer(&nested(levels)).unwrap_err().kind,
            TextErrorKind::Json(_)
        ));
        let (error, _) = refused("{\"a\":[]}", &nested(levels));
        assert!(matches!(error.kind, TextErrorKind::Json(_)));
    }
}

#[test]
fn long_records_and_invalid_bytes_are_refused() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_RECORD_BYTES));
    for text in [
        format!("{{}}\n{long}"),
        format!("{{}}\n{long}\n"),
        format!("[\n\n{long}]"),
    ] {
        let error = infer(&text).map(|_| ()).unwrap_err();
        assert_eq!(
            error,
            TextError {
                kind: TextErrorKind::TooLong,
                offset_bytes: 3
            }
        );
    }
    for (text, offset_bytes) in [
        (b"{\"a\":1}\n{\"b\":\"\xff\"}\n".as_slice(), 14),
        (b"[{\"a\":1}\n,{\"b\":\"\xff\"}]", 16),
    ] {
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
        let (batches, error) = decode(text, schema, Options::detect(text));
        assert_eq!(batches[0].num_rows(), 1);
        assert_eq!(
            error,
            Some(TextError {
                kind: TextErrorKind::Encoding(Encoding::UTF_8),
                offset_bytes
            })
        );
    }
}

#[test]
fn words_for_numbers_that_are_not_finite_are_read_by_option() {
    let text = "{\"a\":NaN}\n{\"a\":-Infinity}\n{\"a\":1}\n";
    let options = Options {
        layout: Layout::Lines,
        allows_nan: true,
    };
    let mut inference = Inference::new(options);
    inference.push(text.as_bytes()).unwrap();
    inference.finish().unwrap();
    let schema = inference.into_inferred().unwrap().schema();
    assert_eq!(schema.field(0).data_type(), &DataType::Float64);
    let (batches, error) = decode(text.as_bytes(), schema, options);
    assert_eq!((batches[0].num_rows(), error), (3, None));
}

#[test]
fn strings_are_times_where_the_schema_says_so() {
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let item = Arc::new(Field::new("item", DataType::Date32, true));
    let schema = || {
        Schema::new(vec![
            Field::new("date", DataType::Date32, true),
            Field::new("time", DataType::Time32(TimeUnit::Millisecond), true),
            Field::new("at", zoned.clone(), true),
            Field::new("days", DataType::List(Arc::clone(&item)), true),
        ])
    };
    let text = br#"{"date":"2024-02-29","time":"23:59:59.5","at":"2024-02-29T00:00:00.000001Z","days":["1970-01-02",null]}
{"date":null,"days":[]}
"#;
    let (batches, error) = decode(text, schema(), Options::default());
    assert_eq!(error, None);
    let rows = &batches[0];
    assert_eq!(rows.column(0).as_primitive::<Date32Type>().value(0), 19_782);
    assert_eq!(
        rows.column(1)
            .as_primitive::<Time32MillisecondType>()
            .value(0),
        86_399_500
    );
    let at = rows.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(at.value(0), 1_709_164_800_000_001);
    let days = rows.column(3).as_list::<i32>().value(0);
    assert_eq!(
        days.as_primitive::<Date32Type>().iter().collect::<Vec<_>>(),
        [Some(1), None]
    );
    assert!((0..3).all(|column| rows.column(column).is_null(1)));
    for wrong in ["\"2024-02-30\"", "\"2024-02-29T00:00:00\"", "19782", "\"\""] {
        let (_, error) = decode(
            format!("{{\"date\":{wrong}}}").as_bytes(),
            schema(),
            Options::default(),
        );
        let kind = error.unwrap().kind;
        assert!(
            matches!(kind, TextErrorKind::Misfit { .. }),
            "{wrong}: {kind:?}"
        );
    }
}

#[test]
fn missing_fields_are_null_and_empty_projections_count_rows() {
    let text = "{\"a\":1}\r\n\r\n{}\n{\"b\":2,\"a\":null}";
    let (batches, error) = decode(text.as_bytes(), schema(text), Options::default());
    assert_eq!(error, None);
    let values: Vec<_> = batches[0]
        .column(1)
        .as_primitive::<Int64Type>()
        .iter()
        .collect();
    assert_eq!(values, [None, None, Some(2)]);
    assert_eq!(batches[0].column(0).null_count(), 2);
    let mut decoder = Decoder::new(
        Options::default(),
        &Arc::new(schema(text)),
        &[],
        0..u64::MAX,
        2,
    )
    .unwrap();
    decoder.push(text.as_bytes()).unwrap();
    decoder.finish().unwrap();
    let counts: Vec<_> = std::iter::from_fn(|| decoder.next_batch())
        .map(|batch| batch.num_rows())
        .collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn schemas_that_json_is_not_read_as_are_refused() {
    let new = |options, fields: Vec<Field>, projection: &[usize], range| {
        Decoder::new(
            options,
            &Arc::new(Schema::new(fields)),
            projection,
            range,
            1,
        )
        .is_ok()
    };
    let field = |data_type| Field::new("a", data_type, true);
    let array = Options::detect(b"[");
    assert!(new(array, vec![field(DataType::Int64)], &[0], 0..u64::MAX));
    assert!(!new(array, vec![field(DataType::Int64)], &[0], 1..u64::MAX));
    assert!(!new(array, vec![field(DataType::Int64)], &[1], 0..u64::MAX));
    assert!(!new(array, vec![field(DataType::Int32)], &[0], 0..u64::MAX));
    assert!(!new(
        array,
        vec![field(DataType::Int64), field(DataType::Utf8)],
        &[0],
        0..u64::MAX
    ));
    assert!(!new(
        array,
        vec![Field::new("a", DataType::Utf8, false)],
        &[0],
        0..u64::MAX
    ));
}
