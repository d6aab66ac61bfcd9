//! Reads batches of Arrow files as partitions of a plan.

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use colonnade_core::wire::SurveyedKind;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
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
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};
use futures::{Stream, StreamExt};

use super::ArrowFile;
use super::block::BlockReader;
use crate::message::Rows;
use crate::source::pieces::{Piece, group};

/// A scan of Arrow files. Its partitions are in file order, whole batches but for the first and
/// the last.
#[derive(Debug)]
pub(in crate::source) struct ArrowScan {
    files: Arc<[ScannedFile]>,
    schema: SchemaRef,
    parts: Vec<Vec<Piece<Block>>>,
    properties: Arc<PlanProperties>,
}

/// A file of a scan.
#[derive(Debug)]
struct ScannedFile {
    file: Arc<ArrowFile>,
    /// Its columns that are wanted.
    columns: Vec<usize>,
    /// For each column of the scan its value in all rows, or `None` where it is the next of
    /// `columns`.
    values: Vec<Option<ScalarValue>>,
    /// Whether its record batches are batches of the scan as they are.
    is_whole: bool,
}

impl ScannedFile {
    /// Whether a piece may be a message with a body of a size among `body_bytes`.
    fn may_pass(&self, piece: &Piece<Block>, body_bytes: &RangeInclusive<u64>) -> bool {
        let message = self.file.messages[piece.at.message];
        let all_plain = SurveyedKind::Batch {
            num_rows: piece.rows.end,
            is_compressed: false,
        };
        self.is_whole
            && piece.rows.start == 0
            && message.kind == all_plain
            && body_bytes.contains(&(message.end - message.body_start))
    }
}

/// A record batch: message `message` of file `file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) struct Block {
    file: usize,
    message: usize,
}

impl ArrowScan {
    /// Rows `rows` of all files with columns `columns` of `schema`, in partitions of about
    /// `part_bytes`.
    ///
    /// # Errors
    /// A file lacks a column.
    pub(in crate::source) fn try_new<'a>(
        files: impl Iterator<Item = (&'a Arc<ArrowFile>, &'a PartitionedFile)>,
        schema: &TableSchema,
        columns: &[usize],
        rows: Range<u64>,
        part_bytes: u64,
    ) -> Result<Self> {
        let in_file = schema.file_schema().fields();
        let schema = Arc::new(schema.table_schema().project(columns)?);
        let files = files
            .map(|(file, meta)| {
                let mut scanned = ScannedFile {
                    file: Arc::clone(file),
                    columns: Vec::new(),
                    values: Vec::new(),
                    is_whole: false,
                };
                for column in columns {
                    scanned.values.push(match in_file.get(*column) {
                        Some(field) => {
                            scanned.columns.push(file.schema.index_of(field.name())?);
                            None
                        }
                        None => Some(meta.partition_values[column - in_file.len()].clone()),
                    });
                }
                scanned.is_whole = scanned.columns.iter().copied().eq(0..schema.fields().len())
                    && !file.has_dictionaries()
                    && file.schema.fields() == schema.fields();
                Ok(scanned)
            })
            .collect::<Result<Arc<[_]>>>()?;
        // Each part reads the dictionaries anew.
        let dictionary_bytes = files.iter().map(|file| file.file.dictionary_bytes()).max();
        let part_bytes = part_bytes.max(dictionary_bytes.unwrap_or(0).saturating_mul(4));
        let blocks = files
            .iter()
            .enumerate()
            .flat_map(|(index, file)| blocks(index, &file.file, &file.columns, part_bytes));
        let mut parts = group(blocks, rows, part_bytes);
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(parts.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self {
            files,
            schema,
            parts,
            properties: Arc::new(properties),
        })
    }

    /// The rows of each partition.
    pub(in crate::source) fn part_rows(&self) -> Vec<u64> {
        let num_rows = |part: &Vec<Piece<Block>>| part.iter().map(Piece::num_rows).sum();
        self.parts.iter().map(num_rows).collect()
    }

    /// The rows of a partition. With `pass` record batches whose bodies are of a size among those are
    /// messages as they stand in the file, where they can be.
    pub(in crate::source) fn read(
        &self,
        partition: usize,
        pass: Option<RangeInclusive<u64>>,
    ) -> impl Stream<Item = Result<Rows>> + Send + 'static {
        let schema = Arc::clone(&self.schema);
        let files = Arc::clone(&self.files);
        let pieces = self.parts[partition].clone().into_iter();
        futures::stream::try_unfold(
            (pieces, None::<(usize, BlockReader)>),
            move |(mut pieces, reader)| {
                let next = pieces.next();
                let (schema, files) = (Arc::clone(&schema), Arc::clone(&files));
                let next = next.map(|piece| {
                    let pass = pass.as_ref();
                    let passes =
                        pass.is_some_and(|sizes| files[piece.at.file].may_pass(&piece, sizes));
                    (piece, passes)
                });
                async move {
                    let Some((piece, passes)) = next else {
                        return Ok(None);
                    };
                    let file = piece.at.file;
                    // As quick as handing it to another thread and back.
                    let is_quick = passes && !files[file].file.file.is_remote();
                    let read = move || {
                        let scanned = &files[file];
                        let mut reader = match reader {
                            Some((index, reader)) if index == file => reader,
                            _ => {
                                BlockReader::new(Arc::clone(&scanned.file), scanned.columns.clone())
                            }
                        };
                        let rows = read_piece(scanned, &mut reader, &piece, schema, passes)?;
                        Ok::<_, DataFusionError>((rows, reader))
                    };
                    // arrow-rs panics at some values that do not fit together.
                    let done = if is_quick {
                        catch_unwind(AssertUnwindSafe(read)).ok()
                    } else {
                        tokio::task::spawn_blocking(read).await.ok()
                    };
                    let (rows, reader) = done.ok_or_else(|| {
                        ArrowError::IpcError("the values of a batch contradict each other".into())
                    })??;
                    Ok(Some((rows, (pieces, Some((file, reader))))))
                }
            },
        )
    }
}

impl DisplayAs for ArrowScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (files, parts) = (self.files.len(), self.parts.len());
        write!(f, "ArrowScan: files={files}, partitions={parts}")
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
        let rows = self.part_rows();
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
            Rows::Batch(batch) => Ok(batch),
            Rows::Message(_) => internal_err!("a message was not asked for"),
        });
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches);
        Ok(make_cooperative(Box::pin(stream)))
    }
}

/// The next rows of a file. Blocks.
fn read_piece(
    scanned: &ScannedFile,
    reader: &mut BlockReader,
    piece: &Piece<Block>,
    schema: SchemaRef,
    passes: bool,
) -> Result<Rows> {
    if passes && let Some(message) = reader.pass(piece.at.message)? {
        return Ok(Rows::Message(message));
    }
    let batch = reader.read(piece.at.message, &piece.rows)?;
    // The table's own schema: files may differ in what may be null.
    let num_rows = batch.num_rows();
    let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
    let mut read = batch.columns().iter();
    let columns = scanned.values.iter().filter_map(|value| match value {
        Some(value) => Some(value.to_array_of_size(num_rows)),
        None => read.next().cloned().map(Ok),
    });
    let columns = columns.collect::<Result<_>>()?;
    let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
    Ok(Rows::Batch(batch))
}

/// The record batches of a file; a large one is several pieces where it can be cut.
fn blocks<'a>(
    file_index: usize,
    file: &'a ArrowFile,
    columns: &'a [usize],
    part_bytes: u64,
) -> impl Iterator<Item = Piece<Block>> + 'a {
    let messages = file.messages.iter().enumerate();
    messages.flat_map(move |(index, message)| {
        let SurveyedKind::Batch { num_rows, .. } = message.kind else {
            return Vec::new();
        };
        let num_bytes = message.end - message.start;
        let num_pieces = if file.can_cut(message, columns) {
            (num_bytes / part_bytes.max(1)).clamp(1, num_rows.max(1))
        } else {
            1
        };
        let piece_rows = num_rows.div_ceil(num_pieces).next_multiple_of(64).max(1);
        (0..num_rows)
            .step_by(piece_rows as usize)
            .map(|start| {
                let end = num_rows.min(start + piece_rows);
                let share = u128::from(num_bytes) * u128::from(end - start) / u128::from(num_rows);
                Piece {
                    at: Block {
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
