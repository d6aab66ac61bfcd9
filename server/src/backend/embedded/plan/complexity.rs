//! Limits of a statement's size. The parser, the planner and their trees recurse, even when they are dropped,
//! and a stack overflow ends the process. The parser's own limit counts only nesting in the text; `1+1+1+…`
//! and a long row of joins nest only in the tree.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ObjectName, Statement, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{ErrorKind, QueryError};

/// The most operators in one text. Planning takes two seconds at 1,000 and grows with the square; the stacks
/// of `QueryRuntime` have room for 16 times as many.
const MAX_OPERATORS: usize = 1000;

/// The most queries in one statement, and the most tables that it names.
const MAX_QUERIES: usize = 200;

/// Checks the size of a text before it is parsed.
///
/// # Errors
/// `kind` for too many operators, `sql_error` for too many queries and joins. A text that cannot be tokenized
/// is left to the parser.
pub(super) fn check_text(text: &str, kind: ErrorKind) -> Result<(), QueryError> {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else {
        return Ok(());
    };
    let num_operators = tokens.iter().filter(|token| is_operator(token)).count();
    if num_operators > MAX_OPERATORS {
        return Err(QueryError::new(
            kind,
            format!("the text has {num_operators} operators, more than {MAX_OPERATORS}"),
            "write a list with IN instead of many ORs, or several smaller queries",
        ));
    }
    let num_queries = tokens
        .iter()
        .filter(|token| is_word(token, &["SELECT", "JOIN", "UNION", "INTERSECT", "EXCEPT"]))
        .count();
    too_many(num_queries, "queries and joins")
}

/// Checks the number of tables that a statement names.
///
/// # Errors
/// `sql_error`.
pub(super) fn check_tables(statement: &Statement) -> Result<(), QueryError> {
    struct Counter(usize);
    impl Visitor for Counter {
        type Break = ();
        fn pre_visit_relation(&mut self, _: &ObjectName) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    let mut counter = Counter(0);
    // The counter never breaks.
    let _ = statement.visit(&mut counter);
    too_many(counter.0, "tables")
}

fn too_many(count: usize, what: &str) -> Result<(), QueryError> {
    if count <= MAX_QUERIES {
        return Ok(());
    }
    Err(QueryError::new(
        ErrorKind::SqlError,
        format!("the SQL has {count} {what}, more than {MAX_QUERIES}"),
        "write several smaller queries",
    ))
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::EOF
        | Token::Number(..)
        | Token::Char(_)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::Comma
        | Token::Whitespace(_)
        | Token::LParen
        | Token::RParen
        | Token::Period
        | Token::SemiColon => false,
        Token::Word(_) => is_word(
            token,
            &[
                "AND", "OR", "NOT", "IS", "LIKE", "ILIKE", "SIMILAR", "BETWEEN", "IN", "COLLATE",
                "AT", "DIV", "XOR", "OVERLAPS", "RLIKE", "REGEXP",
            ],
        ),
        _ => true,
    }
}

fn is_word(token: &Token, words: &[&str]) -> bool {
    match token {
        Token::Word(word) if word.quote_style.is_none() => words
            .iter()
            .any(|known| word.value.eq_ignore_ascii_case(known)),
        _ => false,
    }
}
