//! Dictionaries that grow while batches refer to them.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamWriter};
use colonnade_core::decode::Decoder;
use colonnade_core::kernels::StreamPieces;
use colonnade_core::text::{CellText, FixedOffsets, write_cell};
use colonnade_core::wire::Limits;

const NEW_VALUES: usize = 3;

/// The keys of a batch after `step` deltas of the dictionary: its newest values, its oldest, one from
/// the middle, and a null.
fn keys(step: usize) -> Vec<Option<i32>> {
    let end = ((step + 1) * NEW_VALUES) as i32;
    vec![Some(end - 1), Some(0), None, Some(end / 2), Some(end - 2)]
}

fn value(key: i32) -> String {
    match key % 3 {
        0 => String::new(),
        _ => format!("value {key} é"),
    }
}

fn stream(num_batches: usize) -> Vec<u8> {
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let mut values = Vec::new();
    let mut writer: Option<StreamWriter<Vec<u8>>> = None;
    for step in 0..num_batches {
        let start = values.len() as i32;
        values.extend((start..start + NEW_VALUES as i32).map(value));
        let dictionary = Arc::new(StringArray::from_iter_values(&values));
        let keys = Int32Array::from(keys(step));
        let array: ArrayRef =
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, dictionary).unwrap());
        let batch = RecordBatch::try_from_iter([("d", array)]).unwrap();
        let writer = writer.get_or_insert_with(|| {
            let options = options.clone();
            StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap()
        });
        writer.write(&batch).unwrap();
    }
    let mut writer = writer.unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn texts(array: &ArrayRef) -> Vec<String> {
    let text = |index| {
        let mut out = String::new();
        write_cell(
            array,
            None,
            index,
            &FixedOffsets,
            &mut CellText::new(&mut out, 0),
        );
        out
    };
    (0..array.len()).map(text).collect()
}

fn expected(step: usize) -> Vec<String> {
    let text = |key: Option<i32>| key.map(value).unwrap_or_default();
    keys(step).into_iter().map(text).collect()
}

#[test]
fn every_batch_keeps_its_values_when_it_is_looked_at_late() {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&stream(200)).unwrap();
    decoder.finish().unwrap();
    let column = &decoder.table().unwrap().columns()[0];
    assert_eq!(column.num_chunks(), 200);
    for (step, chunk) in column.chunks().enumerate() {
        assert_eq!(texts(chunk.unwrap()), expected(step));
    }
    column.validate_full().unwrap();
}

#[test]
fn every_batch_keeps_its_values_when_it_is_looked_at_early() {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    for piece in stream(200).chunks(500) {
        decoder.push(piece).unwrap();
        if let Some(table) = decoder.table() {
            table.columns()[0].chunks().for_each(drop);
        }
    }
    let column = &decoder.table().unwrap().columns()[0];
    for (step, chunk) in column.chunks().enumerate() {
        assert_eq!(texts(chunk.unwrap()), expected(step));
    }
}

#[test]
fn a_stream_with_deltas_can_be_written_again() {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&stream(50)).unwrap();
    let mut pieces = StreamPieces::new(decoder.table().unwrap());
    let written: Vec<u8> = std::iter::from_fn(|| pieces.next_piece())
        .flatten()
        .collect();
    let reader = StreamReader::try_new(written.as_slice(), None).unwrap();
    for (step, batch) in reader.enumerate() {
        assert_eq!(texts(batch.unwrap().column(0)), expected(step));
    }
    let mut again = Decoder::new(u64::MAX, Limits::default());
    again.push(&written).unwrap();
    again.finish().unwrap();
    let chunks = again.table().unwrap().columns()[0].chunks();
    for (step, chunk) in chunks.enumerate() {
        assert_eq!(texts(chunk.unwrap()), expected(step));
    }
}

#[test]
fn a_delta_costs_what_it_brings() {
    let num_batches = 5000;
    let bytes = stream(num_batches);
    let start = Instant::now();
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&bytes).unwrap();
    let decoded_ms = start.elapsed().as_millis();
    let column = &decoder.table().unwrap().columns()[0];
    let num_values: usize = column
        .chunks()
        .map(|chunk| {
            let data = chunk.unwrap().to_data();
            data.child_data()[0].len()
        })
        .sum();
    println!(
        "{num_batches} deltas: {decoded_ms} ms, looked at in {} ms",
        start.elapsed().as_millis()
    );
    assert!(
        num_values <= num_batches * 4,
        "a batch has the values that it uses"
    );
}
