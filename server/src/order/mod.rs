//! Puts the partitions of a result back in order: partitions run in parallel, their messages leave in the
//! order of the partitions, and what runs ahead stays inside one byte budget.

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
