//! Whether two answers are equal: as multisets, and in order where ORDER BY decides it.

use std::cmp::Ordering;
use std::sync::Arc;

use colonnade_core::semantics::distinct_names;
use datafusion::arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{
    SortColumn, SortOptions, cast, concat_batches, lexsort_to_indices, take_record_batch,
};
use datafusion::arrow::datatypes::{DataType, Float64Type, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// The largest relative difference of two floats that are equal. It is larger for narrower types.
const TOLERANCE: f64 = 1e-9;

/// Which rows and columns of an answer are determined by its statement.
#[derive(Debug, Default)]
pub(crate) struct Determined {
    /// Columns whose values are not compared.
    pub(crate) loose: Vec<usize>,
    /// Columns of the ORDER BY, the first one first, and whether they descend.
    pub(crate) order: Vec<(usize, bool)>,
    /// The range of the rows that the statement takes of the expected ones.
    pub(crate) first_row: usize,
    pub(crate) limit: Option<usize>,
}

struct Row {
    texts: Vec<String>,
    floats: Vec<(f64, f64)>,
}

impl Row {
    fn is_close(&self, other: &Self) -> bool {
        let mut pairs = self.floats.iter().zip(&other.floats);
        self.texts == other.texts
            && pairs.all(|(&(a, tolerance), &(b, _))| {
                let is_equal = a == b || (a.is_nan() && b.is_nan());
                is_equal || (a - b).abs() <= tolerance * a.abs().max(b.abs())
            })
    }

    /// Whether the program sorts it as DataFusion does, whose NaNs can be the smallest numbers, and whose -0 is
    /// smaller than 0.
    fn has_common_order(&self) -> bool {
        let mut floats = self.floats.iter();
        floats.all(|(float, _)| !float.is_nan() && (*float != 0.0 || float.is_sign_positive()))
    }

    fn order(&self, other: &Self) -> Ordering {
        let floats = self.floats.iter().zip(&other.floats);
        self.texts.cmp(&other.texts).then_with(|| {
            floats.fold(Ordering::Equal, |so_far, (a, b)| {
                // -0 and 0 are equal, and so are all NaNs.
                let key = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
                so_far.then(key(a.0).total_cmp(&key(b.0)))
            })
        })
    }
}

/// The batches of a complete stream, after an empty one.
///
/// # Errors
/// The stream is not valid.
pub(crate) fn decode(stream: &[u8]) -> Result<Vec<RecordBatch>, String> {
    let invalid = |error| format!("the stream cannot be read: {error}");
    let reader = StreamReader::try_new(stream, None).map_err(invalid)?;
    let mut batches = vec![RecordBatch::new_empty(reader.schema())];
    for batch in reader {
        batches.push(batch.map_err(invalid)?);
    }
    Ok(batches)
}

/// Compares the rows of the program with the expected ones. Both have at least one batch.
///
/// # Errors
/// The first difference.
pub(crate) fn compare(
    expected: &[RecordBatch],
    found: &[RecordBatch],
    determined: &Determined,
) -> Result<(), String> {
    let names = |batches: &[RecordBatch]| {
        let schema = batches[0].schema();
        distinct_names(schema.fields().iter().map(|field| field.name().as_str()))
    };
    if names(expected) != names(found) {
        return Err(format!(
            "the columns are {:?}, not {:?}",
            names(found),
            names(expected)
        ));
    }
    let found = &with_floats(found, &expected[0].schema());
    let num_rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum();
    let (num_expected, num_found): (usize, usize) = (num_rows(expected), num_rows(found));
    let num_left = num_expected.saturating_sub(determined.first_row);
    let num_wanted = num_left.min(determined.limit.unwrap_or(usize::MAX));
    if num_found != num_wanted {
        return Err(format!("there are {num_found} rows, not {num_wanted}"));
    }
    let keys: Vec<usize> = determined.order.iter().map(|key| key.0).collect();
    let wanted = rows(
        &[sorted_keys(expected, &determined.order)?],
        &Vec::from_iter(0..keys.len()),
    );
    let has_order = wanted.iter().all(Row::has_common_order);
    let wanted = wanted.iter().skip(determined.first_row);
    let pairs = rows(found, &keys).into_iter().zip(wanted);
    for (index, (key, wanted)) in pairs.enumerate() {
        if has_order && !key.is_close(wanted) {
            let (key, wanted) = (show(&key), show(wanted));
            return Err(format!("row {index} is {key}, not {wanted}"));
        }
    }
    let columns: Vec<usize> = (0..expected[0].num_columns())
        .filter(|column| !determined.loose.contains(column))
        .collect();
    let (mut wanted, mut found) = (rows(expected, &columns), rows(found, &columns));
    wanted.sort_by(Row::order);
    found.sort_by(Row::order);
    let mut wanted = wanted.iter().peekable();
    for row in &found {
        let mut passed = None;
        while wanted.peek().is_some_and(|wanted| !wanted.is_close(row)) {
            let next = wanted.next();
            passed = passed.or(next);
            if num_wanted == num_expected {
                break;
            }
        }
        if passed.is_some() && num_wanted == num_expected || wanted.next().is_none() {
            let passed = passed.map_or("nothing".to_owned(), show);
            return Err(format!(
                "there is a row {}, where {passed} is expected",
                show(row)
            ));
        }
    }
    Ok(())
}

/// Casts decimals to floats where floats are expected: a narrow decimal beside a float is a wide decimal in the
/// program, and a float in a plain DataFusion.
fn with_floats(found: &[RecordBatch], expected: &Schema) -> Vec<RecordBatch> {
    let batches = found.iter().map(|batch| {
        let mut columns = batch.columns().to_vec();
        let mut fields = Vec::from_iter(batch.schema().fields().iter().cloned());
        for (column, (field, expected)) in columns
            .iter_mut()
            .zip(fields.iter_mut().zip(expected.fields()))
        {
            if field.data_type().is_decimal() && expected.data_type().is_floating() {
                *column = cast(column, expected.data_type()).unwrap();
                *field = Arc::clone(expected);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, columns, &options).unwrap()
    });
    batches.collect()
}

/// The columns of the ORDER BY, sorted.
fn sorted_keys(batches: &[RecordBatch], order: &[(usize, bool)]) -> Result<RecordBatch, String> {
    let indices: Vec<usize> = order.iter().map(|key| key.0).collect();
    let sorted = || {
        let keys = concat_batches(&batches[0].schema(), batches)?.project(&indices)?;
        if order.is_empty() {
            return Ok(keys);
        }
        let columns = keys.columns().iter().zip(order);
        let columns = columns.map(|(values, &(_, descending))| SortColumn {
            values: Arc::clone(values),
            options: Some(SortOptions {
                descending,
                nulls_first: false,
            }),
        });
        let rows = lexsort_to_indices(&columns.collect::<Vec<_>>(), None)?;
        take_record_batch(&keys, &rows)
    };
    sorted().map_err(|error: ArrowError| format!("the keys cannot be sorted: {error}"))
}

fn show(row: &Row) -> String {
    let floats: Vec<f64> = row.floats.iter().map(|float| float.0).collect();
    let text = format!("{:?} {floats:?}", row.texts);
    text.chars().take(600).collect()
}

fn rows(batches: &[RecordBatch], columns: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let first = rows.len();
        let empty = || Row {
            texts: Vec::new(),
            floats: Vec::new(),
        };
        rows.extend((0..batch.num_rows()).map(|_| empty()));
        for &column in columns {
            add(batch.column(column), &mut rows[first..]);
        }
    }
    rows
}

/// Adds a column's cells to the rows. A float is compared as a number, anything else as text.
fn add(column: &dyn Array, rows: &mut [Row]) {
    let tolerance = match column.data_type() {
        DataType::Float16 => 1e-2,
        DataType::Float32 => 1e-5,
        DataType::Float64 => TOLERANCE,
        _ => {
            let options = FormatOptions::default().with_null("NULL");
            let formatter = ArrayFormatter::try_new(column, &options);
            let is_union = matches!(column.data_type(), DataType::Union(..));
            for (index, row) in rows.iter_mut().enumerate() {
                let text = match &formatter {
                    Ok(formatter) => formatter.value(index).to_string(),
                    Err(_) => format!("{:?}", column.slice(index, 1)),
                };
                // −0 and 0 are equal, so a list that is sorted has them in any order.
                let text = text.replace("-0.0,", "0.0,").replace("-0.0]", "0.0]");
                // A null of a union can be of any of its types; which one depends on the plan.
                let is_null = is_union && text.ends_with("=NULL}");
                row.texts
                    .push(if is_null { "NULL".to_owned() } else { text });
            }
            return;
        }
    };
    let floats = cast(column, &DataType::Float64).unwrap();
    let floats = floats.as_primitive::<Float64Type>();
    for (row, float) in rows.iter_mut().zip(floats) {
        row.texts
            .push(float.map_or("NULL", |_| "a float").to_owned());
        row.floats.push((float.unwrap_or(0.0), tolerance));
    }
}
