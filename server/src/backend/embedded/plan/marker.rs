//! Nodes that only tell the planner about their input's rows.

use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, SendableRecordBatchStream,
};

/// What is known about the rows of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// All that the plan says, and that the ties of its sort are resolved.
    ResolvedSort,
    /// Nothing: neither an order, nor equal or constant columns, nor how rows are partitioned.
    Nothing,
}

/// Marks a plan. The rows are those of the plan.
#[derive(Debug)]
pub(super) struct Marker {
    plan: Arc<dyn ExecutionPlan>,
    known: Known,
    properties: Arc<PlanProperties>,
}

impl Marker {
    /// Marks `plan`.
    pub(super) fn new(plan: Arc<dyn ExecutionPlan>, known: Known) -> Self {
        let properties = match known {
            Known::ResolvedSort => Arc::clone(plan.properties()),
            Known::Nothing => Arc::new(PlanProperties::new(
                EquivalenceProperties::new(plan.schema()),
                Partitioning::UnknownPartitioning(plan.output_partitioning().partition_count()),
                plan.pipeline_behavior(),
                plan.boundedness(),
            )),
        };
        Self {
            plan,
            known,
            properties,
        }
    }

    /// Whether `plan` is marked so.
    pub(super) fn marks(plan: &dyn ExecutionPlan, known: Known) -> bool {
        let marker = plan.downcast_ref::<Self>();
        marker.is_some_and(|marker| marker.known == known)
    }
}

impl DisplayAs for Marker {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Marker: known={:?}", self.known)
    }
}

impl ExecutionPlan for Marker {
    fn name(&self) -> &'static str {
        "Marker"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    // The default `replace_children` calls this too.
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(plan), true) => Ok(Arc::new(Self::new(plan, self.known))),
            _ => internal_err!("a marker has one input"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.plan.execute(partition, context)
    }
}
