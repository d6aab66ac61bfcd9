//! Reads the ranges of one partition of a scan.

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::metrics::Count;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::batch::BatchReader;
use super::large::{slice_rows, slices, spill};
use super::scanned_file::{BatchPosition, ScannedFile};
use crate::message::MaybeEncoded;
use crate::source::file_range::FileRange;
use crate::source::scan_memory::{Room, ScanMemory};

/// A partition of a scan.
pub(super) struct PartitionScan {
    pub(super) files: Arc<[ScannedFile]>,
    pub(super) schema: SchemaRef,
    pub(super) memory: Arc<ScanMemory>,
    pub(super) pass: Option<RangeInclusive<u64>>,
    pub(super) scan_bytes: Count,
}

type Rows = BoxStream<'static, Result<MaybeEncoded>>;

/// Rows of a range, or the sizes of their columns if these need much memory.
enum Read {
    Rows(MaybeEncoded),
    Large(Vec<u64>),
}

impl PartitionScan {
    /// The rows of a range, and the reader that may have the dictionaries of the next one.
    pub(super) async fn read(
        self: Arc<Self>,
        range: FileRange<BatchPosition>,
        reader: Option<(usize, BatchReader)>,
    ) -> Result<(Rows, (usize, BatchReader))> {
        let file = range.at.file;
        let scanned = &self.files[file];
        let mut reader = match reader {
            Some((index, reader)) if index == file => reader,
            _ => BatchReader::new(Arc::clone(&scanned.file), scanned.columns.clone()),
        };
        let mut pass = self.pass.iter();
        let passes = pass.any(|sizes| scanned.may_pass(&range, sizes));
        // Reading takes no longer than handing the work to another thread and back.
        let is_quick = passes && !scanned.file.file.is_remote();
        let (scan, first) = (Arc::clone(&self), range.clone());
        let read = move || {
            let read = scan.read_small(&mut reader, &first, passes)?;
            Ok((read, reader))
        };
        // arrow-rs panics at some contradictory values.
        let (read, reader) = if is_quick {
            catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(contradictory()))?
        } else {
            blocking(read).await?
        };
        self.scan_bytes.add(range.num_bytes as usize);
        Ok(match read {
            Read::Rows(rows) => {
                let rows = futures::stream::once(std::future::ready(Ok(rows)));
                (rows.boxed(), (file, reader))
            }
            Read::Large(columns) => {
                let (rows, reader) = self.read_large(range, reader, columns).await?;
                (rows, (file, reader))
            }
        })
    }

    /// The rows of a range, if they need little memory. Blocks.
    fn read_small(
        &self,
        reader: &mut BatchReader,
        range: &FileRange<BatchPosition>,
        passes: bool,
    ) -> Result<Read> {
        let (scanned, message) = (&self.files[range.at.file], range.at.message);
        if passes && let Some(message) = reader.pass(message)? {
            return Ok(Read::Rows(MaybeEncoded::Message(message)));
        }
        if scanned.is_compressed(message) || !self.memory.is_free(range.num_bytes) {
            let columns = reader.column_bytes(message)?;
            if !self.memory.is_free(columns.iter().sum()) {
                return Ok(Read::Large(columns));
            }
        }
        let batch = reader.read(message, &range.rows)?;
        let batch = scanned.with_all_columns(&batch, &self.schema)?;
        Ok(Read::Rows(MaybeEncoded::Batch(batch)))
    }

    /// The rows of a range whose columns need so much memory.
    async fn read_large(
        self: Arc<Self>,
        range: FileRange<BatchPosition>,
        mut reader: BatchReader,
        columns: Vec<u64>,
    ) -> Result<(Rows, BatchReader)> {
        let (file, message) = (range.at.file, range.at.message);
        let scanned = &self.files[file];
        let num_bytes = columns.iter().sum();
        let slice_rows = slice_rows(scanned.file.num_rows_of(message), num_bytes);
        let scan = Arc::clone(&self);
        let shaped = move |batch: Result<RecordBatch>| {
            let batch = scan.files[file].with_all_columns(&batch?, &scan.schema)?;
            Ok(MaybeEncoded::Batch(batch))
        };
        match self.memory.room(num_bytes) {
            Room::Memory(lease) => {
                let read = move || Ok((reader.read(message, &range.rows)?, reader));
                let (batch, reader) = blocking(read).await?;
                let slices: Vec<RecordBatch> = slices(&batch, slice_rows).collect();
                let rows = futures::stream::iter(slices).map(move |slice| {
                    let _ = &lease;
                    shaped(Ok(slice))
                });
                Ok((rows.boxed(), reader))
            }
            Room::Disk => {
                let (arrow, requested) = (Arc::clone(&scanned.file), scanned.columns.clone());
                let schema = Arc::new(arrow.schema.project(&requested)?);
                let (batch, memory) = ((message, range.rows), Arc::clone(&self.memory));
                // Nobody else gets the turn while this stream is not polled, so the turn is another task's.
                let spilling = SpawnedTask::spawn(async move {
                    let turn = memory.turn(&columns).await?;
                    blocking(move || spill(&arrow, &requested, batch, slice_rows, turn)).await
                });
                let spill = spilling.join_unwind().await;
                let spill = spill.map_err(|error| DataFusionError::External(Box::new(error)))??;
                let rows = spill.into_rows(schema)?;
                Ok((rows.map(shaped).boxed(), reader))
            }
        }
    }
}

/// The result of work on another thread, which blocks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(contradictory()))
}

fn contradictory() -> DataFusionError {
    ArrowError::IpcError("the values of a batch contradict each other".into()).into()
}
