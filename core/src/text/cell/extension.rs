//! Extension types that have a text of their own. Values of other extension types are shown as their
//! storage type.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_schema::{DataType, Field};

use super::write_value;
use crate::text::{CellKind, CellText, TimeZones};
use crate::wire::EXTENSION_NAME;

/// An extension type whose values are not shown as their storage type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// `arrow.uuid` in 16 bytes: `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`.
    Uuid,
    /// `arrow.bool8` in an int8: `true` for all but 0.
    Bool8,
    /// `geoarrow.point` in interleaved or separate coordinates, as well-known text. The field is the
    /// beginning of that text, such as `POINT Z (`.
    Point(&'static str),
}

impl Extension {
    /// The extension type in a field's metadata, if the field has the storage type that it requires.
    #[must_use]
    pub fn of(field: &Field) -> Option<Self> {
        let name = field.metadata().get(EXTENSION_NAME)?;
        match (name.as_str(), field.data_type()) {
            ("arrow.uuid", DataType::FixedSizeBinary(16)) => Some(Self::Uuid),
            ("arrow.bool8", DataType::Int8) => Some(Self::Bool8),
            ("geoarrow.point", DataType::Struct(fields))
                if fields
                    .iter()
                    .all(|field| *field.data_type() == DataType::Float64) =>
            {
                let names: String = fields.iter().map(|field| field.name().as_str()).collect();
                point(&names, fields.len())
            }
            ("geoarrow.point", DataType::FixedSizeList(item, size))
                if *item.data_type() == DataType::Float64 =>
            {
                point(item.name(), *size as usize)
            }
            _ => None,
        }
    }

    /// Whether its text has no quotes in JSON.
    pub(super) fn is_bare(self) -> bool {
        self == Self::Bool8
    }

    /// Writes the text of a slot that is not null.
    pub(super) fn write(
        self,
        array: &dyn Array,
        index: usize,
        zones: &dyn TimeZones,
        out: &mut CellText,
    ) -> CellKind {
        match self {
            Self::Uuid => {
                for (at, byte) in array.as_fixed_size_binary().value(index).iter().enumerate() {
                    let dash = if matches!(at, 4 | 6 | 8 | 10) {
                        "-"
                    } else {
                        ""
                    };
                    out.put(format_args!("{dash}{byte:02x}"));
                }
            }
            Self::Bool8 => {
                let is_true = array.as_primitive::<Int8Type>().value(index) != 0;
                out.push(if is_true { "true" } else { "false" });
            }
            Self::Point(start) => {
                let mut separator = start;
                let mut coordinate = |array: &dyn Array, index| {
                    out.push(separator);
                    separator = " ";
                    if write_value(array, index, zones, out) == CellKind::Null {
                        out.push("null");
                    }
                };
                match array.as_struct_opt() {
                    Some(point) => {
                        for column in point.columns() {
                            coordinate(column, index);
                        }
                    }
                    None => {
                        let point = array.as_fixed_size_list().value(index);
                        (0..point.len()).for_each(|at| coordinate(&point, at));
                    }
                }
                out.push(")");
            }
        }
        CellKind::Value
    }
}

fn point(names: &str, num_dimensions: usize) -> Option<Extension> {
    let start = match names {
        "xy" => "POINT (",
        "xyz" => "POINT Z (",
        "xym" => "POINT M (",
        "xyzm" => "POINT ZM (",
        _ => return None,
    };
    (names.len() == num_dimensions).then_some(Extension::Point(start))
}
