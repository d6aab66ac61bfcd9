//! Reads and encodes the partitions of a physical plan.

use std::any::Any;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};

use crate::error::from_datafusion::execution_error;
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::message::MaybeEncoded;
use crate::order::{Encoding, Partition, encode_partition};
use crate::source::{Table, read_rows};

/// Bytes of source files for one partition. With small partitions the budget lets several later ones run
/// ahead a little, instead of one far.
pub(super) const PARTITION_BYTES: u64 = 4 << 20;

/// The most partitions that a scan is cut into.
pub(super) const MAX_PARTITIONS: u64 = 1024;

/// What is wrong with a file of another number of rows.
const MISCOUNTED: &str = "does not have the number of rows that its metadata gives";

/// The partitions of a plan, encoded. With `partition_rows`, each partition must yield that many rows.
pub(crate) fn encode_partitions(
    plan: Arc<dyn ExecutionPlan>,
    state: SessionState,
    used: &[Arc<Table>],
    encoding: &Encoding,
    partition_rows: Option<Vec<u64>>,
) -> Vec<Partition> {
    let num_partitions = match &partition_rows {
        Some(partition_rows) => partition_rows.len(),
        None => plan.output_partitioning().partition_count(),
    };
    let reader = Arc::new(PartitionReader {
        plan,
        state,
        used: used.to_vec(),
        partition_rows,
    });
    (0..num_partitions)
        .map(|index| {
            let reader = Arc::clone(&reader);
            let encoding = encoding.clone();
            Box::new(move |held| {
                // Batches are passed through only after the first partition: its first message is small, so
                // it is encoded.
                let passes = index > 0 && encoding.codec.is_none();
                let pass = passes.then(|| good_sizes(encoding.batch_bytes));
                encode_partition(reader.read(index, pass), &encoding, index == 0, held)
            }) as Partition
        })
        .collect()
}

/// Reads and discards all rows of a table whose files can be read from any row. Returns false for other
/// files, without reading them.
///
/// # Errors
/// The error with which a query for those rows would fail.
pub(crate) async fn read_through(
    table: &Arc<Table>,
    state: SessionState,
) -> Result<bool, QueryError> {
    let columns: Vec<usize> = (0..table.schema.fields().len()).collect();
    let rows = 0..table.num_rows.unwrap_or(0);
    let files = table.file_table();
    let scan = files.map(|files| files.scan_rows(&state, &columns, rows, PARTITION_BYTES));
    let scan = scan.transpose().map_err(|error| execution_error(&error))?;
    let Some(scan) = scan.flatten() else {
        return Ok(false);
    };
    let num_partitions = scan.partition_rows.len();
    let reader = Arc::new(PartitionReader {
        plan: scan.plan,
        state,
        used: vec![Arc::clone(table)],
        partition_rows: Some(scan.partition_rows),
    });
    for index in 0..num_partitions {
        let mut rows = Arc::clone(&reader).read(index, None);
        while rows.next().await.transpose()?.is_some() {}
    }
    Ok(true)
}

/// Body sizes, in bytes, at which a stored record batch is sent as one message.
fn good_sizes(batch_bytes: usize) -> RangeInclusive<u64> {
    let batch_bytes = batch_bytes as u64;
    batch_bytes / 4..=batch_bytes.saturating_mul(5) / 4
}

/// Reads the partitions of one plan.
struct PartitionReader {
    plan: Arc<dyn ExecutionPlan>,
    state: SessionState,
    used: Vec<Arc<Table>>,
    partition_rows: Option<Vec<u64>>,
}

impl PartitionReader {
    /// The rows of a partition; see [`read_rows`] for `pass`.
    fn read(
        self: Arc<Self>,
        index: usize,
        pass: Option<RangeInclusive<u64>>,
    ) -> BoxStream<'static, Result<MaybeEncoded, QueryError>> {
        let rows = Arc::clone(&self).run(index, pass);
        let Some(expected) = self.partition_rows.as_ref().map(|rows| rows[index]) else {
            return rows;
        };
        // Rows are numbered by the counts in the metadata. If a count is wrong, later rows would shift.
        let counted = futures::stream::try_unfold((rows, 0), move |(mut rows, num_rows)| {
            let reader = Arc::clone(&self);
            async move {
                match rows.next().await.transpose()? {
                    Some(next) if num_rows + next.num_rows() <= expected => {
                        let num_rows = num_rows + next.num_rows();
                        Ok(Some((next, (rows, num_rows))))
                    }
                    None if num_rows == expected => Ok(None),
                    _ => Err(reader.broken(MISCOUNTED)),
                }
            }
        });
        counted.boxed()
    }

    fn broken(&self, what: &str) -> QueryError {
        let names: Vec<&str> = self.used.iter().map(|table| table.name.as_str()).collect();
        QueryError::new(
            ErrorKind::SourceUnreadable,
            format!("a file of table {} {what}", names.join(", ")),
            "write the file again",
        )
    }

    fn run(
        self: Arc<Self>,
        index: usize,
        pass: Option<RangeInclusive<u64>>,
    ) -> BoxStream<'static, Result<MaybeEncoded, QueryError>> {
        let passed = pass.and_then(|sizes| read_rows(self.plan.as_ref(), index, sizes));
        let rows = match passed {
            Some(rows) => Ok(rows),
            None => self
                .plan
                .execute(index, self.state.task_ctx())
                .map(|batches| batches.map_ok(MaybeEncoded::Batch).boxed()),
        };
        match rows {
            Ok(rows) => AssertUnwindSafe(rows)
                .catch_unwind()
                .then(move |rows| {
                    let reader = Arc::clone(&self);
                    async move {
                        match rows {
                            Ok(Ok(rows)) => Ok(rows),
                            Ok(Err(error)) => Err(reader.explain(error).await),
                            Err(panic) => Err(reader.explain_panic(panic).await),
                        }
                    }
                })
                .boxed(),
            Err(error) => async move { Err(self.explain(error).await) }
                .into_stream()
                .boxed(),
        }
    }

    /// The error for a panic, if a file is damaged: the libraries that read files panic at some bytes. A panic of
    /// anything else continues.
    async fn explain_panic(&self, panic: Box<dyn Any + Send>) -> QueryError {
        if self.partition_rows.is_some() {
            return self.broken("is damaged");
        }
        for table in &self.used {
            if let Err(error) = read_through(table, self.state.clone()).await {
                return error;
            }
        }
        resume_unwind(panic)
    }

    /// The error for the client. It never contains a folder's path.
    async fn explain(&self, error: DataFusionError) -> QueryError {
        if let Some(changed) = self.used.iter().find(|table| table.has_changed()) {
            return source_changed(&changed.name);
        }
        let mut explained = execution_error(&error);
        if explained.kind == ErrorKind::BrokenRow {
            self.used.iter().for_each(|table| table.note_misfit());
        }
        let is_encrypted = |table: &Arc<Table>| {
            table
                .file_table()
                .is_some_and(|files| files.has_encrypted_columns())
        };
        if explained.kind == ErrorKind::SourceUnreadable && self.used.iter().any(is_encrypted) {
            return self.broken("has encrypted columns, which cannot be read");
        }
        for folder in self
            .used
            .iter()
            .flat_map(|table| table.folders())
            .filter(|folder| folder.len() > 1)
        {
            explained.message = explained.message.replace(&format!("{folder}/"), "");
        }
        explained
    }
}
