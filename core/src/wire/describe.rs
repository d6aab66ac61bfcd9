use super::framing::Framer;
use super::{DecodeError, DecodeErrorKind, Frame, Limits, Message, StreamSchema, column_type_name};

/// One column, described for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDescription {
    /// The column's name.
    pub name: String,
    /// Its type as pyarrow prints it.
    pub type_name: String,
    /// Whether it can hold nulls.
    pub nullable: bool,
}

impl StreamSchema {
    /// Name, type and nullability of every column.
    #[must_use]
    pub fn describe(&self) -> Vec<FieldDescription> {
        self.fields
            .iter()
            .map(|field| FieldDescription {
                name: field.field.name().clone(),
                type_name: field.type_name(),
                nullable: field.field.is_nullable(),
            })
            .collect()
    }
}

impl super::SchemaField {
    /// The type as pyarrow prints it.
    #[must_use]
    pub fn type_name(&self) -> String {
        let dictionary = self.dictionary.as_ref();
        column_type_name(
            &self.field,
            dictionary.is_some_and(|dictionary| dictionary.is_ordered),
        )
    }
}

/// The columns of one encapsulated schema message (continuation, length, metadata), such as arrow-ipc
/// writes.
///
/// # Errors
/// As for the first message of a stream; `InvalidHeader` if the message is not a schema.
pub fn describe_fields(
    message: &[u8],
    limits: &Limits,
) -> Result<Vec<FieldDescription>, DecodeError> {
    let mut framer = Framer::new(limits.clone());
    match framer.push(message)?.into_iter().next() {
        Some(Frame {
            message: Message::Schema(schema),
            ..
        }) => Ok(schema.describe()),
        Some(_) => Err(DecodeError::header("the message is not a schema")),
        None => Err(DecodeError::new(
            DecodeErrorKind::TruncatedMessage,
            "the schema message is truncated",
        )),
    }
}
