//! The Arrow schema that a writer of Parquet stores beside the columns, as far as the Parquet library can follow it.

use std::sync::Arc;

use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_schema::DataType::{
    Binary, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeListView, LargeUtf8, List,
    ListView, Map, Struct, Timestamp, Utf8,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, parquet_to_arrow_schema};
use parquet::errors::Result;
use parquet::file::metadata::{KeyValue, ParquetMetaData};

use super::edits::with_stored_schema;

/// The footer with a schema that the Parquet library follows; `None` if it has such a schema, or none.
///
/// # Errors
/// The columns have no Arrow types.
pub(super) fn with_usable_hints(footer: &ParquetMetaData) -> Result<Option<ParquetMetaData>> {
    let stated = footer.file_metadata();
    let pairs = stated.key_value_metadata();
    let Some(hint) = pairs.and_then(|pairs| stored_schema(pairs)) else {
        return Ok(None);
    };
    let plain = parquet_to_arrow_schema(stated.schema_descr(), None)?;
    let usable = usable_fields(hint.fields(), plain.fields());
    if &usable == hint.fields() {
        return Ok(None);
    }
    let usable = Schema::new_with_metadata(usable, hint.metadata);
    Ok(Some(with_stored_schema(footer, &usable)))
}

fn stored_schema(pairs: &[KeyValue]) -> Option<Schema> {
    let stored = pairs
        .iter()
        .find(|pair| pair.key == ARROW_SCHEMA_META_KEY)?;
    let bytes = STANDARD.decode(stored.value.as_ref()?).ok()?;
    try_schema_from_ipc_buffer(&bytes).ok()
}

fn usable_fields(hints: &Fields, plain: &Fields) -> Fields {
    if hints.len() != plain.len() {
        return hints.clone();
    }
    let both = hints.iter().zip(plain);
    both.map(|(hint, plain)| usable_field(hint, plain))
        .collect()
}

fn usable_field(hint: &FieldRef, plain: &Field) -> FieldRef {
    let usable = usable_type(hint.data_type(), plain.data_type());
    Arc::new(hint.as_ref().clone().with_data_type(usable))
}

/// The type nearest to `hint` that the library reads from a column whose type would otherwise be `plain`. It drops the
/// zone of a timestamp whose unit differs, and reads dictionaries of texts and bytes only.
fn usable_type(hint: &DataType, plain: &DataType) -> DataType {
    let item = |hint: &FieldRef, plain: &Field| usable_field(hint, plain);
    match (hint, plain) {
        (Timestamp(_, Some(zone)), Timestamp(unit, _)) => Timestamp(*unit, Some(Arc::clone(zone))),
        (Dictionary(_, values), _) => {
            let usable = usable_type(values, plain);
            let is_read = matches!(usable, Utf8 | LargeUtf8 | Binary | LargeBinary);
            match is_read && usable == **values {
                true => hint.clone(),
                false => usable,
            }
        }
        (List(hint), List(plain)) => List(item(hint, plain)),
        (LargeList(hint), List(plain)) => LargeList(item(hint, plain)),
        (ListView(hint), List(plain)) => ListView(item(hint, plain)),
        (LargeListView(hint), List(plain)) => LargeListView(item(hint, plain)),
        (FixedSizeList(hint, length), List(plain)) => FixedSizeList(item(hint, plain), *length),
        (Map(hint, is_sorted), Map(plain, _)) => Map(item(hint, plain), *is_sorted),
        (Struct(hints), Struct(plain)) => Struct(usable_fields(hints, plain)),
        _ => hint.clone(),
    }
}
