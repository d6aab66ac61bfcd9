//! The embedded engine: plans a request and returns its partitions in order, not yet started.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::SchemaProvider;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::backend::PlannedQuery;
use crate::backend::embedded::functions::{check_constants, limit_functions};
use crate::backend::embedded::partition_reader::{
    MAX_PARTITIONS, PARTITION_BYTES, encode_partitions,
};
use crate::backend::embedded::plan::{
    is_repeatable, order_of, parse_filter, plan_sql, resolve_ties, strip_limit,
};
use crate::backend::embedded::seek::Seek;
use crate::backend::predicate_expr::predicate_expr;
use crate::backend::request::{Filter, Request, Source, TableQuery};
use crate::encode::{Codec, EmptyBatch, schema_message, wire_schema};
use crate::error::from_datafusion::{execution_error, plan_error};
use crate::error::{ErrorKind, QueryError, StartError};
use crate::order::{Encoding, Order, RowRange};
use crate::source::Table;
use crate::source::catalog::{Catalog, Entry};

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
}

/// Memory and disk that all queries together use.
#[derive(Debug, Clone, Copy)]
pub struct EngineUsage {
    /// Memory that operators hold.
    pub memory_bytes: u64,
    /// Disk that spill files take.
    pub spill_bytes: u64,
}

/// The engine with its tables.
pub struct Engine {
    context: SessionContext,
    catalog: Arc<Catalog>,
    num_threads: usize,
}

impl Engine {
    /// An engine that serves these tables.
    ///
    /// # Errors
    /// The engine's runtime cannot be built.
    pub fn try_new(config: &EngineConfig, tables: Vec<Table>) -> Result<Self, StartError> {
        let failed = |error: DataFusionError| {
            StartError::Failed(format!("the engine cannot start: {error}"))
        };
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![
                config.spill_folder.clone(),
            ]))
            .with_max_temp_directory_size(config.spill_bytes);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(config.memory_bytes as usize)))
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(failed)?;
        let mut session = SessionConfig::new()
            .with_information_schema(true)
            .with_target_partitions(config.num_threads);
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
            options.set(key, value).map_err(failed)?;
        }
        let context = SessionContext::new_with_config_rt(session, runtime);
        limit_functions(&context).map_err(failed)?;
        let catalog = Arc::new(Catalog::new(tables));
        let default = context.copied_config().options().catalog.clone();
        context
            .catalog(&default.default_catalog)
            .ok_or_else(|| StartError::Failed("the engine has no catalog".to_owned()))?
            .register_schema(
                &default.default_schema,
                Arc::clone(&catalog) as Arc<dyn SchemaProvider>,
            )
            .map_err(failed)?;
        Ok(Self {
            context,
            catalog,
            num_threads: config.num_threads,
        })
    }

    /// The tables that it serves.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Memory and disk that all queries together use.
    pub fn usage(&self) -> EngineUsage {
        let runtime = self.context.runtime_env();
        EngineUsage {
            memory_bytes: runtime.memory_pool.reserved() as u64,
            spill_bytes: runtime.disk_manager.used_disk_space(),
        }
    }

    /// Plans a request; nothing runs until a partition is started. `base` has the rows of the result that the
    /// request reads, if it reads one.
    ///
    /// # Errors
    /// Whatever is wrong with the request.
    pub async fn plan(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
    ) -> Result<PlannedQuery, QueryError> {
        let entries = match base {
            Some(table) => Arc::new(vec![Entry {
                table: Arc::new(table),
                broken: None,
            }]),
            None => self.catalog.refreshed(),
        };
        let names: Vec<String> = entries
            .iter()
            .map(|entry| entry.table.name.clone())
            .collect();
        let state = self.context.state();
        let logical = match &request.source {
            Source::Sql(sql) => plan_sql(&state, sql, &names).await?,
            Source::Table(query) | Source::Query(query) => plan_table(&state, &entries, query)?,
        };
        let used = used_tables(&logical, &entries)?;
        let (logical, inner) = strip_limit(logical);
        let range = request.range.within(inner);
        let error = |error: DataFusionError| plan_error(&error, ErrorKind::SqlError, &[], &names);
        let encoding = |plan: &Arc<dyn ExecutionPlan>| Encoding {
            schema: wire_schema(&plan.schema()),
            batch_bytes: request.batch_bytes,
            codec,
        };
        if let Some(seek) = Seek::plan(&state, &logical, range, &used)? {
            let encoding = encoding(&seek.plan);
            let num_rows = seek.num_rows_within(inner);
            return Ok(PlannedQuery {
                order: Order::Partition,
                schema: schema_message(&encoding.schema),
                empty: empty_batch(&encoding.schema)?,
                codec,
                batch_bytes: encoding.batch_bytes as u64,
                partitions: encode_partitions(
                    seek.plan,
                    state,
                    &used,
                    &encoding,
                    Some(seek.partition_rows),
                ),
                range: RowRange {
                    first_row: 0,
                    limit: range.limit.map(|_| seek.num_rows),
                },
                sources: used,
                is_seekable: true,
                is_repeatable: true,
                num_rows: Some(num_rows),
                progress: None,
            });
        }
        let num_bytes = used.iter().filter_map(|table| table.num_bytes).sum();
        let physical = self
            .plan_partitions(&state, &logical, range, num_bytes)
            .await
            .map_err(error)?;
        let batch_rows = state.config().batch_size();
        check_constants(physical.as_ref(), batch_rows).map_err(|error| execution_error(&error))?;
        let yielding = yield_in_joins(physical).map_err(error)?;
        let resolved = resolve_ties(yielding, range.end()).map_err(error)?;
        let order = order_of(&resolved.plan);
        let plan = run_exchanges_together(resolved.plan, order);
        let encoding = encoding(&plan);
        let partitions = encode_partitions(plan, state, &used, &encoding, None);
        Ok(PlannedQuery {
            schema: schema_message(&encoding.schema),
            empty: empty_batch(&encoding.schema)?,
            codec,
            batch_bytes: encoding.batch_bytes as u64,
            order,
            partitions,
            range,
            sources: used,
            is_seekable: false,
            is_repeatable: is_repeatable(order),
            num_rows: None,
            progress: None,
        })
    }

    /// A logical plan of a table's rows, in no guaranteed order. Blocks on the file system.
    ///
    /// # Errors
    /// Whatever is wrong with the query.
    pub fn table_plan(&self, query: &TableQuery) -> Result<LogicalPlan, QueryError> {
        let unsorted = TableQuery {
            sort: Vec::new(),
            ..query.clone()
        };
        let entries = self.catalog.refreshed();
        let plan = plan_table(&self.context.state(), &entries, &unsorted)?;
        used_tables(&plan, &entries)?;
        Ok(plan)
    }

    /// The session state that plans are executed with.
    pub fn state(&self) -> SessionState {
        self.context.state()
    }

    /// A physical plan. If it keeps the order of the source and the files are large (`num_bytes` together),
    /// it has many small partitions.
    async fn plan_partitions(
        &self,
        state: &SessionState,
        logical: &LogicalPlan,
        range: RowRange,
        num_bytes: u64,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let physical = state.create_physical_plan(logical).await?;
        let num_partitions = (num_bytes / PARTITION_BYTES).min(MAX_PARTITIONS) as usize;
        if num_partitions <= self.num_threads
            || order_of(&physical) != Order::Partition
            || range.limit == Some(0)
        {
            return Ok(physical);
        }
        let mut state = state.clone();
        state.config_mut().options_mut().execution.target_partitions = num_partitions;
        let finer = state.create_physical_plan(logical).await?;
        Ok(if order_of(&finer) == Order::Partition {
            finer
        } else {
            physical
        })
    }
}

fn plan_table(
    state: &SessionState,
    entries: &[Entry],
    query: &TableQuery,
) -> Result<LogicalPlan, QueryError> {
    let entry = entries
        .iter()
        .find(|entry| entry.table.name == query.table)
        .ok_or_else(|| {
            let names = entries.iter().map(|entry| entry.table.name.as_str());
            QueryError::unknown_table(&query.table, names)
        })?;
    let table = &entry.table;
    let error = |error: DataFusionError| plan_error(&error, ErrorKind::BadParameter, &[], &[]);
    let name = TableReference::bare(table.name.as_str());
    let source = provider_as_source(Arc::clone(&table.provider));
    let mut plan = LogicalPlanBuilder::scan(name, source, None).map_err(error)?;
    if let Some(filter) = &query.filter {
        let filter = match filter {
            Filter::Json(predicate) => predicate_expr(predicate, &table.schema)?,
            Filter::Text(text) => {
                let schema = DFSchema::try_from(Arc::clone(&table.schema)).map_err(error)?;
                parse_filter(state, text, &schema)?
            }
        };
        plan = plan
            .filter(filter)
            .map_err(|e| plan_error(&e, ErrorKind::BadFilter, &[], &[]))?;
    }
    if !query.sort.is_empty() {
        let keys = query
            .sort
            .iter()
            .map(|key| {
                let field = query.field(&key.column, &table.schema)?;
                Ok(SortExpr::new(column(field.name()), !key.descending, false))
            })
            .collect::<Result<Vec<_>, QueryError>>()?;
        plan = plan.sort(keys).map_err(error)?;
    }
    if query.columns.is_some() {
        let names = query.column_names(&table.schema)?;
        plan = plan.project(names.into_iter().map(column)).map_err(error)?;
    }
    plan.build().map_err(error)
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

fn empty_batch(schema: &SchemaRef) -> Result<EmptyBatch, QueryError> {
    EmptyBatch::try_new(schema).map_err(|error| {
        QueryError::new(
            ErrorKind::ExecutionError,
            format!("the columns cannot be written as Arrow IPC: {error}"),
            "leave the column out, or cast it to another type",
        )
    })
}

/// The tables of a plan.
///
/// # Errors
/// `source_changed`: one of them can no longer be read.
fn used_tables(plan: &LogicalPlan, entries: &[Entry]) -> Result<Vec<Arc<Table>>, QueryError> {
    let mut names = HashSet::new();
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            names.insert(scan.table_name.table().to_owned());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    if let Err(error) = walked {
        return Err(plan_error(&error, ErrorKind::SqlError, &[], &[]));
    }
    let mut used = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| names.contains(&entry.table.name))
    {
        if let Some(reason) = &entry.broken {
            return Err(QueryError::new(
                ErrorKind::SourceChanged,
                format!(
                    "table {:?} can no longer be read: {reason}",
                    entry.table.name
                ),
                "restore the file, or restart the server with other sources",
            ));
        }
        used.push(Arc::clone(&entry.table));
    }
    Ok(used)
}

/// A plan whose partitions do not wait for each other when the stitcher runs only some of them. Partitions
/// that exchange rows (below joins, aggregates and repartitionings) need each other's progress. Such a plan
/// has no order, so its partitions are merged as their batches arrive; all of them run while the merged one
/// does. In an ordered plan, an exchange is always below a sort, which runs all partitions itself.
fn run_exchanges_together(plan: Arc<dyn ExecutionPlan>, order: Order) -> Arc<dyn ExecutionPlan> {
    if order == Order::None && plan.output_partitioning().partition_count() > 1 {
        Arc::new(CoalescePartitionsExec::new(plan))
    } else {
        plan
    }
}

/// Lets every join yield between the batches that it produces, so that it can be cancelled. Otherwise an
/// aggregate above it would take all batches without a pause.
fn yield_in_joins(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    plan.transform_up(|node| {
        Ok(
            if node.is::<NestedLoopJoinExec>()
                || node.is::<CrossJoinExec>()
                || node.is::<HashJoinExec>()
            {
                Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>)
            } else {
                Transformed::no(node)
            },
        )
    })
    .data()
}
