//! Reads records into batches of a schema.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Fields, SchemaRef};

use super::column::{Column, Objects};
use super::cursor::{Cursor, Scratch};
use super::fault::{Fault, Parsed};
use super::inference::expect_object;
use super::options::{Layout, Options};
use super::record_sink::RecordSink;
use super::records::Records;
use crate::TextError;

/// A batch is ended behind this many bytes of text, so that offsets of 32 bits are enough for it.
const MAX_BATCH_BYTES: usize = 64 << 20;

/// Decodes the records that begin in a range of a text.
///
/// The schema is strict: a field that it does not have, and a value that its type does not hold exactly,
/// are errors. A field that a record does not have is null.
#[derive(Debug)]
pub struct Decoder {
    records: Records,
    rows: Rows,
}

/// Rows of the batch that is being built, and batches that are ready.
#[derive(Debug)]
struct Rows {
    allows_nan: bool,
    schema: SchemaRef,
    /// Fields of the records that become columns of the batch.
    projection: Vec<usize>,
    objects: Objects,
    num_rows: usize,
    /// Bytes of text of the rows.
    num_bytes: usize,
    max_rows: usize,
    ready: VecDeque<RecordBatch>,
    scratch: Scratch,
}

impl Decoder {
    /// Decodes the records that begin in `range`, a range of bytes of the whole text.
    ///
    /// The caller pushes the text from its start on or, if `range.start > 0`, from the byte before
    /// `range.start` on: the first record begins behind the first line feed. The range of an array must be
    /// `0..u64::MAX`. `schema` has all fields of the records, `projection` the numbers of those that
    /// become columns of the batches, which have `batch_rows` rows at most.
    ///
    /// # Errors
    ///
    /// A type that is not read from JSON, a field that is not nullable, two fields of one name, a number
    /// in `projection` that is not of a field, or a part of an array as `range`.
    pub fn new(
        options: Options,
        schema: &SchemaRef,
        projection: &[usize],
        range: Range<u64>,
        batch_rows: usize,
    ) -> Result<Self, ArrowError> {
        if options.layout == Layout::Array && range != (0..u64::MAX) {
            let message = "a part of a JSON array cannot be read by itself";
            return Err(ArrowError::InvalidArgumentError(message.to_owned()));
        }
        Ok(Self {
            records: Records::new(options.layout, range),
            rows: Rows {
                allows_nan: options.allows_nan,
                schema: Arc::new(schema.project(projection)?),
                projection: projection.to_vec(),
                objects: projected_objects(schema.fields(), projection)?,
                num_rows: 0,
                num_bytes: 0,
                max_rows: batch_rows.max(1),
                ready: VecDeque::new(),
                scratch: Scratch::default(),
            },
        })
    }

    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.rows.schema
    }

    /// Reads the next bytes; returns true if no more are needed.
    ///
    /// # Errors
    ///
    /// The first broken record or value that the schema does not hold. [`Decoder::next_batch`] returns the
    /// rows before it.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, TextError> {
        let result = self.records.push(piece, &mut self.rows);
        if matches!(result, Ok(false)) {
            result
        } else {
            self.rows.end_batch(result)
        }
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// As for [`Decoder::push`]; also if the text ends in a record.
    pub fn finish(&mut self) -> Result<(), TextError> {
        let result = self.records.finish(&mut self.rows);
        self.rows.end_batch(result)
    }

    /// The next batch that is ready. The last one is ready at the end of the range or of the text.
    pub fn next_batch(&mut self) -> Option<RecordBatch> {
        self.rows.ready.pop_front()
    }
}

/// Builders for the fields in `projection`.
fn projected_objects(fields: &Fields, projection: &[usize]) -> Result<Objects, ArrowError> {
    let columns = fields.iter().enumerate().map(|(index, field)| {
        if projection.contains(&index) {
            Column::new(field)
        } else {
            Ok(Column::skipped(field))
        }
    });
    Objects::with_columns(fields, columns.collect::<Result<_, _>>()?)
}

impl RecordSink for Rows {
    fn record(&mut self, text: &str) -> Parsed<bool> {
        let mut cursor = Cursor::new(text, self.allows_nan, &mut self.scratch);
        expect_object(&mut cursor)?;
        self.objects.append(&mut cursor)?;
        cursor.end()?;
        self.num_rows += 1;
        self.num_bytes += text.len();
        if self.num_rows >= self.max_rows || self.num_bytes >= MAX_BATCH_BYTES {
            let batch = self
                .build_batch()
                .map_err(|error| Fault::json(error.to_string()))?;
            self.ready.push_back(batch);
        }
        Ok(false)
    }
}

impl Rows {
    /// Makes a batch of the rows so far. After an error, the columns may have a part of one more row.
    fn end_batch<T>(&mut self, result: Result<T, TextError>) -> Result<T, TextError> {
        if result.is_err() {
            self.objects.repair(self.num_rows + 1);
        }
        if self.num_rows > 0 {
            match self.build_batch() {
                Ok(batch) => self.ready.push_back(batch),
                Err(error) => return result.and(Err(Fault::json(error.to_string()).at(0))),
            }
        }
        result
    }

    fn build_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays = self.objects.finish_columns()?;
        let columns = self
            .projection
            .iter()
            .filter_map(|&index| arrays.get(index));
        let columns = columns.map(|array| array.slice(0, self.num_rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.num_rows));
        self.num_rows = 0;
        self.num_bytes = 0;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}
