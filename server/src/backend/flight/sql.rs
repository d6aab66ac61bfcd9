//! Statements that may be sent to an engine whose dialect is not known.

use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::backend::request::TableQuery;
use crate::backend::statement::{check_length, only_reading};
use crate::backend::table_listing::ListedTable;
use crate::error::{ErrorKind, QueryError};

/// How deeply a statement may be nested.
const MAX_DEPTH: usize = 64;

/// The statement, if it only reads, without semicolons at its end.
///
/// # Errors
/// `read_only`, or `sql_error` if the statement cannot be checked.
pub(super) fn read_only(sql: &str) -> Result<&str, QueryError> {
    check_length(sql)?;
    let sql = sql.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    if has_unclear_comments(sql) {
        return Err(QueryError::new(
            ErrorKind::SqlError,
            "the statement cannot be checked to be read-only: engines differ in where a comment in it ends",
            "remove nested comments and comments that begin with /*!",
        ));
    }
    let statements = Parser::new(&GenericDialect {})
        .with_recursion_limit(MAX_DEPTH)
        .try_with_sql(sql)
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|error| {
            QueryError::new(
                ErrorKind::SqlError,
                format!("the statement cannot be checked to be read-only: {error}"),
                "write it closer to standard SQL",
            )
        })?;
    only_reading(statements, reads)?;
    Ok(sql)
}

/// Whether there are nested comments, or comments (`/*!`) that some engines execute.
fn has_unclear_comments(sql: &str) -> bool {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize();
    let is_unclear = |token: &Token| match token {
        Token::Whitespace(Whitespace::MultiLineComment(text)) => text.contains("/*"),
        _ => false,
    };
    sql.contains("/*!") || tokens.iter().flatten().any(is_unclear)
}

fn reads(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query_reads(query),
        Statement::Explain { statement, .. } => reads(statement),
        Statement::ExplainTable { .. }
        | Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowDatabases { .. } => true,
        _ => false,
    }
}

fn query_reads(query: &Query) -> bool {
    let with = query.with.iter().flat_map(|with| &with.cte_tables);
    with.map(|cte| &cte.query).all(|query| query_reads(query)) && body_reads(&query.body)
}

fn body_reads(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_none(),
        SetExpr::Query(query) => query_reads(query),
        SetExpr::SetOperation { left, right, .. } => body_reads(left) && body_reads(right),
        SetExpr::Values(_) | SetExpr::Table(_) => true,
        _ => false,
    }
}

/// A name in the quotes of standard SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A SELECT of columns of a table.
///
/// # Errors
/// `unknown_column`, or `not_supported` for a filter or a sort, which the engine might interpret differently.
pub(super) fn table_sql(table: &ListedTable, query: &TableQuery) -> Result<String, QueryError> {
    if query.filter.is_some() || !query.sort.is_empty() {
        return Err(QueryError::new(
            ErrorKind::NotSupported,
            "a table cannot be filtered or sorted by an engine whose dialect is not known",
            "write the query in the engine's SQL, with WHERE and ORDER BY",
        ));
    }
    let columns = match &query.columns {
        None => "*".to_owned(),
        Some(_) => {
            let names = query.column_names(&table.schema)?;
            names.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
        }
    };
    Ok(format!("select {columns} from {}", table.relation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_is_sent() {
        for sql in [
            "select 1 ; ",
            "with a as (select 1) select * from a order by 1",
            "(select 1) union all values (2)",
            "explain select 1",
            "show tables",
        ] {
            assert_eq!(
                read_only(sql).unwrap(),
                sql.trim_end_matches([';', ' ']),
                "{sql}"
            );
        }
        for (sql, kind) in [
            ("drop table t", ErrorKind::ReadOnly),
            ("insert into t values (1)", ErrorKind::ReadOnly),
            ("select * into u from t", ErrorKind::ReadOnly),
            (
                "with a as (insert into t values (1) returning n) select * from a",
                ErrorKind::ReadOnly,
            ),
            (
                "with a as (select 1) insert into t select * from a",
                ErrorKind::ReadOnly,
            ),
            ("explain analyze delete from t", ErrorKind::ReadOnly),
            ("set a = 1", ErrorKind::ReadOnly),
            ("select 1; drop table t", ErrorKind::SqlError),
            ("/* /* */ drop table t -- */ select 1", ErrorKind::SqlError),
            (
                "/*! explain select 1 as */ drop /*! , 1 as */ table /*! , */ t",
                ErrorKind::SqlError,
            ),
            ("", ErrorKind::SqlError),
            ("what is this", ErrorKind::SqlError),
        ] {
            assert_eq!(read_only(sql).unwrap_err().kind, kind, "{sql}");
        }
        let deep = format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(read_only(&deep).unwrap_err().kind, ErrorKind::SqlError);
    }
}
