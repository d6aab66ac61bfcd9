//! Rows on disk, written a few columns at a time, and read back as whole rows.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::DiskManager;
use datafusion::execution::{SpillFile, SpillWriter};
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::read_at::read_exact_at;

/// The first bytes of a message, which are read together. Bodies are longer and read by themselves.
const BUFFER_BYTES: usize = 8 << 10;

/// A file with sections, each an Arrow stream of some columns of the same rows in batches of the same sizes.
pub(super) struct ColumnSpill {
    file: Arc<dyn SpillFile>,
    output: Counted<Box<dyn SpillWriter>>,
    sections: Vec<Range<u64>>,
}

impl ColumnSpill {
    /// An empty file.
    ///
    /// # Errors
    /// The disk fails.
    pub(super) fn create(disk: &Arc<DiskManager>) -> Result<Self> {
        let file = disk.create_tmp_file("reading wide rows")?;
        let output = Counted {
            inner: file.open_writer()?,
            num_bytes: 0,
        };
        Ok(Self {
            file,
            output,
            sections: Vec::new(),
        })
    }

    /// A new section, for columns of this schema.
    ///
    /// # Errors
    /// The disk fails.
    pub(super) fn section(&mut self, schema: &SchemaRef) -> Result<SectionWriter<'_>> {
        let start = self.output.num_bytes;
        let output = BufWriter::new(&mut self.output);
        Ok(SectionWriter {
            writer: StreamWriter::try_new(output, schema)?,
            start,
            sections: &mut self.sections,
        })
    }

    /// The size of the file.
    pub(super) fn num_bytes(&self) -> u64 {
        self.output.num_bytes
    }

    /// Ends the file, whose sections together are the columns of `schema`.
    ///
    /// # Errors
    /// The disk fails.
    pub(super) fn finish(mut self, schema: SchemaRef) -> Result<SpilledColumns> {
        self.output.inner.finish()?;
        let path = self.file.path();
        let path = path.ok_or(DataFusionError::IoError(io::ErrorKind::Unsupported.into()))?;
        Ok(SpilledColumns {
            schema,
            open: Arc::new(File::open(path)?),
            sections: self.sections,
            file: self.file,
        })
    }
}

/// A written file.
pub(super) struct SpilledColumns {
    schema: SchemaRef,
    open: Arc<File>,
    sections: Vec<Range<u64>>,
    /// It is removed when nobody has this, or rows of it.
    file: Arc<dyn SpillFile>,
}

impl SpilledColumns {
    /// The rows, with all columns.
    ///
    /// # Errors
    /// The disk fails.
    pub(super) fn rows(&self) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let sections = self.sections.iter().map(|rest| {
            let section = Section {
                file: Arc::clone(&self.open),
                rest: rest.clone(),
            };
            let section = BufReader::with_capacity(BUFFER_BYTES, section);
            Ok(StreamReader::try_new(section, None)?)
        });
        let rows = Rows {
            schema: Arc::clone(&self.schema),
            sections: sections.collect::<Result<_>>()?,
            _file: Arc::clone(&self.file),
        };
        let rows = futures::stream::try_unfold(rows, |mut rows| async move {
            let read = tokio::task::spawn_blocking(move || Ok((rows.next()?, rows)));
            let (batch, rows) = read
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))
                .flatten()?;
            Ok(batch.map(|batch| (batch, rows)))
        });
        Ok(rows.boxed())
    }
}

/// Writes a section.
pub(super) struct SectionWriter<'a> {
    writer: StreamWriter<BufWriter<&'a mut Counted<Box<dyn SpillWriter>>>>,
    start: u64,
    sections: &'a mut Vec<Range<u64>>,
}

impl SectionWriter<'_> {
    /// Appends rows.
    ///
    /// # Errors
    /// The disk fails, or its limit is reached.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.writer.write(batch)?)
    }

    /// Ends the section.
    ///
    /// # Errors
    /// As [`SectionWriter::write`].
    pub(super) fn finish(mut self) -> Result<()> {
        self.writer.finish()?;
        self.writer.flush()?;
        let end = self.writer.get_ref().get_ref().num_bytes;
        self.sections.push(self.start..end);
        Ok(())
    }
}

struct Rows {
    schema: SchemaRef,
    sections: Vec<StreamReader<BufReader<Section>>>,
    _file: Arc<dyn SpillFile>,
}

impl Rows {
    /// The next batch. Blocks.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        let mut num_rows = None;
        for section in &mut self.sections {
            let Some(batch) = section.next().transpose()? else {
                return Ok(None);
            };
            num_rows.get_or_insert(batch.num_rows());
            columns.extend_from_slice(batch.columns());
        }
        let options = RecordBatchOptions::new().with_row_count(num_rows);
        let schema = Arc::clone(&self.schema);
        // This checks that the sections have the same numbers of rows.
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        Ok(Some(batch))
    }
}

/// A part of a file.
struct Section {
    file: Arc<File>,
    rest: Range<u64>,
}

impl Read for Section {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.rest.end - self.rest.start;
        let num_bytes = left.min(bytes.len() as u64);
        read_exact_at(
            &self.file,
            &mut bytes[..num_bytes as usize],
            self.rest.start,
        )?;
        self.rest.start += num_bytes;
        Ok(num_bytes as usize)
    }
}

pub(super) struct Counted<W> {
    inner: W,
    num_bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let num_bytes = self.inner.write(bytes)?;
        self.num_bytes += num_bytes as u64;
        Ok(num_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
