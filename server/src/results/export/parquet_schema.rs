//! The columns that Parquet can hold, and their types in the file.

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit,
};

use super::not_exportable;
use crate::error::QueryError;

/// The schema of the file. It differs from the result's where Parquet has another type for the same values:
/// seconds become milliseconds, a date64 becomes a timestamp in milliseconds, a decimal of thousands gets scale 0. Run
/// ends, and dictionaries of other values than texts and bytes, are unpacked.
///
/// # Errors
/// `not_exportable`, for the first column that Parquet cannot hold without loss.
pub(super) fn parquet_schema(schema: &Schema) -> Result<SchemaRef, QueryError> {
    if schema.fields().is_empty() {
        return Err(not_exportable(
            "the result has no columns, so Parquet cannot hold its rows",
            "export it as arrow or ndjson",
        ));
    }
    let fields = schema
        .fields()
        .iter()
        .map(|field| {
            plain_field(field).map_err(|why| {
                not_exportable(
                    format!("column {:?} is {why}, which Parquet cannot hold", field.name()),
                    "export it as arrow, csv or ndjson, or leave the column out or cast it in the query",
                )
            })
        })
        .collect::<Result<Fields, _>>()?;
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        schema.metadata().clone(),
    )))
}

fn plain_field(field: &FieldRef) -> Result<FieldRef, &'static str> {
    let plain = plain_type(field.data_type())?;
    if &plain == field.data_type() {
        return Ok(Arc::clone(field));
    }
    Ok(Arc::new(
        Field::new(field.name(), plain, field.is_nullable())
            .with_metadata(field.metadata().clone()),
    ))
}

fn plain_type(data_type: &DataType) -> Result<DataType, &'static str> {
    Ok(match data_type {
        DataType::Union(..) => return Err("a union"),
        // Parquet's own interval has no sign and no nanoseconds.
        DataType::Interval(_) => return Err("an interval"),
        DataType::Struct(fields) if fields.is_empty() => return Err("a struct without fields"),
        // Parquet has no type for seconds or for a date64; pyarrow would read plain integers.
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type())?,
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                data_type.clone()
            }
            other => plain_type(other)?,
        },
        // The library has no 32-bit column for one digit.
        DataType::Decimal32(1, scale @ 0..) => DataType::Decimal64(1, *scale),
        DataType::Decimal32(precision, scale @ ..0)
        | DataType::Decimal64(precision, scale @ ..0)
        | DataType::Decimal128(precision, scale @ ..0)
        | DataType::Decimal256(precision, scale @ ..0) => {
            match precision.saturating_add(scale.unsigned_abs()) {
                digits @ ..=38 => DataType::Decimal128(digits, 0),
                digits @ ..=76 => DataType::Decimal256(digits, 0),
                _ => return Err("a decimal of more than 76 digits"),
            }
        }
        DataType::List(item) => DataType::List(plain_field(item)?),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)?),
        DataType::ListView(item) => DataType::ListView(plain_field(item)?),
        DataType::LargeListView(item) => DataType::LargeListView(plain_field(item)?),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(plain_field(item)?, *size),
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries)?, *sorted),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(plain_field).collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}
