//! A Parquet file whose columns are encoded in parallel.
//!
//! Batches are gathered into slabs. Free threads encode the columns of a slab, the slowest column first.
//! Encoded pages wait until their row group is full. Then the row group is handed out, and only its metadata
//! stays in memory.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use datafusion::parquet::basic::{self, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::SerializedFileWriter;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, future};

use super::batches::{BatchReader, cast_batch, schema_of};
use super::format::Compression;
use super::parquet_schema::parquet_schema;
use super::{FileChunk, FileChunks, blocking, cannot_write};
use crate::encode::batch_bytes;
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// A row group ends at the first of these limits. With fewer rows dictionaries are less effective; with more
/// rows parallel reading is coarser, and the export takes more memory.
const GROUP_ROWS: usize = 1 << 20;
const GROUP_BYTES: usize = 128 << 20;

/// Bytes of a slab, large enough that the threads seldom wait for each other.
const SLAB_BYTES: usize = 16 << 20;

pub(super) fn parquet_file(
    result: ResultStream,
    compression: Compression,
    num_threads: usize,
) -> Result<FileChunks, QueryError> {
    let given = schema_of(&result.schema)?;
    let schema = parquet_schema(&given)?;
    let mut reader = BatchReader::try_new(&result.schema)?;
    let is_plain = given == schema;
    let target = SchemaRef::clone(&schema);
    let batches = result
        .messages
        .map(move |message| {
            let batch = reader.read(&message?)?;
            match batch {
                Some(batch) if !is_plain => cast_batch(&batch, &target).map(Some),
                batch => Ok(batch),
            }
        })
        .try_filter_map(future::ok)
        .boxed();

    let compression = match compression {
        Compression::Zstd => basic::Compression::ZSTD(ZstdLevel::default()),
        Compression::Snappy => basic::Compression::SNAPPY,
        Compression::Lz4 => basic::Compression::LZ4_RAW,
        Compression::None => basic::Compression::UNCOMPRESSED,
    };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_created_by(concat!("colonnade ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let written = Written::default();
    let (file, factory) =
        ArrowWriter::try_new(written.clone(), SchemaRef::clone(&schema), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(cannot_write)?;
    let file = ParquetFile {
        schema,
        batches,
        left: None,
        file: Some(file),
        factory,
        group: None,
        num_groups: 0,
        written,
        ready: VecDeque::new(),
        uncounted_rows: 0,
        num_threads,
    };
    let chunks = futures::stream::try_unfold(file, |mut file| async move {
        Ok(file.next_chunk().await?.map(|chunk| (chunk, file)))
    });
    Ok(chunks.boxed())
}

/// A file in progress.
struct ParquetFile {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, QueryError>>,
    /// Rows that did not fit into the previous row group.
    left: Option<RecordBatch>,
    /// `None` once the footer is written.
    file: Option<SerializedFileWriter<Written>>,
    factory: ArrowRowGroupWriterFactory,
    group: Option<RowGroup>,
    num_groups: usize,
    /// The buffer that `file` writes to.
    written: Written,
    /// Chunks that are written and not yet handed out.
    ready: VecDeque<FileChunk>,
    /// Rows of full row groups that no chunk has counted yet.
    uncounted_rows: u64,
    num_threads: usize,
}

/// A row group in progress.
struct RowGroup {
    columns: Vec<Column>,
    num_rows: usize,
    num_bytes: usize,
}

/// A column of the schema in a row group, with a writer for each of its leaves.
struct Column {
    index: usize,
    field: FieldRef,
    writers: Vec<ArrowColumnWriter>,
    chunks: Vec<ArrowColumnChunk>,
    /// Time that encoding the last slab took.
    took: Duration,
}

impl ParquetFile {
    async fn next_chunk(&mut self) -> Result<Option<FileChunk>, QueryError> {
        while self.ready.is_empty() && self.file.is_some() {
            let mut group = match self.group.take() {
                Some(group) => group,
                None => self.new_group()?,
            };
            let (slab, is_last) = self.gather(&mut group).await?;
            let is_full = is_last || group.num_rows >= GROUP_ROWS || group.num_bytes >= GROUP_BYTES;
            group.columns = encode(group.columns, slab, is_full, self.num_threads).await?;
            if is_full && group.num_rows > 0 {
                self.write_group(group).await?;
            } else if !is_full {
                self.group = Some(group);
            }
            if is_last {
                self.write_footer()?;
            }
        }
        Ok(self.ready.pop_front())
    }

    fn new_group(&mut self) -> Result<RowGroup, QueryError> {
        let writers = self
            .factory
            .create_column_writers(self.num_groups)
            .map_err(cannot_write)?;
        self.num_groups += 1;
        let mut writers = writers.into_iter();
        let columns = self
            .schema
            .fields()
            .iter()
            .enumerate()
            .map(|(index, field)| Column {
                index,
                field: Arc::clone(field),
                writers: writers.by_ref().take(num_leaves(field)).collect(),
                chunks: Vec::new(),
                took: Duration::ZERO,
            })
            .collect();
        Ok(RowGroup {
            columns,
            num_rows: 0,
            num_bytes: 0,
        })
    }

    /// The next batches of the row group, and whether they are the last of the file.
    async fn gather(
        &mut self,
        group: &mut RowGroup,
    ) -> Result<(Vec<RecordBatch>, bool), QueryError> {
        let mut slab = Vec::new();
        let mut slab_bytes = 0;
        while slab_bytes < SLAB_BYTES
            && group.num_rows < GROUP_ROWS
            && group.num_bytes < GROUP_BYTES
        {
            let next = match self.left.take() {
                Some(left) => Some(left),
                None => self.batches.try_next().await?,
            };
            let Some(mut batch) = next else {
                return Ok((slab, true));
            };
            let room = GROUP_ROWS - group.num_rows;
            if batch.num_rows() > room {
                self.left = Some(batch.slice(room, batch.num_rows() - room));
                batch = batch.slice(0, room);
            }
            let num_bytes = batch_bytes(&batch);
            slab_bytes += num_bytes;
            group.num_bytes += num_bytes;
            group.num_rows += batch.num_rows();
            slab.push(batch);
        }
        Ok((slab, false))
    }

    /// Copies the chunks of a full row group into the file, one by one.
    async fn write_group(&mut self, group: RowGroup) -> Result<(), QueryError> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        let written = self.written.clone();
        let write = move || {
            let mut chunks = vec![written.take()];
            let mut row_group = file.next_row_group()?;
            for chunk in group.columns.into_iter().flat_map(|column| column.chunks) {
                chunk.append_to_row_group(&mut row_group)?;
                chunks.push(written.take());
            }
            row_group.close()?;
            chunks.push(written.take());
            Ok::<_, ParquetError>((file, chunks))
        };
        let (file, chunks) = blocking(write).await?.map_err(cannot_write)?;
        self.file = Some(file);
        self.uncounted_rows += group.num_rows as u64;
        for bytes in chunks {
            self.hand_out(bytes);
        }
        Ok(())
    }

    fn write_footer(&mut self) -> Result<(), QueryError> {
        if let Some(file) = self.file.take() {
            file.close().map_err(cannot_write)?;
        }
        let bytes = self.written.take();
        self.hand_out(bytes);
        Ok(())
    }

    fn hand_out(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            let num_rows = mem::take(&mut self.uncounted_rows);
            self.ready.push_back(FileChunk { bytes, num_rows });
        }
    }
}

/// Encodes a slab; closes the columns if it is the last of its row group.
async fn encode(
    mut columns: Vec<Column>,
    slab: Vec<RecordBatch>,
    is_last: bool,
    num_threads: usize,
) -> Result<Vec<Column>, QueryError> {
    // Ascending, because threads take columns from the end.
    columns.sort_by_key(|column| column.took);
    let num_columns = columns.len();
    let queue = Arc::new(Mutex::new(columns));
    let slab: Arc<[RecordBatch]> = slab.into();
    let threads = (0..num_threads.min(num_columns)).map(|_| {
        let (queue, slab) = (Arc::clone(&queue), Arc::clone(&slab));
        blocking(move || {
            let mut done = Vec::new();
            while let Some(mut column) = take_last(&queue) {
                column.encode(&slab, is_last)?;
                done.push(column);
            }
            Ok::<_, ParquetError>(done)
        })
    });
    let mut columns = Vec::with_capacity(num_columns);
    for done in future::try_join_all(threads).await? {
        columns.extend(done.map_err(cannot_write)?);
    }
    columns.sort_by_key(|column| column.index);
    Ok(columns)
}

fn take_last(queue: &Mutex<Vec<Column>>) -> Option<Column> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

impl Column {
    fn encode(&mut self, slab: &[RecordBatch], is_last: bool) -> Result<(), ParquetError> {
        let began = Instant::now();
        for batch in slab {
            let leaves = compute_leaves(&self.field, batch.column(self.index))?;
            for (writer, leaf) in self.writers.iter_mut().zip(&leaves) {
                writer.write(leaf)?;
            }
        }
        if is_last {
            for writer in self.writers.drain(..) {
                self.chunks.push(writer.close()?);
            }
        }
        self.took = began.elapsed();
        Ok(())
    }
}

/// The number of leaf columns of a field.
fn num_leaves(field: &FieldRef) -> usize {
    use datafusion::arrow::datatypes::DataType::{
        FixedSizeList, LargeList, LargeListView, List, ListView, Map, Struct,
    };
    match field.data_type() {
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | FixedSizeList(item, _)
        | Map(item, _) => num_leaves(item),
        Struct(fields) => fields.iter().map(num_leaves).sum(),
        _ => 1,
    }
}

/// The bytes that the file's writer has written since the last `take`.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn take(&self) -> Bytes {
        Bytes::from(mem::take(&mut *self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
