//! A search of cells as a condition on rows.

use std::sync::Arc;

use colonnade_core::semantics::{Matches, Pattern, may_hold};
use colonnade_core::text::{CellKind, CellText, Extension, write_cell};
use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};

use crate::encode::IanaTimeZones;
use crate::error::QueryError;

/// Rows of `schema` with a cell in which a search finds the text.
///
/// # Errors
/// `unknown_column`.
pub(super) fn matches_expr(matches: &Matches, schema: &Schema) -> Result<Expr, QueryError> {
    let named = |name: &&str| {
        let unknown = || QueryError::unknown_column("there is", name, schema.fields());
        schema.field_with_name(name).map_err(|_| unknown())
    };
    let fields: Vec<&Field> = match &matches.columns {
        None => schema.fields().iter().map(AsRef::as_ref).collect(),
        Some(names) => names.iter().map(named).collect::<Result<_, _>>()?,
    };
    let columns: Vec<Expr> = fields
        .into_iter()
        .filter(|field| Extension::of(field).is_some() || may_hold(field.data_type(), matches.text))
        .map(|field| Expr::Column(Column::new_unqualified(field.name())))
        .collect();
    if columns.is_empty() {
        return Ok(lit(false));
    }
    let search = CellSearch {
        text: matches.text.to_owned(),
        match_case: matches.match_case,
        signature: Signature::variadic_any(Volatility::Immutable),
    };
    Ok(ScalarUDF::new_from_impl(search).call(columns))
}

/// Whether a cell of its columns contains the text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CellSearch {
    text: String,
    match_case: bool,
    signature: Signature,
}

impl ScalarUDFImpl for CellSearch {
    fn name(&self) -> &'static str {
        "a cell matches"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), DataType::Boolean, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let pattern = Pattern::new(&self.text, self.match_case);
        let (mut text, mut letters) = (String::new(), Vec::new());
        let mut is_found = vec![false; args.number_rows];
        for (value, field) in args.args.iter().zip(&args.arg_fields) {
            let array = value.to_array(args.number_rows)?;
            let extension = Extension::of(field);
            for (index, is_found) in is_found.iter_mut().enumerate() {
                if *is_found {
                    continue;
                }
                text.clear();
                let mut out = CellText::new(&mut text, 0);
                let kind = write_cell(&array, extension, index, &IanaTimeZones, &mut out);
                *is_found = kind != CellKind::Null && pattern.is_in(&text, &mut letters);
            }
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(is_found))))
    }
}
