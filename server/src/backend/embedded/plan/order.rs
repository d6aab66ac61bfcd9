//! The order that a plan's rows have.

use std::sync::Arc;

use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::backend::embedded::plan::marker::{Known, Marker};
use crate::backend::embedded::plan::sort_key::SortKeyExec;
use crate::order::Order;

/// The order of a plan whose partitions are read one after the other. Only nodes that are known to keep the
/// order of their input are accepted; any other node (a repartitioning, a join, an aggregate) gives
/// [`Order::None`].
pub(crate) fn order_of(plan: &Arc<dyn ExecutionPlan>) -> Order {
    let children = plan.children();
    if Marker::marks(plan.as_ref(), Known::ResolvedSort) {
        return Order::Total;
    }
    if children.is_empty() {
        // Scans keep files and row groups in order because work stealing is switched off.
        return Order::Partition;
    }
    let one_partition = children
        .iter()
        .all(|child| child.output_partitioning().partition_count() == 1);
    let keeps = plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<SortKeyExec>()
        || one_partition
            && (plan.is::<CoalescePartitionsExec>()
                || plan.is::<GlobalLimitExec>()
                || plan.is::<WindowAggExec>()
                || plan.is::<BoundedWindowAggExec>());
    if keeps {
        return order_of(children[0]);
    }
    if plan.is::<UnionExec>() {
        let all_ordered = children.iter().all(|child| order_of(child) != Order::None);
        return if all_ordered {
            Order::Partition
        } else {
            Order::None
        };
    }
    Order::None
}
