//! The columns of an uploaded text. All its rows decided them, so they are stored instead of decided again at
//! each start.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::convert::try_schema_from_flatbuffer_bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::encode::schema_message;
use crate::source::identity::{Identity, StoredTime};
use crate::source::text::TextFiles;
use crate::source::{FileKind, SourceFile};

/// The format of this description. Another number means that the columns are decided again: it must change if
/// the same text would get other columns, or if this struct changes.
const FORMAT: u32 = 1;

/// The columns of one text, and how it is read.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredTypes {
    format: u32,
    size_bytes: u64,
    modified: StoredTime,
    kind: FileKind,
    /// The metadata of a schema message, as Base64.
    schema: String,
    text: TextFiles,
}

impl StoredTypes {
    /// The columns that all rows of `file` decided.
    pub(in crate::source) fn new(
        file: &SourceFile,
        kind: FileKind,
        schema: &Schema,
        text: &TextFiles,
    ) -> Self {
        let Identity {
            size_bytes,
            modified,
            ..
        } = file.identity;
        Self {
            format: FORMAT,
            size_bytes,
            modified: StoredTime(modified),
            kind,
            schema: STANDARD.encode(&schema_message(schema).metadata),
            text: text.clone(),
        }
    }

    /// Reads what a manifest has; `None` if it is of another format.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let format = value.get("format").and_then(Value::as_u64);
        (format == Some(u64::from(FORMAT)))
            .then(|| Self::deserialize(value).ok())
            .flatten()
    }

    /// The kind, the columns and how the text is read; `None` if `file` is not the one that was stored.
    ///
    /// The disk's number and the file's number do not count, because a copy of the folder has others.
    pub(in crate::source) fn of(
        &self,
        file: &SourceFile,
    ) -> Option<(FileKind, SchemaRef, TextFiles)> {
        let Identity {
            size_bytes,
            modified,
            ..
        } = file.identity;
        if (size_bytes, StoredTime(modified)) != (self.size_bytes, self.modified) {
            return None;
        }
        let schema = STANDARD.decode(&self.schema).ok()?;
        let schema = Arc::new(try_schema_from_flatbuffer_bytes(&schema).ok()?);
        self.text.check(&schema).ok()?;
        Some((self.kind, schema, self.text.clone()))
    }
}
