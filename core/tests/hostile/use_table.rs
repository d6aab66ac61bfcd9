//! Does with a table everything that a page can request. The results are not checked, but there must be
//! no panic, and memory and time are limited. Arrays that the decoder's own checks accept must pass
//! arrow-rs's full validation. The fuzz targets run this, too.

use std::sync::Arc;

use colonnade_core::decode::Decoder;
use colonnade_core::kernels::{
    ColumnValues, FilterJob, FindJob, FindRequest, Repeats, RowOrder, SortJob, SortKey,
    StreamPieces, SummaryJob,
};
use colonnade_core::table::Table;
use colonnade_core::text::FixedOffsets;

/// The number of columns that are used.
const MAX_COLUMNS: usize = 40;
/// The number of rows that are read at either end of a table.
const MAX_ROWS: u64 = 100;
/// The maximum number of rows that jobs process, because a job takes some bytes for each row of the
/// table.
const MAX_WORK_ROWS: u64 = 1_000_000;
/// The maximum number of steps of a job; a page can drop a job at any time.
const MAX_STEPS: usize = 50;

/// Reads the rows that were decoded, even before an error, and runs jobs on them.
pub(crate) fn use_table(decoder: &Decoder) {
    let Some(table) = decoder.table() else {
        return;
    };
    let columns: Vec<usize> = (0..table.columns().len().min(MAX_COLUMNS)).collect();
    for &index in &columns {
        if let Err(error) = table.columns()[index].validate_full() {
            panic!("column {index} should have been refused: {error}");
        }
    }
    let num_rows = table.num_rows();
    for rows in [
        0..num_rows.min(MAX_ROWS),
        num_rows.saturating_sub(MAX_ROWS)..num_rows,
    ] {
        for max_chars in [0, 20] {
            // There may be too much text; everything else must succeed.
            let _ = table.window(rows.clone(), &columns, max_chars, &FixedOffsets);
        }
    }
    let all = Arc::new(RowOrder::All(u32::try_from(num_rows).unwrap_or(u32::MAX)));
    if num_rows > MAX_WORK_ROWS {
        return;
    }
    for &index in &columns {
        let _ = ColumnValues::read(table, &all, index, 0, all.len().min(MAX_ROWS as usize));
        let _ = Repeats::read(table, &all, index, 0..all.len().min(MAX_ROWS as usize));
        use_column(table, &all, index);
    }
    let request = FindRequest {
        text: "1".to_owned(),
        from: 0,
        limit: 10,
        columns: None,
        match_case: false,
    };
    if let Ok(mut job) = FindJob::try_new(table, Arc::clone(&all), &request) {
        run(|| job.step(&FixedOffsets));
        let _ = job.finish();
    }
    let mut pieces = StreamPieces::new(table);
    run(|| pieces.next_piece().is_none());
}

fn use_column(table: &Table, all: &Arc<RowOrder>, index: usize) {
    let name = table.schema().fields[index].field.name().clone();
    if let Ok(mut job) = SummaryJob::try_new(table, &name, 1 << 20, 10)
        && run(|| job.step())
    {
        let _ = job.finish(&FixedOffsets);
    }
    let key = SortKey {
        column: name.clone(),
        descending: index % 2 == 1,
    };
    if let Ok(mut job) = SortJob::try_new(table, Arc::clone(all), &[key])
        && run(|| job.step().unwrap_or(true))
    {
        let view = job.finish();
        let shown = 0..view.len().min(10);
        let _ = table.window_of(&view, shown, &[index], 0, &FixedOffsets);
    }
    let column = serde_json::Value::from(name);
    for predicate in [
        format!(r#"{{"op": "is_null", "column": {column}}}"#),
        format!(r#"{{"op": "ge", "column": {column}, "value": "1"}}"#),
        format!(r#"{{"op": "contains", "column": {column}, "value": "a"}}"#),
    ] {
        if let Ok(mut job) = FilterJob::try_new(table, Arc::clone(all), &predicate, &FixedOffsets)
            && run(|| job.step(&FixedOffsets))
        {
            let _ = job.finish();
        }
    }
}

/// Runs steps until the work is done. Returns false if that takes too many steps.
fn run(mut step: impl FnMut() -> bool) -> bool {
    (0..MAX_STEPS).any(|_| step())
}
