//! Tables that behave as a test wants.

use std::fs::File;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use colonnade_server::source::Table;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::Stream;

use crate::support::{PATIENCE, until};

/// Rows `[start, start + num_rows)`: a number, and a text with it.
pub(crate) fn batch(start: i64, num_rows: i64) -> RecordBatch {
    let text = StringArray::from_iter_values((start..start + num_rows).map(|k| format!("row {k}")));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(start..start + num_rows)),
        Arc::new(text),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

/// Writes [`batch`] as a Parquet file.
pub(crate) fn write_rows(path: &Path, start: i64, num_rows: i64) {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema(), None).unwrap();
    writer.write(&batch(start, num_rows)).unwrap();
    writer.close().unwrap();
}

pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("t", DataType::Utf8, true),
    ]))
}

/// The steps of a scripted partition, in order.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Yields these rows.
    Rows { start: i64, num_rows: i64 },
    /// Yields this batch.
    Batch(RecordBatch),
    /// Waits.
    Delay(Duration),
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Yields rows without end.
    Forever,
    /// Yields nothing more and does not end.
    Silence,
}

impl Step {
    /// Yields rows `[start, start + num_rows)`.
    pub(crate) fn rows(start: i64, num_rows: i64) -> Self {
        Self::Rows { start, num_rows }
    }
}

/// Partitions of `num_rows` rows each, in batches of 1000, numbered consecutively.
pub(crate) fn numbered(num_partitions: i64, num_rows: i64) -> Vec<Vec<Step>> {
    let part = |part| {
        let starts = (part * num_rows..(part + 1) * num_rows).step_by(1000);
        starts.map(|start| Step::rows(start, 1000)).collect()
    };
    (0..num_partitions).map(part).collect()
}

/// The counters of scripted partitions.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Streams that currently exist.
    pub(crate) running: AtomicUsize,
    /// Streams that were started in total.
    pub(crate) begun: AtomicUsize,
    /// Rows that were yielded in total.
    pub(crate) num_rows: AtomicI64,
}

impl Counts {
    /// Polls until no stream exists any more.
    pub(crate) async fn until_idle(&self) {
        let is_idle = || self.running.load(Ordering::SeqCst) == 0;
        until(is_idle, "work goes on").await;
    }

    /// Polls until no more rows are yielded, and returns how many were.
    pub(crate) async fn until_still(&self) -> i64 {
        let deadline = Instant::now() + PATIENCE;
        let (mut seen, mut since) = (-1, Instant::now());
        loop {
            let now = self.num_rows.load(Ordering::SeqCst);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > Duration::from_millis(300) && now > 0 {
                return now;
            }
            assert!(Instant::now() < deadline, "rows come without end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A table whose partitions follow scripts.
pub(crate) fn scripted(name: &str, scripts: Vec<Vec<Step>>) -> (Table, Arc<Counts>) {
    scripted_as(name, &schema(), scripts)
}

/// The same, with another schema than [`schema`].
pub(crate) fn scripted_as(
    name: &str,
    schema: &SchemaRef,
    scripts: Vec<Vec<Step>>,
) -> (Table, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let partitions = scripts
        .into_iter()
        .map(|steps| {
            Arc::new(Scripted {
                schema: Arc::clone(schema),
                steps,
                counts: Arc::clone(&counts),
            }) as Arc<dyn PartitionStream>
        })
        .collect();
    let provider = StreamingTable::try_new(Arc::clone(schema), partitions).unwrap();
    (Table::from_provider(name, Arc::new(provider)), counts)
}

#[derive(Debug)]
struct Scripted {
    schema: SchemaRef,
    steps: Vec<Step>,
    counts: Arc<Counts>,
}

impl PartitionStream for Scripted {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.counts.running.fetch_add(1, Ordering::SeqCst);
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        let stream = ScriptedStream {
            steps: self.steps.clone().into(),
            counts: Arc::clone(&self.counts),
            sleep: None,
            next_row: 0,
        };
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            stream,
        ))
    }
}

struct ScriptedStream {
    steps: std::collections::VecDeque<Step>,
    counts: Arc<Counts>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    next_row: i64,
}

impl Stream for ScriptedStream {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            let yielded = |stream: &mut Self, start, num_rows| {
                stream.counts.num_rows.fetch_add(num_rows, Ordering::SeqCst);
                Poll::Ready(Some(Ok(batch(start, num_rows))))
            };
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Rows { start, num_rows }) => return yielded(&mut self, start, num_rows),
                Some(Step::Batch(batch)) => return Poll::Ready(Some(Ok(batch))),
                Some(Step::Delay(delay)) => self.sleep = Some(Box::pin(tokio::time::sleep(delay))),
                Some(Step::Fail) => {
                    return Poll::Ready(Some(Err(DataFusionError::Execution(
                        "told to fail".into(),
                    ))));
                }
                Some(Step::Panic) => panic!("told to panic"),
                Some(Step::Forever) => {
                    self.steps.push_front(Step::Forever);
                    let start = self.next_row;
                    self.next_row += 1000;
                    return yielded(&mut self, start, 1000);
                }
                Some(Step::Silence) => {
                    self.steps.push_front(Step::Silence);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Drop for ScriptedStream {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::SeqCst);
    }
}
