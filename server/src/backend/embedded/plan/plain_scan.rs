//! Plans that return each row of one table once: a scan and a selection of its columns.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

/// A scan of a whole table, neither filtered nor sorted.
pub(crate) struct PlainScan {
    /// The table.
    pub(crate) provider: Arc<dyn TableProvider>,
    /// The indexes of the table's columns that are needed, each once.
    pub(crate) columns: Vec<usize>,
    /// For each column of the result, its position in `columns` and its name.
    outputs: Vec<(usize, String)>,
}

impl PlainScan {
    /// The scan, or `None` if `plan` is not such a scan.
    pub(crate) fn of(plan: &LogicalPlan) -> Option<Self> {
        let (provider, sources) = trace(plan)?;
        let mut columns = Vec::new();
        let mut outputs = Vec::with_capacity(sources.len());
        for (source, field) in sources.into_iter().zip(plan.schema().fields()) {
            let position = columns.iter().position(|column| *column == source);
            let position = position.unwrap_or_else(|| {
                columns.push(source);
                columns.len() - 1
            });
            outputs.push((position, field.name().clone()));
        }
        (!columns.is_empty()).then_some(Self {
            provider,
            columns,
            outputs,
        })
    }

    /// For each column of the result, the index of the table's column, and its name in the result.
    pub(crate) fn output_columns(&self) -> Vec<(usize, String)> {
        let outputs = self.outputs.iter();
        outputs
            .map(|(position, name)| (self.columns[*position], name.clone()))
            .collect()
    }

    /// Projects a plan that yields `columns` to the result's columns.
    ///
    /// # Errors
    /// `plan` has other columns.
    pub(crate) fn project(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = plan.schema();
        let is_same = self.outputs.len() == schema.fields().len()
            && self
                .outputs
                .iter()
                .enumerate()
                .all(|(index, (position, name))| {
                    *position == index && name == schema.field(index).name()
                });
        if is_same {
            return Ok(plan);
        }
        let exprs = self.outputs.iter().map(|(position, name)| ProjectionExpr {
            expr: Arc::new(Column::new(schema.field(*position).name(), *position)),
            alias: name.clone(),
        });
        Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
    }
}

/// The table of a plan, and for each column of the plan the index of the table's column.
fn trace(plan: &LogicalPlan) -> Option<(Arc<dyn TableProvider>, Vec<usize>)> {
    match plan {
        LogicalPlan::TableScan(scan) if scan.filters.is_empty() && scan.fetch.is_none() => {
            let provider = source_as_provider(&scan.source).ok()?;
            let all = || (0..scan.source.schema().fields().len()).collect();
            Some((provider, scan.projection.clone().unwrap_or_else(all)))
        }
        LogicalPlan::SubqueryAlias(alias) => trace(&alias.input),
        LogicalPlan::Projection(projection) => {
            let (provider, columns) = trace(&projection.input)?;
            let schema = projection.input.schema();
            let columns = projection.expr.iter().map(|expr| {
                let mut expr = expr;
                while let Expr::Alias(alias) = expr {
                    expr = &alias.expr;
                }
                match expr {
                    Expr::Column(column) => Some(columns[schema.maybe_index_of_column(column)?]),
                    _ => None,
                }
            });
            let columns = columns.collect::<Option<_>>()?;
            Some((provider, columns))
        }
        _ => None,
    }
}
