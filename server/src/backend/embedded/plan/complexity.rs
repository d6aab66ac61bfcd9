//! A limit of a statement's size, so that a statement that would never be planned gets a clear error at once.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{ErrorKind, QueryError};

/// The most names, keywords, operators and brackets in one text. Planning takes a second at some thousands of
/// operators, and grows with the square.
const MAX_TOKENS: usize = 20_000;

/// Checks the size of a text before it is parsed. A text that cannot be tokenized is left to the parser.
///
/// # Errors
/// `too_complex`.
pub(super) fn check_size(text: &str) -> Result<(), QueryError> {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else {
        return Ok(());
    };
    let num_tokens = tokens.iter().filter(|token| counts(token)).count();
    if num_tokens <= MAX_TOKENS {
        return Ok(());
    }
    Err(QueryError::new(
        ErrorKind::TooComplex,
        format!("the SQL has {num_tokens} names, operators and brackets, more than {MAX_TOKENS}"),
        "write a list with IN instead of many ORs, or several smaller queries",
    ))
}

/// Whether a token is more than an item of a list of values.
fn counts(token: &Token) -> bool {
    !matches!(
        token,
        Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_)
    )
}
