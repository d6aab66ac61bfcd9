//! Whether running a plan again gives the same rows.

use crate::order::Order;

/// Whether a plan with this order gives the same rows in every run while its sources stay unchanged.
pub(crate) fn is_repeatable(order: Order) -> bool {
    order != Order::None
}
