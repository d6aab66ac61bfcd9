//! Whether running a statement again gives the same rows in the same order.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::backend::embedded::plan::marker::{Known, Marker};
use crate::backend::embedded::plan::sort_key::SortKeyExec;
use crate::backend::embedded::plan::top_rows::TopRowsExec;
use crate::source::Table;

/// Whether every run of a statement gives the same rows in the same order while `tables` stay unchanged. That is so
/// only if everything that it reads and calls, and every node of its plan, is known to repeat; the lists grow with
/// proofs.
///
/// # Errors
/// Errors of DataFusion.
pub(crate) fn is_repeatable(
    logical: &LogicalPlan,
    plan: &Arc<dyn ExecutionPlan>,
    tables: &[Arc<Table>],
) -> Result<bool> {
    Ok(repeats(plan) && inputs_repeat(logical, tables)?)
}

/// Whether only `tables` are read, and all functions give the same result for the same arguments. `logical` is not
/// optimised, because the optimizer replaces calls such as `now()` by their value. A table function is not known to
/// repeat, because its arguments are already replaced.
fn inputs_repeat(logical: &LogicalPlan, tables: &[Arc<Table>]) -> Result<bool> {
    let mut repeat = true;
    logical.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            repeat &= tables
                .iter()
                .any(|table| Arc::ptr_eq(&table.provider, &provider));
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                repeat &= match expr {
                    Expr::ScalarFunction(call) => {
                        call.func.signature().volatility == Volatility::Immutable
                    }
                    // Floats are added in the order in which threads end, and windows sort ties in any order.
                    Expr::AggregateFunction(_) | Expr::WindowFunction(_) => false,
                    Expr::ScalarVariable(..) => false,
                    _ => true,
                };
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(repeat)
}

/// Whether the node and all nodes below it repeat their rows and their order.
fn repeats(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    if Marker::marks(plan.as_ref(), Known::ResolvedSort) {
        return sort_repeats(children[0]);
    }
    let keeps_order = plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<UnionExec>();
    let merges = plan.is::<CoalescePartitionsExec>() || plan.is::<GlobalLimitExec>();
    let of_one_partition = || {
        children
            .iter()
            .all(|child| child.output_partitioning().partition_count() == 1)
    };
    // Scans keep the order of their files, because work stealing is switched off.
    (children.is_empty() || keeps_order || merges && of_one_partition())
        && children.iter().all(|child| repeats(child))
}

/// Whether a sort repeats: its last key is the position of the row in an input that repeats.
fn sort_repeats(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    if let Some(keyed) = plan.downcast_ref::<SortKeyExec>() {
        return keyed.position_column().is_some() && children.iter().all(|child| repeats(child));
    }
    let is_of_sort = plan.is::<ProjectionExec>()
        || plan.is::<TopRowsExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>();
    is_of_sort && children.iter().all(|child| sort_repeats(child))
}
