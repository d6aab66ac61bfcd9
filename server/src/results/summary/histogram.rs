use std::sync::Arc;

use colonnade_core::semantics::{
    Bins, Distribution, ExactMean, FloatSum, exact_edges, float_edges, float_key, float_of_key,
    largest_value, rounded_mean,
};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::arrow::error::ArrowError;
use serde::Serialize;

use super::number::Exact;
use super::{Divided, Summary};
use crate::encode::cells::texts;
use crate::error::{ErrorKind, QueryError};

/// The distribution of the values. Bin `k` holds the values from `edges[k]` to below `edges[k + 1]`; the last
/// bin also holds its upper edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// Ascending edges, one more than `counts`, in the text of cells.
    pub edges: Vec<String>,
    /// Number of values in each bin. Nulls, NaN and infinities are in no bin.
    pub counts: Vec<u64>,
}

/// Accumulates numbers or times.
pub(super) enum Numbers {
    /// As integers.
    Exact {
        exact: Exact,
        bins: Bins<i128>,
        /// `None` after it has overflowed 128 bits.
        sum: Option<i128>,
        values: Distribution,
    },
    /// As floats; `is_float` if the column's type is a float.
    Float {
        is_float: bool,
        bins: Bins<f64>,
        sum: FloatSum,
        values: Distribution,
        num_nan: u64,
        num_infinite: u64,
    },
}

impl Numbers {
    /// An empty accumulator for values between `smallest` and `largest`, which are arrays of one row.
    pub(super) fn new(
        data_type: &DataType,
        smallest: &dyn Array,
        largest: &dyn Array,
    ) -> Result<Self, ArrowError> {
        let [smallest, largest] = [smallest, largest].map(|array| array.slice(0, 1));
        if let Some(exact) = Exact::of(data_type) {
            let lowest = exact.values(&smallest)?;
            let highest = exact.values(&largest)?;
            let edges = match (lowest.first(), highest.first()) {
                (Some(lowest), Some(highest)) => {
                    exact_edges(*lowest, *highest, largest_value(data_type))
                }
                _ => Vec::new(),
            };
            return Ok(Self::Exact {
                exact,
                bins: Bins::new(edges),
                sum: Some(0),
                values: Distribution::default(),
            });
        }
        let [lowest, highest] = [smallest, largest].map(|array| floats(&array));
        let edges = match (lowest?.first(), highest?.first()) {
            (Some(lowest), Some(highest)) => float_edges(*lowest, *highest),
            _ => Vec::new(),
        };
        Ok(Self::Float {
            is_float: data_type.is_floating(),
            bins: Bins::new(edges),
            sum: FloatSum::default(),
            values: Distribution::default(),
            num_nan: 0,
            num_infinite: 0,
        })
    }

    /// Adds the values of an array of the type.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Result<(), ArrowError> {
        match self {
            Self::Exact {
                exact,
                bins,
                sum,
                values,
            } => {
                for value in exact.values(array)? {
                    bins.add(&value, 1);
                    values.add(value, 1);
                    *sum = sum.and_then(|sum| sum.checked_add(value));
                }
            }
            Self::Float {
                bins,
                sum,
                values,
                num_nan,
                num_infinite,
                ..
            } => {
                for value in floats(array)? {
                    if value.is_nan() {
                        *num_nan += 1;
                    } else if value.is_infinite() {
                        *num_infinite += 1;
                    } else {
                        bins.add(&value, 1);
                        values.add(float_key(value), 1);
                        sum.add(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes mean, quartiles, histogram and counts into the answer.
    pub(super) fn finish(self, answer: &mut Summary) -> Result<(), QueryError> {
        let (mean, edges, counts) = match self {
            Self::Exact {
                exact,
                bins,
                sum,
                mut values,
            } => {
                answer.quartiles = quartile_texts(&mut values, |value| exact.array(&[value]))?;
                let num_values = bins.num_values();
                let mean = match (&exact, sum) {
                    (_, None) => None,
                    _ if num_values == 0 => None,
                    (Exact::Ticks(_), Some(sum)) => {
                        Some(exact.array(&[rounded_mean(sum, num_values)]))
                    }
                    (Exact::Digits(scale), Some(sum)) => {
                        Some(match ExactMean::of(sum, num_values, *scale) {
                            ExactMean::Float(mean) => {
                                Ok(Arc::new(Float64Array::from(vec![mean])) as ArrayRef)
                            }
                            ExactMean::Rounded(digits) => exact.array(&[digits]),
                        })
                    }
                };
                (mean, exact.array(&bins.edges), bins.counts)
            }
            Self::Float {
                is_float,
                bins,
                sum,
                mut values,
                num_nan,
                num_infinite,
            } => {
                answer.quartiles = quartile_texts(&mut values, |key| {
                    Ok(Arc::new(Float64Array::from(vec![float_of_key(key)])) as ArrayRef)
                })?;
                if is_float {
                    answer.nan = Some(num_nan);
                    answer.infinite = Some(num_infinite);
                }
                let num_values = bins.num_values();
                let mean = (num_values > 0).then(|| {
                    let mean = sum.mean(num_values);
                    Ok(Arc::new(Float64Array::from(vec![mean])) as ArrayRef)
                });
                let edges = Arc::new(Float64Array::from(bins.edges)) as ArrayRef;
                (mean, Ok(edges), bins.counts)
            }
        };
        if let Some(mean) = mean {
            answer.mean = cell_texts(mean)?.pop();
        }
        answer.histogram = Some(Histogram {
            edges: cell_texts(edges)?,
            counts,
        });
        Ok(())
    }
}

fn floats(array: &ArrayRef) -> Result<Vec<f64>, ArrowError> {
    let floats = cast(array, &DataType::Float64)?;
    Ok(floats
        .as_primitive::<Float64Type>()
        .iter()
        .flatten()
        .collect())
}

fn quartile_texts(
    values: &mut Distribution,
    array: impl Fn(i128) -> Result<ArrayRef, ArrowError>,
) -> Result<Option<Divided<String>>, QueryError> {
    let Some(quartiles) = values.quartiles() else {
        return Ok(None);
    };
    let text = |value| cell_texts(array(value)).map(|texts| texts.concat());
    Ok(Some(Divided {
        lower: text(quartiles.lower)?,
        median: text(quartiles.median)?,
        upper: text(quartiles.upper)?,
        is_approximate: quartiles.is_approximate,
    }))
}

fn cell_texts(array: Result<ArrayRef, ArrowError>) -> Result<Vec<String>, QueryError> {
    let array = array.map_err(|error| cannot_summarise(&error))?;
    let field = Field::new("value", array.data_type().clone(), true);
    Ok(texts(&field, &array).into_iter().flatten().collect())
}

pub(super) fn cannot_summarise(error: &ArrowError) -> QueryError {
    QueryError::new(
        ErrorKind::ExecutionError,
        format!("the column cannot be summarised: {error}"),
        "summarise another column",
    )
}
