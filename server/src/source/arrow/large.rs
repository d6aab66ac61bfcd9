//! Record batches that need much memory, because all their rows have to be read or decompressed for any of them.
//!
//! Unless a scan reads all of one and there is memory for it, they are written to disk. Scans that read the same rows at
//! the same time share them there, because decompressing them takes much longer than reading them; those read last are
//! kept for a while, for whoever scrolls in them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use datafusion::arrow::array::{Array, BinaryViewArray, RecordBatch, StringViewArray};
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

use super::ArrowFile;
use super::batch::BatchReader;
use super::error::blocking;
use crate::source::column_spill::SpilledColumns;
use crate::source::scan_memory::{MAX_BATCH_BYTES, Room, ScanMemory, Turn};

/// How long the rows read last are kept.
const KEPT: Duration = Duration::from_secs(10);

/// Rows of a record batch that are read together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LargeRows {
    /// The index of the record batch's message.
    pub(super) message: usize,
    /// The columns of the file.
    pub(super) columns: Vec<usize>,
    /// The rows of the batch.
    pub(super) rows: Range<u64>,
}

/// Rows on disk, once they have been written.
type Spilled = Arc<OnceCell<SpilledColumns>>;

/// The rows of a file that are on disk.
pub(super) struct LargeBatches {
    spilled: Mutex<HashMap<LargeRows, Weak<OnceCell<SpilledColumns>>>>,
    /// The task that holds those read last, for a while or until its runtime ends.
    latest: Mutex<Option<SpawnedTask<()>>>,
    kept: Duration,
}

impl Default for LargeBatches {
    fn default() -> Self {
        Self {
            spilled: Mutex::default(),
            latest: Mutex::default(),
            kept: KEPT,
        }
    }
}

impl LargeBatches {
    /// Rows, in slices; `spill` writes them to disk if they are not there.
    ///
    /// # Errors
    /// Those of `spill`; the disk fails.
    async fn read(
        &self,
        rows: LargeRows,
        spill: impl Future<Output = Result<SpilledColumns>> + Send + 'static,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let spilled = self.find(rows);
        let shared = Arc::clone(&spilled);
        // The others wait for it, so it must go on while this future is not polled.
        let spilling =
            SpawnedTask::spawn(async move { shared.get_or_try_init(|| spill).await?.rows() });
        let slices = spilling.join_unwind().await;
        let slices = slices.map_err(|error| DataFusionError::External(Box::new(error)))??;
        self.keep(Arc::clone(&spilled));
        let sharing = slices.inspect(move |_| {
            let _ = &spilled;
        });
        Ok(sharing.boxed())
    }

    fn find(&self, rows: LargeRows) -> Spilled {
        let mut known = locked(&self.spilled);
        known.retain(|_, spilled| spilled.strong_count() > 0);
        let entry = known.entry(rows).or_default();
        entry.upgrade().unwrap_or_else(|| {
            // The disk may not have room for both.
            *locked(&self.latest) = None;
            let spilled = Arc::default();
            *entry = Arc::downgrade(&spilled);
            spilled
        })
    }

    fn keep(&self, spilled: Spilled) {
        let kept = self.kept;
        *locked(&self.latest) = Some(SpawnedTask::spawn(async move {
            tokio::time::sleep(kept).await;
            drop(spilled);
        }));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for LargeBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LargeBatches").finish_non_exhaustive()
    }
}

/// Rows of a record batch whose columns take so many bytes while they are read.
///
/// # Errors
/// The file cannot be read, or the disk fails.
pub(super) async fn read_large(
    file: &Arc<ArrowFile>,
    (message, columns): (usize, &[usize]),
    rows: Range<u64>,
    column_bytes: Vec<u64>,
    memory: Arc<ScanMemory>,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let num_rows = file.num_rows_of(message);
    let held_bytes = column_bytes.iter().sum();
    let slice_rows = slice_rows(num_rows, held_bytes);
    if rows == (0..num_rows)
        && let Room::Memory(lease) = memory.room(held_bytes)
    {
        let mut reader = BatchReader::new(Arc::clone(file), columns.to_vec());
        let batch = blocking(move || Ok(reader.read(message, &rows)?)).await?;
        let slices: Vec<RecordBatch> = slices(&batch, slice_rows).collect();
        let leased = futures::stream::iter(slices).map(move |slice| {
            let _ = &lease;
            Ok(slice)
        });
        return Ok(leased.boxed());
    }
    let can_cut = file.can_cut(&file.messages[message], columns);
    let all = if can_cut { rows.clone() } else { 0..num_rows };
    let wanted = rows.start - all.start..rows.end - all.start;
    let large = LargeRows {
        message,
        columns: columns.to_vec(),
        rows: all,
    };
    let (arrow, spilled) = (Arc::clone(file), large.clone());
    let spill = async move {
        let turn = memory.turn(&column_bytes).await?;
        blocking(move || spill(&arrow, &spilled, slice_rows, turn)).await
    };
    let slices = file.large.read(large, spill).await?;
    Ok(rows_within(slices, wanted).boxed())
}

/// Rows `wanted` of a stream.
fn rows_within(
    batches: BoxStream<'static, Result<RecordBatch>>,
    wanted: Range<u64>,
) -> impl Stream<Item = Result<RecordBatch>> {
    futures::stream::try_unfold((batches, 0), move |(mut batches, mut first)| {
        let wanted = wanted.clone();
        async move {
            while first < wanted.end
                && let Some(batch) = batches.try_next().await?
            {
                let next = first + batch.num_rows() as u64;
                let (start, end) = (wanted.start.max(first), wanted.end.min(next));
                let slice = (start < end)
                    .then(|| batch.slice((start - first) as usize, (end - start) as usize));
                first = next;
                if let Some(slice) = slice {
                    return Ok(Some((slice, (batches, first))));
                }
            }
            Ok(None)
        }
    })
}

/// Writes rows to disk, a few columns at a time. Blocks.
fn spill(
    file: &Arc<ArrowFile>,
    large: &LargeRows,
    slice_rows: u64,
    turn: Turn,
) -> Result<SpilledColumns> {
    let Turn {
        slabs,
        mut spill,
        memory,
    } = turn;
    for slab in slabs {
        let columns = large.columns[slab].to_vec();
        let schema = Arc::new(file.schema.project(&columns)?);
        let batch = BatchReader::new(Arc::clone(file), columns).read(large.message, &large.rows)?;
        let mut section = spill.section(&schema)?;
        for slice in slices(&batch, slice_rows) {
            section.write(&compact(&slice)?)?;
        }
        section.finish()?;
    }
    drop(memory);
    spill.finish(Arc::new(file.schema.project(&large.columns)?))
}

/// The number of rows of a slice of a batch whose columns take so many bytes.
fn slice_rows(num_rows: u64, num_bytes: u64) -> u64 {
    let rows = u128::from(num_rows) * u128::from(MAX_BATCH_BYTES) / u128::from(num_bytes.max(1));
    u64::try_from(rows)
        .unwrap_or(u64::MAX)
        .clamp(1, num_rows.max(1))
}

/// A batch in slices of so many rows.
fn slices(batch: &RecordBatch, slice_rows: u64) -> impl Iterator<Item = RecordBatch> {
    let (num_rows, slice_rows) = (batch.num_rows(), slice_rows as usize);
    (0..num_rows)
        .step_by(slice_rows)
        .map(move |start| batch.slice(start, slice_rows.min(num_rows - start)))
}

/// The rows of a slice without the views' values of the other rows.
fn compact(slice: &RecordBatch) -> Result<RecordBatch> {
    let columns = slice.columns().iter().map(|column| {
        let any = column.as_any();
        let texts = any
            .downcast_ref::<StringViewArray>()
            .map(|texts| Arc::new(texts.gc()) as _);
        let bytes = || {
            any.downcast_ref::<BinaryViewArray>()
                .map(|bytes| Arc::new(bytes.gc()) as _)
        };
        texts.or_else(bytes).unwrap_or_else(|| Arc::clone(column))
    });
    Ok(RecordBatch::try_new(slice.schema(), columns.collect())?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use datafusion::arrow::array::{ArrayRef, Int64Array};
    use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder};

    use super::*;

    const NUM_ROWS: i64 = 100;

    /// Rows in batches of seven.
    fn written(disk: &Arc<DiskManager>) -> Result<SpilledColumns> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..NUM_ROWS));
        let batch = RecordBatch::try_from_iter([("n", numbers)])?;
        let mut spill = crate::source::column_spill::ColumnSpill::create(disk)?;
        let mut section = spill.section(&batch.schema())?;
        for slice in slices(&batch, 7) {
            section.write(&slice)?;
        }
        section.finish()?;
        spill.finish(batch.schema())
    }

    fn numbers(batches: &[RecordBatch]) -> Vec<i64> {
        let of = |batch: &RecordBatch| {
            let column = batch.column(0).as_any();
            column
                .downcast_ref::<Int64Array>()
                .unwrap()
                .values()
                .to_vec()
        };
        batches.iter().flat_map(of).collect()
    }

    #[tokio::test]
    async fn scans_share_rows_and_those_read_last_are_kept_for_a_while() {
        let large = LargeBatches {
            kept: Duration::from_millis(50),
            ..LargeBatches::default()
        };
        let disk = Arc::new(DiskManagerBuilder::default().build().unwrap());
        let num_written = Arc::new(AtomicUsize::new(0));
        let read = || {
            let (disk, num_written) = (Arc::clone(&disk), Arc::clone(&num_written));
            large.read(rows_of(3), async move {
                num_written.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                written(&disk)
            })
        };
        let mut idle = Box::pin(read());
        assert!(futures::poll!(idle.as_mut()).is_pending());
        let (one, other) = tokio::join!(read(), read());
        let (one, other) = (one.unwrap(), other.unwrap());
        for wanted in [0..100, 0..1, 6..8, 7..14, 99..100, 20..80] {
            let part = rows_within(read().await.unwrap(), wanted.clone());
            let part: Vec<RecordBatch> = part.try_collect().await.unwrap();
            let expected: Vec<i64> = (wanted.start as i64..wanted.end as i64).collect();
            assert_eq!(numbers(&part), expected);
        }
        assert_eq!(num_written.load(Ordering::Relaxed), 1);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let late = read().await.unwrap();
        assert_eq!(num_written.load(Ordering::Relaxed), 1);
        drop((idle, one, other, late));
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(read().await.unwrap());
        assert_eq!(num_written.load(Ordering::Relaxed), 2);
    }

    fn rows_of(message: usize) -> LargeRows {
        LargeRows {
            message,
            columns: vec![0],
            rows: 0..NUM_ROWS as u64,
        }
    }

    #[tokio::test]
    async fn rows_make_room_for_others() {
        let large = LargeBatches::default();
        let disk = Arc::new(DiskManagerBuilder::default().build().unwrap());
        for message in 0..3 {
            let writing = Arc::clone(&disk);
            let read = large.read(rows_of(message), async move {
                tokio::task::yield_now().await;
                assert_eq!(writing.used_disk_space(), 0);
                written(&writing)
            });
            drop(read.await.unwrap());
            assert!(disk.used_disk_space() > 0);
        }
    }

    #[test]
    fn rows_are_given_back_with_the_runtime_of_their_reader() {
        let large = LargeBatches::default();
        let disk = Arc::new(DiskManagerBuilder::default().build().unwrap());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let writing = Arc::clone(&disk);
        let read = large.read(rows_of(0), async move { written(&writing) });
        drop(runtime.block_on(read).unwrap());
        assert!(disk.used_disk_space() > 0);
        drop(runtime);
        assert_eq!(disk.used_disk_space(), 0);
    }
}
