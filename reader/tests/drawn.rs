//! Drawn files and ranges: the rows that come out of a file read by ranges are those that were written.

#![allow(clippy::unwrap_used)]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt32Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use bytes::Bytes;
use colonnade_reader::{Opening, ParquetFile, RowReader, Step};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

/// Numbers that follow from a seed. <https://www.jstatsoft.org/article/view/v008i14>
struct Draw(u64);

impl Draw {
    fn of(seed: u64, case: u64) -> Self {
        Self(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(case + 1),
        )
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn one<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

fn seed() -> u64 {
    let seed = std::env::var("COLONNADE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(1);
    println!("COLONNADE_SEED={seed}");
    seed
}

fn drawn_batch(draw: &mut Draw, num_rows: usize) -> RecordBatch {
    let num_texts = draw.one(&[1, 7, 1000]);
    let mut lists = ListBuilder::new(StringBuilder::new());
    let mut numbers = Vec::new();
    let mut texts = Vec::new();
    let mut floats = Vec::new();
    for row in 0..num_rows {
        numbers.push((draw.below(9) > 0).then(|| row as i64 * 1_000_003));
        texts.push(
            (draw.below(5) > 0)
                .then(|| "text ".repeat(draw.below(3)) + &draw.below(num_texts).to_string()),
        );
        floats.push(draw.below(1000) as f64 / 8.0);
        for _ in 0..draw.below(4) {
            lists
                .values()
                .append_option((draw.below(4) > 0).then(|| draw.below(99).to_string()));
        }
        lists.append(draw.below(6) > 0);
    }
    let words = texts.iter().map(|text| text.as_deref());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(Int64Array::from(numbers.clone()))),
        ("text", Arc::new(StringArray::from(texts.clone()))),
        ("list", Arc::new(lists.finish())),
        ("float", Arc::new(Float64Array::from(floats))),
        (
            "word",
            Arc::new(words.collect::<DictionaryArray<Int32Type>>()),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(
                numbers.iter().map(|number| number.map(|n| n % 3 == 0)),
            )),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn drawn_file(draw: &mut Draw, batch: &RecordBatch) -> Vec<u8> {
    let codec = draw.one(&[
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ]);
    let has_dictionaries = draw.below(2) == 0;
    let mut properties = WriterProperties::builder()
        .set_compression(codec)
        .set_writer_version(draw.one(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]))
        .set_dictionary_enabled(has_dictionaries)
        .set_max_row_group_row_count(Some(draw.one(&[70, 500, 100_000])))
        .set_data_page_row_count_limit(draw.one(&[13, 100, 20_000]))
        .set_write_batch_size(draw.one(&[1, 10, 1024]))
        .set_offset_index_disabled(draw.below(2) == 0);
    if draw.below(2) == 0 {
        properties = properties.set_statistics_enabled(EnabledStatistics::None);
    }
    if !has_dictionaries && draw.below(2) == 0 {
        properties = properties
            .set_column_encoding("number".into(), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("float".into(), Encoding::BYTE_STREAM_SPLIT);
    }
    let mut file = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file
}

fn bytes_of(file: &[u8], range: &Range<u64>) -> Bytes {
    Bytes::copy_from_slice(&file[range.start as usize..range.end as usize])
}

fn open(file: &[u8]) -> ParquetFile {
    let mut opening = Opening::new(file.len() as u64);
    loop {
        let needs = opening.needs().unwrap();
        if needs.is_empty() {
            return opening.finish().unwrap();
        }
        for range in needs {
            opening.put(range.start, bytes_of(file, &range));
        }
    }
}

/// Reads rows; the bytes arrive in a drawn order, and as late as possible or earlier.
fn read(draw: &mut Draw, file: &[u8], parquet: &mut ParquetFile, mut reader: RowReader) -> Vec<u8> {
    let mut on_their_way: Vec<Range<u64>> = Vec::new();
    let mut stream = Vec::new();
    loop {
        let step = reader.step(parquet).unwrap();
        on_their_way.extend(reader.take_wanted());
        let is_starved = step == Step::Starved;
        match step {
            Step::Message(message) => stream.extend(message),
            Step::Done => {
                reader.close(parquet);
                return stream;
            }
            Step::Worked | Step::Starved => {}
        }
        assert!(
            !is_starved || !on_their_way.is_empty(),
            "it waits for nothing"
        );
        while !on_their_way.is_empty() && (is_starved || draw.below(3) == 0) {
            let range = on_their_way.swap_remove(draw.below(on_their_way.len()));
            reader.put(range.start, &bytes_of(file, &range));
            if draw.below(2) == 0 {
                break;
            }
        }
    }
}

#[test]
fn rows_are_those_that_were_written() {
    let seed = seed();
    for case in 0..60 {
        let mut draw = Draw::of(seed, case);
        let num_rows = draw.one(&[0, 1, 69, 1025, 3000]);
        let batch = drawn_batch(&mut draw, num_rows);
        let file = drawn_file(&mut draw, &batch);
        let mut parquet = open(&file);
        assert_eq!(parquet.num_rows(), num_rows as u64, "case {case}");
        for _ in 0..4 {
            let start = draw.below(num_rows + 1);
            let end = start + draw.below(num_rows - start + 1);
            let range = draw.one(
                &[0..u64::MAX, start as u64..end as u64].map(|range| (range.start, range.end)),
            );
            let reader = RowReader::new(&parquet, range.0..range.1, None).unwrap();
            let stream = read(&mut draw, &file, &mut parquet, reader);
            let mut row = range.0 as usize;
            for decoded in StreamReader::try_new(&stream[..], None).unwrap() {
                let decoded = decoded.unwrap();
                let expected = batch.slice(row, decoded.num_rows());
                assert_eq!(
                    decoded.columns(),
                    expected.columns(),
                    "case {case}, row {row}"
                );
                row += decoded.num_rows();
            }
            assert_eq!(row, (range.1 as usize).min(num_rows), "case {case}");
        }
    }
}

#[test]
fn selected_rows_and_columns_are_those_that_were_written() {
    let seed = seed();
    for case in 0..80 {
        let mut draw = Draw::of(seed, 1000 + case);
        let num_rows = draw.one(&[1, 69, 1025, 3000]);
        let batch = drawn_batch(&mut draw, num_rows);
        let file = drawn_file(&mut draw, &batch);
        let mut parquet = open(&file);
        let step = draw.one(&[1, 2, 40, 900]);
        let mut rows: Vec<u32> = (0..num_rows as u32)
            .filter(|_| draw.below(step) == 0)
            .collect();
        let is_reordered = draw.below(3) == 0 && rows.len() > 1;
        if is_reordered {
            for _ in 0..rows.len() {
                let (a, b) = (draw.below(rows.len()), draw.below(rows.len()));
                rows.swap(a, b);
            }
            rows.push(rows[0]);
        }
        let columns: Vec<usize> = (0..batch.num_columns())
            .filter(|_| draw.below(2) == 0)
            .collect();
        let chosen = (!columns.is_empty()).then_some(&columns[..]);
        let reader = RowReader::selected(&parquet, &rows, chosen, 5).unwrap();
        let stream = read(&mut draw, &file, &mut parquet, reader);
        let decoded: Vec<RecordBatch> = StreamReader::try_new(&stream[..], None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let schema = decoded[0].schema();
        let decoded = concat_batches(&schema, &decoded).unwrap();
        let expected = match chosen {
            Some(columns) => batch.project(columns).unwrap(),
            None => batch,
        };
        let expected = take_record_batch(&expected, &UInt32Array::from(rows)).unwrap();
        assert_eq!(decoded.num_rows(), expected.num_rows(), "case {case}");
        for (ours, theirs) in decoded.columns().iter().zip(expected.columns()) {
            // Taking rows may order the words of a dictionary in another way.
            match ours.data_type() {
                DataType::Dictionary(..) => assert_eq!(words(ours), words(theirs), "case {case}"),
                _ => assert_eq!(ours, theirs, "case {case}"),
            }
        }
    }
}

fn words(array: &ArrayRef) -> Vec<Option<&str>> {
    let dictionary = array.as_dictionary::<Int32Type>();
    let words = dictionary.downcast_dict::<StringArray>().unwrap();
    words.into_iter().collect()
}

#[test]
fn rows_behind_a_page_without_rows_are_read() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fixtures/empty_page.parquet"
    );
    let file = std::fs::read(path).unwrap();
    let mut parquet = open(&file);
    let mut rows_of = |range: Range<u64>| {
        let reader = RowReader::new(&parquet, range, None).unwrap();
        let stream = read(&mut Draw(3), &file, &mut parquet, reader);
        let batches = StreamReader::try_new(&stream[..], None).unwrap();
        let lengths = batches.flat_map(|batch| {
            let lists = batch.unwrap().column(0).clone();
            let lists = lists.as_list::<i32>();
            lists
                .iter()
                .map(|list| list.unwrap().len())
                .collect::<Vec<_>>()
        });
        lengths.collect::<Vec<_>>()
    };
    assert_eq!(rows_of(0..12), [0, 0, 0, 2, 1, 2, 2, 1, 0, 1, 3, 3]);
    assert_eq!(rows_of(11..12), [3]);
    assert_eq!(rows_of(10..12), [3, 3]);
}

#[test]
fn what_is_no_parquet_file_is_refused() {
    let batch = drawn_batch(&mut Draw(7), 100);
    let good = drawn_file(&mut Draw(7), &batch);
    for length in [0, 4, 11, 12, 100, good.len() - 1] {
        let mut opening = Opening::new(length as u64);
        let cut = &good[..length];
        let refused = loop {
            match opening.needs() {
                Err(error) => break error,
                Ok(needs) => {
                    assert!(!needs.is_empty(), "{length} bytes of a file were taken");
                    for range in needs {
                        opening.put(range.start, bytes_of(cut, &range));
                    }
                }
            }
        };
        assert!(!refused.message.is_empty());
    }
}
