use super::{DecodeError, DecodeErrorKind, SchemaField};

/// What is wrong with a column, without the column's name.
pub(super) type Problem = String;
pub(super) type Checked<T = ()> = Result<T, Problem>;

/// The error of column `field`.
pub(super) fn not_valid(field: &SchemaField, problem: &Problem) -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::InvalidData,
        format!("column \"{}\" is not valid: {problem}", field.field.name()),
    )
}
