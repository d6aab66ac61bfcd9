//! One column for each Arrow type, with nulls, extremes and values that are often shown wrongly.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::*;
use datafusion::arrow::ipc::writer::FileWriter;

mod bytes;
mod nested;
mod numbers;
mod times;

/// Rows of the table; shorter lists of values start over.
const NUM_ROWS: usize = 24;

type Failure = Box<dyn Error + Send + Sync>;

/// Writes the table as an Arrow IPC file.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path) -> Result<(), Failure> {
    let batch = every_type()?;
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema())?;
    // Two batches, so that the table has a boundary between batches.
    writer.write(&batch.slice(0, 10))?;
    writer.write(&batch.slice(10, NUM_ROWS - 10))?;
    writer.finish()?;
    drop(writer);
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    let unfinished = path.with_extension(format!("arrow.{}", std::process::id()));
    std::io::Write::write_all(&mut File::create(&unfinished)?, &bytes)?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

fn cycle<T: Clone>(values: &[Option<T>]) -> impl Iterator<Item = Option<T>> + '_ {
    values.iter().cloned().cycle().take(NUM_ROWS)
}

fn primitive<T: ArrowPrimitiveType>(values: &[T::Native]) -> PrimitiveArray<T> {
    let mut all: Vec<Option<T::Native>> = values.iter().copied().map(Some).collect();
    all.push(None);
    cycle(&all).collect()
}

const TEXTS: [Option<&str>; 12] = [
    Some("plain"),
    Some(""),
    None,
    Some("👩‍👩‍👧‍👦 family, 🏳️‍🌈 flag, é as e\u{301}"),
    Some("שלום עולם, مرحبا بالعالم"),
    Some("two\nlines\r\nand a\ttab"),
    Some("<script>alert('no')</script> & <b>bold</b>"),
    Some("\"quoted\", 'single', back\\slash, comma; semicolon"),
    Some(" spaces at both ends "),
    Some("null"),
    Some("NaN"),
    Some(
        "a text that is a good deal longer than a column is wide, so that it is cut off or wrapped, whichever the page does with a text of this length",
    ),
];

/// The columns so far.
struct Columns(Vec<(&'static str, ArrayRef)>);

impl Columns {
    fn put(&mut self, name: &'static str, array: impl Array + 'static) {
        self.0.push((name, Arc::new(array)));
    }

    fn values<T: ArrowPrimitiveType>(&mut self, name: &'static str, values: &[T::Native]) {
        self.put(name, primitive::<T>(values));
    }
}

fn every_type() -> Result<RecordBatch, Failure> {
    let mut columns = Columns(Vec::new());
    columns.put("row", Int32Array::from_iter_values(0..NUM_ROWS as i32));
    columns.put("null", NullArray::new(NUM_ROWS));
    let booleans = [Some(true), Some(false), None];
    columns.put("bool", cycle(&booleans).collect::<BooleanArray>());
    numbers::add(&mut columns)?;
    times::add(&mut columns);
    bytes::add(&mut columns)?;
    nested::add(&mut columns)?;
    let fields: Vec<Field> = columns
        .0
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), *name != "row"))
        .collect();
    let arrays = columns.0.into_iter().map(|(_, array)| array).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
