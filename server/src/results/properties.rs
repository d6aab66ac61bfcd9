//! What planning found out about a result.

use serde::{Deserialize, Serialize};

use crate::order::Order;

/// What stays true of a result whatever becomes of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultProperties {
    /// What the order of the rows means.
    pub order: Order,
    /// Whether rows can be read from their source again, from any row on.
    pub is_seekable: bool,
    /// Whether running the query again over the same sources gives the same rows in the same order.
    pub is_repeatable: bool,
    /// Rows in all, where the sources' metadata knows.
    pub num_rows: Option<u64>,
    /// The tables that are read and their versions.
    pub sources: Vec<(String, String)>,
}

impl ResultProperties {
    /// The word for `is_seekable` in a record.
    pub fn way(&self) -> &'static str {
        if self.is_seekable { "seek" } else { "spool" }
    }
}
