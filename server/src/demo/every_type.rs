//! One column for each Arrow type, with nulls, extremes and what tends to be shown wrongly.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::*;
use datafusion::arrow::ipc::writer::FileWriter;
use half::f16;

mod nested;

/// Rows of the table; shorter lists of values start over.
const NUM_ROWS: usize = 24;

type Failure = Box<dyn Error + Send + Sync>;

/// Writes the table as an Arrow IPC file.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path) -> Result<(), Failure> {
    let batch = every_type()?;
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema())?;
    // Two batches, so that the table has a seam.
    writer.write(&batch.slice(0, 10))?;
    writer.write(&batch.slice(10, NUM_ROWS - 10))?;
    writer.finish()?;
    drop(writer);
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    let unfinished = path.with_extension(format!("arrow.{}", std::process::id()));
    std::io::Write::write_all(&mut File::create(&unfinished)?, &bytes)?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

fn cycle<T: Clone>(values: &[Option<T>]) -> impl Iterator<Item = Option<T>> + '_ {
    values.iter().cloned().cycle().take(NUM_ROWS)
}

fn numbers<T: ArrowPrimitiveType>(values: &[T::Native]) -> PrimitiveArray<T> {
    let mut all: Vec<Option<T::Native>> = values.iter().copied().map(Some).collect();
    all.push(None);
    cycle(&all).collect()
}

const TEXTS: [Option<&str>; 12] = [
    Some("plain"),
    Some(""),
    None,
    Some("👩‍👩‍👧‍👦 family, 🏳️‍🌈 flag, é as e\u{301}"),
    Some("שלום עולם, مرحبا بالعالم"),
    Some("two\nlines\r\nand a\ttab"),
    Some("<script>alert('no')</script> & <b>bold</b>"),
    Some("\"quoted\", 'single', back\\slash, comma; semicolon"),
    Some(" spaces at both ends "),
    Some("null"),
    Some("NaN"),
    Some(
        "a text that is a good deal longer than a column is wide, so that it is cut off or wrapped, whichever the page does with a text of this length",
    ),
];

const BYTES: [Option<&[u8]>; 6] = [
    Some(b"\x00\x01\x02\xfd\xfe\xff"),
    Some(b""),
    None,
    Some(b"text"),
    Some(&[0; 40]),
    Some(b"\xde\xad\xbe\xef"),
];

fn every_type() -> Result<RecordBatch, Failure> {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    columns.push((
        "row",
        Arc::new(Int32Array::from_iter_values(0..NUM_ROWS as i32)),
    ));
    columns.push(("null", Arc::new(NullArray::new(NUM_ROWS))));
    columns.push((
        "bool",
        Arc::new(cycle(&[Some(true), Some(false), None]).collect::<BooleanArray>()),
    ));
    add_numbers(&mut columns)?;
    add_times(&mut columns);
    add_bytes(&mut columns)?;
    nested::add_nested(&mut columns)?;
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), *name != "row"))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

fn add_numbers(columns: &mut Vec<(&str, ArrayRef)>) -> Result<(), Failure> {
    columns.push((
        "int8",
        Arc::new(numbers::<Int8Type>(&[0, 1, -1, i8::MIN, i8::MAX])),
    ));
    columns.push((
        "int16",
        Arc::new(numbers::<Int16Type>(&[0, 1, -1, i16::MIN, i16::MAX])),
    ));
    columns.push((
        "int32",
        Arc::new(numbers::<Int32Type>(&[0, 1, -1, i32::MIN, i32::MAX])),
    ));
    // 2^53 + 1 is the first whole number that a double cannot hold.
    columns.push((
        "int64",
        Arc::new(numbers::<Int64Type>(&[
            0,
            -1,
            9_007_199_254_740_993,
            -9_007_199_254_740_993,
            i64::MIN,
            i64::MAX,
        ])),
    ));
    columns.push(("uint8", Arc::new(numbers::<UInt8Type>(&[0, 1, u8::MAX]))));
    columns.push(("uint16", Arc::new(numbers::<UInt16Type>(&[0, 1, u16::MAX]))));
    columns.push(("uint32", Arc::new(numbers::<UInt32Type>(&[0, 1, u32::MAX]))));
    columns.push((
        "uint64",
        Arc::new(numbers::<UInt64Type>(&[
            0,
            1,
            9_007_199_254_740_993,
            u64::MAX,
        ])),
    ));
    let halves = [
        0.0,
        -0.0,
        0.1,
        65504.0,
        -65504.0,
        6e-8,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ]
    .map(f16::from_f32);
    columns.push(("float16", Arc::new(numbers::<Float16Type>(&halves))));
    let singles = [
        0.0,
        -0.0,
        0.1,
        16_777_217.0,
        f32::MIN,
        f32::MAX,
        1e-45,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    columns.push(("float32", Arc::new(numbers::<Float32Type>(&singles))));
    let doubles = [
        0.0,
        -0.0,
        0.1,
        0.1 + 0.2,
        1e21,
        f64::MIN,
        f64::MAX,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    columns.push(("float64", Arc::new(numbers::<Float64Type>(&doubles))));
    let small = numbers::<Decimal32Type>(&[0, 1, -1, 123_456_789, -999_999_999, 999_999_999]);
    columns.push(("decimal32", Arc::new(small.with_precision_and_scale(9, 2)?)));
    let middle =
        numbers::<Decimal64Type>(&[0, 1, -1, -999_999_999_999_999_999, 999_999_999_999_999_999]);
    columns.push((
        "decimal64",
        Arc::new(middle.with_precision_and_scale(18, 6)?),
    ));
    let most = 10_i128.pow(38) - 1;
    let large = numbers::<Decimal128Type>(&[0, 1, -1, 12_345, most, -most]);
    columns.push((
        "decimal128",
        Arc::new(large.clone().with_precision_and_scale(38, 10)?),
    ));
    columns.push((
        "decimal128 of thousands",
        Arc::new(large.with_precision_and_scale(38, -3)?),
    ));
    let most = i256::from_string(&"9".repeat(76)).ok_or("76 digits fit")?;
    let huge = numbers::<Decimal256Type>(&[
        i256::ZERO,
        i256::ONE,
        i256::MINUS_ONE,
        most,
        most.wrapping_neg(),
    ]);
    columns.push((
        "decimal256",
        Arc::new(huge.with_precision_and_scale(76, 38)?),
    ));
    Ok(())
}

fn add_times(columns: &mut Vec<(&str, ArrayRef)>) {
    // Days since 1970: the epoch, the day before, a leap day, the first day of year 1 and the last
    // before it, years -9999 and 9999, and what no calendar shows.
    let days = [
        0,
        -1,
        11_016,
        -719_162,
        -719_163,
        -4_371_587,
        2_932_896,
        i32::MIN,
        i32::MAX,
    ];
    columns.push(("date32", Arc::new(numbers::<Date32Type>(&days))));
    let days_ms = [
        0,
        -1,
        11_016,
        -719_162,
        -719_163,
        -4_371_587,
        2_932_896,
        100_000_000,
    ]
    .map(|day: i64| day * 86_400_000);
    columns.push(("date64", Arc::new(numbers::<Date64Type>(&days_ms))));
    columns.push((
        "time32[s]",
        Arc::new(numbers::<Time32SecondType>(&[0, 1, 43_200, 86_399])),
    ));
    columns.push((
        "time32[ms]",
        Arc::new(numbers::<Time32MillisecondType>(&[
            0, 1, 43_200_500, 86_399_999,
        ])),
    ));
    columns.push((
        "time64[us]",
        Arc::new(numbers::<Time64MicrosecondType>(&[
            0,
            1,
            43_200_000_001,
            86_399_999_999,
        ])),
    ));
    columns.push((
        "time64[ns]",
        Arc::new(numbers::<Time64NanosecondType>(&[
            0,
            1,
            43_200_000_000_001,
            86_399_999_999_999,
        ])),
    ));
    // 2024-02-29 12:34:56, the second before 1970, years 1, 0 and 9999, and the edges of 64 bits.
    let seconds: [i64; 7] = [
        0,
        -1,
        1_709_210_096,
        -62_135_596_800,
        -62_135_596_801,
        253_402_300_799,
        i64::MIN,
    ];
    columns.push((
        "timestamp[s]",
        Arc::new(numbers::<TimestampSecondType>(&seconds)),
    ));
    let ms = [
        0,
        -1,
        1_709_210_096_789,
        -62_135_596_800_000,
        253_402_300_799_999,
        i64::MAX,
    ];
    columns.push((
        "timestamp[ms]",
        Arc::new(numbers::<TimestampMillisecondType>(&ms)),
    ));
    let us = [
        0,
        -1,
        1_709_210_096_789_012,
        -62_135_596_800_000_000,
        253_402_300_799_999_999,
        i64::MAX,
    ];
    columns.push((
        "timestamp[us]",
        Arc::new(numbers::<TimestampMicrosecondType>(&us)),
    ));
    let ns = [0, -1, 1_709_210_096_789_012_345, i64::MIN, i64::MAX];
    columns.push((
        "timestamp[ns]",
        Arc::new(numbers::<TimestampNanosecondType>(&ns)),
    ));
    let zoned = numbers::<TimestampMicrosecondType>(&us);
    columns.push((
        "timestamp UTC",
        Arc::new(zoned.clone().with_timezone("UTC")),
    ));
    columns.push((
        "timestamp +05:30",
        Arc::new(zoned.clone().with_timezone("+05:30")),
    ));
    // Both sides of the two changes of 2024, when an hour is missing and when one comes twice.
    let changes = [
        1_711_846_799_000_000,
        1_711_846_800_000_000,
        1_729_987_200_000_000,
        1_729_990_800_000_000,
        0,
    ];
    let paris = numbers::<TimestampMicrosecondType>(&changes);
    columns.push((
        "timestamp Paris",
        Arc::new(paris.with_timezone("Europe/Paris")),
    ));
    columns.push((
        "duration[s]",
        Arc::new(numbers::<DurationSecondType>(&[
            0,
            1,
            -1,
            90_061,
            i64::MIN,
            i64::MAX,
        ])),
    ));
    columns.push((
        "duration[ms]",
        Arc::new(numbers::<DurationMillisecondType>(&[
            0,
            1,
            -1,
            90_061_001,
            i64::MAX,
        ])),
    ));
    columns.push((
        "duration[us]",
        Arc::new(numbers::<DurationMicrosecondType>(&[
            0,
            1,
            -1,
            90_061_000_001,
            i64::MAX,
        ])),
    ));
    columns.push((
        "duration[ns]",
        Arc::new(numbers::<DurationNanosecondType>(&[
            0,
            1,
            -1,
            90_061_000_000_001,
            i64::MAX,
        ])),
    ));
    columns.push((
        "interval months",
        Arc::new(numbers::<IntervalYearMonthType>(&[
            0,
            1,
            -1,
            14,
            i32::MIN,
            i32::MAX,
        ])),
    ));
    let day_times = [(0, 0), (1, 500), (-1, -500), (i32::MIN, i32::MAX)]
        .map(|(d, ms)| IntervalDayTime::new(d, ms));
    columns.push((
        "interval days",
        Arc::new(numbers::<IntervalDayTimeType>(&day_times)),
    ));
    let mixed = [
        (0, 0, 0),
        (1, 2, 3),
        (-14, -3, -1_500_000_000),
        (i32::MAX, i32::MIN, i64::MAX),
    ];
    let mixed = mixed.map(|(months, days, ns)| IntervalMonthDayNano::new(months, days, ns));
    columns.push((
        "interval mixed",
        Arc::new(numbers::<IntervalMonthDayNanoType>(&mixed)),
    ));
}

fn add_bytes(columns: &mut Vec<(&str, ArrayRef)>) -> Result<(), Failure> {
    columns.push(("utf8", Arc::new(cycle(&TEXTS).collect::<StringArray>())));
    columns.push((
        "large_utf8",
        Arc::new(cycle(&TEXTS).collect::<LargeStringArray>()),
    ));
    columns.push((
        "utf8_view",
        Arc::new(cycle(&TEXTS).collect::<StringViewArray>()),
    ));
    columns.push(("binary", Arc::new(cycle(&BYTES).collect::<BinaryArray>())));
    columns.push((
        "large_binary",
        Arc::new(cycle(&BYTES).collect::<LargeBinaryArray>()),
    ));
    columns.push((
        "binary_view",
        Arc::new(cycle(&BYTES).collect::<BinaryViewArray>()),
    ));
    let fixed: [Option<[u8; 4]>; 4] = [Some([0, 1, 2, 3]), None, Some([0xFF; 4]), Some(*b"text")];
    columns.push((
        "fixed binary",
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(
            cycle(&fixed),
            4,
        )?),
    ));
    let words = [Some("red"), Some("green"), None, Some("blue"), Some("")];
    columns.push((
        "dictionary",
        Arc::new(cycle(&words).collect::<DictionaryArray<Int32Type>>()),
    ));
    Ok(())
}
