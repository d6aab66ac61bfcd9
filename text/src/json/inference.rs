//! Infers a schema from records.

use std::ops::Range;

use arrow_schema::Schema;

use super::cursor::{Class, Cursor, Scratch};
use super::facts::ObjectFacts;
use super::fault::{Fault, Parsed};
use super::options::Options;
use super::records::{RecordSink, Records};
use crate::{MAX_COLUMNS, TextError, TextErrorKind};

/// Collects facts about the values of all records.
#[derive(Debug)]
pub struct Inference {
    records: Records,
    sample: Sample,
    /// Whether the text may be empty, because it is a part of a longer one.
    is_part: bool,
}

/// The records that were read.
#[derive(Debug)]
struct Sample {
    allows_nan: bool,
    max_rows: Option<u64>,
    num_rows: u64,
    facts: ObjectFacts,
    scratch: Scratch,
}

impl Inference {
    /// Infers from the whole text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self::with_range(options, 0..u64::MAX)
    }

    /// Infers from the records that begin in a range of bytes of the text.
    ///
    /// The bytes are pushed as for a [`Decoder`](super::Decoder) of that range. The range of an array must
    /// be `0..u64::MAX`.
    #[must_use]
    pub fn with_range(options: Options, range: Range<u64>) -> Self {
        Self {
            is_part: range != (0..u64::MAX),
            records: Records::new(options.layout, range),
            sample: Sample {
                allows_nan: options.allows_nan,
                max_rows: None,
                num_rows: 0,
                facts: ObjectFacts::default(),
                scratch: Scratch::default(),
            },
        }
    }

    /// Stops after `max_rows` records, and before a broken record that follows a good one: a text that is
    /// cut off in a record is a sample, too.
    #[must_use]
    pub fn with_max_rows(mut self, max_rows: u64) -> Self {
        self.sample.max_rows = Some(max_rows.max(1));
        self
    }

    /// Reads the next bytes; returns true if no more are needed.
    ///
    /// # Errors
    ///
    /// The first broken record; not in a sample that has a record already.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, TextError> {
        let result = self.records.push(piece, &mut self.sample);
        self.forgive(result, true)
    }

    /// Records that were read so far.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.sample.num_rows
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// As for [`Inference::push`].
    pub fn finish(&mut self) -> Result<(), TextError> {
        let result = self.records.finish(&mut self.sample);
        self.forgive(result, ())
    }

    /// The fields of the records that were read; `None` if a whole text has no record. Without
    /// [`Inference::finish`], these are the fields of a sample.
    #[must_use]
    pub fn into_inferred(self) -> Option<Inferred> {
        (self.sample.num_rows > 0 || self.is_part).then_some(Inferred {
            num_rows: self.sample.num_rows,
            facts: self.sample.facts,
        })
    }

    fn forgive<T>(&self, result: Result<T, TextError>, end: T) -> Result<T, TextError> {
        let is_enough = self.sample.max_rows.is_some() && self.sample.num_rows > 0;
        if is_enough {
            result.or(Ok(end))
        } else {
            result
        }
    }
}

impl RecordSink for Sample {
    fn record(&mut self, text: &str) -> Parsed<bool> {
        if self.max_rows.is_some() {
            // A broken record must not leave facts in the sample.
            let mut cursor = Cursor::new(text, self.allows_nan, &mut self.scratch);
            cursor.skip_value()?;
            cursor.end()?;
        }
        let mut cursor = Cursor::new(text, self.allows_nan, &mut self.scratch);
        expect_object(&mut cursor)?;
        if !self.facts.observe(&mut cursor, MAX_COLUMNS)? {
            return Err(Fault::new(TextErrorKind::TooManyColumns));
        }
        cursor.end()?;
        self.num_rows += 1;
        Ok(self
            .max_rows
            .is_some_and(|max_rows| self.num_rows >= max_rows))
    }
}

/// Checks that the next value is an object.
pub(super) fn expect_object(cursor: &mut Cursor) -> Parsed<()> {
    let found = match cursor.class()? {
        Class::Object => return Ok(()),
        Class::Null => "null",
        Class::Bool => "a boolean",
        Class::Number => "a number",
        Class::String => "a string",
        Class::Array => "an array",
    };
    Err(Fault::json(format!("expected an object, found {found}")))
}

/// Facts about the values of records, from which a schema follows.
#[derive(Debug, Clone, Default)]
pub struct Inferred {
    num_rows: u64,
    facts: ObjectFacts,
}

impl Inferred {
    /// Records of which these are the facts.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Adds the facts of records that follow. Fields keep the order in which they were first seen.
    ///
    /// # Errors
    /// There are now more than [`MAX_COLUMNS`] fields.
    pub fn merge(&mut self, other: Self) -> Result<(), TextErrorKind> {
        self.num_rows += other.num_rows;
        self.facts.merge(other.facts);
        if self.facts.num_fields() > MAX_COLUMNS {
            return Err(TextErrorKind::TooManyColumns);
        }
        Ok(())
    }

    /// The types that hold all values exactly. All fields may be null.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema::new(self.facts.fields())
    }
}
