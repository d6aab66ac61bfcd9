//! The error of a row that cannot be read, with its line.

use std::io::Read;

use colonnade_text::csv::LineEnd;
use colonnade_text::{Format, TextError, TextErrorKind};

use super::{PIECE_BYTES, Storing, fill, open};
use crate::error::{ErrorKind, QueryError};
use crate::source::SourceFile;

/// What is wrong and where in the file. Reads the text before the row to count its lines; blocks.
pub(super) fn located(file: &SourceFile, storing: &Storing, error: &TextError) -> String {
    at_line(line_at(file, storing, error.offset_bytes), error)
}

fn at_line(line: Option<u64>, error: &TextError) -> String {
    match line {
        Some(line) => format!("line {line}: {error}"),
        None => format!("byte {}: {error}", error.offset_bytes),
    }
}

/// The error for the client. Reads the text before the row to count its lines; blocks.
///
/// `typed`: the columns whose types were said, which other rows do not change.
pub(super) fn describe(
    file: &SourceFile,
    storing: &Storing,
    typed: &[String],
    error: &TextError,
) -> QueryError {
    let line = line_at(file, storing, error.offset_bytes);
    let message = format!("{}, {}", file.label, at_line(line, error));
    let line = line.map_or("the row".to_owned(), |line| format!("line {line}"));
    let hint = match &error.kind {
        TextErrorKind::Misfit {
            column, fitting, ..
        } if typed.contains(column) => {
            format!("correct {line}, or say another type of the column: types={column}:{fitting}")
        }
        TextErrorKind::Misfit { .. } | TextErrorKind::NewField { .. } => {
            "run the query again: all rows of the file then decide the types of its columns"
                .to_owned()
        }
        TextErrorKind::FieldCount { expected, .. } => format!(
            "give {line} {expected} fields, or put a field that holds the delimiter in quotes"
        ),
        TextErrorKind::UnclosedQuote => "close the quote, or double it inside the field".to_owned(),
        TextErrorKind::AfterQuote => {
            "double each quote inside a quoted field, and end the field after its last quote"
                .to_owned()
        }
        TextErrorKind::Encoding(_) => {
            "save the file as UTF-8, or say its encoding, such as encoding=latin-1".to_owned()
        }
        TextErrorKind::Json(_) => format!("give {line} one JSON object"),
        _ => "correct that row of the file".to_owned(),
    };
    QueryError::new(ErrorKind::BrokenRow, message, hint)
}

/// The line, counted from 1, that holds byte `offset_bytes` of the text.
fn line_at(file: &SourceFile, storing: &Storing, offset_bytes: u64) -> Option<u64> {
    let line_end = match &storing.format {
        Format::Csv(dialect) if dialect.line_end == LineEnd::Cr => b'\r',
        _ => b'\n',
    };
    let mut reader = open(file, storing).ok()?.take(offset_bytes);
    let mut piece = vec![0; PIECE_BYTES];
    let mut line = 1;
    loop {
        let num_bytes = fill(&mut reader, &mut piece).ok()?;
        if num_bytes == 0 {
            return Some(line);
        }
        let ends = piece[..num_bytes].iter().filter(|byte| **byte == line_end);
        line += ends.count() as u64;
    }
}
