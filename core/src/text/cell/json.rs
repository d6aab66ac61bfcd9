//! Nested values as lossless JSON. Numbers keep all their digits, values without a JSON form become
//! strings, and map entries become `[key, value]` pairs in their order.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};

use super::{Extension, underlying, write_value};
use crate::text::binary::write_hex;
use crate::text::{CellKind, CellText, TimeZones};

/// Writes a list, struct or map. The slot at `index` is not null.
pub(super) fn write_nested(
    array: &dyn Array,
    index: usize,
    zones: &dyn TimeZones,
    out: &mut CellText,
) {
    match array.data_type() {
        DataType::List(item) => {
            write_list(&array.as_list::<i32>().value(index), item, zones, out);
        }
        DataType::LargeList(item) => {
            write_list(&array.as_list::<i64>().value(index), item, zones, out);
        }
        DataType::ListView(item) => {
            write_list(&array.as_list_view::<i32>().value(index), item, zones, out);
        }
        DataType::LargeListView(item) => {
            write_list(&array.as_list_view::<i64>().value(index), item, zones, out);
        }
        DataType::FixedSizeList(item, _) => {
            write_list(&array.as_fixed_size_list().value(index), item, zones, out);
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(index);
            let [key, value] = [0, 1].map(|part| Extension::of(&entries.fields()[part]));
            write_sequence(entries.len(), out, |entry, out| {
                out.push("[");
                write_json(entries.column(0), key, entry, zones, out);
                out.push(",");
                write_json(entries.column(1), value, entry, zones, out);
                out.push("]");
            });
        }
        _ => {
            let values = array.as_struct();
            out.push("{");
            for (position, (field, column)) in
                values.fields().iter().zip(values.columns()).enumerate()
            {
                if position > 0 {
                    out.push(",");
                }
                write_json_string(field.name(), out);
                out.push(":");
                write_json(column, Extension::of(field), index, zones, out);
                if out.was_cut() {
                    return;
                }
            }
            out.push("}");
        }
    }
}

fn write_list(items: &ArrayRef, field: &Field, zones: &dyn TimeZones, out: &mut CellText) {
    let extension = Extension::of(field);
    write_sequence(items.len(), out, |item, out| {
        write_json(items, extension, item, zones, out);
    });
}

fn write_sequence(len: usize, out: &mut CellText, mut write: impl FnMut(usize, &mut CellText)) {
    out.push("[");
    for item in 0..len {
        if item > 0 {
            out.push(",");
        }
        write(item, out);
        if out.was_cut() {
            return;
        }
    }
    out.push("]");
}

/// Writes `array[index]` as JSON. `null`, numbers (with all their digits), booleans and nested values
/// have no quotes; everything else has. `index` is below the array's length. `extension` is that of the
/// array's field.
pub fn write_json(
    array: &ArrayRef,
    extension: Option<Extension>,
    index: usize,
    zones: &dyn TimeZones,
    out: &mut CellText,
) {
    let (array, index) = underlying(array, index);
    if array.is_null(index) {
        out.push("null");
        return;
    }
    if let Some(extension) = extension {
        let quote = if extension.is_bare() { "" } else { "\"" };
        out.push(quote);
        extension.write(array, index, zones, out);
        out.push(quote);
        return;
    }
    let data_type = array.data_type();
    match data_type {
        DataType::Binary => write_quoted_hex(array.as_binary::<i32>().value(index), out),
        DataType::LargeBinary => write_quoted_hex(array.as_binary::<i64>().value(index), out),
        DataType::BinaryView => write_quoted_hex(array.as_binary_view().value(index), out),
        DataType::FixedSizeBinary(_) => {
            write_quoted_hex(array.as_fixed_size_binary().value(index), out);
        }
        DataType::Boolean => {
            write_value(array, index, zones, out);
        }
        _ if data_type.is_nested() => write_nested(array, index, zones, out),
        _ => {
            let mut text = String::new();
            let kind = write_value(array, index, zones, &mut out.beside(&mut text));
            match kind {
                CellKind::Null => out.push("null"),
                CellKind::Value if data_type.is_numeric() => out.push(&text),
                _ => write_json_string(&text, out),
            }
        }
    }
}

fn write_quoted_hex(bytes: &[u8], out: &mut CellText) {
    out.push("\"");
    write_hex(bytes, out);
    out.push("\"");
}

/// Writes `text` as a JSON string, with quotes. RFC 8259, section 7.
pub(crate) fn write_json_string(text: &str, out: &mut CellText) {
    out.push("\"");
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push(&text[plain_from..at]);
        if escape.is_empty() {
            out.put(format_args!("\\u{byte:04x}"));
        } else {
            out.push(escape);
        }
        plain_from = at + 1;
    }
    out.push(&text[plain_from..]);
    out.push("\"");
}
