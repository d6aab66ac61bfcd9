//! Aggregates of values that are converted before, and whose results are converted back.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature,
};

/// Between the values of an aggregate and those that it is computed with.
pub(crate) trait Conversion:
    Debug + Eq + Hash + Copy + Default + Send + Sync + 'static
{
    /// The type in which an aggregate is computed; `None` if it is that of the values.
    fn inner_type(self, data_type: &DataType) -> Option<DataType>;

    /// The values in the inner type, which holds each of them.
    fn convert(self, values: &ArrayRef, inner_type: &DataType) -> ArrayRef;

    /// The results in the type that they have outside.
    ///
    /// # Errors
    /// The type does not hold a result.
    fn convert_back(self, results: &ArrayRef, result_type: &DataType) -> Result<ArrayRef>;
}

/// An aggregate of DataFusion, computed in another type, and not from statistics.
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct ConvertedAggregate<F, C> {
    function: F,
    conversion: C,
}

impl<F: AggregateUDFImpl, C: Conversion> ConvertedAggregate<F, C> {
    fn wrap<'a, A>(
        &self,
        args: &AccumulatorArgs<'a>,
        create: impl Fn(AccumulatorArgs<'a>) -> Result<A>,
    ) -> Result<Converted<A, C>> {
        let result_type = args.return_field.data_type().clone();
        let return_field = self.inner_field(args.expr_fields, &args.return_field)?;
        let inner_type = self.conversion.inner_type(args.expr_fields[0].data_type());
        Ok(Converted {
            accumulator: create(AccumulatorArgs {
                return_field,
                ..*args
            })?,
            conversion: self.conversion,
            types: inner_type.map(|inner_type| (inner_type, result_type)),
        })
    }

    /// The field of a result in the inner type.
    fn inner_field(&self, operands: &[FieldRef], result: &FieldRef) -> Result<FieldRef> {
        let Some(inner_type) = self.conversion.inner_type(operands[0].data_type()) else {
            return Ok(Arc::clone(result));
        };
        let data_type = self.function.return_type(&[inner_type])?;
        Ok(Arc::new(Field::clone(result).with_data_type(data_type)))
    }
}

impl<F: AggregateUDFImpl + Eq + Hash, C: Conversion> AggregateUDFImpl for ConvertedAggregate<F, C> {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.function.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let wrapped = self.wrap(&args, |args| self.function.accumulator(args))?;
        Ok(Box::new(wrapped))
    }

    /// DataFusion slides over distinct values of few types only, so these stay as they are.
    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return self.function.create_sliding_accumulator(args);
        }
        let create = |args| self.function.create_sliding_accumulator(args);
        Ok(Box::new(self.wrap(&args, create)?))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.function.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let create = |args| self.function.create_groups_accumulator(args);
        Ok(Box::new(self.wrap(&args, create)?))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let return_field = self.inner_field(args.input_fields, &args.return_field)?;
        self.function.state_fields(StateFieldsArgs {
            return_field,
            ..args
        })
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.function.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.function.reverse_expr()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.function.set_monotonicity(data_type)
    }
}

#[derive(Debug)]
struct Converted<A, C> {
    accumulator: A,
    conversion: C,
    /// That of the accumulator and that of its results; `None` if nothing is converted.
    types: Option<(DataType, DataType)>,
}

impl<A, C: Conversion> Converted<A, C> {
    fn convert(&self, values: &[ArrayRef]) -> Vec<ArrayRef> {
        match &self.types {
            Some((inner_type, _)) => vec![self.conversion.convert(&values[0], inner_type)],
            None => values.to_vec(),
        }
    }

    fn convert_back(&self, results: ArrayRef) -> Result<ArrayRef> {
        match &self.types {
            Some((_, result_type)) => self.conversion.convert_back(&results, result_type),
            None => Ok(results),
        }
    }
}

impl<C: Conversion> Accumulator for Converted<Box<dyn Accumulator>, C> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.convert(values);
        self.accumulator.update_batch(&values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.convert(values);
        self.accumulator.retract_batch(&values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.accumulator.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.accumulator.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.accumulator.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.accumulator.evaluate()?;
        if self.types.is_none() {
            return Ok(result);
        }
        let result = self.convert_back(result.to_array()?)?;
        ScalarValue::try_from_array(&result, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.accumulator.size()
    }
}

impl<C: Conversion> GroupsAccumulator for Converted<Box<dyn GroupsAccumulator>, C> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        num_groups: usize,
    ) -> Result<()> {
        let values = self.convert(values);
        self.accumulator
            .update_batch(&values, groups, filter, num_groups)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        num_groups: usize,
    ) -> Result<()> {
        self.accumulator.merge_batch(states, groups, num_groups)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.accumulator.state(emit_to)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = self.convert(values);
        self.accumulator.convert_to_state(&values, filter)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let results = self.accumulator.evaluate(emit_to)?;
        self.convert_back(results)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.accumulator.size()
    }
}
