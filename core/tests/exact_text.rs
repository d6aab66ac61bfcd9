//! Checks the text of every type at its extremes against pyarrow's values (`fixtures/make.py`).

#![allow(clippy::unwrap_used)]

use std::path::Path;

use colonnade_core::decode::Decoder;
use colonnade_core::table::Table;
use colonnade_core::text::{CellKind, FixedOffsets};
use colonnade_core::wire::Limits;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(name),
    )
    .unwrap()
}

/// The cells of one column from the packed window; `None` is null.
fn column_text(table: &Table, column: usize) -> Vec<Option<String>> {
    let num_rows = table.num_rows();
    let packed = table
        .window(0..num_rows, &[column], 0, &FixedOffsets)
        .unwrap()
        .bytes;
    let n = num_rows as usize;
    let (ends, rest) = packed.split_at(4 * n);
    let (kinds, text) = rest.split_at(n);
    let units: Vec<u16> = std::str::from_utf8(text).unwrap().encode_utf16().collect();
    let mut start = 0;
    ends.chunks_exact(4)
        .zip(kinds)
        .map(|(end, kind)| {
            let end = u32::from_le_bytes(end.try_into().unwrap()) as usize;
            let text = String::from_utf16(&units[start..end]).unwrap();
            start = end;
            (*kind != CellKind::Null as u8).then_some(text)
        })
        .collect()
}

#[test]
fn every_type_shows_exactly_what_pyarrow_holds() {
    let expected: serde_json::Value = serde_json::from_slice(&fixture("every_type.json")).unwrap();
    for name in ["every_type", "every_type_lz4", "every_type_zstd"] {
        let mut decoder = Decoder::new(u64::MAX, Limits::default());
        decoder.push(&fixture(&format!("{name}.arrows"))).unwrap();
        decoder.finish().unwrap();
        let table = decoder.table().unwrap();
        let columns = expected.as_array().unwrap();
        assert_eq!(table.columns().len(), columns.len());
        for (index, (column, field)) in columns.iter().zip(table.schema().describe()).enumerate() {
            let name = column["name"].as_str().unwrap();
            assert_eq!(field.name, name);
            assert_eq!(
                field.type_name,
                column["type"].as_str().unwrap(),
                "type of {name}"
            );
            let texts: Vec<Option<String>> =
                serde_json::from_value(column["text"].clone()).unwrap();
            assert_eq!(column_text(table, index), texts, "text of {name}");
        }
    }
}

#[test]
fn a_long_text_is_cut_at_characters_and_marked() {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&fixture("every_type.arrows")).unwrap();
    let table = decoder.table().unwrap();
    let strings = table
        .schema()
        .describe()
        .iter()
        .position(|field| field.name == "string")
        .unwrap();
    // Row 6 is a right-to-left text with two bytes per letter.
    let packed = table
        .window(6..7, &[strings], 3, &FixedOffsets)
        .unwrap()
        .bytes;
    assert_eq!(packed[..4], 3u32.to_le_bytes());
    assert_eq!(packed[4], CellKind::Value as u8 | CellKind::CUT);
    assert_eq!(std::str::from_utf8(&packed[5..]).unwrap(), "שלו");
}

#[test]
fn a_window_beyond_the_table_says_what_there_is() {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&fixture("every_type.arrows")).unwrap();
    let table = decoder.table().unwrap();
    let error = table.window(20..27, &[0], 0, &FixedOffsets).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rows 20 to 27 were requested, but the table has 21"
    );
    let error = table.window(0..1, &[99], 0, &FixedOffsets).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column 99 was requested, but the table has 63"
    );
}

#[test]
fn a_full_budget_stops_the_stream_and_keeps_the_rows() {
    let bytes = fixture("every_type.arrows");
    let mut decoder = Decoder::new(bytes.len() as u64 - 20_000, Limits::default());
    let error = decoder.push(&bytes).unwrap_err();
    assert_eq!(error.kind.code(), "memory_budget_exceeded");
    assert_eq!(error.row, decoder.table().unwrap().num_rows());
}
