//! What filters, searches and summaries mean, at the server and in the browser alike.
//!
//! No arrays here: DataFusion computes with the server's, the kernels with the browser's.

mod decimal;
mod distinct_names;
mod find;
mod histogram;
mod literal;
mod near_names;
mod pattern;
mod predicate;

pub use decimal::DecimalPosition;
pub use distinct_names::distinct_names;
pub use find::{check_find, may_hold, value_type};
pub use histogram::{Bins, FloatSum, exact_edges, float_edges};
pub use literal::{from_hex, literal_text};
pub use near_names::near_names;
pub use pattern::Pattern;
pub use predicate::{Comparison, Predicate, Test, no_plain_text};

/// What was wrong, and what would be right: a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

impl Refusal {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}
