//! Reads the rows of text files for a plan.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use colonnade_text::{Decoder, Encoding, TextError, TextErrorKind, Transcoder};
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpenFuture, FileOpener, FileScanConfig, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet};
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};

use super::broken_row::describe;
use super::{Storing, TextFiles, open_bytes};
use crate::error::{ErrorKind, QueryError};
use crate::source::file_object_store::{index_of, read_range};
use crate::source::{Compression, FileKind, SourceFile};

/// Bytes that are read at once, on disk and in an object store, and how many such pieces are read at once.
const DISK_PIECE_BYTES: u64 = 1 << 20;
const STORE_PIECE_BYTES: u64 = 4 << 20;
const NUM_PIECES: usize = 2;

/// The first piece behind a range, in which its last row ends. It is seldom longer.
const LINE_BYTES: u64 = 64 << 10;

/// Rows of a record batch, until the engine says how many it wants.
const BATCH_ROWS: usize = 8192;

/// The rows of text files. A range of a file has the rows that begin in it.
#[derive(Debug, Clone)]
pub(in crate::source) struct TextSource {
    files: Arc<[SourceFile]>,
    kind: FileKind,
    text: TextFiles,
    schema: TableSchema,
    projection: SplitProjection,
    batch_rows: usize,
    metrics: ExecutionPlanMetricsSet,
    /// The bytes that it has read.
    pub(in crate::source) scan_bytes: Count,
}

impl TextSource {
    /// All columns of these files; `schema` may add columns of folders.
    pub(in crate::source) fn new(
        files: Arc<[SourceFile]>,
        kind: FileKind,
        text: TextFiles,
        schema: TableSchema,
    ) -> Self {
        Self {
            files,
            kind,
            text,
            projection: SplitProjection::unprojected(&schema),
            schema,
            batch_rows: BATCH_ROWS,
            metrics: ExecutionPlanMetricsSet::new(),
            scan_bytes: Count::new(),
        }
    }
}

impl FileSource for TextSource {
    fn create_file_opener(
        &self,
        _: Arc<dyn ObjectStore>,
        _: &FileScanConfig,
        _: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let opener = Arc::new(TextOpener(self.clone()));
        ProjectionOpener::try_new(self.projection.clone(), opener, self.schema.file_schema())
    }

    fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    fn with_batch_size(&self, batch_rows: usize) -> Arc<dyn FileSource> {
        Arc::new(Self {
            batch_rows,
            ..self.clone()
        })
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let projection = self.projection.source.try_merge(projection)?;
        Ok(Some(Arc::new(Self {
            projection: SplitProjection::new(self.schema.file_schema(), &projection),
            ..self.clone()
        })))
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &'static str {
        self.kind.format.name()
    }

    fn supports_repartitioning(&self) -> bool {
        self.text.splits
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for projected in self.projection.source.iter() {
            if f(&projected.expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

/// Opens the files of a source.
struct TextOpener(TextSource);

impl fmt::Debug for TextOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FileOpener for TextOpener {
    fn open(&self, partitioned: PartitionedFile) -> Result<FileOpenFuture> {
        let source = &self.0;
        let index = index_of(&partitioned.object_meta.location);
        let file = index.and_then(|index| source.files.get(index));
        let file = file.ok_or_else(|| DataFusionError::Internal("no such file".into()))?;
        let file = file.counted(&source.scan_bytes);
        let bytes = match &partitioned.range {
            Some(range) => range.start as u64..range.end as u64,
            None => 0..u64::MAX,
        };
        let storing = &source.text.storing;
        let table = source.schema.file_schema();
        let wanted = &source.projection.file_indices;
        let positions = index.and_then(|index| source.text.positions.get(index)?.as_ref());
        let columns = match positions {
            None => FileProjection::of_table(table, wanted),
            Some(positions) => FileProjection::at(positions, table, wanted)?,
        };
        let reading = Reading {
            text: text_from(&file, source.kind, &bytes)?,
            transcoder: (storing.encoding != Encoding::UTF_8)
                .then(|| Transcoder::new(storing.encoding)),
            decoder: Decoder::new(
                &storing.format,
                &columns.schema,
                &columns.wanted,
                bytes,
                source.batch_rows,
            )?,
            missing: columns.missing,
            end: None,
            file,
            storing: storing.clone(),
            typed: source.text.typed.clone(),
        };
        Ok(async move { Ok(reading.rows().boxed()) }.boxed())
    }
}

/// The columns of one file.
struct FileProjection {
    schema: SchemaRef,
    /// Those that are read.
    wanted: Vec<usize>,
    missing: Option<Missing>,
}

/// How batches of the columns that a file has become those of the columns that are wanted.
struct Missing {
    schema: SchemaRef,
    is_missing: Vec<bool>,
}

impl FileProjection {
    /// The file has the columns of the table.
    fn of_table(table: &SchemaRef, wanted: &[usize]) -> Self {
        Self {
            schema: Arc::clone(table),
            wanted: wanted.to_vec(),
            missing: None,
        }
    }

    /// The file has those columns of the table that `positions` says, in that order.
    fn at(positions: &[usize], table: &SchemaRef, wanted: &[usize]) -> Result<Self> {
        let find = |column: &usize| positions.iter().position(|position| position == column);
        let found: Vec<Option<usize>> = wanted.iter().map(find).collect();
        Ok(Self {
            schema: Arc::new(table.project(positions)?),
            wanted: found.iter().flatten().copied().collect(),
            missing: Some(Missing {
                schema: Arc::new(table.project(wanted)?),
                is_missing: found.iter().map(Option::is_none).collect(),
            }),
        })
    }
}

impl Missing {
    /// Adds the columns that the file lacks, as nulls.
    fn add(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let num_rows = batch.num_rows();
        let mut read = batch.columns().iter();
        let columns = self.is_missing.iter().zip(self.schema.fields());
        let columns = columns.filter_map(|(is_missing, field)| match is_missing {
            true => Some(new_null_array(field.data_type(), num_rows)),
            false => read.next().map(Arc::clone),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
        let (schema, columns) = (Arc::clone(&self.schema), columns.collect());
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

/// The text of `file` from the byte before the range, which shows whether a row begins with the range.
fn text_from(
    file: &SourceFile,
    kind: FileKind,
    range: &Range<u64>,
) -> Result<BoxStream<'static, Result<Bytes>>> {
    if kind.compression != Compression::None {
        return Ok(unpacked(file, kind.compression)?.boxed());
    }
    let file = file.clone();
    let piece_bytes = if file.is_remote() {
        STORE_PIECE_BYTES
    } else {
        DISK_PIECE_BYTES
    };
    let size_bytes = file.size_bytes();
    let range_end = range.end.min(size_bytes);
    let end = move |start: u64| match range_end.saturating_sub(start) {
        0 => size_bytes.min(start + (start - range_end).clamp(LINE_BYTES, piece_bytes)),
        left_bytes => start + left_bytes.min(piece_bytes),
    };
    let first = range.start.saturating_sub(1);
    let starts = std::iter::successors(Some(first), move |start| Some(end(*start)));
    let starts = starts.take_while(move |start| *start < size_bytes);
    let pieces = futures::stream::iter(starts).map(move |start| {
        let file = file.clone();
        async move { read_range(&file, start..end(start)).await }
    });
    let pieces = pieces.buffered(NUM_PIECES);
    Ok(pieces.map_err(DataFusionError::IoError).boxed())
}

/// The text of a compressed file. A piece is unpacked while the one before it is decoded.
fn unpacked(
    file: &SourceFile,
    compression: Compression,
) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<>> {
    let next_piece = |mut text: Box<dyn Read + Send>| {
        tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; DISK_PIECE_BYTES as usize];
            let num_bytes = text.read(&mut piece)?;
            piece.truncate(num_bytes);
            io::Result::Ok((Bytes::from(piece), text))
        })
    };
    let label = file.label.clone();
    let first = next_piece(open_bytes(file, compression)?);
    Ok(futures::stream::try_unfold(first, move |piece| {
        let label = label.clone();
        async move {
            let piece = piece.await.map_err(external)?;
            let (piece, text) = piece.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => external(damaged(&label, &error)),
                _ => DataFusionError::IoError(error),
            })?;
            Ok((!piece.is_empty()).then(|| (piece, next_piece(text))))
        }
    }))
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn damaged(label: &str, error: &io::Error) -> QueryError {
    QueryError::new(
        ErrorKind::SourceUnreadable,
        format!("{label}: {error}"),
        "check that the file is complete, and write it again if it is",
    )
}

/// A file, or a range of it, that is being read.
struct Reading {
    text: BoxStream<'static, Result<Bytes>>,
    /// For text that is not UTF-8.
    transcoder: Option<Transcoder>,
    decoder: Decoder,
    /// If the file has not all columns of the table, or in another order.
    missing: Option<Missing>,
    /// How the decoder ended. Rows before its end may still be in it.
    end: Option<std::result::Result<(), TextError>>,
    file: SourceFile,
    storing: Storing,
    /// The columns whose types were said.
    typed: Vec<String>,
}

impl Reading {
    fn rows(self) -> impl Stream<Item = Result<RecordBatch>> + Send {
        futures::stream::try_unfold(self, |mut reading| async move {
            let next = reading.next().await?;
            Ok(next.map(|batch| (batch, reading)))
        })
    }

    fn explain(&self, error: TextError) -> impl Future<Output = DataFusionError> + Send + use<> {
        let (file, storing) = (self.file.clone(), self.storing.clone());
        let typed = self.typed.clone();
        let describe = move || describe(&file, &storing, &typed, &error);
        let described = tokio::task::spawn_blocking(describe);
        async move { described.await.map_or_else(external, external) }
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.decoder.next_batch() {
                return match &self.missing {
                    None => Ok(Some(batch)),
                    Some(missing) => missing.add(&batch).map(Some),
                };
            }
            if let Some(end) = self.end.take() {
                return match end {
                    Ok(()) => Ok(None),
                    Err(error) => Err(self.explain(error).await),
                };
            }
            let bytes = self.text.try_next().await?;
            self.end = match self.push(bytes) {
                Ok(false) => None,
                Ok(true) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
        }
    }

    /// Decodes the next bytes, or ends the text. Returns whether no more is wanted.
    fn push(&mut self, bytes: Option<Bytes>) -> std::result::Result<bool, TextError> {
        match (&mut self.transcoder, bytes) {
            (None, Some(text)) => self.decoder.push(&text),
            (Some(transcoder), Some(bytes)) => self.decoder.push(&transcoder.push(&bytes)?),
            (transcoder, None) => {
                if let Some(transcoder) = transcoder
                    && self.decoder.push(&transcoder.finish()?)?
                {
                    return Ok(true);
                }
                self.decoder.finish().or_else(without_rows)?;
                Ok(true)
            }
        }
    }
}

/// An empty file has no rows, if others have the table's columns.
fn without_rows(error: TextError) -> std::result::Result<(), TextError> {
    match error.kind {
        TextErrorKind::Empty => Ok(()),
        _ => Err(error),
    }
}
