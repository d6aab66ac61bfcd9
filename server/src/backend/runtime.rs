//! The threads of queries.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// Stack size of each thread, because deep plans recurse deeply. Only pages that are used take memory.
const STACK_BYTES: usize = 64 << 20;

/// Threads for queries, so that their work does not delay the connections.
#[derive(Debug)]
pub struct QueryRuntime {
    // `Option`, so that `drop` can take it: a runtime must not be dropped within another, only shut down in
    // the background.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl QueryRuntime {
    /// A runtime of `num_threads` threads.
    ///
    /// # Errors
    /// The system cannot create the threads.
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
