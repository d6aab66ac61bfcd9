//! Read-only SQL: one SELECT, VALUES, EXPLAIN, DESCRIBE or SHOW.

use datafusion::execution::context::SQLOptions;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use crate::backend::embedded::plan::complexity::{check_depth, check_size};
use crate::backend::embedded::plan::json::bind_json_of;
use crate::backend::embedded::plan::number_literals::keep_digits_of;
use crate::backend::embedded::plan::repeated_names::{has_repeated_names, tell_apart};
use crate::backend::{check_length, only_reading};
use crate::error::from_datafusion::plan_error;
use crate::error::{ErrorKind, QueryError};

/// Plans one read-only statement.
///
/// # Errors
/// `sql_error`, `too_complex`, `read_only`, `unknown_table` or `unknown_column`.
pub(crate) async fn plan_sql(
    state: &SessionState,
    sql: &str,
    tables: &[String],
) -> Result<LogicalPlan, QueryError> {
    check_length(sql)?;
    check_size(sql)?;
    let error = |error: &_| plan_error(error, ErrorKind::SqlError, &[], tables);
    let recursion_limit = state.config_options().sql_parser.recursion_limit.get();
    let statements = DFParserBuilder::new(sql)
        .with_recursion_limit(recursion_limit)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|e| error(&e))?;
    let mut statement = only_reading(statements, reads)?;
    check_depth(&statement)?;
    bind_json_of(&mut statement);
    let plan_of = async |mut statement| {
        keep_digits_of(&mut statement);
        state.statement_to_plan(statement).await
    };
    let plan = match plan_of(statement.clone()).await {
        Err(refusal) if has_repeated_names(&refusal) => {
            tell_apart(&mut statement);
            let plan = plan_of(statement).await;
            plan.map_err(|_| error(&refusal))?
        }
        plan => plan.map_err(|e| error(&e))?,
    };
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)
        .map_err(|e| {
            QueryError::new(
                ErrorKind::ReadOnly,
                format!("only reading is permitted: {}", e.strip_backtrace()),
                "use SELECT",
            )
        })?;
    Ok(plan)
}

fn reads(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(statement) => sql_reads(statement),
        Statement::Explain(explain) => reads(&explain.statement),
        _ => false,
    }
}

fn sql_reads(statement: &SqlStatement) -> bool {
    match statement {
        SqlStatement::Query(_)
        | SqlStatement::ExplainTable { .. }
        | SqlStatement::ShowTables { .. }
        | SqlStatement::ShowColumns { .. }
        | SqlStatement::ShowVariable { .. } => true,
        SqlStatement::Explain { statement, .. } => sql_reads(statement),
        _ => false,
    }
}
