use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::table::{Batch, Dictionary, DictionaryChunk, Table};
use crate::wire::{StreamSchema, frame, write_schema};

/// The rows of a table as an uncompressed Arrow IPC stream, in pieces. These are the messages as they
/// arrived, without empty batches and without the producer's custom metadata.
pub struct StreamPieces {
    pieces: VecDeque<Piece>,
    /// The dictionaries that have been written, with the number of their written chunks.
    written: HashMap<i64, (Arc<Dictionary>, usize)>,
}

enum Piece {
    Schema(Arc<StreamSchema>),
    Batch(Arc<Batch>),
    EndOfStream,
}

impl StreamPieces {
    /// A stream of `table` as it is now.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let schema = Piece::Schema(Arc::clone(table.schema()));
        let batches = table.batches().map(|batch| Piece::Batch(Arc::clone(batch)));
        let pieces = std::iter::once(schema).chain(batches);
        Self {
            pieces: pieces.chain([Piece::EndOfStream]).collect(),
            written: HashMap::new(),
        }
    }

    /// The next bytes: the schema, a batch with the dictionaries that it needs, or the end-of-stream
    /// marker; `None` at the end.
    pub fn next_piece(&mut self) -> Option<Vec<u8>> {
        Some(match self.pieces.pop_front()? {
            Piece::Schema(schema) => frame(&write_schema(&schema.encoded)),
            Piece::Batch(batch) => {
                let mut out = Vec::new();
                self.write_dictionaries(&batch, &mut out);
                batch.content().write(None, &mut out);
                out
            }
            Piece::EndOfStream => vec![0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
        })
    }

    /// Writes the dictionary chunks that have not been written yet, in the order of their arrival,
    /// because values can refer to earlier dictionaries.
    fn write_dictionaries(&mut self, batch: &Batch, out: &mut Vec<u8>) {
        let mut missing: Vec<(i64, bool, Arc<DictionaryChunk>)> = Vec::new();
        for (&id, dictionary) in batch.dictionaries().iter() {
            let written = self.written.get(&id);
            let num_written = written
                .filter(|(written, _)| Arc::ptr_eq(written, dictionary))
                .map_or(0, |(_, num_chunks)| *num_chunks);
            let chunks = dictionary.chunks_from(num_written);
            let num_chunks = num_written + chunks.len();
            for (index, chunk) in chunks.into_iter().enumerate() {
                let at = missing.partition_point(|(_, _, other)| other.position < chunk.position);
                missing.insert(at, (id, num_written + index > 0, chunk));
            }
            self.written
                .insert(id, (Arc::clone(dictionary), num_chunks));
        }
        for (id, is_delta, chunk) in missing {
            chunk.content.write(Some((id, is_delta)), out);
        }
    }
}
