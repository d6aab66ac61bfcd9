//! How many bytes of files a plan reads.

use std::sync::{Arc, Weak};

use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::memory::LazyMemoryExec;
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;

use crate::source::Table;
use crate::source::arrow::ArrowScan;
use crate::source::parquet_scan::ParquetScan;
use crate::source::text::TextSource;

/// Reads of files by a plan: how many bytes they read, and how many they will read.
#[derive(Debug)]
pub(crate) struct ScanMeter {
    scans: Vec<Count>,
    plan: Weak<dyn ExecutionPlan>,
    tables: Vec<Weak<Table>>,
}

impl ScanMeter {
    /// A meter of the scans of `tables` by a plan, which it does not keep. `None` if rows come from elsewhere, or it
    /// cannot be known how many bytes are read.
    pub(crate) fn new(plan: &Arc<dyn ExecutionPlan>, tables: &[Arc<Table>]) -> Option<Self> {
        let scans = leaves(plan.as_ref())?.into_iter().map(|leaf| match leaf {
            Leaf::Arrow(scan) => scan.num_bytes().map(|_| scan.scan_bytes.clone()),
            Leaf::Files(scan) => count_of(scan.file_source().as_ref()),
            Leaf::Computed => Some(Count::new()),
        });
        Some(Self {
            scans: scans.collect::<Option<_>>()?,
            plan: Arc::downgrade(plan),
            tables: tables.iter().map(Arc::downgrade).collect(),
        })
    }

    /// The bytes that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.scans.iter().map(|count| count.value() as u64).sum()
    }

    /// As [`bytes_to_scan`], as long as the plan is there.
    pub(crate) fn bytes_total(&self) -> Option<u64> {
        let tables: Option<Vec<_>> = self.tables.iter().map(Weak::upgrade).collect();
        bytes_to_scan(self.plan.upgrade()?.as_ref(), &tables?)
    }
}

/// The bytes of `tables` that the scans of a plan will read at most: of Parquet files the wanted columns. `None` if that
/// is not known: a footer has not been read yet, or rows come from elsewhere. A scan that filters or limits end early
/// reads less.
pub(crate) fn bytes_to_scan(plan: &dyn ExecutionPlan, tables: &[Arc<Table>]) -> Option<u64> {
    let bytes = leaves(plan)?.into_iter().map(|leaf| match leaf {
        Leaf::Arrow(scan) => scan.num_bytes(),
        Leaf::Files(scan) => {
            let mut files = tables.iter().filter_map(|table| table.file_table());
            files.find_map(|files| files.bytes_to_scan(scan))
        }
        Leaf::Computed => Some(0),
    });
    bytes.sum()
}

/// The counter of a scan of files.
fn count_of(source: &dyn FileSource) -> Option<Count> {
    let of_parquet = || Some(source.downcast_ref::<ParquetScan>()?.scan_bytes.clone());
    let of_text = || Some(source.downcast_ref::<TextSource>()?.scan_bytes.clone());
    of_parquet().or_else(of_text)
}

/// Where rows of a plan come from.
enum Leaf<'a> {
    Files(&'a FileScanConfig),
    Arrow(&'a ArrowScan),
    Computed,
}

/// The leaves of a plan; `None` if rows of one come from elsewhere.
fn leaves(plan: &dyn ExecutionPlan) -> Option<Vec<Leaf<'_>>> {
    let children = plan.children();
    if !children.is_empty() {
        let of_children = children.into_iter().map(|child| leaves(child.as_ref()));
        let of_children: Option<Vec<_>> = of_children.collect();
        return Some(of_children?.into_iter().flatten().collect());
    }
    leaf(plan).map(|leaf| vec![leaf])
}

fn leaf(plan: &dyn ExecutionPlan) -> Option<Leaf<'_>> {
    if let Some(scan) = plan.downcast_ref::<ArrowScan>() {
        return Some(Leaf::Arrow(scan));
    }
    let is_computed =
        plan.is::<EmptyExec>() || plan.is::<PlaceholderRowExec>() || plan.is::<LazyMemoryExec>();
    if is_computed {
        return Some(Leaf::Computed);
    }
    let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
    if source.downcast_ref::<MemorySourceConfig>().is_some() {
        return Some(Leaf::Computed);
    }
    source.downcast_ref::<FileScanConfig>().map(Leaf::Files)
}
