//! Reads batches of Arrow files as the partitions of a plan.

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use colonnade_core::wire::SurveyedKind;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ScalarValue, Statistics, internal_err};
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
use futures::{Stream, StreamExt};

use super::ArrowFile;
use super::batch::BatchReader;
use crate::message::MaybeEncoded;
use crate::source::file_range::{FileRange, into_partitions};
use crate::source::merge::widen;

/// A scan of Arrow files. Its partitions are in file order. They consist of whole batches, except for
/// the first and the last batch.
#[derive(Debug)]
pub(in crate::source) struct ArrowScan {
    files: Arc<[ScannedFile]>,
    schema: SchemaRef,
    partitions: Vec<Vec<FileRange<BatchPosition>>>,
    properties: Arc<PlanProperties>,
    /// The bytes of the batches that it has read.
    pub(in crate::source) scan_bytes: Count,
}

/// A file of a scan.
#[derive(Debug)]
struct ScannedFile {
    file: Arc<ArrowFile>,
    /// The requested columns of the file.
    columns: Vec<usize>,
    /// Where the values of each column of the scan are.
    origins: Vec<Origin>,
    /// Whether the record batches of the file have exactly the columns of the scan.
    is_whole: bool,
}

/// Where the values of a column are.
#[derive(Debug)]
enum Origin {
    /// In the next column of the file.
    File,
    /// The folders of the file define one value for all rows.
    Folder(ScalarValue),
    /// The file lacks the column.
    Missing,
}

impl ScannedFile {
    /// Whether a range may be passed on as a message, with a body of a size in `body_bytes`.
    fn may_pass(&self, range: &FileRange<BatchPosition>, body_bytes: &RangeInclusive<u64>) -> bool {
        let message = self.file.messages[range.at.message];
        let all_plain = SurveyedKind::Batch {
            num_rows: range.rows.end,
            is_compressed: false,
        };
        self.is_whole
            && range.rows.start == 0
            && message.kind == all_plain
            && body_bytes.contains(&(message.end - message.body_start))
    }
}

/// A record batch: message `message` of file `file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) struct BatchPosition {
    file: usize,
    message: usize,
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
        let schema = Arc::clone(&self.schema);
        let files = Arc::clone(&self.files);
        let ranges = self.partitions[partition].clone().into_iter();
        let scan_bytes = self.scan_bytes.clone();
        futures::stream::try_unfold(
            (ranges, None::<(usize, BatchReader)>),
            move |(mut ranges, reader)| {
                let next = ranges.next();
                let (schema, files) = (Arc::clone(&schema), Arc::clone(&files));
                let scan_bytes = scan_bytes.clone();
                let next = next.map(|range| {
                    let pass = pass.as_ref();
                    let passes =
                        pass.is_some_and(|sizes| files[range.at.file].may_pass(&range, sizes));
                    (range, passes)
                });
                async move {
                    let Some((range, passes)) = next else {
                        return Ok(None);
                    };
                    let (file, num_bytes) = (range.at.file, range.num_bytes as usize);
                    // Reading takes no longer than handing the work to another thread and back.
                    let is_quick = passes && !files[file].file.file.is_remote();
                    let read = move || {
                        let scanned = &files[file];
                        let mut reader = match reader {
                            Some((index, reader)) if index == file => reader,
                            _ => {
                                BatchReader::new(Arc::clone(&scanned.file), scanned.columns.clone())
                            }
                        };
                        let rows = read_range(scanned, &mut reader, &range, schema, passes)?;
                        Ok::<_, DataFusionError>((rows, reader))
                    };
                    // arrow-rs panics at some contradictory values.
                    let done = if is_quick {
                        catch_unwind(AssertUnwindSafe(read)).ok()
                    } else {
                        tokio::task::spawn_blocking(read).await.ok()
                    };
                    scan_bytes.add(num_bytes);
                    let (rows, reader) = done.ok_or_else(|| {
                        ArrowError::IpcError("the values of a batch contradict each other".into())
                    })??;
                    Ok(Some((rows, (ranges, Some((file, reader))))))
                }
            },
        )
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

/// Reads the next rows of a file. Blocks.
fn read_range(
    scanned: &ScannedFile,
    reader: &mut BatchReader,
    range: &FileRange<BatchPosition>,
    schema: SchemaRef,
    passes: bool,
) -> Result<MaybeEncoded> {
    if passes && let Some(message) = reader.pass(range.at.message)? {
        return Ok(MaybeEncoded::Message(message));
    }
    let batch = reader.read(range.at.message, &range.rows)?;
    let num_rows = batch.num_rows();
    let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
    let mut read = batch.columns().iter();
    let origins = scanned.origins.iter().zip(schema.fields());
    let columns = origins.filter_map(|(origin, field)| match origin {
        Origin::File => read.next().map(|values| {
            widen(values, field.data_type()).map_err(|error| {
                let name = field.name();
                DataFusionError::Execution(format!("a value of column {name:?}: {error}"))
            })
        }),
        Origin::Folder(value) => Some(value.to_array_of_size(num_rows)),
        Origin::Missing => Some(Ok(new_null_array(field.data_type(), num_rows))),
    });
    let columns = columns.collect::<Result<_>>()?;
    let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
    Ok(MaybeEncoded::Batch(batch))
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
        let num_ranges = if file.can_cut(message, columns) {
            (num_bytes / partition_bytes.max(1)).clamp(1, num_rows.max(1))
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
