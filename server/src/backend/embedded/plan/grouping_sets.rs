//! Keeps the planner from taking the keys of GROUPING SETS, CUBE and ROLLUP for those of the input.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};

use crate::backend::embedded::plan::marker::{Known, Marker};

/// Hides below and above an aggregate with grouping sets what is known about its keys.
///
/// Such an aggregate replaces keys with nulls, so its input's order, constants, equal columns and partitioning
/// no longer hold. DataFusion 55 assumes that they do: it then sorts by another column, or splits a group
/// ([DataFusion issue 16965](https://github.com/apache/datafusion/issues/16965)). The rule must run before all
/// others, since they rely on what is known.
#[derive(Debug)]
pub(crate) struct HideGroupingSetKeys;

impl PhysicalOptimizerRule for HideGroupingSetKeys {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let hide = |plan| Arc::new(Marker::new(plan, Known::Nothing)) as Arc<dyn ExecutionPlan>;
        plan.transform_up(|plan| {
            let input = match plan.downcast_ref::<AggregateExec>() {
                Some(aggregate) if !aggregate.group_expr().is_single() => aggregate.input(),
                _ => return Ok(Transformed::no(plan)),
            };
            let input = hide(Arc::clone(input));
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            let aggregate = plan.replace_children(vec![input], options)?;
            Ok(Transformed::yes(hide(aggregate)))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "HideGroupingSetKeys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
