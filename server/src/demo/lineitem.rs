//! TPC-H's largest table at scale factor 1.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatchReader;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves,
};
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

const SCALE_FACTOR: f64 = 1.0;

/// Row groups of about 65,000 rows, each of which can be read on its own.
const NUM_ROW_GROUPS: usize = 92;

type Failure = Box<dyn Error + Send + Sync>;

/// Writes the table to `path`, with progress on standard error.
///
/// # Errors
/// The file cannot be written.
pub(super) fn generate(path: &Path) -> Result<(), Failure> {
    let unfinished = path.with_extension(format!("parquet.{}", std::process::id()));
    let written = write(&unfinished);
    if written.is_err() {
        // If the unfinished file cannot be removed, the first error still matters more.
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

fn write(path: &Path) -> Result<(), Failure> {
    let schema = table_schema();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let writer = ArrowWriter::try_new(
        BufWriter::new(File::create(path)?),
        Arc::clone(&schema),
        Some(properties),
    )?;
    let (mut file, factory) = writer.into_serialized_writer()?;
    let factory = Arc::new(factory);
    let num_threads = thread::available_parallelism()
        .map_or(2, |n| n.get())
        .min(NUM_ROW_GROUPS);
    thread::scope(|scope| -> Result<(), Failure> {
        // Worker w makes row groups w, w + num_threads, …; they are taken in turn, so in order.
        let workers: Vec<Receiver<Result<Vec<ArrowColumnChunk>, Failure>>> = (0..num_threads)
            .map(|worker| {
                let (sender, receiver) = sync_channel(1);
                let (factory, schema) = (Arc::clone(&factory), Arc::clone(&schema));
                scope.spawn(move || {
                    for index in (worker..NUM_ROW_GROUPS).step_by(num_threads) {
                        if sender.send(row_group(&factory, &schema, index)).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        let mut shown = 0;
        for index in 0..NUM_ROW_GROUPS {
            let chunks = workers[index % num_threads].recv()??;
            let mut group = file.next_row_group()?;
            for chunk in chunks {
                chunk.append_to_row_group(&mut group)?;
            }
            group.close()?;
            let percent = (index + 1) * 100 / NUM_ROW_GROUPS;
            if percent >= shown + 10 {
                shown = percent;
                tracing::info!("generating lineitem (TPC-H, scale factor 1, once): {percent} %");
            }
        }
        Ok(())
    })?;
    file.close()?;
    Ok(())
}

fn row_group(
    factory: &ArrowRowGroupWriterFactory,
    schema: &SchemaRef,
    index: usize,
) -> Result<Vec<ArrowColumnChunk>, Failure> {
    let mut writers = factory.create_column_writers(index)?;
    let part = LineItemGenerator::new(SCALE_FACTOR, index as i32 + 1, NUM_ROW_GROUPS as i32);
    for batch in LineItemArrow::new(part) {
        let batch = plain_text(&batch?, schema)?;
        let mut columns = writers.iter_mut();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, column)? {
                columns
                    .next()
                    .ok_or("fewer column writers than columns")?
                    .write(&leaf)?;
            }
        }
    }
    Ok(writers
        .into_iter()
        .map(|writer| writer.close())
        .collect::<Result<_, _>>()?)
}

/// The generator's schema with plain strings in place of string views.
fn table_schema() -> SchemaRef {
    let generated = LineItemArrow::new(LineItemGenerator::new(SCALE_FACTOR, 1, 1)).schema();
    let fields: Vec<Field> = generated
        .fields()
        .iter()
        .map(|field| {
            let data_type = match field.data_type() {
                DataType::Utf8View => DataType::Utf8,
                other => other.clone(),
            };
            Field::new(field.name(), data_type, field.is_nullable())
        })
        .collect();
    Arc::new(Schema::new(fields))
}

fn plain_text(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| cast(column, field.data_type()))
        .collect::<Result<Vec<ArrayRef>, _>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
