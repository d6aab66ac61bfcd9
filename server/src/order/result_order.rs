//! The guarantee about the order of a result's rows.

use serde::{Deserialize, Serialize};

/// The guarantee about the order of the rows, as `X-Result-Order` states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Ordered by a unique key, so the order is the same in every run, whatever the source does.
    Total,
    /// The order of the source.
    Partition,
    /// The order in which the rows were produced.
    None,
}

impl Order {
    /// The header's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Partition => "partition",
            Self::None => "none",
        }
    }
}
