//! The columns of a table whose files have other columns or types than each other.

use std::cmp::max;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit,
};
use datafusion::common::nested_struct::cast_column;
use datafusion::error::Result as DataFusionResult;

/// The key of a field's metadata that names an extension type.
const EXTENSION_NAME: &str = "ARROW:extension:name";

/// The columns of all files, by name: those of the first file, and behind them those that only later files have.
/// A column that a file lacks is null there. Types that differ become one that holds the values of both exactly.
/// Each schema comes with the label of its file.
///
/// # Errors
/// One line: which file has none of the columns before it, or a column of a type that fits no type before it.
pub(super) fn merge<'a>(
    mut schemas: impl Iterator<Item = (&'a str, &'a SchemaRef)>,
) -> Result<SchemaRef, String> {
    let (_, first) = schemas.next().ok_or("no file matches")?;
    let mut columns = Columns::default();
    columns.fields.extend(first.fields().iter().cloned());
    columns.index();
    let mut last = first;
    for (label, next) in schemas {
        if next.fields() != last.fields() {
            columns
                .add(next)
                .map_err(|error| format!("{label}: {error}"))?;
            last = next;
        }
    }
    let metadata = first.metadata().clone();
    Ok(Arc::new(Schema::new_with_metadata(
        columns.fields,
        metadata,
    )))
}

#[derive(Default)]
struct Columns {
    fields: Vec<FieldRef>,
    positions: HashMap<String, usize>,
}

impl Columns {
    fn index(&mut self) {
        let names = self.fields.iter().map(|field| field.name().clone());
        self.positions = names.zip(0..).collect();
    }

    fn add(&mut self, schema: &Schema) -> Result<(), String> {
        let position = |field: &FieldRef| self.positions.get(field.name()).copied();
        let found: Vec<_> = schema.fields().iter().map(position).collect();
        if !self.fields.is_empty() && found.iter().all(Option::is_none) {
            return Err("it has none of the columns of the files before it; one table needs columns in common".to_owned());
        }
        let found_ones: HashSet<usize> = found.iter().flatten().copied().collect();
        for (index, field) in self.fields.iter_mut().enumerate() {
            if !found_ones.contains(&index) {
                *field = nullable(field);
            }
        }
        for (field, position) in schema.fields().iter().zip(found) {
            match position {
                Some(position) => {
                    let before = &mut self.fields[position];
                    *before = widened_field(before, field).ok_or_else(|| {
                        format!(
                            "column {:?} is {}, but {} in the files before it; one table needs types of which one holds the values of all",
                            field.name(),
                            field.data_type(),
                            before.data_type()
                        )
                    })?;
                }
                None => self.fields.push(nullable(field)),
            }
        }
        self.index();
        Ok(())
    }
}

/// The field of a column that some files lack.
fn nullable(field: &FieldRef) -> FieldRef {
    let data_type = or_null(field.data_type());
    let nullable = field.as_ref().clone().with_data_type(data_type);
    Arc::new(nullable.with_nullable(true))
}

/// The type of a column that has no values in some files. It has no dictionary, which would change with each such file.
fn or_null(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) if !values.is_nested() => values.as_ref().clone(),
        other => other.clone(),
    }
}

/// The field that holds the values of both, with the name and the metadata of the first.
fn widened_field(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let is_nullable = a.is_nullable() || b.is_nullable();
    if a.data_type() == b.data_type() && is_nullable == a.is_nullable() {
        return Some(Arc::clone(a));
    }
    let is_extension = |field: &Field| field.metadata().contains_key(EXTENSION_NAME);
    let data_type = widened(a.data_type(), b.data_type())?;
    if a.data_type() != b.data_type() && (is_extension(a) || is_extension(b)) {
        return None;
    }
    let field = a.as_ref().clone().with_data_type(data_type);
    Some(Arc::new(field.with_nullable(is_nullable)))
}

/// The type that holds all values of both exactly, as far as its range is not smaller than theirs: times of a coarse
/// unit can be outside the years of a finer one.
fn widened(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    if a == b {
        return Some(a.clone());
    }
    if has_repeated_names(a) || has_repeated_names(b) {
        // Fields of structs are matched by name.
        return None;
    }
    match (a, b) {
        (T::Null, other) | (other, T::Null) => Some(or_null(other)),
        (T::Dictionary(_, a), T::Dictionary(_, b)) => widened_values(a, b),
        (T::Dictionary(_, values), other) => widened_values(values, other),
        (other, T::Dictionary(_, values)) => widened_values(other, values),
        (T::Struct(a), T::Struct(b)) => widened_struct(a, b),
        (T::List(a), T::List(b)) => Some(T::List(widened_field(a, b)?)),
        (T::LargeList(a), T::LargeList(b)) => Some(T::LargeList(widened_field(a, b)?)),
        (T::FixedSizeList(a, size), T::FixedSizeList(b, other)) if size == other => {
            Some(T::FixedSizeList(widened_field(a, b)?, *size))
        }
        (T::List(a) | T::LargeList(a), T::List(b) | T::LargeList(b)) => {
            let is_same = a.data_type() == b.data_type();
            is_same.then(|| Some(T::LargeList(widened_field(a, b)?)))?
        }
        (T::Map(a, is_sorted), T::Map(b, other)) if is_sorted == other => {
            Some(T::Map(widened_entries(a, b)?, *is_sorted))
        }
        (T::Timestamp(a, zone), T::Timestamp(b, other)) if zone == other => {
            Some(T::Timestamp(*finer(a, b), zone.clone()))
        }
        (T::Duration(a), T::Duration(b)) => Some(T::Duration(*finer(a, b))),
        (T::Time32(a) | T::Time64(a), T::Time32(b) | T::Time64(b)) => Some(match finer(a, b) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(*unit),
            unit => T::Time64(*unit),
        }),
        _ => widened_texts(a, b).or_else(|| widened_numbers(a, b)),
    }
}

/// As [`widened`], for types that are not nested, since those in dictionaries cannot be converted.
fn widened_values(a: &DataType, b: &DataType) -> Option<DataType> {
    let is_plain = !a.is_nested() && !b.is_nested();
    is_plain.then(|| widened(a, b)).flatten()
}

fn widened_struct(a: &Fields, b: &Fields) -> Option<DataType> {
    let mut fields: Vec<FieldRef> = Vec::with_capacity(a.len());
    for field in a {
        fields.push(match b.find(field.name()) {
            Some((_, other)) => widened_field(field, other)?,
            None => nullable(field),
        });
    }
    let is_new = |field: &&FieldRef| a.find(field.name()).is_none();
    let new: Vec<_> = b.iter().filter(is_new).map(nullable).collect();
    if new.len() == b.len() {
        return None;
    }
    fields.extend(new);
    Some(DataType::Struct(fields.into()))
}

/// The entries of maps. Arrow converts them by position, so their parts must not be nested.
fn widened_entries(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let (DataType::Struct(of_a), DataType::Struct(of_b)) = (a.data_type(), b.data_type()) else {
        return None;
    };
    let parts = of_a.iter().zip(of_b).map(|(a, b)| {
        let is_same = a.data_type() == b.data_type();
        let is_plain = !a.data_type().is_nested() && !b.data_type().is_nested();
        (is_same || is_plain).then(|| widened_field(a, b)).flatten()
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    let entries = a.as_ref().clone();
    Some(Arc::new(
        entries.with_data_type(DataType::Struct(parts.into())),
    ))
}

fn finer<'a>(a: &'a TimeUnit, b: &'a TimeUnit) -> &'a TimeUnit {
    let parts = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    if parts(a) < parts(b) { b } else { a }
}

fn widened_texts(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    let one_of = |types: &[T]| {
        let both = types.contains(a) && types.contains(b);
        let widest = types.iter().find(|data_type| [a, b].contains(data_type));
        widest.filter(|_| both).cloned()
    };
    let is_fixed = |data_type: &T| matches!(data_type, T::FixedSizeBinary(_));
    let bytes = [T::LargeBinary, T::BinaryView, T::Binary];
    match (is_fixed(a), is_fixed(b)) {
        (true, true) => Some(T::Binary),
        (true, false) => Some(b.clone()).filter(|b| bytes.contains(b)),
        (false, true) => Some(a.clone()).filter(|a| bytes.contains(a)),
        (false, false) => one_of(&[T::LargeUtf8, T::Utf8View, T::Utf8]).or_else(|| one_of(&bytes)),
    }
}

/// What a number's type can hold.
enum Number {
    /// Whether it has a sign, and its bits.
    Integer(bool, u8),
    /// Bits.
    Float(u8),
    /// Bits, digits before the point, and digits behind it.
    Decimal(u16, i16, i16),
}

impl Number {
    fn of(data_type: &DataType) -> Option<Self> {
        use DataType as T;
        Some(match data_type {
            T::Int8 => Self::Integer(true, 8),
            T::Int16 => Self::Integer(true, 16),
            T::Int32 => Self::Integer(true, 32),
            T::Int64 => Self::Integer(true, 64),
            T::UInt8 => Self::Integer(false, 8),
            T::UInt16 => Self::Integer(false, 16),
            T::UInt32 => Self::Integer(false, 32),
            T::UInt64 => Self::Integer(false, 64),
            T::Float16 => Self::Float(16),
            T::Float32 => Self::Float(32),
            T::Float64 => Self::Float(64),
            T::Decimal32(precision, scale) => Self::decimal(32, *precision, *scale),
            T::Decimal64(precision, scale) => Self::decimal(64, *precision, *scale),
            T::Decimal128(precision, scale) => Self::decimal(128, *precision, *scale),
            T::Decimal256(precision, scale) => Self::decimal(256, *precision, *scale),
            _ => return None,
        })
    }

    fn decimal(bits: u16, precision: u8, scale: i8) -> Self {
        let (precision, scale) = (i16::from(precision), i16::from(scale));
        Self::Decimal(bits, precision - scale, scale)
    }

    /// An integer as a decimal.
    fn integer_as_decimal(is_signed: bool, bits: u8) -> Self {
        let digits = match bits {
            8 => 3,
            16 => 5,
            32 => 10,
            _ if is_signed => 19,
            _ => 20,
        };
        Self::Decimal(32, digits, 0)
    }
}

fn widened_numbers(a: &DataType, b: &DataType) -> Option<DataType> {
    use Number::{Decimal, Float, Integer};
    match (Number::of(a)?, Number::of(b)?) {
        (Integer(true, a), Integer(true, b)) => Some(signed(max(a, b))),
        (Integer(false, a), Integer(false, b)) => Some(unsigned(max(a, b))),
        (Integer(true, bits), Integer(false, 64)) | (Integer(false, 64), Integer(true, bits)) => {
            let other = Number::integer_as_decimal(true, bits);
            widened_decimals(Number::integer_as_decimal(false, 64), other)
        }
        (Integer(true, signs), Integer(false, bits))
        | (Integer(false, bits), Integer(true, signs)) => Some(signed(max(signs, 2 * bits))),
        (Float(a), Float(b)) => Some(float(max(a, b))),
        (Integer(_, 64), Float(_)) | (Float(_), Integer(_, 64)) => None,
        (Integer(_, integer), Float(bits)) | (Float(bits), Integer(_, integer)) => {
            Some(float(max(bits, 2 * integer)))
        }
        (Integer(is_signed, bits), decimal @ Decimal(..))
        | (decimal @ Decimal(..), Integer(is_signed, bits)) => {
            widened_decimals(Number::integer_as_decimal(is_signed, bits), decimal)
        }
        (a @ Decimal(..), b @ Decimal(..)) => widened_decimals(a, b),
        (Decimal(..), Float(_)) | (Float(_), Decimal(..)) => None,
    }
}

fn signed(bits: u8) -> DataType {
    match bits {
        8 => DataType::Int8,
        16 => DataType::Int16,
        32 => DataType::Int32,
        _ => DataType::Int64,
    }
}

fn unsigned(bits: u8) -> DataType {
    match bits {
        8 => DataType::UInt8,
        16 => DataType::UInt16,
        32 => DataType::UInt32,
        _ => DataType::UInt64,
    }
}

fn float(bits: u8) -> DataType {
    match bits {
        16 => DataType::Float16,
        32 => DataType::Float32,
        _ => DataType::Float64,
    }
}

fn widened_decimals(a: Number, b: Number) -> Option<DataType> {
    let (Number::Decimal(a_bits, a_before, a_behind), Number::Decimal(b_bits, b_before, b_behind)) =
        (a, b)
    else {
        return None;
    };
    let scale = max(a_behind, b_behind);
    let precision = u8::try_from(max(a_before, b_before) + scale).ok()?.max(1);
    let scale = i8::try_from(scale).ok()?;
    let least = max(a_bits, b_bits);
    [
        (32, 9, DataType::Decimal32(precision, scale)),
        (64, 18, DataType::Decimal64(precision, scale)),
        (128, 38, DataType::Decimal128(precision, scale)),
        (256, 76, DataType::Decimal256(precision, scale)),
    ]
    .into_iter()
    .find(|(bits, digits, _)| *bits >= least && precision <= *digits)
    .map(|(_, _, data_type)| data_type)
}

fn has_repeated_names(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            let mut names = HashSet::new();
            let mut fields = fields.iter();
            fields.any(|field| !names.insert(field.name()) || has_repeated_names(field.data_type()))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_repeated_names(field.data_type()),
        _ => false,
    }
}

/// The values as those of a type that [`merge`] found for them.
///
/// # Errors
/// A value is outside the range of that type.
pub(super) fn widen(values: &ArrayRef, to: &DataType) -> DataFusionResult<ArrayRef> {
    if values.data_type() == to {
        return Ok(Arc::clone(values));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_column(values, to, &options)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::new_null_array;

    use super::*;

    fn dictionary(values: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(values))
    }

    fn list(data_type: DataType) -> DataType {
        DataType::List(Arc::new(Field::new("item", data_type, true)))
    }

    fn group(fields: &[(&str, DataType)]) -> DataType {
        let fields = fields.iter();
        let fields = fields.map(|(name, of)| Field::new(*name, of.clone(), true));
        DataType::Struct(fields.collect())
    }

    #[test]
    fn the_widest_type_holds_the_values_of_both() {
        use DataType as T;
        for (a, b, expected) in [
            (T::Int8, T::Int64, Some(T::Int64)),
            (T::UInt8, T::Int8, Some(T::Int16)),
            (T::UInt32, T::Int8, Some(T::Int64)),
            (T::UInt64, T::Int8, Some(T::Decimal128(20, 0))),
            (T::UInt64, T::UInt16, Some(T::UInt64)),
            (T::Float16, T::Int8, Some(T::Float16)),
            (T::Float32, T::Int32, Some(T::Float64)),
            (T::Float64, T::Int64, None),
            (T::Float64, T::Decimal128(9, 2), None),
            (T::Int64, T::Decimal128(9, 2), Some(T::Decimal128(21, 2))),
            (T::Int8, T::Decimal32(9, 2), Some(T::Decimal32(9, 2))),
            (
                T::Decimal32(9, 2),
                T::Decimal64(18, 4),
                Some(T::Decimal64(18, 4)),
            ),
            (
                T::Decimal128(38, 0),
                T::Decimal128(38, 9),
                Some(T::Decimal256(47, 9)),
            ),
            (T::Decimal256(76, 0), T::Decimal128(38, 9), None),
            (
                T::Decimal128(5, -2),
                T::Decimal128(5, 2),
                Some(T::Decimal128(9, 2)),
            ),
            (T::Utf8, T::LargeUtf8, Some(T::LargeUtf8)),
            (T::Utf8, T::Binary, None),
            (
                T::FixedSizeBinary(4),
                T::FixedSizeBinary(5),
                Some(T::Binary),
            ),
            (
                T::Time32(TimeUnit::Second),
                T::Time64(TimeUnit::Nanosecond),
                Some(T::Time64(TimeUnit::Nanosecond)),
            ),
            (T::Date32, T::Timestamp(TimeUnit::Second, None), None),
            (
                T::Timestamp(TimeUnit::Second, None),
                T::Timestamp(TimeUnit::Second, Some("UTC".into())),
                None,
            ),
            (T::Null, list(T::Int8), Some(list(T::Int8))),
            (T::Null, dictionary(T::Utf8), Some(T::Utf8)),
            (T::Boolean, T::Int8, None),
            (dictionary(T::Utf8), T::LargeUtf8, Some(T::LargeUtf8)),
            (dictionary(list(T::Int8)), list(T::Int64), None),
            (list(T::Int8), list(T::Int64), Some(list(T::Int64))),
            (
                group(&[("a", T::Int8), ("b", T::Utf8)]),
                group(&[("c", T::Int8), ("a", T::Int64)]),
                Some(group(&[("a", T::Int64), ("b", T::Utf8), ("c", T::Int8)])),
            ),
            (group(&[("a", T::Int8)]), group(&[("b", T::Int8)]), None),
            (
                group(&[("a", T::Int8), ("a", T::Int8)]),
                group(&[("a", T::Int64)]),
                None,
            ),
        ] {
            for (a, b) in [(&a, &b), (&b, &a)] {
                let found = widened(a, b);
                let is_struct = matches!(found, Some(T::Struct(_)));
                assert!(found == expected || is_struct, "{a} and {b}: {found:?}");
                let Some(found) = found else { continue };
                for data_type in [a, b] {
                    let nulls = widen(&new_null_array(data_type, 3), &found);
                    assert_eq!(nulls.unwrap().null_count(), 3, "{data_type} as {found}");
                }
            }
        }
    }
}
