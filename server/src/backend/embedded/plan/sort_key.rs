//! Adds sort keys to each row: the row's position, and floats as integers that compare in the right order.

use std::sync::Arc;

use colonnade_core::semantics::value_type;
use datafusion::arrow::array::{ArrayRef, Int64Array, PrimitiveArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float16Type, Float32Type, Float64Type, Schema, SchemaRef,
};
use datafusion::common::cast::as_primitive_array;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, apply_expression_roots,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;

/// Bits for the row in its partition: positions are `partition << 40 | row in the partition`.
const POSITION_BITS: u32 = 40;

/// Appends the sort keys as columns.
#[derive(Debug)]
pub(super) struct SortKeyExec {
    input: Arc<dyn ExecutionPlan>,
    floats: Vec<PhysicalSortExpr>,
    has_position: bool,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SortKeyExec {
    /// A node over `input` that appends one column for each of `floats`, then the position if `has_position`.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn try_new(
        input: Arc<dyn ExecutionPlan>,
        floats: Vec<PhysicalSortExpr>,
        has_position: bool,
    ) -> Result<Self> {
        let inner = input.schema();
        let mut fields: Vec<_> = inner.fields().iter().map(Arc::clone).collect();
        for index in 0..floats.len() {
            fields.push(Arc::new(Field::new(
                format!("\u{0}key{index}"),
                DataType::Int64,
                true,
            )));
        }
        if has_position {
            fields.push(Arc::new(Field::new(
                "\u{0}position",
                DataType::UInt64,
                false,
            )));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, inner.metadata().clone()));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            input,
            floats,
            has_position,
            schema,
            properties: Arc::new(properties),
        })
    }

    /// The columns with the keys of the floats.
    pub(super) fn float_columns(&self) -> Vec<Column> {
        let first = self.input.schema().fields().len();
        (first..first + self.floats.len())
            .map(|index| Column::new(self.schema.field(index).name(), index))
            .collect()
    }

    /// The column with the position, if there is one.
    pub(super) fn position_column(&self) -> Option<Column> {
        let index = self.schema.fields().len() - 1;
        self.has_position
            .then(|| Column::new(self.schema.field(index).name(), index))
    }
}

impl DisplayAs for SortKeyExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "SortKeyExec: floats={}, position={}",
            self.floats.len(),
            self.has_position
        )
    }
}

impl ExecutionPlan for SortKeyExec {
    fn name(&self) -> &'static str {
        "SortKeyExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.floats.iter().map(|key| &key.expr), f)
    }

    // The default `replace_children` calls this too.
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("a sort key has one input");
        };
        let node = Self::try_new(input, self.floats.clone(), self.has_position)?;
        Ok(Arc::new(node))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let schema = Arc::clone(&self.schema);
        let floats = self.floats.clone();
        let has_position = self.has_position;
        let mut next_position = (partition as u64) << POSITION_BITS;
        let keyed = input.map(move |batch| {
            let batch = batch?;
            let num_rows = batch.num_rows();
            let mut columns = batch.columns().to_vec();
            for key in &floats {
                let values = key.expr.evaluate(&batch)?.into_array(num_rows)?;
                columns.push(float_key(&values, key.options.descending)?);
            }
            if has_position {
                let end = next_position + num_rows as u64;
                columns.push(Arc::new(UInt64Array::from_iter_values(next_position..end)));
                next_position = end;
            }
            Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            keyed,
        )))
    }
}

/// Floats as integers in the order of the numbers: −0 equals 0, and every NaN comes after every number in
/// both sort directions.
fn float_key(floats: &ArrayRef, descending: bool) -> Result<ArrayRef> {
    let nan = if descending { i64::MIN } else { i64::MAX };
    let floats = &cast(floats, value_type(floats.data_type()))?;
    let keys = match floats.data_type() {
        DataType::Float16 => keys(as_primitive_array::<Float16Type>(floats)?, nan, f64::from),
        DataType::Float32 => keys(as_primitive_array::<Float32Type>(floats)?, nan, f64::from),
        _ => keys(as_primitive_array::<Float64Type>(floats)?, nan, |v| v),
    };
    Ok(Arc::new(keys))
}

fn keys<T: ArrowPrimitiveType>(
    floats: &PrimitiveArray<T>,
    nan: i64,
    widen: impl Fn(T::Native) -> f64,
) -> Int64Array {
    floats.unary(|value| {
        let value = widen(value);
        if value.is_nan() {
            return nan;
        }
        let bits = if value == 0.0 {
            0
        } else {
            value.to_bits() as i64
        };
        // The bits of negative floats order the wrong way, so all but the sign are flipped; see
        // f64::total_cmp.
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Float64Array;

    #[test]
    fn keys_are_in_the_order_of_the_numbers() {
        let floats = [
            f64::NEG_INFINITY,
            -2.5,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            f64::INFINITY,
            f64::NAN,
        ];
        let keys = keys(&Float64Array::from_iter_values(floats), i64::MAX, |v| v);
        assert!(
            keys.values().windows(2).all(|pair| pair[0] < pair[1]),
            "{keys:?}"
        );
        let equal = super::keys(
            &Float64Array::from_iter_values([-0.0, 0.0, -f64::NAN, f64::NAN, f64::NEG_INFINITY]),
            i64::MIN,
            |v| v,
        );
        assert_eq!(equal.value(0), equal.value(1));
        assert_eq!(equal.value(2), equal.value(3));
        assert!(
            equal.value(3) < equal.value(4),
            "NaN is last when descending"
        );
    }
}
