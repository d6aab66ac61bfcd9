//! The columns of nested types.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::*;

use super::{Columns, Failure, NUM_ROWS, TEXTS, cycle, primitive};

/// Lengths of the lists, one after the other; `None` is a null list.
const LENGTHS: [Option<usize>; 6] = [Some(2), Some(0), None, Some(3), Some(1), Some(7)];

fn lengths() -> (Vec<usize>, NullBuffer) {
    let lengths: Vec<Option<usize>> = cycle(&LENGTHS).collect();
    let nulls = lengths.iter().map(Option::is_some).collect();
    (
        lengths.into_iter().map(Option::unwrap_or_default).collect(),
        nulls,
    )
}

/// Adds lists, structs, maps, unions and runs.
pub(super) fn add(columns: &mut Columns) -> Result<(), Failure> {
    let (lengths, nulls) = lengths();
    let num_items: usize = lengths.iter().sum();
    let items: ArrayRef = Arc::new(
        (0..num_items)
            .map(|k| (k % 5 != 3).then_some(k as i64 * 1_000_000_007))
            .collect::<Int64Array>(),
    );
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths.iter().copied());
    let list = ListArray::try_new(
        Arc::clone(&item),
        offsets.clone(),
        Arc::clone(&items),
        Some(nulls.clone()),
    )?;
    let large_offsets = OffsetBuffer::<i64>::from_lengths(lengths.iter().copied());
    let large = LargeListArray::try_new(
        Arc::clone(&item),
        large_offsets,
        Arc::clone(&items),
        Some(nulls.clone()),
    )?;
    let starts: ScalarBuffer<i32> = offsets[..NUM_ROWS].to_vec().into();
    let sizes: ScalarBuffer<i32> = lengths.iter().map(|length| *length as i32).collect();
    let view = ListViewArray::try_new(
        Arc::clone(&item),
        starts,
        sizes,
        Arc::clone(&items),
        Some(nulls.clone()),
    )?;
    let three = Arc::new(
        (0..NUM_ROWS as i32 * 3)
            .map(|k| (k % 7 != 0).then_some(k))
            .collect::<Int32Array>(),
    );
    let fixed_item = Arc::new(Field::new_list_field(DataType::Int32, true));
    let fixed = FixedSizeListArray::try_new(fixed_item, 3, three, Some(nulls.clone()))?;
    let of_lists_item = Arc::new(Field::new_list_field(list.data_type().clone(), true));
    let ones = OffsetBuffer::<i32>::from_lengths(std::iter::repeat_n(1, NUM_ROWS));
    let of_lists = ListArray::try_new(of_lists_item, ones, Arc::new(list.clone()), None)?;
    columns.put("list", list.clone());
    columns.put("large_list", large);
    columns.put("fixed_size_list", fixed);
    columns.put("list_view", view);
    columns.put("list of lists", of_lists);

    let texts: ArrayRef = Arc::new(cycle(&TEXTS).collect::<StringArray>());
    let exact: ArrayRef = Arc::new(primitive::<Int64Type>(&[
        9_007_199_254_740_993,
        -1,
        i64::MAX,
    ]));
    let fields: Fields = vec![
        Field::new("text", DataType::Utf8, true),
        Field::new("exact", DataType::Int64, true),
        Field::new("list", list.data_type().clone(), true),
    ]
    .into();
    let parts = vec![
        Arc::clone(&texts),
        Arc::clone(&exact),
        Arc::new(list) as ArrayRef,
    ];
    let structs = StructArray::try_new(fields, parts, Some(nulls.clone()))?;
    columns.put("struct", structs);

    let keys = Arc::new(
        (0..num_items)
            .map(|k| Some(format!("key {}", k % 9)))
            .collect::<StringArray>(),
    );
    let entry_fields: Fields = vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Int64, true),
    ]
    .into();
    let entries = StructArray::try_new(entry_fields.clone(), vec![keys, items], None)?;
    let entry = Arc::new(Field::new("entries", DataType::Struct(entry_fields), false));
    columns.put(
        "map",
        MapArray::try_new(entry, offsets, entries, Some(nulls), false)?,
    );

    let union_fields: UnionFields = [
        (0_i8, Arc::new(Field::new("text", DataType::Utf8, true))),
        (5_i8, Arc::new(Field::new("exact", DataType::Int64, true))),
    ]
    .into_iter()
    .collect();
    let type_ids: ScalarBuffer<i8> = (0..NUM_ROWS)
        .map(|k| if k % 2 == 0 { 0 } else { 5 })
        .collect();
    let children = vec![Arc::clone(&texts), Arc::clone(&exact)];
    let sparse = UnionArray::try_new(
        union_fields.clone(),
        type_ids.clone(),
        None,
        children.clone(),
    )?;
    let places: ScalarBuffer<i32> = (0..NUM_ROWS as i32).map(|k| k / 2).collect();
    let dense = UnionArray::try_new(union_fields, type_ids, Some(places), children)?;
    columns.put("sparse_union", sparse);
    columns.put("dense_union", dense);

    let run_ends = Int32Array::from(vec![5, 6, 14, 24]);
    let values = StringArray::from(vec![
        Some("five of these"),
        Some("one"),
        None,
        Some("ten of these"),
    ]);
    columns.put(
        "run_end_encoded",
        RunArray::<Int32Type>::try_new(&run_ends, &values)?,
    );
    Ok(())
}
