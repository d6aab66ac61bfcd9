//! Builds the arrays of a batch from the values of records.

use std::mem::take;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder,
    PrimitiveBuilder, StringBuilder, UInt64Builder,
};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};

use super::cursor::{Class, Cursor, Numeral};
use super::fault::{Fault, Parsed};
use super::fields::{FieldIndex, NextField};
use super::misfit::{misfit, unknown_field};
use crate::TextErrorKind;
use crate::json_field::is_json;
use crate::number::Number;
use crate::time::{TimeType, time_array};

/// The values of a field, or of the items of a list.
#[derive(Debug)]
pub(super) struct Column {
    field: FieldRef,
    builder: Builder,
}

#[derive(Debug)]
enum Builder {
    /// Values are checked to be JSON and not kept.
    Skipped,
    Bool(BooleanBuilder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder, u8, i8),
    /// Strings; the values of null rows are 0.
    Times(Vec<i64>, NullBufferBuilder, TimeType),
    Text(StringBuilder),
    Json(StringBuilder),
    Struct(Box<Objects>),
    List(Box<Items>),
}

impl Column {
    /// A column of values that are not kept.
    pub(super) fn skipped(field: &FieldRef) -> Self {
        Self {
            field: Arc::clone(field),
            builder: Builder::Skipped,
        }
    }

    /// An empty column; an error if JSON is not read as the field's type.
    pub(super) fn new(field: &FieldRef) -> Result<Self, ArrowError> {
        let unsupported = |why: &str| {
            Err(ArrowError::SchemaError(format!(
                "field {:?} {why}",
                field.name()
            )))
        };
        if !field.is_nullable() {
            return unsupported("must be nullable");
        }
        let builder = match field.data_type() {
            DataType::Boolean => Builder::Bool(BooleanBuilder::new()),
            DataType::Int64 => Builder::Int64(Int64Builder::new()),
            DataType::UInt64 => Builder::UInt64(UInt64Builder::new()),
            DataType::Float64 => Builder::Float64(Float64Builder::new()),
            &DataType::Decimal128(precision, scale) => {
                let builder =
                    Decimal128Builder::new().with_precision_and_scale(precision, scale)?;
                Builder::Decimal(builder, precision, scale)
            }
            DataType::Utf8 if is_json(field) => Builder::Json(StringBuilder::new()),
            DataType::Utf8 => Builder::Text(StringBuilder::new()),
            DataType::Struct(fields) => Builder::Struct(Box::new(Objects::new(fields)?)),
            DataType::List(item) => Builder::List(Box::new(Items::new(item)?)),
            data_type => match TimeType::of(data_type) {
                Some(time_type) => Builder::Times(Vec::new(), NullBufferBuilder::new(0), time_type),
                None => return unsupported("has a type that is not read from JSON"),
            },
        };
        Ok(Self {
            field: Arc::clone(field),
            builder,
        })
    }

    fn len(&self) -> usize {
        match &self.builder {
            Builder::Skipped => 0,
            Builder::Bool(builder) => builder.len(),
            Builder::Int64(builder) => builder.len(),
            Builder::UInt64(builder) => builder.len(),
            Builder::Float64(builder) => builder.len(),
            Builder::Decimal(builder, ..) => builder.len(),
            Builder::Times(values, ..) => values.len(),
            Builder::Text(builder) | Builder::Json(builder) => builder.len(),
            Builder::Struct(objects) => objects.validity.len(),
            Builder::List(items) => items.validity.len(),
        }
    }
}

impl Column {
    /// Appends the next value.
    #[inline]
    pub(super) fn append(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        let class = cursor.class()?;
        let start = cursor.position();
        if self.append_class(class, cursor)? {
            return Ok(());
        }
        cursor.rewind(start);
        Err(misfit(cursor, &self.field))
    }

    /// Appends the next value; returns false if the type does not hold it.
    #[inline]
    fn append_class(&mut self, class: Class, cursor: &mut Cursor) -> Parsed<bool> {
        if matches!(self.builder, Builder::Skipped) {
            return cursor.skip_value().map(|_| true);
        }
        if class == Class::Null {
            cursor.null()?;
            self.append_null();
            return Ok(true);
        }
        match (&mut self.builder, class) {
            (Builder::Int64(builder), Class::Number) => {
                append_number(builder, cursor, |number| number.to_i64())
            }
            (Builder::UInt64(builder), Class::Number) => {
                append_number(builder, cursor, |number| number.to_u64())
            }
            (Builder::Float64(builder), Class::Number) => append_float(builder, cursor),
            (Builder::Decimal(builder, precision, scale), Class::Number) => {
                append_number(builder, cursor, |number| {
                    number.to_decimal(*precision, *scale)
                })
            }
            (Builder::Times(values, nulls, time_type), Class::String) => {
                let value = time_type.parse(cursor.string()?.as_bytes());
                values.extend(value);
                nulls.append_n_non_nulls(usize::from(value.is_some()));
                Ok(value.is_some())
            }
            (Builder::Text(builder), Class::String) => {
                builder.append_value(cursor.string()?);
                Ok(true)
            }
            (Builder::Json(builder), _) => {
                builder.append_value(cursor.compact_value()?);
                Ok(true)
            }
            (Builder::Bool(builder), Class::Bool) => {
                builder.append_value(cursor.boolean()?);
                Ok(true)
            }
            (Builder::Struct(objects), Class::Object) => objects.append(cursor).map(|()| true),
            (Builder::List(items), Class::Array) => items.append(cursor).map(|()| true),
            _ => Ok(false),
        }
    }

    fn append_null(&mut self) {
        match &mut self.builder {
            Builder::Skipped => {}
            Builder::Bool(builder) => builder.append_null(),
            Builder::Int64(builder) => builder.append_null(),
            Builder::UInt64(builder) => builder.append_null(),
            Builder::Float64(builder) => builder.append_null(),
            Builder::Decimal(builder, ..) => builder.append_null(),
            Builder::Times(values, nulls, _) => {
                values.push(0);
                nulls.append_null();
            }
            Builder::Text(builder) | Builder::Json(builder) => builder.append_null(),
            Builder::Struct(objects) => objects.append_null(),
            Builder::List(items) => items.append_null(),
        }
    }

    /// Appends a null if the column has fewer values than `num_rows`, of which only one can be missing.
    fn fill_to(&mut self, num_rows: usize) {
        if self.len() < num_rows {
            self.append_null();
        }
    }

    /// Like [`Column::fill_to`] for a column in whose last value an error was found.
    fn repair(&mut self, num_rows: usize) {
        if self.len() < num_rows {
            match &mut self.builder {
                Builder::Struct(objects) => objects.repair(num_rows),
                Builder::List(items) => items.repair(),
                _ => self.append_null(),
            }
        }
    }

    /// The values as an array; empties the column.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match &mut self.builder {
            Builder::Skipped => arrow_array::new_empty_array(self.field.data_type()),
            Builder::Bool(builder) => Arc::new(builder.finish()),
            Builder::Int64(builder) => Arc::new(builder.finish()),
            Builder::UInt64(builder) => Arc::new(builder.finish()),
            Builder::Float64(builder) => Arc::new(builder.finish()),
            Builder::Decimal(builder, ..) => Arc::new(builder.finish()),
            Builder::Times(values, nulls, _) => {
                time_array(self.field.data_type(), take(values), nulls.finish())?
            }
            Builder::Text(builder) | Builder::Json(builder) => Arc::new(builder.finish()),
            Builder::Struct(objects) => Arc::new(objects.finish()?),
            Builder::List(items) => Arc::new(items.finish()?),
        })
    }
}

#[inline]
fn append_number<T: ArrowPrimitiveType>(
    builder: &mut PrimitiveBuilder<T>,
    cursor: &mut Cursor,
    convert: impl Fn(Number) -> Option<T::Native>,
) -> Parsed<bool> {
    let value = match cursor.number()? {
        Numeral::Finite(number) => convert(number),
        Numeral::NonFinite(..) => None,
    };
    if let Some(value) = value {
        builder.append_value(value);
    }
    Ok(value.is_some())
}

#[inline]
fn append_float(builder: &mut Float64Builder, cursor: &mut Cursor) -> Parsed<bool> {
    let value = match cursor.number()? {
        Numeral::Finite(number) => number.to_f64(),
        Numeral::NonFinite(_, value) => Some(value),
    };
    if let Some(value) = value {
        builder.append_value(value);
    }
    Ok(value.is_some())
}

/// The values of objects.
#[derive(Debug)]
pub(super) struct Objects {
    fields: Fields,
    index: FieldIndex,
    columns: Vec<Column>,
    validity: NullBufferBuilder,
}

impl Objects {
    fn new(fields: &Fields) -> Result<Self, ArrowError> {
        let columns = fields.iter().map(Column::new).collect::<Result<_, _>>()?;
        Self::with_columns(fields, columns)
    }

    /// Objects of these fields, each with its column.
    pub(super) fn with_columns(fields: &Fields, columns: Vec<Column>) -> Result<Self, ArrowError> {
        let mut index = FieldIndex::default();
        for field in fields {
            if index.find(field.name()).is_some() {
                let message = format!("two fields have the name {:?}", field.name());
                return Err(ArrowError::SchemaError(message));
            }
            index.add(field.name());
        }
        Ok(Self {
            fields: fields.clone(),
            index,
            columns,
            validity: NullBufferBuilder::new(0),
        })
    }

    /// Appends the object that is next.
    pub(super) fn append(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        cursor.open()?;
        self.index.begin_object();
        while let Some(next) = self.index.next_field(cursor)? {
            match next {
                NextField::Known(field) => {
                    if let Some(column) = self.columns.get_mut(field) {
                        column
                            .append(cursor)
                            .map_err(|fault| fault.within(self.index.name(field)))?;
                    }
                }
                NextField::Unknown(name) => return Err(unknown_field(cursor, &name)),
            }
        }
        if !self.index.has_all() {
            self.fill_columns();
        }
        self.validity.append_non_null();
        Ok(())
    }

    fn fill_columns(&mut self) {
        let num_rows = self.validity.len() + 1;
        for column in &mut self.columns {
            column.fill_to(num_rows);
        }
    }

    fn append_null(&mut self) {
        self.fill_columns();
        self.validity.append_null();
    }

    /// Makes all columns as long as `num_rows` after an error in the last object.
    pub(super) fn repair(&mut self, num_rows: usize) {
        for column in &mut self.columns {
            column.repair(num_rows);
        }
        if self.validity.len() < num_rows {
            self.validity.append_null();
        }
    }

    fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let num_rows = self.validity.len();
        let arrays = self
            .columns
            .iter_mut()
            .map(Column::finish)
            .collect::<Result<_, _>>()?;
        let validity = self.validity.finish();
        StructArray::try_new_with_length(self.fields.clone(), arrays, validity, num_rows)
    }

    /// The arrays of all columns, of which those that are skipped are empty; empties the columns.
    pub(super) fn finish_columns(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        self.validity = NullBufferBuilder::new(0);
        self.columns.iter_mut().map(Column::finish).collect()
    }
}

/// The items of arrays.
#[derive(Debug)]
struct Items {
    field: FieldRef,
    column: Column,
    /// The end of each array's items, behind a zero.
    offsets: Vec<i32>,
    validity: NullBufferBuilder,
}

impl Items {
    fn new(field: &FieldRef) -> Result<Self, ArrowError> {
        Ok(Self {
            field: Arc::clone(field),
            column: Column::new(field)?,
            offsets: vec![0],
            validity: NullBufferBuilder::new(0),
        })
    }

    fn append(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        cursor.open()?;
        let mut is_first = true;
        while cursor.next_member(b']', is_first)? {
            self.column
                .append(cursor)
                .map_err(|fault| fault.within(self.field.name()))?;
            is_first = false;
        }
        let end =
            i32::try_from(self.column.len()).map_err(|_| Fault::new(TextErrorKind::TooLong))?;
        self.offsets.push(end);
        self.validity.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.offsets.push(end);
        self.validity.append_null();
    }

    /// Makes the items whole after an error in the last array, and appends a null.
    fn repair(&mut self) {
        self.column.repair(self.column.len() + 1);
        self.append_null();
    }

    fn finish(&mut self) -> Result<ListArray, ArrowError> {
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let items = self.column.finish()?;
        ListArray::try_new(
            Arc::clone(&self.field),
            offsets,
            items,
            self.validity.finish(),
        )
    }
}
