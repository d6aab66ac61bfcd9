//! The fields of structs that are null.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

/// Replaces DataFusion's `get_field` by one that is null where the struct is null.
///
/// Arrow's struct has its own nulls; its fields may have any values there, and readers of Parquet fill those of
/// required fields. DataFusion 55 returns them ([DataFusion issue 25120](https://github.com/apache/datafusion/issues/25120),
/// mended in later versions).
#[derive(Debug)]
pub(crate) struct FieldsOfNullStructs(Arc<ScalarUDF>);

impl FieldsOfNullStructs {
    pub(crate) fn new() -> Self {
        let function = StructField(GetFieldFunc::new());
        Self(Arc::new(ScalarUDF::new_from_impl(function)))
    }
}

impl FunctionRewrite for FieldsOfNullStructs {
    fn name(&self) -> &'static str {
        "fields_of_null_structs"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::ScalarFunction(call) if call.func.inner().is::<GetFieldFunc>() => {
                let call = ScalarFunction::new_udf(Arc::clone(&self.0), call.args);
                Transformed::yes(Expr::ScalarFunction(call))
            }
            other => Transformed::no(other),
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct StructField(GetFieldFunc);

impl ScalarUDFImpl for StructField {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.0.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let names = args.args.split_off(1);
        let mut current = args.args.swap_remove(0);
        for name in names {
            let step = ScalarFunctionArgs {
                args: vec![current.clone(), name],
                ..args.clone()
            };
            let field = self.0.invoke_with_args(step)?;
            current = null_where_null(&current, field)?;
        }
        Ok(current)
    }
}

/// The field of `parent`, null where `parent` is null.
fn null_where_null(parent: &ColumnarValue, field: ColumnarValue) -> Result<ColumnarValue> {
    let ColumnarValue::Array(field) = field else {
        return Ok(field);
    };
    let parents = ColumnarValue::values_to_arrays(std::slice::from_ref(parent))?;
    let parent = &parents[0];
    let field = match parent.data_type() {
        DataType::Struct(_) => masked(&field, parent.nulls())?,
        DataType::Dictionary(..) => {
            let (parents, fields) = (parent.as_any_dictionary(), field.as_any_dictionary());
            fields.with_values(masked(fields.values(), parents.values().nulls())?)
        }
        _ => field,
    };
    Ok(ColumnarValue::Array(field))
}

fn masked(field: &ArrayRef, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
    let has_nulls = !matches!(
        field.data_type(),
        // Their nulls are those of other arrays.
        DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..)
    );
    match parent {
        Some(nulls) if has_nulls && nulls.null_count() > 0 => {
            let is_null = BooleanArray::new(!nulls.inner(), None);
            Ok(nullif(field, &is_null)?)
        }
        _ => Ok(Arc::clone(field)),
    }
}
