//! A memory pool that knows whether anything still reserves memory of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use tokio::sync::watch;

/// How long the operators of a plan that was dropped may take to end. The build side of a join stays until its plan is
/// dropped, so waiting can be in vain.
const MAX_END_WAIT: Duration = Duration::from_secs(1);

/// Passes on to another pool, and counts the operators that may reserve memory.
#[derive(Debug)]
pub(super) struct WatchedPool {
    pool: Arc<dyn MemoryPool>,
    num_consumers: watch::Sender<usize>,
}

impl WatchedPool {
    /// A context whose operators reserve memory of `context`'s pool, and its pool.
    ///
    /// # Errors
    /// Errors of DataFusion.
    pub(super) fn within(context: &TaskContext) -> Result<(Arc<TaskContext>, Arc<Self>)> {
        let pool = Arc::new(Self {
            pool: Arc::clone(context.memory_pool()),
            num_consumers: watch::Sender::new(0),
        });
        let runtime = RuntimeEnvBuilder::from_runtime_env(&context.runtime_env())
            .with_memory_pool(Arc::clone(&pool) as Arc<dyn MemoryPool>)
            .build_arc()?;
        let watched = TaskContext::new(
            context.task_id(),
            context.session_id(),
            context.session_config().clone(),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            runtime,
        );
        Ok((Arc::new(watched), pool))
    }

    /// Waits until the operators have returned their memory: the tasks of a stream end some time after it was dropped.
    pub(super) async fn ended(&self) {
        let mut num_consumers = self.num_consumers.subscribe();
        let ended = num_consumers.wait_for(|num_consumers| *num_consumers == 0);
        let _ = tokio::time::timeout(MAX_END_WAIT, ended).await;
    }
}

impl fmt::Display for WatchedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.fmt(f)
    }
}

impl MemoryPool for WatchedPool {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.num_consumers.send_modify(|count| *count += 1);
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
        self.num_consumers.send_modify(|count| *count -= 1);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.pool.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}
