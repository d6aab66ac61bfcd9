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
use datafusion::common::{Statistics, internal_err};
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
    files: Vec<Arc<ArrowFile>>,
    /// For each file its columns that are wanted, in the order of the schema.
    columns: Vec<Vec<usize>>,
    schema: SchemaRef,
    parts: Vec<Vec<Piece<Block>>>,
    properties: Arc<PlanProperties>,
}

/// A record batch: message `message` of file `file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) struct Block {
    file: usize,
    message: usize,
}

impl ArrowScan {
    /// Rows `rows` of all files with the columns of `schema`, in partitions of about `part_bytes`.
    ///
    /// # Errors
    /// A file lacks a column.
    pub(in crate::source) fn try_new(
        files: &[Arc<ArrowFile>],
        schema: SchemaRef,
        rows: Range<u64>,
        part_bytes: u64,
    ) -> Result<Self> {
        let columns = files
            .iter()
            .map(|file| {
                let names = schema.fields().iter().map(|field| field.name());
                names.map(|name| file.schema.index_of(name)).collect()
            })
            .collect::<std::result::Result<Vec<Vec<usize>>, ArrowError>>()?;
        // Each part reads the dictionaries anew.
        let dictionary_bytes = files.iter().map(|file| file.dictionary_bytes()).max();
        let part_bytes = part_bytes.max(dictionary_bytes.unwrap_or(0).saturating_mul(4));
        let blocks = files
            .iter()
            .zip(&columns)
            .enumerate()
            .flat_map(|(index, (file, columns))| blocks(index, file, columns, part_bytes));
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
            files: files.to_vec(),
            columns,
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
        let files = self.files.clone();
        let columns = self.columns.clone();
        let pieces = self.parts[partition].clone().into_iter();
        let batches = futures::stream::try_unfold(
            (pieces, None::<(usize, BlockReader)>),
            move |(mut pieces, reader)| {
                let piece = pieces.next();
                let (schema, reader) = (Arc::clone(&schema), reader);
                let opened = piece.as_ref().map(|piece| match reader {
                    Some((file, reader)) if file == piece.at.file => reader,
                    _ => BlockReader::new(
                        Arc::clone(&files[piece.at.file]),
                        columns[piece.at.file].clone(),
                    ),
                });
                async move {
                    let (Some(piece), Some(mut reader)) = (piece, opened) else {
                        return Ok(None);
                    };
                    let file = piece.at.file;
                    let read = tokio::task::spawn_blocking(move || {
                        let batch = reader.read(piece.at.message, &piece.rows)?;
                        // The table's own schema: files may differ in what may be null.
                        let options =
                            RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                        let columns = batch.columns().to_vec();
                        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
                        Ok::<_, ArrowError>((batch, reader))
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
