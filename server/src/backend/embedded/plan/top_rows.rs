//! The first rows of a sort, within any memory.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    SendableRecordBatchStream,
};
use futures::{TryStreamExt, stream};

use crate::backend::embedded::plan::watched_pool::WatchedPool;

/// `input` sorted into one partition, of which `fetch` rows suffice if it is given.
///
/// # Errors
/// A node of `input` cannot be copied.
pub(super) fn sorted(
    input: Arc<dyn ExecutionPlan>,
    ordering: &LexOrdering,
    fetch: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if fetch.is_none() {
        return Ok(merged(sort(input, ordering), ordering));
    }
    let all = sort(reset_plan_states(Arc::clone(&input))?, ordering);
    let whole = SortPreservingMergeExec::new(ordering.clone(), Arc::new(all)).with_fetch(fetch);
    let first = sort(input, ordering).with_fetch(fetch);
    Ok(Arc::new(TopRowsExec {
        top: merged(first, ordering),
        whole: Arc::new(whole),
    }))
}

/// A sort of each partition, which can continue on disk. With a `fetch` it would hold so many rows in memory.
fn sort(input: Arc<dyn ExecutionPlan>, ordering: &LexOrdering) -> SortExec {
    let num_partitions = input.output_partitioning().partition_count();
    SortExec::new(ordering.clone(), input).with_preserve_partitioning(num_partitions > 1)
}

fn merged(sort: SortExec, ordering: &LexOrdering) -> Arc<dyn ExecutionPlan> {
    let (has_partitions, fetch) = (sort.preserve_partitioning(), sort.fetch());
    let sort = Arc::new(sort);
    if !has_partitions {
        return sort;
    }
    Arc::new(SortPreservingMergeExec::new(ordering.clone(), sort).with_fetch(fetch))
}

/// The first rows of a sort: `top` holds them in memory; if that does not suffice, `whole` sorts all rows, on disk if
/// need be.
#[derive(Debug)]
pub(super) struct TopRowsExec {
    top: Arc<dyn ExecutionPlan>,
    whole: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for TopRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TopRowsExec")
    }
}

impl ExecutionPlan for TopRowsExec {
    fn name(&self) -> &'static str {
        "TopRowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.top.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.top, &self.whole]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([top, whole]) = <[_; 2]>::try_from(children) else {
            return internal_err!("the first rows of a sort have two inputs");
        };
        Ok(Arc::new(Self { top, whole }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (watched, pool) = WatchedPool::within(&context)?;
        let top = self.top.execute(partition, watched)?;
        let whole = Arc::clone(&self.whole);
        let memory = MemoryConsumer::new("TopRowsExec").register(context.memory_pool());
        let schema = self.schema();
        let rows = async move {
            match collect(top, &memory).await {
                Ok(batches) => {
                    // The reservation ends with the last batch.
                    let batches = batches.into_iter().map(move |batch| {
                        memory.shrink(batch.get_array_memory_size());
                        Ok(batch)
                    });
                    let rows = RecordBatchStreamAdapter::new(schema, stream::iter(batches));
                    Ok(Box::pin(rows) as SendableRecordBatchStream)
                }
                Err(error) if is_out_of_memory(&error) => {
                    memory.free();
                    pool.ended().await;
                    whole.execute(partition, context)
                }
                Err(error) => Err(error),
            }
        };
        let rows = stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// All rows, counted in `memory`. None is passed on before the last has come: even the merge of the first rows can run
/// out of memory.
async fn collect(
    mut rows: SendableRecordBatchStream,
    memory: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        memory.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok(batches)
}

fn is_out_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}
