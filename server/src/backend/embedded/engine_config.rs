//! The budgets of the engine, and its settings that differ from DataFusion's.

use std::path::PathBuf;

use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::error::Result;
use datafusion::prelude::SessionConfig;

/// Memory of the engine for each row of a batch: with little memory, batches are smaller.
const BATCH_ROW_BYTES: u64 = 64 << 10;
const MIN_BATCH_ROWS: usize = 256;

/// The budgets of the engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Memory of all queries together.
    pub memory_bytes: u64,
    /// Disk for operators that exceed the memory, such as sorts.
    pub spill_bytes: u64,
    /// The folder of the spill files.
    pub spill_folder: PathBuf,
    /// Partitions that run in parallel.
    pub num_threads: usize,
    /// Whether clients' SQL is planned in this process. If not, it is refused.
    pub plans_sql: bool,
}

impl EngineConfig {
    /// The settings of an engine with these budgets.
    ///
    /// # Errors
    /// DataFusion does not know a setting.
    pub(super) fn session(&self) -> Result<SessionConfig> {
        let mut session = SessionConfig::new()
            .with_information_schema(true)
            .with_target_partitions(self.num_threads);
        let options = session.options_mut();
        for (key, value) in [
            // Each partition keeps its own files, so that the partitions are in file order.
            (
                "datafusion.execution.enable_file_stream_work_stealing",
                "false",
            ),
            (
                "datafusion.optimizer.enable_round_robin_repartition",
                "false",
            ),
            // No view types, because a view array keeps all its buffers, however few rows are left.
            (
                "datafusion.execution.parquet.schema_force_view_types",
                "false",
            ),
            (
                "datafusion.sql_parser.map_string_types_to_utf8view",
                "false",
            ),
            // The pushdown would read row groups in the order of their statistics.
            ("datafusion.optimizer.enable_sort_pushdown", "false"),
            // Names keep their letter case, as in the files.
            ("datafusion.sql_parser.enable_ident_normalization", "false"),
            ("datafusion.sql_parser.default_null_ordering", "nulls_last"),
            // The filter would drop ties before the row's position can decide them.
            (
                "datafusion.optimizer.enable_topk_dynamic_filter_pushdown",
                "false",
            ),
        ] {
            options.set(key, value)?;
        }
        // Every sort of every partition reserves so much at its start.
        let least_bytes = self.memory_bytes / 8 / self.num_threads.max(1) as u64;
        let execution = &mut options.execution;
        execution.sort_spill_reservation_bytes = execution
            .sort_spill_reservation_bytes
            .min(least_bytes as usize);
        // A merge of spill files holds several batches at once.
        let batch_rows = (self.memory_bytes / BATCH_ROW_BYTES) as usize;
        let batch_rows = batch_rows.clamp(MIN_BATCH_ROWS, execution.batch_size.get());
        execution.batch_size = ConfigNonZeroUsize::try_new(batch_rows)?;
        Ok(session)
    }
}
