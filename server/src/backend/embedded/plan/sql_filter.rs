//! The text filter: exactly one boolean SQL expression over one table.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable};

use crate::backend::embedded::plan::complexity::{check_depth_of, check_size};
use crate::backend::embedded::plan::json::bind_json;
use crate::backend::embedded::plan::number_literals::keep_digits;
use crate::error::from_datafusion::plan_error;
use crate::error::{ErrorKind, QueryError};

/// The longest accepted filter.
const MAX_FILTER_BYTES: usize = 64 << 10;

/// Parses a filter alone against the schema; it is never spliced into a larger text.
///
/// # Errors
/// `bad_filter`, `too_complex` or `unknown_column`.
pub(crate) fn parse_filter(
    state: &SessionState,
    text: &str,
    schema: &DFSchema,
) -> Result<Expr, QueryError> {
    let hint = "write one boolean SQL expression over this table's columns, such as a > 5 and b is not null";
    let refuse = |message: &str| QueryError::new(ErrorKind::BadFilter, message, hint);
    if text.len() > MAX_FILTER_BYTES {
        return Err(refuse("the filter is longer than 64 KiB"));
    }
    check_size(text)?;
    let columns: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let error = |error: &_| plan_error(error, ErrorKind::BadFilter, &columns, &[]);
    // `DFParser::parse_into_expr` refuses anything after the expression.
    let dialect = state.config_options().sql_parser.dialect;
    let mut parsed = state
        .sql_to_expr_with_alias(text, &dialect)
        .map_err(|e| error(&e))?;
    if parsed.alias.is_some() {
        return Err(refuse("the filter has an alias"));
    }
    check_depth_of(&parsed.expr)?;
    if holds_query(&parsed.expr) {
        return Err(refuse("the filter contains a subquery"));
    }
    bind_json(&mut parsed.expr);
    keep_digits(&mut parsed.expr);
    let expr = state
        .create_logical_expr_from_sql_expr(parsed, schema)
        .map_err(|e| error(&e))?;
    let forbidden = expr
        .exists(|node| {
            Ok(matches!(
                node,
                Expr::AggregateFunction(_)
                    | Expr::WindowFunction(_)
                    | Expr::ScalarSubquery(_)
                    | Expr::InSubquery(_)
                    | Expr::Exists(_)
                    | Expr::Placeholder(_)
                    | Expr::ScalarVariable(..)
            ))
        })
        .unwrap_or(true);
    if forbidden {
        return Err(refuse(
            "the filter contains a subquery, an aggregate, a window function or a placeholder",
        ));
    }
    match expr.get_type(schema) {
        Ok(DataType::Boolean | DataType::Null) => Ok(expr),
        Ok(other) => Err(refuse(&format!(
            "the filter is of type {other}, not a boolean"
        ))),
        Err(e) => Err(error(&e)),
    }
}

/// Whether the expression contains a query. Checked before any table in it is looked up.
fn holds_query(expr: &datafusion::sql::sqlparser::ast::Expr) -> bool {
    use datafusion::sql::sqlparser::ast::{Query, Visit, Visitor};
    use std::ops::ControlFlow;

    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Finder).is_break()
}
