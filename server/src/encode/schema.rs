//! The schema as it is sent.

use std::sync::Arc;

use bytes::Bytes;
use colonnade_core::wire::{
    DecodeError, FieldDescription, Limits, column_type_name, describe_fields,
};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Schema, SchemaRef, UnionFields,
};
use datafusion::arrow::ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};

use crate::message::{IpcMessage, MessageKind};

/// The schema as it is sent. Readers do not expect dictionaries inside dictionaries, maps, unions, list
/// views and run-end encoding, so those are replaced by their values.
pub fn wire_schema(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(wire_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Name, type (as pyarrow prints it) and nullability of each column.
///
/// # Errors
/// The decoder would refuse the schema, for example because it nests too deeply.
pub fn describe(schema: &Schema) -> Result<Vec<FieldDescription>, DecodeError> {
    describe_fields(&schema_message(schema).frame(), &Limits::default())
}

/// The type of a column, as pyarrow prints it.
pub fn type_name(field: &Field) -> String {
    column_type_name(field, field.dict_is_ordered().unwrap_or(false))
}

/// The schema with the types of dictionary values instead of dictionaries.
pub fn unpacked_schema(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(unpacked_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn wire_field(field: &FieldRef) -> FieldRef {
    with_type(field, wire_type(field.data_type()))
}

fn wire_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(key, value) => {
            DataType::Dictionary(key.clone(), Box::new(unpacked_type(value)))
        }
        DataType::List(item) => DataType::List(wire_field(item)),
        DataType::LargeList(item) => DataType::LargeList(wire_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(wire_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(wire_field).collect()),
        other => unpacked_type(other),
    }
}

fn unpacked_field(field: &FieldRef) -> FieldRef {
    with_type(field, unpacked_type(field.data_type()))
}

fn unpacked_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => unpacked_type(value),
        DataType::List(item) => DataType::List(unpacked_field(item)),
        DataType::LargeList(item) => DataType::LargeList(unpacked_field(item)),
        DataType::ListView(item) => DataType::ListView(unpacked_field(item)),
        DataType::LargeListView(item) => DataType::LargeListView(unpacked_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(unpacked_field(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(unpacked_field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(unpacked_field).collect()),
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(Arc::clone(ends), unpacked_field(values))
        }
        DataType::Union(fields, mode) => {
            let fields: UnionFields = fields
                .iter()
                .map(|(id, f)| (id, unpacked_field(f)))
                .collect();
            DataType::Union(fields, *mode)
        }
        other => other.clone(),
    }
}

fn with_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    if &data_type == field.data_type() {
        return Arc::clone(field);
    }
    // A new field, because `with_data_type` would keep the id and order of the dictionary.
    Arc::new(
        Field::new(field.name(), data_type, field.is_nullable())
            .with_metadata(field.metadata().clone()),
    )
}

/// The schema message of a stream.
pub fn schema_message(schema: &Schema) -> IpcMessage {
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut DictionaryTracker::new(false),
        &IpcWriteOptions::default(),
    );
    IpcMessage {
        kind: MessageKind::Schema,
        metadata: Bytes::from(encoded.ipc_message),
        body: Bytes::new(),
        num_rows: 0,
    }
}
