//! Checks of an SQL text that apply to every engine.

use crate::error::{ErrorKind, QueryError};

/// The longest accepted SQL text.
const MAX_SQL_BYTES: usize = 256 << 10;

/// Refuses a text that is too long.
///
/// # Errors
/// `too_complex`.
pub(crate) fn check_length(sql: &str) -> Result<(), QueryError> {
    if sql.len() <= MAX_SQL_BYTES {
        return Ok(());
    }
    Err(QueryError::new(
        ErrorKind::TooComplex,
        "the SQL is longer than 256 KiB",
        "write a shorter query",
    ))
}

/// The only statement of a text, if it only reads.
///
/// # Errors
/// `sql_error` for no or several statements, `read_only` for one that would change something.
pub(crate) fn only_reading<S: ToString>(
    statements: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
    reads: impl Fn(&S) -> bool,
) -> Result<S, QueryError> {
    let mut statements = statements.into_iter();
    let num_statements = statements.len();
    let statement = statements.next().ok_or_else(empty)?;
    if num_statements > 1 {
        return Err(QueryError::new(
            ErrorKind::SqlError,
            format!("the SQL has {num_statements} statements"),
            "send one statement per query",
        ));
    }
    if reads(&statement) {
        return Ok(statement);
    }
    let text = statement.to_string();
    let words: Vec<_> = text.split_whitespace().take(2).collect();
    Err(changes(
        &words.join(" "),
        "use SELECT, WITH, VALUES, EXPLAIN, DESCRIBE or SHOW",
    ))
}

/// The error for a text without a statement.
pub(crate) fn empty() -> QueryError {
    QueryError::new(ErrorKind::SqlError, "the SQL is empty", "write one SELECT")
}

/// The error for a statement that would change something; `words` are its first words.
pub(crate) fn changes(words: &str, hint: &str) -> QueryError {
    QueryError::new(
        ErrorKind::ReadOnly,
        format!("{words} is refused: the server only reads"),
        hint,
    )
}
