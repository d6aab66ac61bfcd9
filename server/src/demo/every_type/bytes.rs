//! The columns of text and bytes.

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::*;

use super::{Columns, Failure, TEXTS, cycle};

const BYTES: [Option<&[u8]>; 6] = [
    Some(b"\x00\x01\x02\xfd\xfe\xff"),
    Some(b""),
    None,
    Some(b"text"),
    Some(&[0; 40]),
    Some(b"\xde\xad\xbe\xef"),
];

/// Adds these columns.
pub(super) fn add(columns: &mut Columns) -> Result<(), Failure> {
    columns.put("utf8", cycle(&TEXTS).collect::<StringArray>());
    columns.put("large_utf8", cycle(&TEXTS).collect::<LargeStringArray>());
    columns.put("utf8_view", cycle(&TEXTS).collect::<StringViewArray>());
    columns.put("binary", cycle(&BYTES).collect::<BinaryArray>());
    columns.put("large_binary", cycle(&BYTES).collect::<LargeBinaryArray>());
    columns.put("binary_view", cycle(&BYTES).collect::<BinaryViewArray>());
    let fixed: [Option<[u8; 4]>; 4] = [Some([0, 1, 2, 3]), None, Some([0xFF; 4]), Some(*b"text")];
    columns.put(
        "fixed binary",
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(cycle(&fixed), 4)?,
    );
    let words = [Some("red"), Some("green"), None, Some("blue"), Some("")];
    columns.put(
        "dictionary",
        cycle(&words).collect::<DictionaryArray<Int32Type>>(),
    );
    Ok(())
}
