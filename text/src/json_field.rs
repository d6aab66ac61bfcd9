//! Fields whose values are JSON text.

use std::collections::HashMap;

use arrow_schema::{DataType, Field};

const EXTENSION_NAME: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";
const JSON_EXTENSION: &str = "arrow.json";

/// A field whose values are JSON text.
pub(crate) fn json_field(name: &str) -> Field {
    let metadata = [(EXTENSION_NAME, JSON_EXTENSION), (EXTENSION_METADATA, "")];
    let metadata: HashMap<_, _> = metadata
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Field::new(name, DataType::Utf8, true).with_metadata(metadata)
}

/// Whether the values of a field of type `Utf8` are JSON text.
pub(crate) fn is_json(field: &Field) -> bool {
    field
        .metadata()
        .get(EXTENSION_NAME)
        .is_some_and(|name| name == JSON_EXTENSION)
}
