//! What the order of a result's rows means.

use serde::{Deserialize, Serialize};

/// What the order of the rows means, as `X-Result-Order` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By a unique key: the same for every run, whatever the source does.
    Total,
    /// The order of the source.
    Partition,
    /// As produced.
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
