//! Reads batches of Arrow files as the partitions of a plan.

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use colonnade_core::wire::SurveyedKind;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};
use futures::{Stream, StreamExt, TryStreamExt};

use super::ArrowFile;
use super::batch::BatchReader;
use super::partition::PartitionScan;
use super::scanned_file::{BatchPosition, Origin, ScannedFile};
use crate::message::MaybeEncoded;
use crate::source::file_range::{FileRange, into_partitions};
use crate::source::scan_memory::ScanMemory;

/// A large record batch is read in ranges of about this size, if it can be cut.
const MAX_RANGE_BYTES: u64 = 8 << 20;

/// A scan of Arrow files. Its partitions are in file order. They consist of whole batches, except for
/// the first and the last batch.
#[derive(Debug)]
pub(in crate::source) struct ArrowScan {
    files: Arc<[ScannedFile]>,
    schema: SchemaRef,
    partitions: Vec<Vec<FileRange<BatchPosition>>>,
    properties: Arc<PlanProperties>,
    memory: Arc<ScanMemory>,
    /// The bytes of the batches that it has read.
    pub(in crate::source) scan_bytes: Count,
}

impl ArrowScan {
    /// A scan of rows `rows` of all files, with columns `columns` of `schema`, in partitions of about
    /// `partition_bytes`.
    ///
    /// # Errors
    /// A column is not in `schema`.
    pub(in crate::source) fn try_new<'a>(
        files: impl Iterator<Item = (&'a Arc<ArrowFile>, &'a PartitionedFile)>,
        schema: &TableSchema,
        columns: &[usize],
        rows: Range<u64>,
        partition_bytes: u64,
        memory: Arc<ScanMemory>,
    ) -> Result<Self> {
        let in_file = schema.file_schema().fields();
        let schema = Arc::new(schema.table_schema().project(columns)?);
        let files = files
            .map(|(file, meta)| {
                let mut scanned = ScannedFile {
                    file: Arc::clone(file),
                    columns: Vec::new(),
                    origins: Vec::new(),
                    is_whole: false,
                };
                for column in columns {
                    scanned.origins.push(match in_file.get(*column) {
                        Some(field) => match file.schema.index_of(field.name()) {
                            Ok(index) => {
                                scanned.columns.push(index);
                                Origin::File
                            }
                            Err(_) => Origin::Missing,
                        },
                        None => {
                            let value = &meta.partition_values[column - in_file.len()];
                            Origin::Folder(value.clone())
                        }
                    });
                }
                scanned.is_whole = scanned.columns.iter().copied().eq(0..schema.fields().len())
                    && !file.has_dictionaries()
                    && file.schema.fields() == schema.fields();
                Ok(scanned)
            })
            .collect::<Result<Arc<[_]>>>()?;
        // Each partition reads the dictionaries again.
        let dictionary_bytes = files.iter().map(|file| file.file.dictionary_bytes()).max();
        let partition_bytes = partition_bytes.max(dictionary_bytes.unwrap_or(0).saturating_mul(4));
        let batches = files
            .iter()
            .enumerate()
            .flat_map(|(index, file)| batches(index, &file.file, &file.columns, partition_bytes));
        let mut partitions = into_partitions(batches, rows, partition_bytes);
        let mut touched: Vec<usize> = partitions
            .iter()
            .flatten()
            .map(|range| range.at.file)
            .collect();
        touched.dedup();
        for index in touched {
            files[index].file.file.confirm()?;
        }
        if partitions.is_empty() {
            partitions.push(Vec::new());
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self {
            files,
            schema,
            partitions,
            properties: Arc::new(properties),
            memory,
            scan_bytes: Count::new(),
        })
    }

    /// The bytes of the batches that it reads; `None` if it reads only some of their columns, whose bytes are not known.
    pub(in crate::source) fn num_bytes(&self) -> Option<u64> {
        let mut files = self.files.iter();
        let is_whole = files.all(|file| file.columns.len() == file.file.schema.fields().len());
        let ranges = self.partitions.iter().flatten();
        is_whole.then(|| ranges.map(|range| range.num_bytes).sum())
    }

    /// The number of rows of each partition.
    pub(in crate::source) fn partition_rows(&self) -> Vec<u64> {
        let num_rows = |partition: &Vec<FileRange<BatchPosition>>| {
            partition.iter().map(FileRange::num_rows).sum()
        };
        self.partitions.iter().map(num_rows).collect()
    }

    /// The rows of a partition. With `pass`, record batches with bodies of a size in that range are
    /// returned as messages, unchanged from the file, where possible.
    pub(in crate::source) fn read(
        &self,
        partition: usize,
        pass: Option<RangeInclusive<u64>>,
    ) -> impl Stream<Item = Result<MaybeEncoded>> + Send + 'static {
        let scan = PartitionScan {
            files: Arc::clone(&self.files),
            schema: Arc::clone(&self.schema),
            memory: Arc::clone(&self.memory),
            pass,
            scan_bytes: self.scan_bytes.clone(),
        };
        let scan = Arc::new(scan);
        let ranges = self.partitions[partition].clone().into_iter();
        let read = futures::stream::try_unfold(
            (ranges, None::<(usize, BatchReader)>),
            move |(mut ranges, reader)| {
                let (next, scan) = (ranges.next(), Arc::clone(&scan));
                async move {
                    let Some(range) = next else {
                        return Ok::<_, DataFusionError>(None);
                    };
                    let (rows, reader) = scan.read(range, reader).await?;
                    Ok(Some((rows, (ranges, Some(reader)))))
                }
            },
        );
        read.try_flatten()
    }
}

impl DisplayAs for ArrowScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (files, partitions) = (self.files.len(), self.partitions.len());
        write!(f, "ArrowScan: files={files}, partitions={partitions}")
    }
}

impl ExecutionPlan for ArrowScan {
    fn name(&self) -> &'static str {
        "ArrowScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    // The default `replace_children` comes here too.
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() {
            Ok(self)
        } else {
            internal_err!("a scan has no input")
        }
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let rows = self.partition_rows();
        let num_rows = match args.partition() {
            Some(index) => rows.get(index).copied().unwrap_or(0),
            None => rows.iter().sum(),
        };
        let statistics = Statistics::new_unknown(&self.schema);
        Ok(Arc::new(
            statistics.with_num_rows(Precision::Exact(num_rows as usize)),
        ))
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = self.read(partition, None).map(|rows| match rows? {
            MaybeEncoded::Batch(batch) => Ok(batch),
            MaybeEncoded::Message(_) => internal_err!("an encoded message was not requested"),
        });
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches);
        Ok(make_cooperative(Box::pin(stream)))
    }
}

/// The record batches of a file as ranges. A large one is split into several ranges, if it can be cut.
fn batches<'a>(
    file_index: usize,
    file: &'a ArrowFile,
    columns: &'a [usize],
    partition_bytes: u64,
) -> impl Iterator<Item = FileRange<BatchPosition>> + 'a {
    let messages = file.messages.iter().enumerate();
    messages.flat_map(move |(index, message)| {
        let SurveyedKind::Batch { num_rows, .. } = message.kind else {
            return Vec::new();
        };
        let num_bytes = message.end - message.start;
        let range_bytes = partition_bytes.clamp(1, MAX_RANGE_BYTES);
        let num_ranges = if file.can_cut(message, columns) {
            (num_bytes / range_bytes).clamp(1, num_rows.max(1))
        } else {
            1
        };
        let range_rows = num_rows.div_ceil(num_ranges).next_multiple_of(64).max(1);
        (0..num_rows)
            .step_by(range_rows as usize)
            .map(|start| {
                let end = num_rows.min(start + range_rows);
                let share = u128::from(num_bytes) * u128::from(end - start) / u128::from(num_rows);
                FileRange {
                    at: BatchPosition {
                        file: file_index,
                        message: index,
                    },
                    rows: start..end,
                    num_bytes: share as u64,
                }
            })
            .collect()
    })
}
