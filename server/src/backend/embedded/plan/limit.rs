//! Removes a top-level LIMIT from the plan. The stitcher applies it, because it takes the first rows in
//! order, whereas the engine would take any rows.

use datafusion::logical_expr::{FetchType, LogicalPlan, SkipType};

use crate::order::RowRange;

/// Removes a LIMIT or OFFSET with constant numbers from the top of a plan, and returns its range.
pub(crate) fn strip_limit(plan: LogicalPlan) -> (LogicalPlan, RowRange) {
    let mut range = RowRange::default();
    let mut plan = plan;
    while let LogicalPlan::Limit(limit) = &plan {
        let (Ok(SkipType::Literal(skip)), Ok(FetchType::Literal(fetch))) =
            (limit.get_skip_type(), limit.get_fetch_type())
        else {
            break;
        };
        let inner = RowRange {
            first_row: skip as u64,
            limit: fetch.map(|fetch| fetch as u64),
        };
        range = range.within(inner);
        plan = limit.input.as_ref().clone();
    }
    (plan, range)
}
