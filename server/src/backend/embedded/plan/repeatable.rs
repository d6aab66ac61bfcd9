//! Whether running a plan again gives the same rows.

use crate::order::Order;

/// Whether a plan whose rows have that order gives the same rows at every run, while its sources stay as
/// they are.
pub(crate) fn is_repeatable(order: Order) -> bool {
    order != Order::None
}
