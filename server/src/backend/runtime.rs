//! The threads of a query.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// Deep plans recurse deeply. Only what is used of it is ever in memory.
const STACK_BYTES: usize = 64 << 20;

/// Threads of one query. A join that compares without producing rows does not notice that it was
/// cancelled; threads of its own keep it from holding up other queries until it does.
#[derive(Debug)]
pub struct QueryRuntime {
    // In an `Option` because a runtime must not be dropped inside another, only sent away.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl QueryRuntime {
    /// A runtime of `num_threads` threads.
    ///
    /// # Errors
    /// The machine has no more threads.
    pub fn start(num_threads: usize) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(num_threads)
            .thread_name("query")
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build()?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Where to spawn the query's work.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for QueryRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
