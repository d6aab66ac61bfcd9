//! Reads the ranges of one partition of a scan.

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::physical_plan::metrics::Count;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::batch::BatchReader;
use super::error::{blocking, contradictory};
use super::large::read_large;
use super::scanned_file::{BatchPosition, ScannedFile};
use crate::message::MaybeEncoded;
use crate::source::file_range::FileRange;
use crate::source::scan_memory::ScanMemory;

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
                let batch = (range.at.message, scanned.columns.as_slice());
                let memory = Arc::clone(&self.memory);
                let rows = read_large(&scanned.file, batch, range.rows, columns, memory).await?;
                let scan = Arc::clone(&self);
                let rows = rows.map(move |batch| {
                    let batch = scan.files[file].with_all_columns(&batch?, &scan.schema)?;
                    Ok(MaybeEncoded::Batch(batch))
                });
                (rows.boxed(), (file, reader))
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
}
