//! Checks Arrow uploads as strictly as pyarrow's `validate(full=True)`.
//!
//! Every upload is read once, with the checks that reading safely needs. Those accept values outside the range of
//! their type, and compressed data that other decompressors refuse.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use colonnade_core::wire::{BatchHeader, Message, Survey, survey_file, survey_stream};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, RecordBatch, UnionArray, make_array,
};
use datafusion::arrow::datatypes::{
    DataType, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};

use crate::error::QueryError;
use crate::source::FileFormat;
use crate::uploads::check::{bad, cancelled, limits};

/// The positions to which buffers are aligned.
const ALIGNMENT_BYTES: usize = 8;

const DAY_SECONDS: i64 = 86_400;

type Checked = Result<(), String>;

/// Checks a whole Arrow stream or file that can be read. Other formats have no further checks. Blocks.
///
/// # Errors
/// `bad_upload` with the position of the first error; `cancelled`.
pub(super) fn validate(
    path: &Path,
    format: FileFormat,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), QueryError> {
    let open = || File::open(path).map_err(|error| bad(error.to_string()));
    let surveyed = match format {
        FileFormat::ArrowStream => survey_stream(BufReader::new(open()?), &limits()),
        FileFormat::ArrowFile => survey_file(BufReader::new(open()?), &limits()),
        _ => return Ok(()),
    };
    let survey = surveyed.map_err(|error| bad(error.to_string()))?;
    check_alignment(open()?, &survey).map_err(bad)?;
    let cannot_read = |error: ArrowError| bad(error.to_string());
    match format {
        FileFormat::ArrowStream => check_batches(
            StreamReader::try_new_buffered(open()?, None).map_err(cannot_read)?,
            is_cancelled,
        ),
        _ => check_batches(
            FileReader::try_new_buffered(open()?, None).map_err(cannot_read)?,
            is_cancelled,
        ),
    }
}

/// Refuses buffers that do not begin at a multiple of 8 bytes.
fn check_alignment(mut file: File, survey: &Survey) -> Checked {
    for message in &survey.messages {
        let mut bytes = vec![0; (message.body_start - message.start) as usize];
        file.seek(SeekFrom::Start(message.start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| error.to_string())?;
        let prefix = if bytes.starts_with(&[0xFF; 4]) { 8 } else { 4 };
        let metadata = bytes.get(prefix..).unwrap_or_default();
        let (read, _) = Message::read(metadata, &limits()).map_err(|error| error.to_string())?;
        let header: BatchHeader = match read {
            Message::Batch(header) => header,
            Message::Dictionary(dictionary) => dictionary.values,
            Message::Schema(_) => continue,
        };
        let mut buffers = header.buffers.iter();
        let wrong = buffers.position(|buffer| !buffer.offset.is_multiple_of(ALIGNMENT_BYTES));
        if let Some(buffer) = wrong {
            return Err(format!(
                "buffer {buffer} of the message at byte {} does not begin at a multiple of {ALIGNMENT_BYTES} bytes",
                message.start
            ));
        }
    }
    Ok(())
}

/// Reading checks the layout of each batch.
fn check_batches(
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), QueryError> {
    let mut first_row = 0;
    for batch in batches {
        if is_cancelled() {
            return Err(cancelled());
        }
        let at = |what: String| bad(format!("the batch that begins at row {first_row}: {what}"));
        let batch = batch.map_err(|error| at(error.to_string()))?;
        for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
            check_values(column)
                .map_err(|what| at(format!("column {:?}: {what}", field.name())))?;
        }
        first_row += batch.num_rows();
    }
    Ok(())
}

/// Checks that the values of an array, and of its children, are in the range of their type.
fn check_values(array: &ArrayRef) -> Checked {
    match array.data_type() {
        DataType::Date64 => {
            let is_day = |ms: i64| ms % (DAY_SECONDS * 1000) == 0;
            check_each::<Date64Type>(array, is_day, "is not a whole number of days")?;
        }
        DataType::Time32(TimeUnit::Second) => check_time::<Time32SecondType>(array, 1)?,
        DataType::Time32(_) => check_time::<Time32MillisecondType>(array, 1000)?,
        DataType::Time64(TimeUnit::Microsecond) => {
            check_time::<Time64MicrosecondType>(array, 1_000_000)?;
        }
        DataType::Time64(_) => check_time::<Time64NanosecondType>(array, 1_000_000_000)?,
        DataType::Decimal32(digits, _) => {
            let array = array.as_primitive::<Decimal32Type>();
            array.validate_decimal_precision(*digits).map_err(text)?;
        }
        DataType::Decimal64(digits, _) => {
            let array = array.as_primitive::<Decimal64Type>();
            array.validate_decimal_precision(*digits).map_err(text)?;
        }
        DataType::Decimal128(digits, _) => {
            let array = array.as_primitive::<Decimal128Type>();
            array.validate_decimal_precision(*digits).map_err(text)?;
        }
        DataType::Decimal256(digits, _) => {
            let array = array.as_primitive::<Decimal256Type>();
            array.validate_decimal_precision(*digits).map_err(text)?;
        }
        DataType::Union(..) => check_union(array.as_union())?,
        _ => {}
    }
    let data = array.to_data();
    let mut children = data.child_data().iter();
    children.try_for_each(|child| check_values(&make_array(child.clone())))
}

#[allow(clippy::needless_pass_by_value)] // It is an argument of `map_err`.
fn text(error: ArrowError) -> String {
    error.to_string()
}

fn check_time<T: ArrowPrimitiveType>(array: &ArrayRef, units_per_second: i64) -> Checked
where
    T::Native: Into<i64>,
{
    let day = 0..DAY_SECONDS * units_per_second;
    check_each::<T>(array, |time| day.contains(&time), "is not a time of a day")
}

fn check_each<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    is_valid: impl Fn(i64) -> bool,
    what: &str,
) -> Checked
where
    T::Native: Into<i64>,
{
    let mut values = array.as_primitive::<T>().iter().enumerate();
    let wrong = values.find_map(|(row, value)| {
        let value = value.map(Into::into).filter(|value| !is_valid(*value))?;
        Some((row, value))
    });
    match wrong {
        Some((row, value)) => Err(format!("the value {value} at row {row} {what}")),
        None => Ok(()),
    }
}

/// The offsets of each child of a dense union must not decrease.
fn check_union(array: &UnionArray) -> Checked {
    let Some(offsets) = array.offsets() else {
        return Ok(());
    };
    let mut last = [0; 128];
    for (row, (id, offset)) in array.type_ids().iter().zip(offsets).enumerate() {
        let last = &mut last[usize::from(id.unsigned_abs() & 0x7F)];
        if offset < last {
            return Err(format!(
                "the offset {offset} at row {row} of the union is less than {last} before it"
            ));
        }
        *last = *offset;
    }
    Ok(())
}
