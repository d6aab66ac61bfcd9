//! What the Parquet library does not know of its files.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use colonnade_core::semantics::distinct_names;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{ConvertedType, LogicalType, SortOrder, Type as PhysicalType};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::{BasicTypeInfo, SchemaDescriptor, Type};

use super::edits::{with_stated, with_stored_schema};

/// Arrow C++ before 3.0, which states that its pages of version 2 are not compressed, although they are.
const WRONG_WRITER: &str = "parquet-cpp version 1.";

/// The key and the names of extension types in the metadata of a field.
const EXTENSION_NAME: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";
const JSON: &str = "arrow.json";

/// What is wrong with such pages.
pub const WRONG_COMPRESSION: &str = "the pages of parquet-cpp version 1 are compressed, but state that they are not; write the file again with a later version";

/// Whether the writer of a file states of its pages of version 2 that they are not compressed, although they are.
#[must_use]
pub fn has_wrong_compression(footer: &ParquetMetaData) -> bool {
    let writer = footer.file_metadata().created_by();
    writer.is_some_and(|writer| writer.starts_with(WRONG_WRITER))
}

/// The footer of a file of `num_rows` rows. Early versions of parquet-rs stated 0, and the reader would stop there.
#[must_use]
pub fn with_num_rows(footer: ParquetMetaData, num_rows: u64) -> ParquetMetaData {
    let stated = footer.file_metadata();
    if stated.num_rows() != 0 || num_rows == 0 {
        return footer;
    }
    with_stated(&footer, |stated| stated.num_rows = num_rows as i64)
}

/// The footer without the statistics of early writers, whose order is not that of the column: "These fields encode min and
/// max values determined by signed comparison only." Unsigned integers have another order, and of bytes, such as texts and
/// long decimals, each was compared as a signed number.
///
/// # Errors
/// The footer contradicts itself.
pub fn without_signed_order(footer: ParquetMetaData) -> Result<ParquetMetaData> {
    let is_other = |column: &ColumnChunkMetaData| {
        let is_number = matches!(
            column.column_type(),
            PhysicalType::INT32 | PhysicalType::INT64 | PhysicalType::FLOAT | PhysicalType::DOUBLE
        );
        let is_signed = is_number && column.column_descr().sort_order() == SortOrder::SIGNED;
        let statistics = column.statistics();
        !is_signed && statistics.is_some_and(Statistics::is_min_max_deprecated)
    };
    let groups = footer.row_groups().iter();
    if !groups.flat_map(|group| group.columns()).any(is_other) {
        return Ok(footer);
    }
    let groups = footer.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(|column| match is_other(column) {
            true => column.clone().into_builder().clear_statistics().build(),
            false => Ok(column.clone()),
        });
        let columns = columns.collect::<Result<_>>()?;
        let group = group.clone().into_builder();
        group.set_column_metadata(columns).build()
    });
    let groups = groups.collect::<Result<_>>()?;
    Ok(footer.into_builder().set_row_groups(groups).build())
}

/// The footer with columns that can be told apart, because they are found by their names; `None` if it has such columns.
///
/// # Errors
/// A column with a new name has no valid type.
pub(super) fn with_distinct_names(footer: &ParquetMetaData) -> Result<Option<ParquetMetaData>> {
    let stated = footer.file_metadata();
    let fields = stated.schema().get_fields();
    let names = distinct_names(fields.iter().map(|field| field.name()));
    if fields.iter().map(|field| field.name()).eq(&names) {
        return Ok(None);
    }
    let arrow = parquet_to_arrow_schema(stated.schema_descr(), stated.key_value_metadata())?;
    let footer = with_stored_schema(footer, &arrow_with_names(&arrow, &names));
    let fields = fields.iter().zip(&names);
    let fields = fields.map(|(field, name)| Ok(Arc::new(with_name(field, name)?)));
    let root = Type::group_type_builder(stated.schema().name())
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let columns = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    Ok(Some(with_stated(&footer, |stated| {
        stated.columns = columns;
    })))
}

fn arrow_with_names(schema: &Schema, names: &[String]) -> Schema {
    let fields = schema.fields().iter().zip(names);
    let fields = fields.map(|(field, name)| Field::clone(field).with_name(name.as_str()));
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

fn with_name(field: &Type, name: &str) -> Result<Type> {
    let info = field.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match field {
        Type::PrimitiveType {
            physical_type,
            type_length,
            scale,
            precision,
            ..
        } => Type::primitive_type_builder(name, *physical_type)
            .with_repetition(info.repetition())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_length(*type_length)
            .with_precision(*precision)
            .with_scale(*scale)
            .with_id(id)
            .build(),
        Type::GroupType { fields, .. } => Type::group_type_builder(name)
            .with_repetition(info.repetition())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(fields.clone())
            .with_id(id)
            .build(),
    }
}

/// The columns of a file, with Arrow's extension types for UUID and JSON.
#[must_use]
pub fn with_extension_types(schema: &Schema, footer: &ParquetMetaData) -> SchemaRef {
    let stored = footer.file_metadata().schema().get_fields();
    let fields = schema.fields().iter().zip(stored).map(|(field, stored)| {
        let name = extension_name(stored.get_basic_info(), field.data_type());
        match name.filter(|_| !field.metadata().contains_key(EXTENSION_NAME)) {
            Some(name) => Arc::new(with_extension_type(field, name)),
            None => Arc::clone(field),
        }
    });
    let metadata = schema.metadata().clone();
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        metadata,
    ))
}

fn extension_name(stored: &BasicTypeInfo, data_type: &DataType) -> Option<&'static str> {
    let logical = stored.logical_type_ref();
    let is_json =
        logical == Some(&LogicalType::Json) || stored.converted_type() == ConvertedType::JSON;
    match (logical, data_type) {
        (Some(LogicalType::Uuid), DataType::FixedSizeBinary(16)) => Some(UUID),
        (_, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) if is_json => Some(JSON),
        _ => None,
    }
}

fn with_extension_type(field: &Field, name: &str) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION_NAME.to_owned(), name.to_owned());
    field.clone().with_metadata(metadata)
}
