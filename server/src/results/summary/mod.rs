//! Column summaries: counts, extremes, quartiles, a histogram or the most frequent values.

mod histogram;
mod number;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use colonnade_core::semantics::{Lengths, value_type};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, UInt64Type};
use datafusion::common::Column;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::functions_aggregate::expr_fn::{approx_distinct, count, max, min};
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, cast as cast_to, col, lit};
use datafusion::prelude::DataFrame;
use futures::TryStreamExt;
use serde::Serialize;

use crate::encode::cells::texts;
use crate::encode::type_name;
use crate::error::QueryError;
use crate::error::from_datafusion::execution_error;
use histogram::{Numbers, cannot_summarise};

pub use histogram::Histogram;

/// The bytes that the most frequent values may have together. Of longer ones, fewer are reported.
const MAX_TOP_BYTES: usize = 16 << 20;

/// A column summary. Values are texts as cells show them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The column's name.
    pub column: String,
    /// The column's type, as pyarrow prints it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Number of rows, including nulls.
    pub rows: u64,
    /// Rows that are null.
    pub nulls: u64,
    /// Number of distinct values: counted for texts and booleans, otherwise estimated (HyperLogLog); null for nested
    /// types, intervals, unions and null.
    pub distinct: Option<u64>,
    /// Whether it is estimated.
    pub distinct_is_approximate: bool,
    /// The smallest value; for floats, the smallest finite one.
    pub min: Option<String>,
    /// The largest value; for floats, the largest finite one.
    pub max: Option<String>,
    /// The mean of numbers and times; for floats, of the finite values. Times are rounded to their unit.
    pub mean: Option<String>,
    /// Floats that are not a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nan: Option<u64>,
    /// Floats that are infinite, of either sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infinite: Option<u64>,
    /// The quartiles of numbers and times; for floats, of the finite values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<Divided<String>>,
    /// Texts that are empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empties: Option<u64>,
    /// The lengths of texts in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<LengthsOfTexts>,
    /// The histogram of numbers and times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// The most frequent values of texts and booleans, in descending order of frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<Vec<TopValue>>,
}

/// The quartiles of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divided<T> {
    /// The least value that is not smaller than a quarter of all.
    pub lower: T,
    /// The least value that is not smaller than half of all.
    pub median: T,
    /// The least value that is not smaller than three quarters of all.
    pub upper: T,
    /// Whether they were found in a sample.
    pub is_approximate: bool,
}

/// The distribution of the lengths of texts in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LengthsOfTexts {
    /// The least length.
    pub min: usize,
    /// The greatest length.
    pub max: usize,
    /// The quartiles.
    #[serde(flatten)]
    pub quartiles: Divided<usize>,
}

/// A value and its frequency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopValue {
    /// Its text.
    pub value: String,
    /// Number of rows with this value.
    pub count: u64,
}

/// The statistics that are computed for a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Extremes, mean and histogram.
    Number,
    /// Extremes and the most frequent values.
    Category,
    /// Extremes.
    Ordered,
    /// Counts.
    Other,
}

fn kind_of(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Interval(_) | DataType::Null | DataType::Union(..) => Kind::Other,
        DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Kind::Category
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Kind::Ordered,
        data_type if data_type.is_numeric() || data_type.is_temporal() => Kind::Number,
        _ => Kind::Other,
    }
}

/// The type in which the engine computes: unpacked from dictionaries and runs, and supported by its
/// aggregates.
fn computed_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => computed_type(value),
        DataType::RunEndEncoded(_, values) => computed_type(values.data_type()),
        DataType::Float16 => DataType::Float32,
        DataType::FixedSizeBinary(_) => DataType::Binary,
        other => other.clone(),
    }
}

/// Summarises one column of the plan's rows, with the `num_top` most frequent values. Dropping the future cancels the work.
///
/// # Errors
/// `unknown_column`, or an error of the plan.
pub async fn summarise(
    state: &SessionState,
    plan: LogicalPlan,
    column: &str,
    num_top: usize,
) -> Result<Summary, QueryError> {
    let schema = plan.schema();
    let Some((qualifier, field)) = schema.iter().find(|(_, field)| field.name() == column) else {
        let fields = schema.fields();
        return Err(QueryError::unknown_column("the result has", column, fields));
    };
    let field = field.as_ref().clone();
    let computed = computed_type(field.data_type());
    let mut value = Expr::Column(Column::from((
        qualifier,
        &std::sync::Arc::new(field.clone()),
    )));
    if &computed != field.data_type() {
        value = cast_to(value, computed.clone());
    }
    let values = DataFrame::new(state.clone(), plan)
        .select([value.alias("value")])
        .map_err(|error| execution_error(&error))?;
    let kind = kind_of(&computed);
    let mut summary = totals(&values, &field, &computed, kind)
        .await
        .map_err(|error| execution_error(&error))?;
    let mut answer = summary.answer;
    match kind {
        Kind::Number => {
            if let Some((smallest, largest)) = summary.extremes.take() {
                let mut numbers = Numbers::new(&computed, smallest.as_ref(), largest.as_ref())
                    .map_err(|error| cannot_summarise(&error))?;
                let mut batches = values
                    .execute_stream()
                    .await
                    .map_err(|error| execution_error(&error))?;
                while let Some(batch) = batches
                    .try_next()
                    .await
                    .map_err(|error| execution_error(&error))?
                {
                    numbers
                        .add(batch.column(0))
                        .map_err(|error| cannot_summarise(&error))?;
                }
                numbers.finish(&mut answer)?;
            }
        }
        Kind::Category => {
            let counted = count_values(values, num_top, &computed, &mut answer).await;
            counted.map_err(|error| execution_error(&error))?;
        }
        Kind::Ordered | Kind::Other => {}
    }
    Ok(answer)
}

/// The result of one pass over the column.
struct Totals {
    answer: Summary,
    /// The smallest and the largest value, one row each; `None` if the type has no order.
    extremes: Option<(ArrayRef, ArrayRef)>,
}

async fn totals(
    values: &DataFrame,
    field: &Field,
    computed: &DataType,
    kind: Kind,
) -> Result<Totals, DataFusionError> {
    let value = || col("value");
    let mut aggregates = vec![count(lit(1)), count(value())];
    if kind != Kind::Other {
        let (smallest, largest) = (min(value()), max(value()));
        if computed.is_floating() {
            // Comparisons place NaN beyond the infinities.
            let finite = || match computed {
                DataType::Float32 => value().between(lit(f32::MIN), lit(f32::MAX)),
                _ => value().between(lit(f64::MIN), lit(f64::MAX)),
            };
            aggregates.push(smallest.filter(finite()).build()?);
            aggregates.push(largest.filter(finite()).build()?);
            // `approx_distinct` does not support floats.
            aggregates.push(approx_distinct(cast_to(value(), DataType::Utf8)));
        } else {
            aggregates.extend([smallest, largest, approx_distinct(value())]);
        }
    }
    let num_aggregates = aggregates.len();
    let aggregates: Vec<Expr> = aggregates
        .into_iter()
        .enumerate()
        .map(|(index, expr)| expr.alias(format!("a{index}")))
        .collect();
    let batches = values
        .clone()
        .aggregate(Vec::new(), aggregates)?
        .collect()
        .await?;
    let row = batches
        .iter()
        .find(|batch| batch.num_rows() > 0)
        .ok_or_else(|| DataFusionError::Internal("an aggregate gave no row".into()))?;
    let number = |index: usize| row.column(index).as_primitive::<Int64Type>().value(0) as u64;
    let (rows, valid) = (number(0), number(1));
    let mut answer = Summary {
        column: field.name().clone(),
        type_name: type_name(field),
        rows,
        nulls: rows - valid,
        distinct: None,
        distinct_is_approximate: true,
        min: None,
        max: None,
        mean: None,
        nan: None,
        infinite: None,
        quartiles: None,
        empties: None,
        lengths: None,
        histogram: None,
        top: None,
    };
    let mut extremes = None;
    if num_aggregates > 2 {
        answer.distinct = Some(row.column(4).as_primitive::<UInt64Type>().value(0));
        let [smallest, largest] = [2, 3].map(|index| row.column(index));
        answer.min = text_as(smallest, field)?;
        answer.max = text_as(largest, field)?;
        extremes = Some((smallest.clone(), largest.clone()));
    }
    Ok(Totals { answer, extremes })
}

/// The text of an array's only value, as a cell of `field` shows it.
fn text_as(array: &ArrayRef, field: &Field) -> Result<Option<String>, DataFusionError> {
    // Cast back to half floats and fixed sizes.
    let array = match value_type(field.data_type()) {
        data_type @ (DataType::Float16 | DataType::FixedSizeBinary(_))
            if array.null_count() == 0 =>
        {
            cast(array, data_type)?
        }
        _ => ArrayRef::clone(array),
    };
    let value = Field::new("value", array.data_type().clone(), true);
    let value = value.with_metadata(field.metadata().clone());
    Ok(texts(&value, &array).remove(0))
}

/// Counts the values, and reports the most frequent ones; equally frequent ones are in the order of their bytes.
async fn count_values(
    values: DataFrame,
    num_top: usize,
    computed: &DataType,
    answer: &mut Summary,
) -> Result<(), DataFusionError> {
    let mut batches = values
        .filter(col("value").is_not_null())?
        .aggregate(vec![col("value")], vec![count(lit(1)).alias("count")])?
        .execute_stream()
        .await?;
    let (mut num_distinct, mut lengths) = (0, Lengths::default());
    // The most frequent value is the first.
    let mut top = BTreeSet::new();
    let mut num_bytes = 0;
    while let Some(batch) = batches.try_next().await? {
        let counts = batch.column(1).as_primitive::<Int64Type>();
        let values = texts(batch.schema().field(0), batch.column(0));
        for (value, count) in values.into_iter().zip(counts.values()) {
            let (value, count) = (value.unwrap_or_default(), *count as u64);
            num_distinct += 1;
            lengths.add(value.as_bytes(), count);
            num_bytes += value.len();
            top.insert((Reverse(count), value));
            while top.len() > num_top || num_bytes > MAX_TOP_BYTES {
                num_bytes -= top.pop_last().map_or(num_bytes, |(_, value)| value.len());
            }
        }
    }
    let top = top.into_iter();
    answer.top = Some(
        top.map(|(Reverse(count), value)| TopValue { value, count })
            .collect(),
    );
    (answer.distinct, answer.distinct_is_approximate) = (Some(num_distinct), false);
    if computed.is_string() {
        answer.empties = Some(lengths.num_empty());
        let both = lengths.extremes().zip(lengths.quartiles());
        answer.lengths = both.map(|((min, max), quartiles)| LengthsOfTexts {
            min,
            max,
            quartiles: Divided {
                lower: quartiles.lower,
                median: quartiles.median,
                upper: quartiles.upper,
                is_approximate: quartiles.is_approximate,
            },
        });
    }
    Ok(())
}
