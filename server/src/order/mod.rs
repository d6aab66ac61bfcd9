//! Restores the order of a result's partitions. Partitions run in parallel, and their messages are
//! yielded in the order of the partitions. Messages that are ahead stay within one byte budget.

mod budget;
mod partition;
mod result_order;
mod row_range;
mod stitch;

pub use budget::{Budget, Reservation};
pub use partition::{Encoding, HeldBytes, Partition, encode_partition};
pub use result_order::Order;
pub use row_range::RowRange;
pub use stitch::{StitchPlan, Stitcher};
