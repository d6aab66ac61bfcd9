//! Selects the statements that are sent to Spark: those that only read.

use crate::backend::statement::{changes, check_length, empty};
use crate::error::{ErrorKind, QueryError};

/// A statement that only reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    /// A query, wrapped so that Spark rejects anything but a query in it.
    Query(String),
    /// A command that describes something.
    Command(String),
}

/// The statement to send.
///
/// # Errors
/// `read_only` if it would change something, or `sql_error`.
pub(super) fn read_only(sql: &str) -> Result<Statement, QueryError> {
    check_length(sql)?;
    let sql = sql.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let statement = behind_comments(sql);
    let word = first_word(statement);
    match word.as_str() {
        "" => Err(empty()),
        // Only a query may be in brackets after FROM. The newline is needed because the last line may be a
        // comment.
        "select" | "with" | "values" | "from" | "table" => {
            Ok(Statement::Query(format!("select * from (\n{sql}\n)")))
        }
        // Sail executes the statement that it analyzes.
        "explain" if !only_explains(statement) => Err(QueryError::new(
            ErrorKind::ReadOnly,
            "EXPLAIN ANALYZE is refused, and so are comments after EXPLAIN: the server only reads",
            "write EXPLAIN, or EXPLAIN EXTENDED, and then the query",
        )),
        // Comments before the statement are replaced by blanks. Spark may see a comment's end elsewhere
        // (comments can nest, and a line can continue after a backslash), and any statement could follow
        // there. A newline is added as for a query, and blanks keep the positions.
        "show" | "describe" | "desc" | "explain" => {
            let before = sql[..sql.len() - statement.len()].chars();
            let blank: String = before.map(|c| if c == '\n' { c } else { ' ' }).collect();
            Ok(Statement::Command(format!("\n{blank}{statement}")))
        }
        _ => Err(changes(
            &word.to_uppercase(),
            "use SELECT, WITH, VALUES, TABLE, FROM, EXPLAIN, DESCRIBE or SHOW",
        )),
    }
}

/// The statement after leading comments and brackets.
fn behind_comments(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
    }
}

/// Whether the text after `explain` begins with a word other than `analyze`.
fn only_explains(statement: &str) -> bool {
    let rest = &statement["explain".len()..];
    let rest = rest.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    !matches!(first_word(rest).as_str(), "" | "analyze")
}

/// The statement's first word, in lower case.
fn first_word(statement: &str) -> String {
    let end = statement
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(statement.len());
    statement[..end.min(40)].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_is_sent() {
        let query = |sql: &str| match read_only(sql) {
            Ok(Statement::Query(sql)) => sql,
            other => panic!("{sql}: {other:?}"),
        };
        assert_eq!(query("select 1 ; "), "select * from (\nselect 1\n)");
        assert_eq!(
            query("-- a\n/* b */ ((SELECT 1))"),
            "select * from (\n-- a\n/* b */ ((SELECT 1))\n)"
        );
        assert_eq!(
            query("with a as (select 1) table a -- end"),
            "select * from (\nwith a as (select 1) table a -- end\n)"
        );
        assert_eq!(
            read_only("SHOW tables").unwrap(),
            Statement::Command("\nSHOW tables".to_owned())
        );
        for (sql, sent) in [
            ("/* a\n*/ show tables", "\n    \n   show tables"),
            (
                "/* /* */ show */ drop table t",
                "\n         show */ drop table t",
            ),
            ("--\\\nshow\ndrop table t", "\n   \nshow\ndrop table t"),
        ] {
            assert_eq!(read_only(sql).unwrap(), Statement::Command(sent.to_owned()));
        }
        for changes in [
            "drop table t",
            "explain Analyze insert into t values (1)",
            "explain /**/ analyze delete from t",
            "insert into t values (1)",
            "/**/ set a=b",
            "create view v as select 1",
            "cache table t",
            "use x",
            "merge into t",
            "refresh table t",
            "call p()",
        ] {
            assert_eq!(
                read_only(changes).unwrap_err().kind,
                ErrorKind::ReadOnly,
                "{changes}"
            );
        }
        for wrong in ["", " ; ", "-- only", "/* open", "1"] {
            assert_eq!(
                read_only(wrong).unwrap_err().kind,
                ErrorKind::SqlError,
                "{wrong}"
            );
        }
    }
}
