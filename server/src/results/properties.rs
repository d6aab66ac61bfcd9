//! The properties of a result, found by planning.

use serde::{Deserialize, Serialize};

use crate::order::Order;
use crate::source::LeftOutFile;

/// Properties that stay valid when the rows are dropped and produced again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultProperties {
    /// What the order of the rows guarantees.
    pub order: Order,
    /// Whether rows can be read from their source again, starting at any row.
    pub is_seekable: bool,
    /// Whether running the query again over the same sources gives the same rows in the same order.
    pub is_repeatable: bool,
    /// Total number of rows, if the sources' metadata gives it.
    pub num_rows: Option<u64>,
    /// The tables that are read and their versions.
    pub sources: Vec<(String, String)>,
    /// Identifies the rows of the result that it reads, if it reads one.
    #[serde(default)]
    pub base: Option<u64>,
    /// The first of the files that the tables lack.
    #[serde(default)]
    pub left_out: Vec<LeftOutFile>,
    /// The number of all files that the tables lack.
    #[serde(default)]
    pub num_left_out: u64,
}

impl ResultProperties {
    /// The properties of a query over a result, given those of that result and what identifies its rows.
    pub(super) fn over(self, base: Option<Self>, base_rows_id: u64) -> Self {
        let (sources, left_out, num_left_out) = base
            .map(|base| (base.sources, base.left_out, base.num_left_out))
            .unwrap_or_default();
        Self {
            sources,
            left_out,
            num_left_out,
            base: Some(base_rows_id),
            ..self
        }
    }

    /// `is_seekable` as a text: `seek` or `spool`.
    pub fn way(&self) -> &'static str {
        if self.is_seekable { "seek" } else { "spool" }
    }
}
