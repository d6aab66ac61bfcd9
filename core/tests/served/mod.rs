//! Streams as a Colonnade server sends them: arrow-rs's messages with the server's entries in front.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use colonnade_core::wire::integrity::{
    FIRST_ROW, SEQ, SNAPSHOT, TOTAL_BATCHES, TOTAL_ROWS, XXH3, front, xxh3_64,
};

pub const CONTINUATION: [u8; 4] = [0xff; 4];

/// One encapsulated message.
#[derive(Clone)]
pub struct Piece {
    pub metadata: Vec<u8>,
    pub body: Vec<u8>,
}

impl Piece {
    pub fn header(&self) -> arrow_ipc::Message<'_> {
        arrow_ipc::root_as_message(&self.metadata).unwrap()
    }

    pub fn num_rows(&self) -> u64 {
        self.header()
            .header_as_record_batch()
            .map_or(0, |batch| batch.length() as u64)
    }

    /// The message with `entries` as its custom metadata.
    pub fn with(&self, entries: &[(&str, &str)]) -> Piece {
        let front = front(&self.metadata, entries).unwrap();
        assert_eq!(front.len() % 64, 0);
        Piece {
            metadata: [front, self.metadata.clone()].concat(),
            body: self.body.clone(),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let length = (self.metadata.len() as u32).to_le_bytes();
        [&CONTINUATION, &length[..], &self.metadata, &self.body].concat()
    }
}

/// The messages of a stream, without its marker.
pub fn split(mut stream: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    loop {
        assert_eq!(stream[..4], CONTINUATION);
        let length = u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
        if length == 0 {
            return pieces;
        }
        let metadata = stream[8..8 + length].to_vec();
        let header = arrow_ipc::root_as_message(&metadata).unwrap();
        let end = 8 + length + header.bodyLength() as usize;
        let body = stream[8 + length..end].to_vec();
        stream = &stream[end..];
        pieces.push(Piece { metadata, body });
    }
}

/// The stream that arrow-rs writes for `batches`.
pub fn plain(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// The response that begins at `first_row` and whose rows are `batches` of [`schema`].
pub fn served(batches: &[RecordBatch], first_row: u64, checksum: bool) -> Vec<u8> {
    served_as(&schema(), batches, first_row, checksum)
}

/// Like [`served`], with another schema.
pub fn served_as(
    schema: &Arc<Schema>,
    batches: &[RecordBatch],
    first_row: u64,
    checksum: bool,
) -> Vec<u8> {
    let stream = plain(&[batches, &[RecordBatch::new_empty(schema.clone())]].concat());
    let mut pieces = split(&stream).into_iter();
    let mut out = pieces.next().unwrap().bytes();
    // arrow-rs does not repeat an unchanged dictionary, so the last piece is the empty batch.
    let num_pieces = pieces.len();
    let mut row = first_row;
    let mut num_batches = 0;
    for (seq, piece) in pieces.enumerate() {
        let mut entries = vec![(FIRST_ROW, row.to_string()), (SEQ, seq.to_string())];
        if seq + 1 == num_pieces {
            entries.push((TOTAL_ROWS, row.to_string()));
            entries.push((TOTAL_BATCHES, num_batches.to_string()));
        }
        if checksum {
            entries.push((XXH3, format!("{:016x}", xxh3_64(&piece.body))));
        }
        let entries: Vec<_> = entries
            .iter()
            .map(|(key, value)| (*key, &**value))
            .collect();
        out.extend(piece.with(&entries).bytes());
        row += piece.num_rows();
        num_batches += u64::from(piece.header().header_as_record_batch().is_some());
    }
    out.extend(CONTINUATION);
    out.extend([0; 4]);
    out
}

/// The same response from another state of the source.
pub fn with_snapshot(response: &[u8], snapshot: &str) -> Vec<u8> {
    let mut pieces = split(response).into_iter();
    let mut out = pieces.next().unwrap().bytes();
    for (seq, piece) in pieces.enumerate() {
        let entries = [(SNAPSHOT, snapshot)];
        let entries = if seq == 0 { &entries[..] } else { &[] };
        out.extend(piece.with(entries).bytes());
    }
    out.extend(CONTINUATION);
    out.extend([0; 4]);
    out
}

/// `num_rows` rows of a table from `first_row` on. Their values show their row numbers.
pub fn batch(first_row: i64, num_rows: i64) -> RecordBatch {
    let rows = || first_row..first_row + num_rows;
    let words: DictionaryArray<Int32Type> = rows()
        .map(|row| ["north", "east", "south", "west"][(row / 3 % 4) as usize])
        .collect();
    RecordBatch::try_new(
        schema(),
        vec![
            Arc::new(Int64Array::from_iter_values(rows())),
            Arc::new(StringArray::from_iter(
                rows().map(|row| (row % 5 != 0).then(|| format!("row {row}"))),
            )),
            Arc::new(words),
        ],
    )
    .unwrap()
}

pub fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::Int64, false),
        Field::new("text", DataType::Utf8, true),
        Field::new_dictionary("word", DataType::Int32, DataType::Utf8, true),
    ]))
}

/// Rows `[first_row, end_row)` in batches of `batch_rows`.
pub fn batches(first_row: i64, end_row: i64, batch_rows: i64) -> Vec<RecordBatch> {
    (first_row..end_row)
        .step_by(batch_rows as usize)
        .map(|row| batch(row, batch_rows.min(end_row - row)))
        .collect()
}
