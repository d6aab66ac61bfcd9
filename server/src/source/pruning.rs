//! Which filters may exclude row groups and pages of Parquet files by their statistics.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::object_store::ObjectStore;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet};
use datafusion_datasource::morsel::Morselizer;

/// Whether the statistics of a column chunk do not say how many nulls it has. The format: "Writers SHOULD always write
/// this field even if it is zero (i.e. no null value) or the column is not nullable. Readers MUST distinguish between
/// null_count not being present and null_count == 0."
pub(super) fn lacks_null_counts(footer: &ParquetMetaData) -> bool {
    let mut chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    chunks.any(|chunk| {
        let statistics = chunk.statistics();
        statistics.is_some_and(|statistics| statistics.null_count_opt().is_none())
    })
}

/// Whether statistics prove for which row groups and pages a filter is true for no row.
///
/// Floats: "NaNs should not be written to min or max statistics fields", and "When looking for NaN values, min and max
/// should be ignored". A filter may be true for NaN, so those of floats do not exclude anything.
///
/// Nulls: see [`lacks_null_counts`]; DataFusion 55 takes a missing count for zero.
fn is_proven(filter: &Arc<dyn PhysicalExpr>, schema: &Schema, lacks_null_counts: bool) -> bool {
    let is_float = |expr: &Arc<dyn PhysicalExpr>| {
        let column = expr.downcast_ref::<Column>();
        let field = column.and_then(|column| schema.field_with_name(column.name()).ok());
        field.is_some_and(|field| holds_floats(field.data_type()))
    };
    let is_open = filter.exists(|expr| {
        let asks_for_nulls = lacks_null_counts && !compares_values(expr);
        Ok(is_float(expr) || asks_for_nulls)
    });
    is_open.is_ok_and(|is_open| !is_open)
}

/// Whether an expression consists of comparisons with values, which are never true for null.
fn compares_values(expr: &Arc<dyn PhysicalExpr>) -> bool {
    use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return matches!(binary.op(), And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq);
    }
    let literal = expr.downcast_ref::<Literal>();
    expr.is::<Column>() || literal.is_some_and(|literal| !literal.value().is_null())
}

fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        DataType::Dictionary(_, values) => holds_floats(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => holds_floats(field.data_type()),
        other => other.is_floating(),
    }
}

/// A source of Parquet files that is given only the filters that statistics prove. It uses filters for nothing else: they
/// are applied to the rows above it.
pub(super) struct ParquetScan {
    pub(super) inner: Arc<dyn FileSource>,
    pub(super) lacks_null_counts: bool,
    /// The bytes that it has read besides footers.
    pub(super) scan_bytes: Count,
}

impl ParquetScan {
    fn of(&self, inner: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self {
            inner,
            lacks_null_counts: self.lacks_null_counts,
            scan_bytes: self.scan_bytes.clone(),
        })
    }
}

impl FileSource for ParquetScan {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.inner.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        self.inner.create_morselizer(store, config, partition)
    }

    fn table_schema(&self) -> &TableSchema {
        self.inner.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        self.of(self.inner.with_batch_size(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.inner.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.inner.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.inner.metrics()
    }

    fn file_type(&self) -> &str {
        self.inner.file_type()
    }

    fn fmt_extra(&self, format: DisplayFormatType, out: &mut fmt::Formatter) -> fmt::Result {
        self.inner.fmt_extra(format, out)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let num_filters = filters.len();
        let schema = self.table_schema().table_schema();
        let is_proven = |filter: &_| is_proven(filter, schema, self.lacks_null_counts);
        let proven = filters.into_iter().filter(is_proven).collect();
        let pushed = self.inner.try_pushdown_filters(proven, config)?;
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(vec![
            PushedDown::No;
            num_filters
        ]);
        Ok(match pushed.updated_node {
            Some(inner) => answer.with_updated_node(self.of(inner)),
            None => answer,
        })
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.inner.reorder_files(files)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let inner = self.inner.try_pushdown_projection(projection)?;
        Ok(inner.map(|inner| self.of(inner)))
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.inner.apply_expressions(visit)
    }
}
