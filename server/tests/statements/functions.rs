//! The functions that the engine registers, and the families of types that they take.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::{Signature, TypeSignature, Volatility};
use datafusion::logical_expr_common::signature::Arity;
use datafusion::prelude::SessionContext;

/// Types that have the same literals and operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Bool,
    Int,
    Float,
    Decimal,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Duration,
    Interval,
    List,
    Struct,
    Map,
    Other,
}

/// All but [`Family::Other`].
pub(crate) const FAMILIES: [Family; 14] = [
    Family::Bool,
    Family::Int,
    Family::Float,
    Family::Decimal,
    Family::Text,
    Family::Bytes,
    Family::Date,
    Family::Time,
    Family::Timestamp,
    Family::Duration,
    Family::Interval,
    Family::List,
    Family::Struct,
    Family::Map,
];

impl Family {
    pub(crate) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Self::Decimal,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Bytes,
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Timestamp(..) => Self::Timestamp,
            DataType::Duration(_) => Self::Duration,
            DataType::Interval(_) => Self::Interval,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Self::List,
            DataType::Struct(_) => Self::Struct,
            DataType::Map(..) => Self::Map,
            other if other.is_integer() => Self::Int,
            _ => Self::Other,
        }
    }

    /// Whether its values are in an order that ORDER BY and joins can use.
    pub(crate) fn is_ordered(self) -> bool {
        !matches!(
            self,
            Self::List | Self::Struct | Self::Map | Self::Interval | Self::Other
        )
    }
}

/// A function and the arguments that it takes.
pub(crate) struct Function {
    pub(crate) name: String,
    /// Whether the same arguments always give the same value.
    pub(crate) is_immutable: bool,
    /// Families of arguments; empty if only the function knows what it takes.
    pub(crate) signatures: Vec<Vec<Family>>,
}

pub(crate) struct Functions {
    pub(crate) scalar: Vec<Function>,
    pub(crate) aggregate: Vec<Function>,
    pub(crate) window: Vec<Function>,
    /// Functions of a list and a lambda.
    pub(crate) higher_order: Vec<String>,
    pub(crate) table: Vec<String>,
}

impl Functions {
    /// All functions of a context, also by their aliases.
    pub(crate) fn of(context: &SessionContext) -> Self {
        let state = context.state();
        Self {
            scalar: named(state.scalar_functions(), |function| function.signature()),
            aggregate: named(state.aggregate_functions(), |function| function.signature()),
            window: named(state.window_functions(), |function| function.signature()),
            higher_order: sorted(state.higher_order_functions()),
            table: sorted(state.table_functions()),
        }
    }
}

fn sorted<F>(functions: &HashMap<String, F>) -> Vec<String> {
    let mut names: Vec<String> = functions.keys().cloned().collect();
    names.sort_unstable();
    names
}

fn named<F>(
    functions: &HashMap<String, Arc<F>>,
    signature: impl Fn(&F) -> &Signature,
) -> Vec<Function> {
    let function = |name: String| {
        let signature = signature(&functions[&name]);
        let mut signatures = Vec::new();
        add_signatures(&signature.type_signature, &mut signatures);
        Function {
            is_immutable: signature.volatility == Volatility::Immutable,
            signatures,
            name,
        }
    };
    sorted(functions).into_iter().map(function).collect()
}

fn add_signatures(signature: &TypeSignature, found: &mut Vec<Vec<Family>>) {
    match (signature, signature.arity()) {
        (TypeSignature::OneOf(several), _) => {
            several.iter().for_each(|one| add_signatures(one, found));
        }
        (TypeSignature::Nullary, _) => found.push(Vec::new()),
        (TypeSignature::ArraySignature(_), Arity::Fixed(count)) => {
            for other in [Family::Int, Family::Text, Family::List] {
                let mut families = vec![other; count];
                families[0] = Family::List;
                found.push(families);
            }
        }
        (TypeSignature::Any(count) | TypeSignature::Comparable(count), _) => {
            found.extend(FAMILIES.map(|family| vec![family; *count]));
        }
        _ => {
            for types in signature.get_example_types() {
                let families: Vec<Family> = types.iter().map(Family::of).collect();
                if !found.contains(&families) {
                    found.push(families);
                }
            }
        }
    }
}
