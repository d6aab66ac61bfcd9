//! Puts the parts of a result back in order: parts run in parallel, their messages leave in the
//! order of the parts, and what runs ahead stays inside one byte budget.

mod budget;
mod part;
mod result_order;
mod row_range;
mod stitch;

pub use budget::{Budget, Pool, Reservation};
pub use part::{Encoding, Held, Part, encode_part};
pub use result_order::Order;
pub use row_range::RowRange;
pub use stitch::{StitchPlan, Stitcher};
