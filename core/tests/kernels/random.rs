//! Random columns of every type that has an order, and streams of them.

use std::sync::Arc;

use arrow_array::types::{
    Int8Type, Int32Type, IntervalDayTime, IntervalDayTimeType, IntervalMonthDayNano,
    IntervalMonthDayNanoType,
};
use arrow_array::*;
use arrow_buffer::i256;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamWriter};

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Null in one of eight cases.
    fn nullable<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Option<T> {
        (self.below(8) > 0).then(|| make(self))
    }

    fn many<T>(&mut self, len: usize, make: impl Fn(&mut Self) -> T) -> Vec<Option<T>> {
        (0..len).map(|_| self.nullable(&make)).collect()
    }

    fn float(&mut self) -> f64 {
        let special = [
            0.0,
            -0.0,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            f64::MAX,
        ];
        match self.below(3) {
            0 => self.pick(&special),
            1 => self.below(20) as f64 - 10.0,
            _ => (self.next() as i64) as f64 / 1e12,
        }
    }

    fn integer(&mut self) -> i64 {
        match self.below(4) {
            0 => self.pick(&[i64::MIN, i64::MAX, 0, -1]),
            1 => self.below(20) as i64 - 10,
            _ => self.next() as i64,
        }
    }

    fn text(&mut self) -> String {
        let start = self.pick(&["", "a", "common prefix ", "\u{0}", "ü", "\u{10FFFF}"]);
        let letters = ["a", "b", "\u{0}", "é", "\u{1F600}"];
        let len = self.below(4);
        let rest: String = (0..len).map(|_| self.pick(&letters)).collect();
        start.to_owned() + &rest
    }
}

fn batch(random: &mut Random, len: usize, dictionary: &StringArray) -> RecordBatch {
    let r = random;
    macro_rules! ints {
        ($array:ty, $native:ty) => {
            Arc::new(<$array>::from(r.many(len, |r| r.integer() as $native))) as ArrayRef
        };
    }
    let small = |r: &mut Random| r.integer() % 1_000_000_000_000;
    let days = |r: &mut Random| r.integer() % 100_000;
    let keys = r.many(len, |r| r.below(dictionary.len()) as i32);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i8", ints!(Int8Array, i8)),
        ("i16", ints!(Int16Array, i16)),
        ("i32", ints!(Int32Array, i32)),
        ("i64", ints!(Int64Array, i64)),
        ("u8", ints!(UInt8Array, u8)),
        ("u16", ints!(UInt16Array, u16)),
        ("u32", ints!(UInt32Array, u32)),
        ("u64", ints!(UInt64Array, u64)),
        (
            "f16",
            Arc::new(Float16Array::from(
                r.many(len, |r| half::f16::from_f64(r.float())),
            )),
        ),
        (
            "f32",
            Arc::new(Float32Array::from(r.many(len, |r| r.float() as f32))),
        ),
        (
            "f64",
            Arc::new(Float64Array::from(r.many(len, Random::float))),
        ),
        (
            "full",
            Arc::new(Float64Array::from(
                (0..len).map(|_| r.float()).collect::<Vec<_>>(),
            )),
        ),
        (
            "bool",
            Arc::new(BooleanArray::from(r.many(len, |r| r.below(2) == 0))),
        ),
        (
            "d32",
            Arc::new(
                Decimal32Array::from(r.many(len, |r| days(r) as i32))
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
        (
            "d64",
            Arc::new(
                Decimal64Array::from(r.many(len, |r| days(r)))
                    .with_precision_and_scale(18, 0)
                    .unwrap(),
            ),
        ),
        (
            "d128",
            Arc::new(
                Decimal128Array::from(r.many(len, |r| i128::from(r.integer()) * 1_000_000_007))
                    .with_precision_and_scale(38, 10)
                    .unwrap(),
            ),
        ),
        (
            "d256",
            Arc::new(
                Decimal256Array::from(r.many(len, |r| {
                    i256::from_i128(i128::from(r.integer()))
                        .wrapping_mul(i256::from_i128(i128::MAX / 7))
                }))
                .with_precision_and_scale(76, 3)
                .unwrap(),
            ),
        ),
        (
            "d256_small",
            Arc::new(
                Decimal256Array::from(r.many(len, |r| i256::from_i128(days(r).into())))
                    .with_precision_and_scale(40, 2)
                    .unwrap(),
            ),
        ),
        (
            "d_thousands",
            Arc::new(
                Decimal128Array::from(r.many(len, |r| i128::from(days(r))))
                    .with_precision_and_scale(20, -3)
                    .unwrap(),
            ),
        ),
        (
            "date32",
            Arc::new(Date32Array::from(r.many(len, |r| days(r) as i32))),
        ),
        (
            "date64",
            Arc::new(Date64Array::from(r.many(len, |r| days(r) * 86_400_000))),
        ),
        (
            "time32",
            Arc::new(Time32MillisecondArray::from(
                r.many(len, |r| r.below(86_400_000) as i32),
            )),
        ),
        (
            "time64",
            Arc::new(Time64NanosecondArray::from(
                r.many(len, |r| r.below(86_400_000_000_000) as i64),
            )),
        ),
        (
            "ts_s",
            Arc::new(TimestampSecondArray::from(r.many(len, small))),
        ),
        (
            "ts_ns",
            Arc::new(TimestampNanosecondArray::from(r.many(len, Random::integer))),
        ),
        (
            "ts_utc",
            Arc::new(TimestampMicrosecondArray::from(r.many(len, small)).with_timezone("UTC")),
        ),
        (
            "ts_fixed",
            Arc::new(TimestampMillisecondArray::from(r.many(len, small)).with_timezone("-05:30")),
        ),
        (
            "duration",
            Arc::new(DurationMicrosecondArray::from(r.many(len, small))),
        ),
        (
            "months",
            Arc::new(IntervalYearMonthArray::from(
                r.many(len, |r| days(r) as i32),
            )),
        ),
        (
            "day_time",
            Arc::new(PrimitiveArray::<IntervalDayTimeType>::from_iter(
                r.many(len, |r| {
                    IntervalDayTime::new(r.below(5) as i32 - 2, r.integer() as i32)
                }),
            )),
        ),
        (
            "mdn",
            Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::from_iter(
                r.many(len, |r| {
                    IntervalMonthDayNano::new(
                        r.below(3) as i32 - 1,
                        r.below(3) as i32 - 1,
                        r.integer(),
                    )
                }),
            )),
        ),
        (
            "calendar",
            Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::from_iter(
                r.many(len, |r| {
                    IntervalMonthDayNano::new(r.below(9) as i32 - 4, r.below(9) as i32, 7)
                }),
            )),
        ),
        (
            "utf8",
            Arc::new(StringArray::from(r.many(len, Random::text))),
        ),
        (
            "large",
            Arc::new(LargeStringArray::from(r.many(len, Random::text))),
        ),
        (
            "view",
            Arc::new(StringViewArray::from(r.many(len, Random::text))),
        ),
        (
            "binary",
            Arc::new(BinaryArray::from_iter(
                r.many(len, |r| r.text().into_bytes()),
            )),
        ),
        (
            "bview",
            Arc::new(BinaryViewArray::from_iter(
                r.many(len, |r| r.text().into_bytes()),
            )),
        ),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                    r.many(len, |r| (r.next() as u32).to_le_bytes()).into_iter(),
                    4,
                )
                .unwrap(),
            ),
        ),
        (
            "dict",
            Arc::new(DictionaryArray::<Int32Type>::new(
                Int32Array::from(keys.clone()),
                Arc::new(dictionary.clone()),
            )),
        ),
        (
            "dict_f",
            Arc::new(DictionaryArray::<Int8Type>::new(
                Int8Array::from(r.many(len, |r| r.below(4) as i8)),
                Arc::new(Float64Array::from(vec![
                    Some(-0.0),
                    Some(0.0),
                    None,
                    Some(f64::NAN),
                ])),
            )),
        ),
    ];
    let fields = columns
        .iter()
        .map(|(name, array)| (*name, Arc::clone(array), true));
    RecordBatch::try_from_iter_with_nullable(fields).unwrap()
}

/// Batches of various lengths with `num_rows` rows in total. The first one may be empty.
pub(crate) fn columns(random: &mut Random, num_rows: usize) -> Vec<RecordBatch> {
    let texts = random.many(30, Random::text);
    let dictionary = StringArray::from(texts);
    let mut batches = vec![batch(random, 0, &dictionary)];
    let mut left = num_rows;
    while left > 0 {
        let len = (random.below(num_rows / 2 + 2)).min(left);
        batches.push(batch(random, len, &dictionary));
        left -= len;
    }
    batches
}

/// The batches as an IPC stream.
pub(crate) fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}
