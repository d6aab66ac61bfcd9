//! A file of a scan, and where the columns of the scan are in it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use colonnade_core::wire::SurveyedKind;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};

use super::ArrowFile;
use crate::source::file_range::FileRange;
use crate::source::merge::widen;

/// A file of a scan.
#[derive(Debug)]
pub(super) struct ScannedFile {
    pub(super) file: Arc<ArrowFile>,
    /// The requested columns of the file.
    pub(super) columns: Vec<usize>,
    /// Where the values of each column of the scan are.
    pub(super) origins: Vec<Origin>,
    /// Whether the record batches of the file have exactly the columns of the scan.
    pub(super) is_whole: bool,
}

/// Where the values of a column are.
#[derive(Debug)]
pub(super) enum Origin {
    /// In the next column of the file.
    File,
    /// The folders of the file define one value for all rows.
    Folder(ScalarValue),
    /// The file lacks the column.
    Missing,
}

impl ScannedFile {
    /// Whether a record batch is compressed.
    pub(super) fn is_compressed(&self, message: usize) -> bool {
        let kind = self.file.messages[message].kind;
        matches!(
            kind,
            SurveyedKind::Batch {
                is_compressed: true,
                ..
            }
        )
    }

    /// The columns of the scan, `schema`, for a batch of the requested columns of the file.
    pub(super) fn with_all_columns(
        &self,
        batch: &RecordBatch,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let num_rows = batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
        let mut read = batch.columns().iter();
        let origins = self.origins.iter().zip(schema.fields());
        let columns = origins.filter_map(|(origin, field)| match origin {
            Origin::File => read.next().map(|values| {
                widen(values, field.data_type()).map_err(|error| {
                    let name = field.name();
                    DataFusionError::Execution(format!("a value of column {name:?}: {error}"))
                })
            }),
            Origin::Folder(value) => Some(value.to_array_of_size(num_rows)),
            Origin::Missing => Some(Ok(new_null_array(field.data_type(), num_rows))),
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(schema),
            columns,
            &options,
        )?)
    }

    /// Whether a range may be passed on as a message, with a body of a size in `body_bytes`.
    pub(super) fn may_pass(
        &self,
        range: &FileRange<BatchPosition>,
        body_bytes: &RangeInclusive<u64>,
    ) -> bool {
        let message = self.file.messages[range.at.message];
        let all_plain = SurveyedKind::Batch {
            num_rows: range.rows.end,
            is_compressed: false,
        };
        self.is_whole
            && range.rows.start == 0
            && message.kind == all_plain
            && body_bytes.contains(&(message.end - message.body_start))
    }
}

/// A record batch: message `message` of file `file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) struct BatchPosition {
    pub(super) file: usize,
    pub(super) message: usize,
}
