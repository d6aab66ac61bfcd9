//! One interface to CSV and JSON.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::{TextError, csv, json};

/// How a text is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Format {
    /// Rows of fields between delimiters.
    Csv(csv::Dialect),
    /// Objects.
    Json(json::Options),
}

/// Collects facts about the values of a text, from which a schema follows.
#[derive(Debug)]
pub enum Inference {
    /// Of CSV.
    Csv(csv::Inference),
    /// Of JSON.
    Json(json::Inference),
}

impl Inference {
    /// Facts about a text from its start.
    #[must_use]
    pub fn new(format: &Format) -> Self {
        match format {
            Format::Csv(dialect) => Self::Csv(csv::Inference::new(dialect)),
            Format::Json(options) => Self::Json(json::Inference::new(*options)),
        }
    }

    /// Reads the next piece of the text.
    ///
    /// # Errors
    /// The first wrong record. The facts of the records before it stay.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), TextError> {
        match self {
            Self::Csv(inference) => inference.push(piece),
            Self::Json(inference) => inference.push(piece).map(drop),
        }
    }

    /// Ends the text.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self) -> Result<(), TextError> {
        match self {
            Self::Csv(inference) => inference.finish(),
            Self::Json(inference) => inference.finish(),
        }
    }

    /// Records that were read.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        match self {
            Self::Csv(inference) => inference.num_rows(),
            Self::Json(inference) => inference.num_rows(),
        }
    }

    /// The columns that were found; `None` if there is no header and no record.
    #[must_use]
    pub fn into_columns(self) -> Option<Columns> {
        match self {
            Self::Csv(inference) => inference.into_inferred().map(Columns::Csv),
            Self::Json(inference) => inference.into_inferred().map(Columns::Json),
        }
    }
}

/// Columns and facts about their values.
#[derive(Debug, Clone)]
pub enum Columns {
    /// Of CSV.
    Csv(csv::Inferred),
    /// Of JSON.
    Json(json::Inferred),
}

impl Columns {
    /// Adds the facts of a text that follows. Returns the position of each column of that text, if it is CSV.
    ///
    /// # Errors
    /// One line that says how the columns differ, if no name of a CSV column is in both.
    pub fn merge(&mut self, other: Self) -> Result<Option<Vec<usize>>, String> {
        match (self, other) {
            (Self::Csv(columns), Self::Csv(other)) => {
                let names = other.names.clone();
                let positions = columns.merge(other).ok_or_else(|| {
                    format!(
                        "it has the columns {names:?}, but the files before it have {:?}; one table needs columns in common",
                        columns.names
                    )
                })?;
                Ok(Some(positions))
            }
            (Self::Json(columns), Self::Json(other)) => {
                columns.merge(other);
                Ok(None)
            }
            _ => Err("it is not of the same format as the files before it".to_owned()),
        }
    }

    /// The types that hold all values exactly. Names of CSV columns may be equal.
    #[must_use]
    pub fn schema(&self) -> Schema {
        match self {
            Self::Csv(columns) => columns.schema(),
            Self::Json(columns) => columns.schema(),
        }
    }
}

/// Reads the rows of a text strictly as the types of a schema.
#[derive(Debug)]
pub enum Decoder {
    /// Of CSV.
    Csv(csv::Decoder),
    /// Of JSON.
    Json(json::Decoder),
}

impl Decoder {
    /// As [`csv::Decoder::new`] and [`json::Decoder::new`].
    ///
    /// # Errors
    /// As there.
    pub fn new(
        format: &Format,
        schema: &SchemaRef,
        projection: &[usize],
        range: Range<u64>,
        batch_rows: usize,
    ) -> Result<Self, ArrowError> {
        Ok(match format {
            Format::Csv(dialect) => Self::Csv(csv::Decoder::new(
                dialect, schema, projection, range, batch_rows,
            )?),
            Format::Json(options) => Self::Json(json::Decoder::new(
                *options, schema, projection, range, batch_rows,
            )?),
        })
    }

    /// Reads the next piece of the text. Returns whether the range ended, so that no more is wanted.
    ///
    /// # Errors
    /// The first wrong record. The rows before it are in the batches.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, TextError> {
        match self {
            Self::Csv(decoder) => decoder.push(piece),
            Self::Json(decoder) => decoder.push(piece),
        }
    }

    /// Ends the text.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self) -> Result<(), TextError> {
        match self {
            Self::Csv(decoder) => decoder.finish(),
            Self::Json(decoder) => decoder.finish(),
        }
    }

    /// The next batch that is ready. The last one is ready at the end of the range or of the text.
    pub fn next_batch(&mut self) -> Option<RecordBatch> {
        match self {
            Self::Csv(decoder) => decoder.next_batch(),
            Self::Json(decoder) => decoder.next_batch(),
        }
    }
}
