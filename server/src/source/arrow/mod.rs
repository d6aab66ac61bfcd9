//! Arrow IPC files and streams. Every header is checked, and every body decompressed under a cap,
//! before arrow-rs sees a byte.

mod batch;
mod body;
mod error;
mod large;
mod partition;
mod scan;
mod scanned_file;

use std::io::BufReader;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use colonnade_core::wire::{
    Limits, StreamSchema, Survey, SurveyedKind, SurveyedMessage, survey_file, survey_stream,
};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::arrow::ipc::convert::{fb_to_schema, try_schema_from_flatbuffer_bytes};
use datafusion::arrow::ipc::root_as_footer;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::message::MaybeEncoded;
use crate::source::cursor::Cursor;
use crate::source::naming::with_distinct_names;
use crate::source::{FileFormat, SourceFile};

use batch::collect_ids;
use large::LargeBatches;
pub(super) use scan::ArrowScan;

/// The largest body of one message in a local file, compressed or not. The limit is higher than for
/// data from the network, because a file is trusted with more memory.
const MAX_BODY_BYTES: u64 = 4 << 30;

fn limits() -> Limits {
    Limits {
        max_body_bytes: MAX_BODY_BYTES,
        max_decompressed_bytes: MAX_BODY_BYTES,
        ..Limits::default()
    }
}

/// The rows of a partition of `plan`, if that is a scan of Arrow files. Record batches with bodies of a
/// size in `body_bytes` are returned as messages, unchanged from the file, where possible.
pub(crate) fn read_rows(
    plan: &dyn ExecutionPlan,
    partition: usize,
    body_bytes: RangeInclusive<u64>,
) -> Option<BoxStream<'static, Result<MaybeEncoded, DataFusionError>>> {
    let scan = plan.downcast_ref::<ArrowScan>()?;
    Some(scan.read(partition, Some(body_bytes)).boxed())
}

/// An Arrow file or stream, with the positions of its messages.
#[derive(Debug)]
pub(super) struct ArrowFile {
    file: SourceFile,
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Its rows.
    pub(super) num_rows: u64,
    wire_schema: Arc<StreamSchema>,
    messages: Vec<SurveyedMessage>,
    large: LargeBatches,
}

impl ArrowFile {
    /// Memory for the positions of the messages, in bytes.
    pub(super) fn index_bytes(&self) -> u64 {
        size_of_val(self.messages.as_slice()) as u64
    }

    /// Checks all headers of a file and reads its schema.
    ///
    /// # Errors
    /// One line that describes what is wrong with the file.
    pub(super) fn open(file: &SourceFile, format: FileFormat) -> Result<Self, String> {
        let reader = BufReader::with_capacity(1 << 16, Cursor::new(file, 0));
        let survey = match format {
            FileFormat::ArrowStream => survey_stream(reader, &limits()),
            _ => survey_file(reader, &limits()),
        }
        .map_err(|error| error.to_string())?;
        if format == FileFormat::ArrowStream {
            check_end(&survey, file)?;
        }
        // The header is valid, but arrow-rs panics at types that it does not know.
        let schema = catch_unwind(AssertUnwindSafe(|| read_schema(&survey, format)))
            .map_err(|_| "it has a column of an unsupported type".to_owned())??;
        Ok(Self {
            file: file.clone(),
            schema: Arc::new(with_distinct_names(&schema)),
            num_rows: survey.num_rows,
            wire_schema: survey.schema,
            messages: survey.messages,
            large: LargeBatches::default(),
        })
    }

    /// The number of rows of a record batch.
    fn num_rows_of(&self, message: usize) -> u64 {
        match self.messages[message].kind {
            SurveyedKind::Batch { num_rows, .. } => num_rows,
            _ => 0,
        }
    }

    /// Whether rows in the middle of a record batch can be read without the others.
    fn can_cut(&self, message: &SurveyedMessage, columns: &[usize]) -> bool {
        let is_plain = matches!(
            message.kind,
            SurveyedKind::Batch {
                is_compressed: false,
                ..
            }
        );
        is_plain
            && columns
                .iter()
                .all(|column| can_cut(self.schema.field(*column).data_type()))
    }

    /// Whether a column uses a dictionary, at any depth.
    fn has_dictionaries(&self) -> bool {
        let mut ids = Vec::new();
        for field in &self.wire_schema.fields {
            collect_ids(field, &mut ids);
        }
        !ids.is_empty()
    }

    /// The bytes of all dictionaries, which must be read before a batch in the middle.
    fn dictionary_bytes(&self) -> u64 {
        self.messages
            .iter()
            .filter(|message| matches!(message.kind, SurveyedKind::Dictionary { .. }))
            .map(|message| message.end - message.start)
            .sum()
    }
}

/// Checks that a stream ends with its end-of-stream marker. Without it, rows may be missing. Bytes after it are
/// ignored.
fn check_end(survey: &Survey, file: &SourceFile) -> Result<(), String> {
    let num_bytes = file.size_bytes();
    match survey.marker_end {
        None => Err(without_marker(survey.num_rows, num_bytes)),
        Some(end) if end < num_bytes => {
            tracing::warn!(
                "{}: {}, and are ignored",
                file.label,
                behind_marker(end, num_bytes)
            );
            Ok(())
        }
        Some(_) => Ok(()),
    }
}

/// What is wrong with a stream of `num_bytes` bytes that ends after `num_rows` rows without its marker.
pub(crate) fn without_marker(num_rows: u64, num_bytes: u64) -> String {
    format!(
        "the Arrow stream ends after {num_rows} rows, at byte {num_bytes}, without its end-of-stream marker"
    )
}

/// What is wrong with a stream of `num_bytes` bytes whose marker ends at byte `end`.
pub(crate) fn behind_marker(end: u64, num_bytes: u64) -> String {
    format!(
        "{} bytes follow the end-of-stream marker, which ends at byte {end}",
        num_bytes - end
    )
}

/// Whether the position of a row follows from its number or from one offset.
fn can_cut(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().all(|field| can_cut(field.data_type())),
        DataType::Utf8View | DataType::BinaryView | DataType::RunEndEncoded(..) => false,
        other => !other.is_nested(),
    }
}

fn read_schema(survey: &Survey, format: FileFormat) -> Result<Schema, String> {
    if format == FileFormat::ArrowStream {
        return try_schema_from_flatbuffer_bytes(&survey.schema_bytes)
            .map_err(|error| error.to_string());
    }
    let footer = root_as_footer(&survey.schema_bytes)
        .map_err(|error| format!("the footer cannot be read: {error}"))?;
    footer
        .schema()
        .map(fb_to_schema)
        .ok_or_else(|| "the footer has no schema".to_owned())
}
