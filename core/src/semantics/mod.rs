//! The meaning of filters, searches and summaries, the same in the server and in the browser.
//!
//! This module has no arrays: the server computes with DataFusion, the browser with the kernels.

mod distinct_names;
mod exact_json;
mod find;
mod histogram;
mod literal;
mod near_names;
mod pattern;
mod position;
mod predicate;
mod quartiles;
mod time;

pub use distinct_names::distinct_names;
pub use exact_json::exact_json;
pub use find::{check_find, may_hold, value_type};
pub use histogram::{
    Bins, ExactMean, FloatSum, exact_edges, float_edges, largest_value, rounded_mean,
};
pub use literal::{from_hex, literal_text};
pub use near_names::near_names;
pub use pattern::Pattern;
pub use position::Position;
pub use predicate::{Comparison, Matches, Predicate, Test, no_plain_text};
pub use quartiles::{Distribution, Lengths, Quartiles, float_key, float_of_key};

/// A refused request: what was wrong, and what would be right, one line each.
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
