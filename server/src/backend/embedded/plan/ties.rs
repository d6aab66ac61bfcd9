//! Makes a sort total: equal keys stay in row order, floats compare as numbers.

use std::sync::Arc;

use colonnade_core::semantics::value_type;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};

use crate::backend::embedded::plan::marker::{Known, Marker};
use crate::backend::embedded::plan::order::order_of;
use crate::backend::embedded::plan::sort_key::SortKeyExec;
use crate::order::Order;

/// The largest LIMIT for which a sort keeps only the first rows. It keeps them in memory, and more rows may not fit; a
/// whole sort goes on on disk.
const MAX_TOP_ROWS: u64 = 10_000;

/// A plan with its topmost sort made total.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The plan.
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// Whether a sort was found and rebuilt.
    pub(crate) is_sorted: bool,
}

/// Finds the topmost sort and rebuilds it with a key for ties. If the input keeps the order of its source,
/// that key is the row's position. Otherwise the key is all other columns, so that rows that are still equal
/// cannot be distinguished. `max_rows` is the most rows that will be read.
///
/// # Errors
/// Errors of DataFusion.
pub(crate) fn resolve_ties(
    plan: Arc<dyn ExecutionPlan>,
    max_rows: Option<u64>,
) -> Result<Resolved> {
    if plan.is::<ProjectionExec>() || plan.is::<CooperativeExec>() {
        let child = resolve_ties(Arc::clone(plan.children()[0]), max_rows)?;
        return with_child(plan, child);
    }
    if plan.is::<FilterExec>() {
        // More rows than `max_rows` may be needed below a filter.
        let child = resolve_ties(Arc::clone(plan.children()[0]), None)?;
        return with_child(plan, child);
    }
    let max_rows = max_rows
        .filter(|rows| *rows <= MAX_TOP_ROWS)
        .map(|rows| rows as usize);
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        // The rebuilt sort merges its own partitions.
        let sorted = resolve_sort(merge.input(), fewer(merge.fetch(), max_rows))?;
        return Ok(if sorted.is_sorted {
            sorted
        } else {
            unsorted(plan)
        });
    }
    if plan.output_partitioning().partition_count() > 1 {
        return Ok(unsorted(plan));
    }
    resolve_sort(&plan, max_rows)
}

/// Rebuilds a sort that may be below projections.
fn resolve_sort(plan: &Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Result<Resolved> {
    if plan.is::<ProjectionExec>() || plan.is::<CooperativeExec>() {
        let child = resolve_sort(plan.children()[0], fetch)?;
        return with_child(Arc::clone(plan), child);
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let input = Arc::clone(sort.input());
        if let Some(plan) = total_sort(input, sort.expr(), fewer(sort.fetch(), fetch))? {
            return Ok(Resolved {
                plan,
                is_sorted: true,
            });
        }
    }
    Ok(unsorted(Arc::clone(plan)))
}

fn unsorted(plan: Arc<dyn ExecutionPlan>) -> Resolved {
    Resolved {
        plan,
        is_sorted: false,
    }
}

fn fewer(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}

fn with_child(plan: Arc<dyn ExecutionPlan>, child: Resolved) -> Result<Resolved> {
    if !child.is_sorted {
        return Ok(Resolved {
            plan,
            is_sorted: false,
        });
    }
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let plan = plan.replace_children(vec![child.plan], options)?;
    Ok(Resolved {
        plan,
        is_sorted: true,
    })
}

fn total_sort(
    input: Arc<dyn ExecutionPlan>,
    ordering: &LexOrdering,
    fetch: Option<usize>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let schema = input.schema();
    let has_position = order_of(&input) != Order::None;
    let floats = ordering
        .iter()
        .filter(|key| is_float(key, &schema))
        .cloned()
        .collect();
    let keyed = SortKeyExec::try_new(input, floats, has_position)?;
    let mut float_columns = keyed.float_columns().into_iter();
    let mut keys = Vec::new();
    for key in ordering.iter() {
        let options = SortOptions {
            descending: key.options.descending,
            nulls_first: key.options.nulls_first,
        };
        let expr = if is_float(key, &schema) {
            let column = float_columns
                .next()
                .ok_or_else(|| DataFusionError::Internal("a sort key went missing".into()))?;
            Arc::new(column) as Arc<dyn PhysicalExpr>
        } else {
            Arc::clone(&key.expr)
        };
        keys.push(PhysicalSortExpr::new(expr, options));
    }
    let tie_options = SortOptions {
        descending: false,
        nulls_first: false,
    };
    match keyed.position_column() {
        Some(position) => keys.push(PhysicalSortExpr::new(Arc::new(position), tie_options)),
        None => {
            for (index, field) in schema.fields().iter().enumerate() {
                if !RowConverter::supports_fields(&[SortField::new(field.data_type().clone())]) {
                    return Ok(None);
                }
                let column = Column::new(field.name(), index);
                keys.push(PhysicalSortExpr::new(Arc::new(column), tie_options));
            }
        }
    }
    let Some(ordering) = LexOrdering::new(keys) else {
        return Ok(None);
    };
    let keyed: Arc<dyn ExecutionPlan> = Arc::new(keyed);
    let num_partitions = keyed.output_partitioning().partition_count();
    let sort = SortExec::new(ordering.clone(), keyed)
        .with_preserve_partitioning(num_partitions > 1)
        .with_fetch(fetch);
    let mut sorted: Arc<dyn ExecutionPlan> = Arc::new(sort);
    if num_partitions > 1 {
        sorted = Arc::new(SortPreservingMergeExec::new(ordering, sorted).with_fetch(fetch));
    }
    let columns = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(index, field)| ProjectionExpr {
            expr: Arc::new(Column::new(field.name(), index)),
            alias: field.name().clone(),
        });
    let plan = Arc::new(ProjectionExec::try_new(columns, sorted)?);
    Ok(Some(Arc::new(Marker::new(plan, Known::ResolvedSort))))
}

fn is_float(key: &PhysicalSortExpr, schema: &SchemaRef) -> bool {
    let data_type = key.expr.data_type(schema);
    data_type.is_ok_and(|data_type| value_type(&data_type).is_floating())
}
