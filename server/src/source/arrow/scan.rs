//! Reads batches of Arrow files as partitions of a plan.

use std::fmt;
use std::ops::Range;
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

use super::ArrowFile;
use super::block::BlockReader;
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
        let files = files
            .map(|(file, meta)| {
                let mut scanned = ScannedFile {
                    file: Arc::clone(file),
                    columns: Vec::new(),
                    values: Vec::new(),
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
                Ok(scanned)
            })
            .collect::<Result<Arc<[_]>>>()?;
        let schema = Arc::new(schema.table_schema().project(columns)?);
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
        let schema = Arc::clone(&self.schema);
        let files = Arc::clone(&self.files);
        let pieces = self.parts[partition].clone().into_iter();
        let batches = futures::stream::try_unfold(
            (pieces, None::<(usize, BlockReader)>),
            move |(mut pieces, reader)| {
                let piece = pieces.next();
                let (schema, reader) = (Arc::clone(&schema), reader);
                let opened = piece.as_ref().map(|piece| {
                    let scanned = &files[piece.at.file];
                    let reader = match reader {
                        Some((file, reader)) if file == piece.at.file => reader,
                        _ => BlockReader::new(Arc::clone(&scanned.file), scanned.columns.clone()),
                    };
                    (reader, scanned.values.clone())
                });
                async move {
                    let (Some(piece), Some((mut reader, values))) = (piece, opened) else {
                        return Ok(None);
                    };
                    let file = piece.at.file;
                    let read = tokio::task::spawn_blocking(move || {
                        let batch = reader.read(piece.at.message, &piece.rows)?;
                        // The table's own schema: files may differ in what may be null.
                        let num_rows = batch.num_rows();
                        let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
                        let mut read = batch.columns().iter();
                        let columns = values.iter().filter_map(|value| match value {
                            Some(value) => Some(value.to_array_of_size(num_rows)),
                            None => read.next().cloned().map(Ok),
                        });
                        let columns = columns.collect::<Result<_>>()?;
                        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
                        Ok::<_, DataFusionError>((batch, reader))
                    });
                    // arrow-rs panics at some values that do not fit together.
                    let (batch, reader) = read.await.map_err(|_| {
                        ArrowError::IpcError("the values of a batch contradict each other".into())
                    })??;
                    Ok::<_, DataFusionError>(Some((batch, (pieces, Some((file, reader))))))
                }
            },
        );
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches);
        Ok(make_cooperative(Box::pin(stream)))
    }
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
