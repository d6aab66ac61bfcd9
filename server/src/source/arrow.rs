//! Arrow IPC files and streams: every header is checked before arrow-rs sees a byte.

use std::fs::File;
use std::io::BufReader;

use colonnade_core::wire::{Limits, Survey, SurveyError, survey_file, survey_stream};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};

use crate::source::{FileFormat, SourceFile};

/// The largest body of one message in a local file, compressed or not. A file is trusted with more
/// memory than a peer on the network.
const MAX_BODY_BYTES: u64 = 4 << 30;

/// What an Arrow file says about itself.
pub(super) struct ArrowFacts {
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Its rows.
    pub(super) num_rows: u64,
}

/// Checks all headers of a file, then reads its schema.
///
/// # Errors
/// One line that says what is wrong with the file.
pub(super) fn read_facts(file: &SourceFile, format: FileFormat) -> Result<ArrowFacts, String> {
    let survey = survey(file, format).map_err(|error| error.to_string())?;
    let schema = read_schema(file, format).map_err(|error| error.to_string())?;
    Ok(ArrowFacts {
        schema,
        num_rows: survey.num_rows,
    })
}

fn survey(file: &SourceFile, format: FileFormat) -> Result<Survey, SurveyError> {
    let limits = Limits {
        max_body_bytes: MAX_BODY_BYTES,
        max_decompressed_bytes: MAX_BODY_BYTES,
        ..Limits::default()
    };
    let reader = BufReader::with_capacity(1 << 16, File::open(&file.path)?);
    match format {
        FileFormat::ArrowStream => survey_stream(reader, &limits),
        _ => survey_file(reader, &limits),
    }
}

fn read_schema(file: &SourceFile, format: FileFormat) -> Result<SchemaRef, ArrowError> {
    let reader = BufReader::new(File::open(&file.path)?);
    Ok(match format {
        FileFormat::ArrowStream => StreamReader::try_new(reader, None)?.schema(),
        _ => FileReader::try_new(reader, None)?.schema(),
    })
}
