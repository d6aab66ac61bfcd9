//! Reads texts as the server does, and compares what was read with what was drawn.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use colonnade_text::csv::Dialect;
use colonnade_text::{Columns, Decoder, Format, Inference, TextError, TextOptions};

use crate::draw::{Cell, Column, Truth};

const BATCH_ROWS: usize = 64;

pub(crate) fn format_of(text: &str, options: &TextOptions) -> Format {
    Format::Csv(Dialect::detect_with(text.as_bytes(), options))
}

pub(crate) fn infer(format: &Format, pieces: &[&[u8]]) -> Result<Columns, String> {
    let mut inference = Inference::new(format);
    for piece in pieces {
        inference.push(piece).map_err(|error| error.to_string())?;
    }
    inference.finish().map_err(|error| error.to_string())?;
    let missing = || "there are no columns".to_owned();
    inference.into_columns().ok_or_else(missing)
}

/// The rows of a text, or those before an error.
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) error: Option<TextError>,
}

pub(crate) fn decode(format: &Format, schema: Schema, pieces: &[&[u8]]) -> Result<Table, String> {
    let schema = Arc::new(schema);
    let projection: Vec<_> = (0..schema.fields().len()).collect();
    let mut decoder = Decoder::new(format, &schema, &projection, 0..u64::MAX, BATCH_ROWS)
        .map_err(|error| error.to_string())?;
    let pushed = pieces
        .iter()
        .try_for_each(|piece| decoder.push(piece).map(drop));
    let error = pushed.and_then(|()| decoder.finish()).err();
    Ok(Table {
        schema,
        batches: std::iter::from_fn(|| decoder.next_batch()).collect(),
        error,
    })
}

/// All rows of a text, with the types that its values have.
pub(crate) fn read(text: &str, options: &TextOptions) -> Result<Table, String> {
    let format = format_of(text, options);
    let columns = infer(&format, &[text.as_bytes()])?;
    let schema = options.typed(&columns.schema())?;
    let table = decode(&format, schema, &[text.as_bytes()])?;
    match &table.error {
        Some(error) => Err(error.to_string()),
        None => Ok(table),
    }
}

/// The same, with a reading for one column.
pub(crate) fn read_as(text: &str, column: &str, reading: &str) -> Result<Table, String> {
    let mut options = TextOptions::default();
    options.set("types", &format!("{column}:{reading}"))?;
    read(text, &options).map_err(|error| format!("with {column}:{reading}: {error}"))
}

impl Table {
    pub(crate) fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub(crate) fn is_text(&self, index: usize) -> bool {
        *self.schema.field(index).data_type() == DataType::Utf8
    }

    pub(crate) fn metadata(&self, index: usize, key: &str) -> Option<&str> {
        let metadata = self.schema.field(index).metadata();
        metadata.get(key).map(String::as_str)
    }

    /// How else a column of text can be read; `None` if nothing says so.
    pub(crate) fn readings(&self, index: usize) -> Result<Option<Vec<String>>, String> {
        let list = self.metadata(index, "colonnade.readings");
        let readings = list.map(serde_json::from_str).transpose();
        readings.map_err(|error| format!("the readings {list:?}: {error}"))
    }

    /// Whether a column has the values that were drawn, in all rows that were read. Those of text are as they were
    /// written.
    pub(crate) fn check(&self, index: usize, column: &Column) -> Result<(), String> {
        let rows = self.batches.iter().flat_map(|batch| {
            let array = batch.column(index);
            (0..batch.num_rows()).map(move |row| (array, row))
        });
        for (at, (array, row)) in rows.enumerate() {
            let cell = column.cells.get(at).ok_or("more rows than were drawn")?;
            let is_right = match cell {
                None => array.is_null(row),
                Some(cell) => array.is_valid(row) && is_exact(array.as_ref(), row, cell),
            };
            if !is_right {
                let read = array.slice(row, 1);
                return Err(format!("row {at}: {cell:?} is read as {read:?}"));
            }
        }
        Ok(())
    }
}

/// Whether an array has in `row` exactly what was drawn.
fn is_exact(array: &dyn Array, row: usize, cell: &Cell) -> bool {
    match (array.data_type(), cell.truth) {
        (DataType::Utf8, _) => array.as_string::<i32>().value(row) == cell.text,
        (DataType::Int64, Truth::Number(digits, scale)) => {
            let value = array.as_primitive::<Int64Type>().value(row);
            is_equal((value.into(), 0), (digits, scale))
        }
        (DataType::UInt64, Truth::Number(digits, scale)) => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            is_equal((value.into(), 0), (digits, scale))
        }
        (DataType::Decimal128(_, own_scale), Truth::Number(digits, scale)) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            let own_scale = u32::try_from(*own_scale).unwrap();
            is_equal((value, own_scale), (digits, scale))
        }
        (DataType::Float64, Truth::Number(digits, scale)) => {
            let value = array.as_primitive::<Float64Type>().value(row);
            let nearest: f64 = format!("{digits}e-{scale}").parse().unwrap();
            value.to_bits() == nearest.to_bits()
        }
        (DataType::Date32, Truth::Date(days)) => {
            i64::from(array.as_primitive::<Date32Type>().value(row)) == days
        }
        (DataType::Timestamp(unit, None), Truth::Timestamp(seconds, nanoseconds)) => {
            let expected = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
            nanoseconds_at(array, row, *unit) == expected
        }
        _ => false,
    }
}

/// Whether two integers over powers of ten are one number.
fn is_equal(left: (i128, u32), right: (i128, u32)) -> bool {
    let power = |scale: u32| 10_i128.checked_pow(scale).unwrap();
    let scaled = |value: i128, scale| value.checked_mul(power(scale)).unwrap();
    scaled(left.0, right.1) == scaled(right.0, left.1)
}

fn nanoseconds_at(array: &dyn Array, row: usize, unit: TimeUnit) -> i128 {
    let (value, factor) = match unit {
        TimeUnit::Second => (
            array.as_primitive::<TimestampSecondType>().value(row),
            1_000_000_000,
        ),
        TimeUnit::Millisecond => (
            array.as_primitive::<TimestampMillisecondType>().value(row),
            1_000_000,
        ),
        TimeUnit::Microsecond => (
            array.as_primitive::<TimestampMicrosecondType>().value(row),
            1000,
        ),
        TimeUnit::Nanosecond => (
            array.as_primitive::<TimestampNanosecondType>().value(row),
            1,
        ),
    };
    i128::from(value) * factor
}
