//! A sum that fails where it overflows, which DataFusion's wraps around.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, Field, FieldRef, Int64Type, UInt64Type, i256,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature,
};

/// Digits above those of the summed type: no table has so many rows that a sum has more.
const ROW_DIGITS: u8 = 10;

/// DataFusion's sum, computed in a wider type than its result has.
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct CheckedSum(Sum);

impl CheckedSum {
    /// The arguments of a sum in the wider type, and the type of its result.
    fn widened<'a>(&self, args: &AccumulatorArgs<'a>) -> Result<(AccumulatorArgs<'a>, DataType)> {
        let result_type = args.return_field.data_type().clone();
        let return_field = self.wide_field(args.expr_fields, &args.return_field)?;
        Ok((
            AccumulatorArgs {
                return_field,
                ..*args
            },
            result_type,
        ))
    }

    /// The field of a sum in the wider type.
    fn wide_field(&self, operands: &[FieldRef], result: &FieldRef) -> Result<FieldRef> {
        let Some(wide) = wide_type(operands[0].data_type()) else {
            return Ok(Arc::clone(result));
        };
        let field = Field::clone(result).with_data_type(self.0.return_type(&[wide])?);
        Ok(Arc::new(field))
    }
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let (args, result_type) = self.widened(&args)?;
        Ok(Box::new(WideSum {
            wide_type: args.return_field.data_type().clone(),
            sum: self.0.accumulator(args)?,
            result_type,
        }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return self.0.create_sliding_accumulator(args);
        }
        let (args, result_type) = self.widened(&args)?;
        Ok(Box::new(WideSum {
            wide_type: args.return_field.data_type().clone(),
            sum: self.0.create_sliding_accumulator(args)?,
            result_type,
        }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let (args, result_type) = self.widened(&args)?;
        Ok(Box::new(WideSum {
            wide_type: args.return_field.data_type().clone(),
            sum: self.0.create_groups_accumulator(args)?,
            result_type,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let return_field = self.wide_field(args.input_fields, &args.return_field)?;
        self.0.state_fields(StateFieldsArgs {
            return_field,
            ..args
        })
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_expr()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.0.set_monotonicity(data_type)
    }
}

/// The type in which values are summed, if it is not their own.
fn wide_type(data_type: &DataType) -> Option<DataType> {
    const DIGITS: u8 = DECIMAL128_MAX_PRECISION - ROW_DIGITS;
    Some(match *data_type {
        DataType::Int64 | DataType::UInt64 => DataType::Decimal128(DIGITS, 0),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            DataType::Decimal128(DIGITS, scale)
        }
        DataType::Decimal128(precision, scale) if precision > DIGITS => {
            DataType::Decimal256(DECIMAL256_MAX_PRECISION - ROW_DIGITS, scale)
        }
        _ => return None,
    })
}

/// Sums values in a wider type than the result has.
#[derive(Debug)]
struct WideSum<S> {
    sum: S,
    wide_type: DataType,
    result_type: DataType,
}

impl<S> WideSum<S> {
    /// The values in the wider type. Every value is within it, so this is less work than a cast.
    fn widen(&self, values: &[ArrayRef]) -> [ArrayRef; 1] {
        macro_rules! widen {
            ($narrow:ty, $wide:ty, $convert:expr) => {{
                let wide: PrimitiveArray<$wide> =
                    values[0].as_primitive::<$narrow>().unary($convert);
                Arc::new(wide.with_data_type(self.wide_type.clone()))
            }};
        }
        [match values[0].data_type() {
            DataType::Int64 => widen!(Int64Type, Decimal128Type, i128::from),
            DataType::UInt64 => widen!(UInt64Type, Decimal128Type, i128::from),
            DataType::Decimal32(..) => widen!(Decimal32Type, Decimal128Type, i128::from),
            DataType::Decimal64(..) => widen!(Decimal64Type, Decimal128Type, i128::from),
            DataType::Decimal128(..) if matches!(self.wide_type, DataType::Decimal256(..)) => {
                widen!(Decimal128Type, Decimal256Type, i256::from_i128)
            }
            _ => Arc::clone(&values[0]),
        }]
    }

    /// # Errors
    /// `ArithmeticOverflow`: a sum is beyond the type of the result.
    fn narrow(&self, sums: &ArrayRef) -> Result<ArrayRef> {
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        cast_with_options(sums, &self.result_type, &options).map_err(|_| {
            let what = format!("a sum does not fit into {}", self.result_type);
            ArrowError::ArithmeticOverflow(what).into()
        })
    }
}

impl Accumulator for WideSum<Box<dyn Accumulator>> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.widen(values);
        self.sum.update_batch(&values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.widen(values);
        self.sum.retract_batch(&values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.sum.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.sum.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.sum.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.sum.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&self.narrow(&sum)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sum.size()
    }
}

impl GroupsAccumulator for WideSum<Box<dyn GroupsAccumulator>> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        num_groups: usize,
    ) -> Result<()> {
        let values = self.widen(values);
        self.sum.update_batch(&values, groups, filter, num_groups)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        num_groups: usize,
    ) -> Result<()> {
        self.sum.merge_batch(states, groups, num_groups)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.sum.state(emit_to)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.sum.convert_to_state(&self.widen(values), filter)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = self.sum.evaluate(emit_to)?;
        self.narrow(&sums)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sum.size()
    }
}
