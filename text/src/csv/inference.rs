//! The names and types of the columns of a CSV text.

use std::collections::HashMap;

use arrow_schema::Schema;

use crate::TextError;
use crate::csv::CHUNK_BYTES;
use crate::csv::dialect::Dialect;
use crate::csv::facts::Facts;
use crate::csv::records::Splitter;
use crate::csv::values::ValueSyntax;
use crate::notation::Reading;

/// Reads a CSV text for the names of its columns and facts about all their values.
#[derive(Debug)]
pub struct Inference {
    splitter: Splitter,
    values: ValueSyntax,
    /// Of columns by their names.
    readings: Vec<(String, Reading)>,
    /// The same of columns by their positions, once they are known.
    column_values: Vec<ValueSyntax>,
    facts: Vec<Facts>,
    num_rows: u64,
    max_rows: Option<u64>,
}

impl Inference {
    /// Reads all rows.
    #[must_use]
    pub fn new(dialect: &Dialect) -> Self {
        Self {
            splitter: Splitter::new(dialect, None, 0..u64::MAX),
            values: ValueSyntax::new(dialect),
            readings: dialect.readings.clone(),
            column_values: Vec::new(),
            facts: Vec::new(),
            num_rows: 0,
            max_rows: None,
        }
    }

    /// Reads a sample: at most `max_rows` rows. A wrong record after right ones ends the sample; whoever
    /// reads the rows reports it.
    #[must_use]
    pub fn with_max_rows(mut self, max_rows: u64) -> Self {
        self.max_rows = Some(max_rows);
        self
    }

    /// Rows that were read.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Whether a sample is complete, so that more text changes nothing.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.splitter.is_done()
    }

    /// Reads the next piece of the text.
    ///
    /// # Errors
    /// The first wrong record; in a sample only if it is the first of all.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), TextError> {
        for chunk in piece.chunks(CHUNK_BYTES) {
            if self.is_done() {
                return Ok(());
            }
            self.splitter.feed(chunk);
            self.read()?;
        }
        Ok(())
    }

    /// Ends the text.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self) -> Result<(), TextError> {
        self.splitter.finish();
        self.read()
    }

    /// The columns of the records that were read; `None` if there is no record at all. Without
    /// [`Self::finish`], these are the columns of a sample.
    #[must_use]
    pub fn into_inferred(mut self) -> Option<Inferred> {
        let num_fields = self.splitter.num_fields()?;
        self.facts.resize(num_fields, Facts::default());
        let names = match self.splitter.header() {
            Some(header) => {
                let names = header.iter().map(String::as_str);
                names.enumerate().map(column_name).collect()
            }
            None => (0..num_fields).map(numbered_name).collect(),
        };
        Some(Inferred {
            names,
            facts: self.facts,
            num_rows: self.num_rows,
        })
    }

    fn read(&mut self) -> Result<(), TextError> {
        match self.read_blocks() {
            Err(_) if self.max_rows.is_some() && self.num_rows > 0 => Ok(()),
            result => result,
        }
    }

    fn read_blocks(&mut self) -> Result<(), TextError> {
        loop {
            let rows_left = self.max_rows.map_or(u64::MAX, |max| max - self.num_rows);
            if rows_left == 0 && self.splitter.num_fields().is_some() {
                self.splitter.stop();
                return Ok(());
            }
            let max_rows = usize::try_from(rows_left).unwrap_or(usize::MAX);
            let syntax = self.splitter.syntax;
            let Some(block) = self.splitter.next_block(max_rows)? else {
                return Ok(());
            };
            self.facts.resize(block.num_fields, Facts::default());
            for index in self.column_values.len()..block.num_fields {
                let name = block.header.get(index).map_or("", String::as_str);
                let name = column_name((index, name));
                let reading = self.readings.iter().find(|(column, _)| *column == name);
                self.column_values.push(match reading {
                    Some((_, reading)) => self.values.read_as(*reading),
                    None => self.values.clone(),
                });
            }
            let columns = self.facts.iter_mut().zip(&self.column_values);
            for (column, (facts, values)) in columns.enumerate() {
                facts.observe_column(&block, column, &syntax, values);
            }
            self.num_rows += block.num_rows as u64;
        }
    }
}

fn column_name((index, name): (usize, &str)) -> String {
    if name.is_empty() {
        numbered_name(index)
    } else {
        name.to_owned()
    }
}

fn numbered_name(index: usize) -> String {
    format!("column_{}", index + 1)
}

/// The columns of a CSV text.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// Names as in the header, so that some may be equal; `column_1` and so on for empty names, and
    /// without a header.
    pub names: Vec<String>,
    /// Facts about the values of each column.
    pub facts: Vec<Facts>,
    /// Rows that were read.
    pub num_rows: u64,
}

impl Inferred {
    /// Adds the rows of another text, whose columns are found by their names; in each text, all names must be
    /// different. Columns that are new come last. Returns the position of each column of the other text; `None` if no
    /// column is in both, so that nothing was added.
    pub fn merge(&mut self, other: Self) -> Option<Vec<usize>> {
        let known: HashMap<&str, usize> = self.names.iter().map(String::as_str).zip(0..).collect();
        let find = |name: &String| known.get(name.as_str()).copied();
        let found: Vec<Option<usize>> = other.names.iter().map(find).collect();
        if found.iter().all(Option::is_none) {
            return None;
        }
        self.num_rows += other.num_rows;
        let columns = other.names.into_iter().zip(other.facts).zip(found);
        let positions = columns.map(|((name, facts), position)| match position {
            Some(position) => {
                self.facts[position].merge(&facts);
                position
            }
            None => {
                self.names.push(name);
                self.facts.push(facts);
                self.names.len() - 1
            }
        });
        Some(positions.collect())
    }

    /// The columns with the types that hold all their values exactly. All are nullable.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let columns = self.names.iter().zip(&self.facts);
        Schema::new(
            columns
                .map(|(name, facts)| facts.field(name))
                .collect::<Vec<_>>(),
        )
    }
}

#[cfg(test)]
mod tests;
