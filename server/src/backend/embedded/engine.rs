//! The embedded engine: plans a request and returns its partitions in order, not yet started.

use std::collections::HashSet;
use std::slice;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::SchemaProvider;
use datafusion::common::TableReference;
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionContext;
use serde::{Deserialize, Serialize};

use crate::backend::embedded::engine_config::EngineConfig;
use crate::backend::embedded::partition_reader::{
    MAX_PARTITIONS, PARTITION_BYTES, encode_partitions,
};
use crate::backend::embedded::plan::{
    CheckedSum, ExactLiterals, FieldsOfNullStructs, HideGroupingSetKeys, LARGE_VALUE_ROWS,
    PlainScan, analyzer_rules, is_repeatable, makes_large_values, order_of, plan_sql,
    register_json, resolve_ties, sent_schema, strip_limit,
};
use crate::backend::embedded::seek::Seek;
use crate::backend::embedded::table_plan::{column, plan_table, used_tables};
use crate::backend::received::bad_engine;
use crate::backend::request::{Request, Source, TableQuery};
use crate::backend::{EngineProgress, PlannedQuery};
use crate::encode::{Codec, EmptyBatch, schema_message, wire_schema};
use crate::error::from_datafusion::plan_error;
use crate::error::{ErrorKind, QueryError, StartError};
use crate::order::{Encoding, Order, RowRange};
use crate::source::catalog::{Catalog, Entry};
use crate::source::{ScanMemory, ScanMeter, Table};

/// How often a request is planned if a table is loaded again meanwhile.
const MAX_PLANS: usize = 3;

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
    plans_sql: bool,
}

impl Engine {
    /// An engine that serves these tables.
    ///
    /// # Errors
    /// The engine's runtime cannot be built.
    pub fn try_new(config: &EngineConfig, tables: Vec<Table>) -> Result<Self, StartError> {
        let pool = FairSpillPool::new(config.memory_bytes as usize);
        Self::of_catalog(config, Arc::new(Catalog::new(tables)), Arc::new(pool))
    }

    /// An engine that serves the tables of a catalog, and whose operators reserve memory in `pool`.
    ///
    /// # Errors
    /// As [`Engine::try_new`].
    pub(crate) fn of_catalog(
        config: &EngineConfig,
        catalog: Arc<Catalog>,
        pool: Arc<dyn MemoryPool>,
    ) -> Result<Self, StartError> {
        let failed = |error: DataFusionError| {
            StartError::Failed(format!("the engine cannot start: {error}"))
        };
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![
                config.spill_folder.clone(),
            ]))
            .with_max_temp_directory_size(config.spill_bytes);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(pool)
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(failed)?;
        // Scans take as much again to write to disk what exceeds it.
        let scan_memory = ScanMemory::new(config.memory_bytes / 2, &runtime.disk_manager);
        let session = config.session().map_err(failed)?;
        let session = session.with_extension(Arc::new(scan_memory));
        let mut rules = PhysicalOptimizer::new().rules;
        rules.insert(0, Arc::new(HideGroupingSetKeys));
        let mut state = SessionStateBuilder::new_with_default_features()
            .with_config(session)
            .with_runtime_env(runtime)
            .with_analyzer_rules(analyzer_rules())
            .with_physical_optimizer_rules(rules)
            .build();
        register_json(&mut state)
            .and_then(|()| state.register_expr_planner(Arc::new(ExactLiterals)))
            .and_then(|()| state.register_function_rewrite(Arc::new(FieldsOfNullStructs::new())))
            .and_then(|()| state.register_udaf(Arc::new(CheckedSum::default().into())))
            .map_err(failed)?;
        let context = SessionContext::new_with_state(state);
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
            plans_sql: config.plans_sql,
        })
    }

    /// The tables, after loading those again whose files have changed; see [`Catalog::refreshed`].
    ///
    /// # Errors
    /// `internal`: the process is ending.
    pub(crate) async fn refreshed(
        &self,
        named: HashSet<String>,
    ) -> Result<Arc<Vec<Entry>>, QueryError> {
        let catalog = Arc::clone(&self.catalog);
        let entries = tokio::task::spawn_blocking(move || catalog.refreshed(&named));
        let what = "the tables could not be listed";
        entries
            .await
            .map_err(|_| QueryError::new(ErrorKind::Internal, what, "try again"))
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
        let query = self.logical_query(&request.source, base).await?;
        Ok(self.plan_execution(query, request, codec).await?.0)
    }

    /// Like [`Engine::plan`], but leaves the reading of plain columns of one table to the caller, if its files
    /// can be read from any row.
    ///
    /// # Errors
    /// Whatever is wrong with the request.
    pub(crate) async fn plan_statement(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
    ) -> Result<PlannedStatement, QueryError> {
        let query = self.logical_query(&request.source, base).await?;
        if let [table] = query.used.as_slice()
            && table.num_rows.is_some()
            && let Some(scan) = PlainScan::of(&query.logical)
        {
            return Ok(PlannedStatement::Scan(TableScan {
                table: table.name.clone(),
                columns: scan.output_columns(),
                range: query.range,
            }));
        }
        let (planned, plan) = self.plan_execution(query, request, codec).await?;
        Ok(PlannedStatement::Query(Box::new(planned), plan))
    }

    /// Plans a scan that [`Engine::plan_statement`] left to the caller.
    ///
    /// # Errors
    /// The files of the table cannot be read.
    pub(crate) async fn plan_scan(
        &self,
        scan: &TableScan,
        table: Arc<Table>,
        request: &Request,
        codec: Option<Codec>,
    ) -> Result<PlannedQuery, QueryError> {
        let error = |error: DataFusionError| plan_error(&error, ErrorKind::SqlError, &[], &[]);
        let source = provider_as_source(Arc::clone(&table.provider));
        let schema = Arc::clone(&table.schema);
        let columns = scan.columns.iter().map(|(index, name)| {
            let field = schema.fields().get(*index);
            let field = field.ok_or_else(|| bad_engine("a column does not exist"))?;
            Ok(column(field.name()).alias(name))
        });
        let columns = columns.collect::<Result<Vec<_>, QueryError>>()?;
        let logical = LogicalPlanBuilder::scan(TableReference::bare(&*table.name), source, None)
            .and_then(|plan| plan.project(columns))
            .and_then(LogicalPlanBuilder::build)
            .map_err(error)?;
        let query = LogicalQuery {
            logical,
            range: scan.range,
            names: Vec::new(),
            used: vec![table],
        };
        Ok(self.plan_execution(query, request, codec).await?.0)
    }

    /// The logical plan of a request. Blocks on the file system.
    async fn logical_query(
        &self,
        source: &Source,
        base: Option<Table>,
    ) -> Result<LogicalQuery, QueryError> {
        self.check_sql(source)?;
        let base = base.map(Entry::of);
        if base.is_none() {
            self.catalog.refreshed(&source.names());
        }
        // Only SQL can name other tables.
        let names = match source {
            Source::Sql(_) => self.catalog.table_names(),
            Source::Table(_) | Source::Query(_) => Vec::new(),
        };
        let state = self.context.state();
        let mut num_plans = 0;
        let (logical, used) = loop {
            let logical = match source {
                Source::Sql(sql) => plan_sql(&state, sql, &names).await?,
                Source::Table(query) | Source::Query(query) => {
                    let entry = match &base {
                        Some(entry) => Some(entry.clone()),
                        None => self.catalog.find(&query.table)?,
                    };
                    let entry = entry
                        .ok_or_else(|| unknown_table(&query.table, &self.catalog.table_names()))?;
                    plan_table(&state, &entry.table, query)?
                }
            };
            let used = match &base {
                Some(entry) => used_tables(&logical, slice::from_ref(entry)),
                None => used_tables(&logical, &self.catalog.entries()),
            };
            num_plans += 1;
            match used {
                Err(error) if error.kind == ErrorKind::SourceChanged && num_plans < MAX_PLANS => {}
                used => break (logical, used?),
            }
        };
        let (logical, range) = strip_limit(logical);
        Ok(LogicalQuery {
            logical,
            range,
            names,
            used,
        })
    }

    async fn plan_execution(
        &self,
        query: LogicalQuery,
        request: &Request,
        codec: Option<Codec>,
    ) -> Result<(PlannedQuery, Arc<dyn ExecutionPlan>), QueryError> {
        let LogicalQuery {
            logical,
            range: inner,
            names,
            used,
        } = query;
        let mut state = self.context.state();
        let range = request.range.within(inner);
        let error = |error: DataFusionError| plan_error(&error, ErrorKind::SqlError, &[], &names);
        if makes_large_values(&logical).map_err(error)? {
            let batch_rows = ConfigNonZeroUsize::try_new(LARGE_VALUE_ROWS).map_err(error)?;
            state.config_mut().options_mut().execution.batch_size = batch_rows;
        }
        let encoding = |plan: &Arc<dyn ExecutionPlan>| Encoding {
            schema: wire_schema(&sent_schema(&plan.schema())),
            batch_bytes: request.batch_bytes,
            codec,
        };
        if let Some(seek) = Seek::plan(&state, &logical, range, &used)? {
            let encoding = encoding(&seek.plan);
            let num_rows = seek.num_rows_within(inner);
            let plan = Arc::clone(&seek.plan);
            let planned = PlannedQuery {
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
                slots: Vec::new(),
            };
            return Ok((planned, plan));
        }
        let num_bytes = used.iter().filter_map(|table| table.num_bytes).sum();
        let physical = self
            .plan_partitions(&state, &logical, range, num_bytes)
            .await
            .map_err(error)?;
        let yielding = yield_in_joins(physical).map_err(error)?;
        let resolved = resolve_ties(yielding, range.end()).map_err(error)?;
        let order = order_of(&resolved.plan);
        let plan = merge_unordered_partitions(resolved.plan, order);
        let is_repeatable = is_repeatable(&logical, &plan, &used).map_err(error)?;
        let encoding = encoding(&plan);
        let scans = ScanMeter::new(&plan, &used);
        let progress = scans.map(|scans| Arc::new(EngineProgress::of_scans(scans)));
        let partitions = encode_partitions(Arc::clone(&plan), state, &used, &encoding, None);
        let planned = PlannedQuery {
            schema: schema_message(&encoding.schema),
            empty: empty_batch(&encoding.schema)?,
            codec,
            batch_bytes: encoding.batch_bytes as u64,
            order,
            partitions,
            range,
            sources: used,
            is_seekable: false,
            is_repeatable,
            num_rows: None,
            progress,
            slots: Vec::new(),
        };
        Ok((planned, plan))
    }

    /// Checks that SQL is planned in the process that is meant to.
    fn check_sql(&self, source: &Source) -> Result<(), QueryError> {
        if self.plans_sql || !source.has_sql() {
            return Ok(());
        }
        let what = "the server does not plan SQL itself";
        Err(QueryError::new(ErrorKind::Internal, what, "report this"))
    }

    /// A logical plan of a table's rows, in no guaranteed order. Blocks on the file system.
    ///
    /// # Errors
    /// Whatever is wrong with the query.
    pub fn table_plan(&self, query: &TableQuery) -> Result<LogicalPlan, QueryError> {
        self.check_sql(&Source::Table(query.clone()))?;
        let unsorted = TableQuery {
            sort: Vec::new(),
            ..query.clone()
        };
        self.catalog
            .refreshed(&HashSet::from([query.table.clone()]));
        let entry = self.catalog.find(&query.table)?;
        let entry =
            entry.ok_or_else(|| unknown_table(&query.table, &self.catalog.table_names()))?;
        let plan = plan_table(&self.context.state(), &entry.table, &unsorted)?;
        used_tables(&plan, &[entry])?;
        Ok(plan)
    }

    /// The session state that plans are executed with.
    pub fn state(&self) -> SessionState {
        self.context.state()
    }

    /// A physical plan. If it keeps the order of the source and the files are large (`num_bytes` together),
    /// it has many small partitions; an explanation shows those of what it explains.
    async fn plan_partitions(
        &self,
        state: &SessionState,
        logical: &LogicalPlan,
        range: RowRange,
        num_bytes: u64,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let physical = state.create_physical_plan(logical).await?;
        let num_partitions = (num_bytes / PARTITION_BYTES).min(MAX_PARTITIONS) as usize;
        if num_partitions <= self.num_threads {
            return Ok(physical);
        }
        let order = match logical {
            LogicalPlan::Explain(explain) => {
                order_of(&state.create_physical_plan(&explain.plan).await?)
            }
            _ => order_of(&physical),
        };
        if order != Order::Partition || range.limit == Some(0) {
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

/// What a statement is.
pub(crate) enum PlannedStatement {
    /// Columns of one table, which the engine leaves to the caller.
    Scan(TableScan),
    /// Any other statement, and its plan.
    Query(Box<PlannedQuery>, Arc<dyn ExecutionPlan>),
}

/// Columns of a table, in row order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TableScan {
    /// The name of the table.
    pub(crate) table: String,
    /// For each column of the result, the index of the table's column, and its name in the result.
    pub(crate) columns: Vec<(usize, String)>,
    /// The rows of the table that are the result.
    pub(crate) range: RowRange,
}

/// A request as a logical plan.
struct LogicalQuery {
    logical: LogicalPlan,
    /// The rows of `logical` that are the result.
    range: RowRange,
    /// The names of all tables, to suggest similar ones.
    names: Vec<String>,
    used: Vec<Arc<Table>>,
}

fn unknown_table(name: &str, names: &[String]) -> QueryError {
    QueryError::unknown_table(name, names.iter().map(String::as_str))
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

/// Merges the partitions of a plan without an order as their batches arrive. Partitions below joins,
/// aggregates and repartitionings need each other's progress, but the stitcher runs only some partitions at a
/// time. All of them run while the merged one does. An ordered plan repartitions rows only below a sort, which
/// runs all its partitions itself.
fn merge_unordered_partitions(
    plan: Arc<dyn ExecutionPlan>,
    order: Order,
) -> Arc<dyn ExecutionPlan> {
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
