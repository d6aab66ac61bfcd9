//! The golden streams of Apache Arrow, which every implementation must read. At every chunk size, each
//! decodes to the values of its JSON. None of its proper prefixes is accepted as complete.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_integration_test::ArrowJson;
use colonnade_core::decode::Decoder;
use colonnade_core::kernels::StreamPieces;
use colonnade_core::text::{CellText, FixedOffsets, write_cell};
use colonnade_core::wire::{DecodeErrorKind, Limits, survey_file, survey_stream};

const CHUNK_SIZES_BYTES: [usize; 6] = [1, 2, 7, 123, 4096, usize::MAX];

/// The `.stream` files of the conformance data; empty if the data are not available.
fn gold_streams() -> Vec<PathBuf> {
    let Ok(folder) = std::env::var("COLONNADE_CONFORMANCE") else {
        eprintln!("COLONNADE_CONFORMANCE is not set: the golden streams are left out");
        return Vec::new();
    };
    let gold = Path::new(&folder).join("arrow/gold");
    let mut streams: Vec<PathBuf> = fs::read_dir(gold)
        .unwrap()
        .flat_map(|set| fs::read_dir(set.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "stream")
        })
        .collect();
    streams.sort();
    assert!(
        !streams.is_empty(),
        "there are no golden streams below {folder}"
    );
    streams
}

fn expected_batches(stream: &Path) -> Vec<RecordBatch> {
    let json =
        flate2::read::GzDecoder::new(fs::File::open(stream.with_extension("json.gz")).unwrap());
    let json: ArrowJson = serde_json::from_reader(json).unwrap();
    json.get_record_batches().unwrap()
}

fn decode(bytes: &[u8], chunk_bytes: usize) -> Decoder {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    for chunk in bytes.chunks(chunk_bytes.min(bytes.len())) {
        decoder.push(chunk).unwrap();
    }
    decoder.finish().unwrap();
    decoder
}

fn texts(array: &ArrayRef) -> Vec<(u8, String)> {
    (0..array.len())
        .map(|index| {
            let mut out = String::new();
            let kind = write_cell(
                array,
                None,
                index,
                &FixedOffsets,
                &mut CellText::new(&mut out, 0),
            );
            (kind as u8, out)
        })
        .collect()
}

fn assert_equal(name: &str, decoder: &Decoder, expected: &[RecordBatch]) {
    let table = decoder.table().unwrap();
    let with_rows: Vec<&RecordBatch> = expected
        .iter()
        .filter(|batch| batch.num_rows() > 0)
        .collect();
    for (index, column) in table.columns().iter().enumerate() {
        assert_eq!(column.chunks().len(), with_rows.len(), "{name}: batches");
        for (chunk, batch) in column.chunks().zip(&with_rows) {
            let chunk = chunk.unwrap();
            let wanted = batch.column(index);
            assert_eq!(texts(chunk), texts(wanted), "{name}: column {index}");
            // The JSON reader gives a map's entries other field names than the file.
            if !name.contains("map_non_canonical") {
                assert_eq!(chunk, wanted, "{name}: column {index}");
            }
        }
    }
    let num_rows: usize = expected.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(table.num_rows(), num_rows as u64, "{name}: rows");
}

#[test]
fn every_golden_stream_decodes_to_its_json_at_every_chunk_size() {
    for path in gold_streams() {
        let name = path.display().to_string();
        let bytes = fs::read(&path).unwrap();
        let expected = expected_batches(&path);
        for chunk_bytes in CHUNK_SIZES_BYTES {
            assert_equal(&name, &decode(&bytes, chunk_bytes), &expected);
        }
    }
}

#[test]
fn every_proper_prefix_of_a_golden_stream_is_an_error() {
    for path in gold_streams() {
        let bytes = fs::read(&path).unwrap();
        // Small files are cut at each byte. In large ones, a prime stride reaches all kinds of
        // positions.
        let stride = if bytes.len() < 30_000 { 1 } else { 997 };
        for end in (0..bytes.len()).step_by(stride) {
            let mut decoder = Decoder::new(u64::MAX, Limits::default());
            decoder.push(&bytes[..end]).unwrap();
            let error = decoder.finish().unwrap_err();
            let expected = if decoder.at_message_boundary() {
                DecodeErrorKind::MissingEndOfStream
            } else {
                DecodeErrorKind::TruncatedMessage
            };
            assert_eq!(error.kind, expected, "{} cut at {end}", path.display());
        }
    }
}

#[test]
fn a_survey_counts_the_rows_of_streams_and_files() {
    for path in gold_streams() {
        let rows: usize = expected_batches(&path)
            .iter()
            .map(RecordBatch::num_rows)
            .sum();
        let limits = Limits::default();
        let stream = survey_stream(fs::File::open(&path).unwrap(), &limits).unwrap();
        let file = fs::File::open(path.with_extension("arrow_file")).unwrap();
        let file = survey_file(std::io::BufReader::new(file), &limits).unwrap();
        let num_bytes = fs::metadata(&path).unwrap().len();
        assert_eq!(
            (stream.marker_end, file.marker_end),
            (Some(num_bytes), None)
        );
        for (kind, survey) in [("stream", stream), ("file", file)] {
            assert_eq!(survey.num_rows, rows as u64, "{} as {kind}", path.display());
        }
    }
}

/// Reads the rows that were decoded before an error, as a grid would.
fn read_first_rows(decoder: &Decoder) {
    if let Some(table) = decoder.table() {
        let rows = 0..table.num_rows().min(100);
        let columns: Vec<usize> = (0..table.columns().len()).collect();
        table.window(rows, &columns, 200, &FixedOffsets).unwrap();
    }
}

/// What the decoder's own check accepts, arrow-rs's full validation must accept too.
fn assert_valid(decoder: &Decoder) {
    for column in decoder.table().iter().flat_map(|table| table.columns()) {
        column.validate_full().unwrap();
    }
}

#[test]
fn arrays_are_the_same_whenever_they_are_made() {
    for path in gold_streams() {
        let bytes = fs::read(&path).unwrap();
        let late = decode(&bytes, 4096);
        // Each array is built as soon as its batch has arrived.
        let mut early = Decoder::new(u64::MAX, Limits::default());
        for chunk in bytes.chunks(64) {
            early.push(chunk).unwrap();
            let columns = early.table().map_or(&[][..], |table| table.columns());
            columns
                .iter()
                .flat_map(|column| column.chunks())
                .for_each(drop);
        }
        let columns = |decoder: &Decoder| -> Vec<Vec<ArrayRef>> {
            let columns = decoder.table().unwrap().columns().iter();
            columns
                .map(|column| {
                    column
                        .chunks()
                        .map(|chunk| chunk.unwrap().clone())
                        .collect()
                })
                .collect()
        };
        assert_eq!(columns(&early), columns(&late), "{}", path.display());
        assert_valid(&late);
    }
}

#[test]
fn the_pieces_of_a_table_are_the_stream_again() {
    for path in gold_streams() {
        let name = path.display();
        let decoder = decode(&fs::read(&path).unwrap(), 4096);
        let mut pieces = StreamPieces::new(decoder.table().unwrap());
        let written: Vec<u8> = std::iter::from_fn(|| pieces.next_piece())
            .flatten()
            .collect();
        assert_equal(
            &format!("{name} again"),
            &decode(&written, 7),
            &expected_batches(&path),
        );
        // Other readers, which verify FlatBuffers, read the same rows.
        let reader = arrow_ipc::reader::StreamReader::try_new(written.as_slice(), None);
        let rows = reader.unwrap().map(|batch| batch.unwrap().num_rows());
        let num_rows = decoder.table().unwrap().num_rows();
        assert_eq!(rows.sum::<usize>() as u64, num_rows, "{name}");
    }
}

#[test]
fn one_flipped_bit_never_panics() {
    for path in gold_streams() {
        let bytes = fs::read(&path).unwrap();
        if bytes.len() > 6_000 {
            continue;
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut decoder = Decoder::new(64 << 20, Limits::default());
            let _ = decoder.push(&flipped);
            read_first_rows(&decoder);
            assert_valid(&decoder);
        }
    }
}

#[test]
fn batches_share_nothing_with_the_next_dictionary() {
    // Two batches with a replacement dictionary between them, as two partitions send them.
    let schema = Arc::new(arrow_schema::Schema::new(vec![
        arrow_schema::Field::new_dictionary(
            "d",
            arrow_schema::DataType::Int32,
            arrow_schema::DataType::Utf8,
            true,
        ),
    ]));
    let batch = |values: [&str; 2]| {
        let array: arrow_array::DictionaryArray<arrow_array::types::Int32Type> =
            values.into_iter().collect();
        RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).unwrap()
    };
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch(["a", "b"])).unwrap();
    writer.write(&batch(["q", "r"])).unwrap();
    writer.finish().unwrap();
    let decoder = decode(&writer.into_inner().unwrap(), 3);
    let chunks = decoder.table().unwrap().columns()[0].chunks();
    let values: Vec<String> = chunks
        .flat_map(|chunk| texts(chunk.unwrap()))
        .map(|(_, text)| text)
        .collect();
    assert_eq!(values, ["a", "b", "q", "r"]);
}
