//! The logical plan of a table query, and the tables that a plan reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};

use crate::backend::embedded::plan::parse_filter;
use crate::backend::predicate_expr::predicate_expr;
use crate::backend::request::{Filter, TableQuery};
use crate::error::from_datafusion::plan_error;
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::source::Table;
use crate::source::catalog::{Entry, find};

/// The rows of a table query.
///
/// # Errors
/// Whatever is wrong with the query.
pub(super) fn plan_table(
    state: &SessionState,
    table: &Table,
    query: &TableQuery,
) -> Result<LogicalPlan, QueryError> {
    let error = |error: DataFusionError| plan_error(&error, ErrorKind::BadParameter, &[], &[]);
    let name = TableReference::bare(table.name.as_str());
    let source = provider_as_source(Arc::clone(&table.provider));
    let mut plan = LogicalPlanBuilder::scan(name, source, None).map_err(error)?;
    if let Some(filter) = &query.filter {
        let filter = match filter {
            Filter::Json(predicate) => predicate_expr(predicate, &table.schema)?,
            Filter::Text(text) => {
                let schema = DFSchema::try_from(Arc::clone(&table.schema)).map_err(error)?;
                parse_filter(state, text, &schema)?
            }
        };
        plan = plan
            .filter(filter)
            .map_err(|e| plan_error(&e, ErrorKind::BadFilter, &[], &[]))?;
    }
    if !query.sort.is_empty() {
        let keys = query
            .sort
            .iter()
            .map(|key| {
                let field = query.field(&key.column, &table.schema)?;
                Ok(SortExpr::new(column(field.name()), !key.descending, false))
            })
            .collect::<Result<Vec<_>, QueryError>>()?;
        plan = plan.sort(keys).map_err(error)?;
    }
    if query.columns.is_some() {
        let names = query.column_names(&table.schema)?;
        plan = plan.project(names.into_iter().map(column)).map_err(error)?;
    }
    plan.build().map_err(error)
}

/// A column by its name.
pub(super) fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// The tables of a plan.
///
/// # Errors
/// `source_changed`: one of them can no longer be read, or was loaded again since the plan was made.
pub(super) fn used_tables(
    plan: &LogicalPlan,
    entries: &[Entry],
) -> Result<Vec<Arc<Table>>, QueryError> {
    let mut scanned = BTreeMap::new();
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            let name = scan.table_name.table().to_owned();
            scanned.entry(name).or_insert_with(Vec::new).push(provider);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    if let Err(error) = walked {
        return Err(plan_error(&error, ErrorKind::SqlError, &[], &[]));
    }
    let mut used = Vec::new();
    for (name, providers) in &scanned {
        let Some(entry) = find(entries, name) else {
            continue;
        };
        entry.check()?;
        let mut providers = providers.iter();
        if !providers.all(|provider| Arc::ptr_eq(provider, &entry.table.provider)) {
            return Err(source_changed(name));
        }
        used.push(Arc::clone(&entry.table));
    }
    Ok(used)
}
