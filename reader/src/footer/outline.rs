//! What the bytes of a footer say before the library decodes it.
//!
//! A decoded footer takes up to fifteen times the memory of its bytes. Spec: `FileMetaData` in `parquet.thrift`.

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use crate::error::{ReadError, Result};
use crate::thrift::Compact;

/// The ids of fields of `FileMetaData`.
const SCHEMA: i16 = 2;
const ROW_GROUPS: i16 = 4;
const ENCRYPTION_ALGORITHM: i16 = 8;

/// The id of `RowGroup.columns`.
const COLUMNS: i16 = 1;

/// The id of `SchemaElement.num_children`.
const NUM_CHILDREN: i16 = 5;

/// The memory of one schema element, with its descriptions in Parquet and Arrow.
const ELEMENT_BYTES: u64 = 1 << 10;

/// The memory of one name in the path of a column.
const PATH_PART_BYTES: u64 = 32;

/// The deepest nesting of columns. Readers call themselves for each level; a table may have a third of them, because a
/// list of structs has three.
const MAX_LEVELS: usize = 192;

/// What a footer contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outline {
    /// The column chunks: one for each column of each row group.
    pub num_column_chunks: u64,
    /// About how much memory it takes to decode the footer, in bytes. The footer itself is among them.
    pub memory_bytes: u64,
    /// Whether columns of the file are encrypted. The library ignores it, and reads them as if they were damaged.
    pub has_encrypted_columns: bool,
}

impl Outline {
    /// The outline of the footer with these bytes.
    ///
    /// # Errors
    /// The footer is damaged, or its columns are nested too deep. The library may believe a number in it and ask for
    /// more memory than there is, or exhaust the stack.
    pub fn of(footer: &[u8]) -> Result<Self> {
        let mut levels = Levels::default();
        let (mut num_groups, mut num_column_chunks) = (0, 0);
        let mut has_encrypted_columns = false;
        let read = Compact::new(footer).fields(|value, field| match field.id {
            SCHEMA => value.structs(|element| levels.read(element)),
            ROW_GROUPS => value.structs(|group| {
                num_groups += 1;
                group.fields(|value, field| match field.id {
                    COLUMNS => value.structs(|chunk| {
                        num_column_chunks += 1;
                        chunk.fields(Compact::skip)
                    }),
                    _ => value.skip(field),
                })
            }),
            id => {
                has_encrypted_columns |= id == ENCRYPTION_ALGORITHM;
                value.skip(field)
            }
        });
        if levels.num_left.len() > MAX_LEVELS {
            return Err(ReadError::unsupported(format!(
                "the columns of the Parquet file are nested in more than {MAX_LEVELS} levels"
            )));
        }
        read.ok_or_else(|| ReadError::invalid("the Parquet footer is damaged"))?;
        // Names, statistics and lists are as long as their bytes, or twice as long.
        let texts_bytes = 2 * footer.len() as u64;
        Ok(Self {
            num_column_chunks,
            memory_bytes: texts_bytes
                + levels.memory_bytes
                + num_groups * size_of::<RowGroupMetaData>() as u64
                + num_column_chunks * size_of::<ColumnChunkMetaData>() as u64,
            has_encrypted_columns,
        })
    }
}

/// The levels of the schema. Its elements are in the order of a walk that visits parents before their children.
#[derive(Default)]
struct Levels {
    /// For the last element and each element around it, the number of its children that are still to come.
    num_left: Vec<i32>,
    memory_bytes: u64,
}

impl Levels {
    /// Reads the next element. Stops at too many levels.
    fn read(&mut self, element: &mut Compact<'_>) -> Option<()> {
        let mut num_children = 0;
        element.fields(|value, field| match field.id {
            NUM_CHILDREN => {
                num_children = value.int32()?;
                Some(())
            }
            _ => value.skip(field),
        })?;
        while self.num_left.last().is_some_and(|num_left| *num_left <= 0) {
            self.num_left.pop();
        }
        if let Some(num_left) = self.num_left.last_mut() {
            *num_left -= 1;
        }
        self.num_left.push(num_children);
        let num_levels = self.num_left.len();
        self.memory_bytes += ELEMENT_BYTES + num_levels as u64 * PATH_PART_BYTES;
        (num_levels <= MAX_LEVELS).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema of these elements, by their numbers of children, and the rest of the footer.
    fn footer(elements: &[u8], rest: &[u8]) -> Vec<u8> {
        let mut footer = vec![
            0x29,
            0xFC,
            elements.len() as u8 | 0x80,
            elements.len() as u8 >> 7,
        ];
        for num_children in elements {
            footer.extend([0x48, 1, b'c', 0x15, 2 * num_children, 0]);
        }
        footer.extend(rest);
        footer
    }

    #[test]
    fn claims_without_bytes_are_damage() {
        assert!(Outline::of(&footer(&[0], b"\x00")).is_ok());
        let claimed = footer(&[0], b"\x29\xFC\xFF\xFF\xFF\xFF\x07");
        assert!(Outline::of(&claimed).is_err());
    }

    #[test]
    fn levels_of_columns() {
        let wide = [
            vec![3],
            [1; 100].to_vec(),
            vec![0],
            [1; 100].to_vec(),
            vec![0, 0],
        ]
        .concat();
        assert!(Outline::of(&footer(&wide, b"\x00")).is_ok());
        let deep = [1; MAX_LEVELS + 1];
        assert!(Outline::of(&footer(&deep[1..], b"\x00")).is_ok());
        let error = Outline::of(&footer(&deep, b"\x00")).unwrap_err();
        assert!(error.message.contains("nested"), "{error}");
    }
}
