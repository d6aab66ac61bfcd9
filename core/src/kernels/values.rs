use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::ToByteSlice;
use arrow_schema::DataType;

use super::column::{Column, pointed_values, pointers};
use super::error::{KernelError, with_room};
use super::key::{Physical, each_boolean, each_native, with_native};
use super::row_order::RowOrder;
use crate::semantics::value_type;
use crate::table::Table;

/// The values of one column as stored numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnValues {
    /// `i8`, `i16`, `i32`, `i64`, `u8`, `u16`, `u32`, `u64`, `f32`, `f64`, or `bool` (a byte of 0 or
    /// 1).
    pub kind: &'static str,
    /// The values, little-endian and without gaps; 0 for null.
    pub bytes: Vec<u8>,
    /// 1 for a value, 0 for null.
    pub validity: Vec<u8>,
}

impl ColumnValues {
    /// The values of the column at `index` at positions `[start, end)` of a view. `None` if values are
    /// not stored as one number (text, binary, decimals, intervals, nested). Times are ticks of their
    /// unit; half floats are widened.
    ///
    /// # Errors
    /// `bad_parameter` for a table that is too long, `out_of_memory`.
    pub fn read(
        table: &Table,
        rows: &RowOrder,
        index: usize,
        start: usize,
        end: usize,
    ) -> Result<Option<Self>, KernelError> {
        let column = Column::of_view(table, index, rows, &(start..end.min(rows.len())))?;
        let Some(kind) = kind_of(value_type(&column.data_type)) else {
            return Ok(None);
        };
        let num_values = end.min(rows.len()).saturating_sub(start);
        let value_bytes = value_bytes(Physical::of(value_type(&column.data_type)));
        let mut values = Self {
            kind,
            bytes: with_room(num_values.saturating_mul(value_bytes))?,
            validity: with_room(num_values)?,
        };
        column.each_run(rows, start..end.min(rows.len()), |array, first, last| {
            match pointed_values(array) {
                None => values.push(array.as_ref(), first, last),
                Some(pointed) => {
                    for pointer in pointers(array, first, last) {
                        match pointer {
                            Some(index) => values.push(pointed.as_ref(), index, index + 1),
                            None => values.push_null(Physical::of(pointed.data_type())),
                        }
                    }
                }
            }
            true
        });
        Ok(Some(values))
    }

    fn push(&mut self, array: &dyn Array, start: usize, end: usize) {
        let physical = Physical::of(array.data_type());
        let Self {
            bytes, validity, ..
        } = self;
        match physical {
            Physical::Boolean => each_boolean(array.as_boolean(), start, end, |value| {
                validity.push(u8::from(value.is_some()));
                bytes.push(u8::from(value == Some(true)));
            }),
            Physical::F16 => each_native::<half::f16>(array, start, end, |value| {
                validity.push(u8::from(value.is_some()));
                bytes.extend(value.unwrap_or_default().to_f32().to_le_bytes());
            }),
            physical if array.nulls().is_none() => with_native!(physical, N => {
                let data = array.to_data();
                let values = &data.buffer::<N>(0)[start..end];
                validity.resize(validity.len() + values.len(), 1);
                bytes.extend_from_slice(values.to_byte_slice());
            }, _ => {}),
            physical => with_native!(physical, N => {
                each_native::<N>(array, start, end, |value| {
                    validity.push(u8::from(value.is_some()));
                    bytes.extend_from_slice(value.unwrap_or_default().to_byte_slice());
                });
            }, _ => {}),
        }
    }

    fn push_null(&mut self, physical: Physical) {
        self.validity.push(0);
        self.bytes
            .resize(self.bytes.len() + value_bytes(physical), 0);
    }
}

fn value_bytes(physical: Physical) -> usize {
    match physical {
        Physical::Boolean | Physical::I8 | Physical::U8 => 1,
        Physical::I16 | Physical::U16 => 2,
        Physical::I32 | Physical::U32 | Physical::F16 | Physical::F32 => 4,
        _ => 8,
    }
}

fn kind_of(data_type: &DataType) -> Option<&'static str> {
    if data_type.is_decimal() || matches!(data_type, DataType::Interval(_)) {
        return None;
    }
    Some(match Physical::of(data_type) {
        Physical::Boolean => "bool",
        Physical::I8 => "i8",
        Physical::I16 => "i16",
        Physical::I32 => "i32",
        Physical::I64 => "i64",
        Physical::U8 => "u8",
        Physical::U16 => "u16",
        Physical::U32 => "u32",
        Physical::U64 => "u64",
        Physical::F16 | Physical::F32 => "f32",
        Physical::F64 => "f64",
        _ => return None,
    })
}
