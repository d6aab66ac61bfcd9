//! The rows of a CSV text as record batches.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};

use crate::TextError;
use crate::csv::CHUNK_BYTES;
use crate::csv::builder::{ColumnBuilder, Fields};
use crate::csv::dialect::{Dialect, Syntax};
use crate::csv::records::{Block, Splitter};
use crate::csv::values::ValueSyntax;
use crate::notation::Reading;

/// A batch ends early when a column has this many bytes of text, so that its offsets fit 32 bits. One
/// block adds less than 20 MiB.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// Reads the rows of a CSV text, or of a byte range of it, strictly as the types of a schema.
#[derive(Debug)]
pub struct Decoder {
    splitter: Splitter,
    rows: RowBuilder,
}

impl Decoder {
    /// Reads the records that begin in `range` of the text; its end may be `u64::MAX`.
    ///
    /// `schema` has all columns of the text, with their readings ([`READING_KEY`](crate::READING_KEY)); batches have those of `projection`. If the range starts
    /// at 0, the caller pushes the text from its first byte on, and a header is skipped; comments and
    /// blank lines before the header must be in that range. Otherwise the caller pushes from the byte
    /// before the range on, and no line end of the text may be in quotes (see
    /// [`QuoteScan`](crate::csv::QuoteScan)).
    ///
    /// # Errors
    /// If the projection is not of the schema, or a type has no [`type_word`](crate::type_word).
    pub fn new(
        dialect: &Dialect,
        schema: &SchemaRef,
        projection: &[usize],
        range: Range<u64>,
        batch_rows: usize,
    ) -> Result<Self, ArrowError> {
        let num_fields = Some(schema.fields().len());
        Ok(Self {
            splitter: Splitter::new(dialect, num_fields, range),
            rows: RowBuilder::new(dialect, schema, projection, batch_rows)?,
        })
    }

    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.rows.schema
    }

    /// Reads the next piece of the text. Returns whether the range ended, so that no more is wanted.
    ///
    /// # Errors
    /// The first wrong record. The rows before it are in the batches.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, TextError> {
        for chunk in piece.chunks(CHUNK_BYTES) {
            if self.splitter.is_done() {
                break;
            }
            self.splitter.feed(chunk);
            self.read()?;
        }
        Ok(self.splitter.is_done())
    }

    /// Ends the text.
    ///
    /// # Errors
    /// As [`Self::push`]; `Empty` if the header is missing.
    pub fn finish(&mut self) -> Result<(), TextError> {
        self.splitter.finish();
        self.read()
    }

    /// The next complete batch. The last one is complete after the end of the range, the end of the
    /// text, or an error.
    pub fn next_batch(&mut self) -> Option<RecordBatch> {
        self.rows.batches.pop_front()
    }

    fn read(&mut self) -> Result<(), TextError> {
        let result = self.read_blocks();
        if result.is_err() {
            self.splitter.stop();
        }
        if self.splitter.is_done() {
            self.rows.finish_batch();
        }
        result
    }

    fn read_blocks(&mut self) -> Result<(), TextError> {
        let syntax = self.splitter.syntax;
        loop {
            let max_rows = self.rows.rows_left();
            match self.splitter.next_block(max_rows)? {
                Some(block) => self.rows.append(block, &syntax)?,
                None => return Ok(()),
            }
        }
    }
}

/// Builds batches from blocks.
#[derive(Debug)]
struct RowBuilder {
    /// How the values of each projected column are written.
    values: Vec<ValueSyntax>,
    /// The projected columns.
    schema: SchemaRef,
    /// Their indices in the text.
    projection: Vec<usize>,
    builders: Vec<ColumnBuilder>,
    batch_rows: usize,
    /// Rows of the batch that is being built.
    num_rows: usize,
    batches: VecDeque<RecordBatch>,
}

impl RowBuilder {
    fn new(
        dialect: &Dialect,
        schema: &SchemaRef,
        projection: &[usize],
        batch_rows: usize,
    ) -> Result<Self, ArrowError> {
        let schema = SchemaRef::new(schema.project(projection)?);
        let builder = |field: &arrow_schema::FieldRef| {
            let unsupported = || ArrowError::SchemaError(format!("CSV cannot have {field}"));
            ColumnBuilder::new(field.data_type()).ok_or_else(unsupported)
        };
        let values = ValueSyntax::new(dialect);
        let column_values = |field: &arrow_schema::FieldRef| match Reading::of_field(field) {
            Some(reading) => values.read_as(reading),
            None => values.clone(),
        };
        Ok(Self {
            values: schema.fields().iter().map(column_values).collect(),
            builders: schema
                .fields()
                .iter()
                .map(builder)
                .collect::<Result<_, _>>()?,
            schema,
            projection: projection.to_vec(),
            batch_rows: batch_rows.max(1),
            num_rows: 0,
            batches: VecDeque::new(),
        })
    }

    fn rows_left(&self) -> usize {
        self.batch_rows - self.num_rows
    }

    /// Appends the rows of a block, at most [`Self::rows_left`], or those before the first wrong value.
    fn append(&mut self, block: Block<'_>, syntax: &Syntax) -> Result<(), TextError> {
        let mut num_rows = block.num_rows;
        let mut error = None;
        let columns = self.projection.iter().zip(self.schema.fields());
        let columns = columns.zip(&self.values);
        for (builder, ((&column, field), values)) in self.builders.iter_mut().zip(columns) {
            let fields = Fields {
                block,
                column,
                syntax,
                values,
            };
            if let Err(row) = builder.append(fields, num_rows) {
                num_rows = row;
                let kind = builder.misfit(field.name(), fields, row);
                error = Some(TextError::new(kind, block.row_offset(row)));
            }
        }
        self.num_rows += num_rows;
        if let Some(error) = error {
            let num_rows = self.num_rows;
            self.builders
                .iter_mut()
                .for_each(|builder| builder.truncate(num_rows));
            return Err(error);
        }
        let text_bytes = self.builders.iter().map(ColumnBuilder::text_bytes).max();
        if self.rows_left() == 0 || text_bytes > Some(MAX_TEXT_BYTES) {
            self.finish_batch();
        }
        Ok(())
    }

    fn finish_batch(&mut self) {
        if self.num_rows == 0 {
            return;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.num_rows));
        self.num_rows = 0;
        let arrays = self.builders.iter_mut().map(ColumnBuilder::finish);
        let arrays: Result<Vec<ArrayRef>, ArrowError> = arrays.collect();
        let schema = self.schema.clone();
        let batch =
            arrays.and_then(|arrays| RecordBatch::try_new_with_options(schema, arrays, &options));
        // Cannot fail: the builders make arrays of the schema's types and of one length, and all text is
        // UTF-8.
        self.batches.extend(batch);
    }
}

#[cfg(test)]
mod tests;
