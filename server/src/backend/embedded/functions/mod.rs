//! Limits for the engine's functions whose result can be far larger than their arguments.

mod constants;
mod growth;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};
use datafusion::prelude::SessionContext;

pub(crate) use constants::check_constants;
use growth::{Growth, PerRow, sizes};

/// Bytes that one call may produce for a batch of rows, in addition to the bytes of its arguments.
pub(crate) const MAX_RESULT_BYTES: u64 = 64 << 20;

/// The largest fixed size of a type that a cast may name.
const MAX_FIXED_SIZE: i32 = 1 << 16;

/// Limits each of those functions.
///
/// # Errors
/// The engine has no function of that name.
pub(crate) fn limit_functions(context: &SessionContext) -> Result<()> {
    for growth in Growth::ALL {
        for name in growth.functions() {
            let inner = context.udf(name)?;
            context.register_udf(ScalarUDF::new_from_impl(Limited { inner, growth }));
        }
    }
    Ok(())
}

/// A function that refuses to produce more than [`MAX_RESULT_BYTES`].
#[derive(Debug, PartialEq, Eq, Hash)]
struct Limited {
    inner: Arc<ScalarUDF>,
    growth: Growth,
}

impl Limited {
    fn refuse(&self, num_bytes: u64, max_bytes: u64) -> DataFusionError {
        DataFusionError::Execution(format!(
            "{} would produce {num_bytes} bytes for one batch of rows, and may produce {max_bytes}; use smaller counts or shorter texts",
            self.name()
        ))
    }

    /// Calls the function for slices of rows whose bound is within the limit, and adds up the bytes that the
    /// calls produce.
    fn call_in_slices(
        &self,
        args: &ScalarFunctionArgs,
        bounds: &PerRow,
        max_bytes: u64,
    ) -> Result<ColumnarValue> {
        let (mut chunks, mut made_bytes, mut start) = (Vec::<ArrayRef>::new(), 0, 0);
        while start < args.number_rows {
            let (mut end, mut bound) = (start, 0_u64);
            while end < args.number_rows {
                let with_next = bound.saturating_add(bounds.get(end));
                if with_next > max_bytes && end > start {
                    break;
                }
                (bound, end) = (with_next, end + 1);
            }
            if bound > max_bytes {
                return Err(self.refuse(bound, max_bytes));
            }
            let num_rows = end - start;
            let chunk = ScalarFunctionArgs {
                args: args
                    .args
                    .iter()
                    .map(|arg| slice(arg, start, num_rows))
                    .collect(),
                number_rows: num_rows,
                ..args.clone()
            };
            let made = self.inner.invoke_with_args(chunk)?.into_array(num_rows)?;
            made_bytes += sizes(&made).total();
            if made_bytes > max_bytes {
                return Err(self.refuse(made_bytes, max_bytes));
            }
            chunks.push(made);
            start = end;
        }
        let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&chunks)?))
    }
}

impl ScalarUDFImpl for Limited {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        if self.growth == Growth::Type && fixed_size(field.data_type()) > MAX_FIXED_SIZE {
            return Err(DataFusionError::Plan(format!(
                "{} to {} is too wide; a fixed size may be at most {MAX_FIXED_SIZE}",
                self.name(),
                field.data_type()
            )));
        }
        Ok(field)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bounds = self.growth.bounds(&args)?;
        let total_bytes = bounds.total();
        if total_bytes <= MAX_RESULT_BYTES {
            return self.inner.invoke_with_args(args);
        }
        let is_constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let given_bytes: u64 = args.args.iter().map(array_bytes).sum();
        let max_bytes = MAX_RESULT_BYTES.saturating_add(given_bytes);
        if total_bytes <= max_bytes {
            self.inner.invoke_with_args(args)
        } else if self.growth.is_exact() || args.args.iter().all(is_constant) {
            Err(self.refuse(total_bytes, max_bytes))
        } else {
            self.call_in_slices(&args, &bounds, max_bytes)
        }
    }

    fn simplify(
        &self,
        args: Vec<datafusion::logical_expr::Expr>,
        info: &datafusion::logical_expr::simplify::SimplifyContext,
    ) -> Result<datafusion::logical_expr::simplify::ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

fn slice(arg: &ColumnarValue, start: usize, num_rows: usize) -> ColumnarValue {
    match arg {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(start, num_rows)),
        scalar @ ColumnarValue::Scalar(_) => scalar.clone(),
    }
}

fn array_bytes(arg: &ColumnarValue) -> u64 {
    match arg {
        ColumnarValue::Array(array) => sizes(array).total(),
        ColumnarValue::Scalar(_) => 0,
    }
}

fn fixed_size(data_type: &DataType) -> i32 {
    match data_type {
        DataType::FixedSizeBinary(size) => *size,
        DataType::FixedSizeList(item, size) => {
            size.saturating_mul(fixed_size(item.data_type()).max(1))
        }
        DataType::List(item) | DataType::LargeList(item) => fixed_size(item.data_type()),
        DataType::Struct(fields) => fields
            .iter()
            .map(|field| fixed_size(field.data_type()))
            .fold(0, i32::saturating_add),
        DataType::Dictionary(_, value) => fixed_size(value),
        _ => 1,
    }
}
