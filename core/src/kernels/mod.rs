//! Sort, filter, summary and find over chunked columns, in slices.
//!
//! A job works on the table as it was when the job was made. It does a little work at each `step`, so
//! that its caller stays responsive and can drop it. Rows that arrive later are not included.

mod column;
mod distinct;
mod error;
mod filter;
mod find;
mod ipc;
mod key;
mod key_test;
mod leading;
mod literal;
mod numbered;
mod predicate;
mod prefixes;
mod radix;
mod ranking;
mod repeats;
mod row_order;
mod seen;
mod sort;
mod sort_item;
mod sort_key;
mod spread;
mod summary;
mod texts;
mod totals;
mod values;
mod window;

pub use error::KernelError;
pub use filter::FilterJob;
pub use find::{FindJob, FindRequest};
pub use ipc::StreamPieces;
pub use repeats::Repeats;
pub use row_order::{Bitmap, RowOrder};
pub use sort::{SortJob, SortKey};
pub use summary::SummaryJob;
pub use values::ColumnValues;
