use std::fmt;

use crate::semantics::Refusal;

/// Why a kernel cannot do a task: one line that also says what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelError {
    /// `bad_filter`, `bad_sort`, `bad_parameter`, `unknown_column` or `out_of_memory`.
    pub code: &'static str,
    /// What was wrong, and what would be right.
    pub message: String,
}

impl KernelError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(super) fn refused(code: &'static str, refusal: &Refusal) -> Self {
        Self::new(code, format!("{}; {}", refusal.message, refusal.hint))
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for KernelError {}

/// An empty vector with capacity for `len` items. Returns an error where an allocation would abort.
pub(super) fn with_room<T>(len: usize) -> Result<Vec<T>, KernelError> {
    let mut items = Vec::new();
    match items.try_reserve_exact(len) {
        Ok(()) => Ok(items),
        Err(_) => Err(no_room(len)),
    }
}

/// There is no memory for `num_rows` rows.
pub(super) fn no_room(num_rows: usize) -> KernelError {
    KernelError::new(
        "out_of_memory",
        format!("not enough memory for {num_rows} rows; filter to fewer rows first"),
    )
}

/// A vector of `len` times `value`. Returns an error where an allocation would abort.
pub(super) fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, KernelError> {
    let mut items = with_room(len)?;
    items.resize(len, value);
    Ok(items)
}
