use std::fmt;
use std::ops::Range;

use super::Table;
use crate::text::{CellKind, CellText, TimeZones};

/// The text of a rectangle of cells, packed so that one copy takes it to another thread.
///
/// For `n` cells in row-major order, little-endian: `n` u32 end offsets into the text in UTF-16 code
/// units (a cell's text starts where the one before it ends), `n` bytes of [`CellKind`] with
/// [`CellKind::CUT`] set where the text was cut, then all texts as UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowWindow {
    /// The packed bytes.
    pub bytes: Vec<u8>,
}

/// Why a window cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowError {
    /// Rows `[start, end)` are not all there.
    Rows {
        /// The first row asked for.
        start: u64,
        /// The row after the last.
        end: u64,
        /// Rows of the table.
        num_rows: u64,
    },
    /// The cells' texts are more than a window holds.
    TooLarge {
        /// The most characters of a window.
        max_chars: usize,
    },
    /// There is no such column.
    Column {
        /// The index asked for.
        index: usize,
        /// Columns of the table.
        num_columns: usize,
    },
}

impl WindowError {
    /// The stable name that JavaScript sees.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Rows { .. } | Self::Column { .. } => "out_of_range",
            Self::TooLarge { .. } => "over_limit",
        }
    }
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows {
                start,
                end,
                num_rows,
            } => write!(
                f,
                "rows {start} to {end} were asked for; the table has {num_rows}"
            ),
            Self::TooLarge { max_chars } => {
                write!(
                    f,
                    "the texts of these rows have more than {max_chars} characters; ask for fewer rows"
                )
            }
            Self::Column { index, num_columns } => {
                write!(
                    f,
                    "column {index} was asked for; the table has {num_columns}"
                )
            }
        }
    }
}

impl std::error::Error for WindowError {}

/// The most characters of a window: a nested value can show the same items for each row, so texts
/// may be larger than the memory that holds the values.
const MAX_CHARS: usize = 128 << 20;

impl Table {
    /// The text of `columns` (indices, in the order wanted) in `rows` (end exclusive). A text of
    /// more than `max_chars` characters is cut there and marked; 0 cuts nothing.
    ///
    /// # Errors
    /// [`WindowError`] where a row or column does not exist, or there is too much text.
    pub fn window(
        &self,
        rows: Range<u64>,
        columns: &[usize],
        max_chars: usize,
        zones: &dyn TimeZones,
    ) -> Result<RowWindow, WindowError> {
        if rows.start > rows.end || rows.end > self.num_rows() {
            return Err(WindowError::Rows {
                start: rows.start,
                end: rows.end,
                num_rows: self.num_rows(),
            });
        }
        self.check_columns(columns)?;
        self.write_window(rows, columns, max_chars, zones)
    }

    /// The same for the rows at positions `[start, end)` of a view, with each text whole or cut.
    ///
    /// # Errors
    /// [`WindowError`] where a position or column does not exist, or there is too much text.
    #[cfg(feature = "kernels")]
    pub fn window_of(
        &self,
        view: &crate::kernels::Rows,
        positions: Range<usize>,
        columns: &[usize],
        max_chars: usize,
        zones: &dyn TimeZones,
    ) -> Result<RowWindow, WindowError> {
        if positions.start > positions.end || positions.end > view.len() {
            return Err(WindowError::Rows {
                start: positions.start as u64,
                end: positions.end as u64,
                num_rows: view.len() as u64,
            });
        }
        self.check_columns(columns)?;
        let rows = positions.map(|position| view.get(position).map_or(u64::MAX, u64::from));
        self.write_window(rows, columns, max_chars, zones)
    }

    fn check_columns(&self, columns: &[usize]) -> Result<(), WindowError> {
        let num_columns = self.columns().len();
        match columns.iter().find(|&&index| index >= num_columns) {
            Some(&index) => Err(WindowError::Column { index, num_columns }),
            None => Ok(()),
        }
    }

    fn write_window(
        &self,
        rows: impl Iterator<Item = u64>,
        columns: &[usize],
        max_chars: usize,
        zones: &dyn TimeZones,
    ) -> Result<RowWindow, WindowError> {
        let too_large = WindowError::TooLarge {
            max_chars: MAX_CHARS,
        };
        let num_cells = rows.size_hint().0.saturating_mul(columns.len());
        if num_cells > MAX_CHARS {
            return Err(too_large);
        }
        let mut ends = Vec::with_capacity(num_cells * 4);
        let mut kinds = Vec::with_capacity(num_cells);
        let mut texts = String::new();
        let mut end_utf16 = 0u32;
        for row in rows {
            let Some((chunk, index)) = self.locate(row) else {
                break;
            };
            for &column in columns {
                let start = texts.len();
                let room = MAX_CHARS.saturating_sub(start).max(1);
                let cut_at = if max_chars == 0 {
                    room
                } else {
                    max_chars.min(room)
                };
                let mut cell = CellText::new(&mut texts, cut_at);
                let mut kind = self.write_cell(column, chunk, index, zones, &mut cell) as u8;
                if cell.was_cut() {
                    if cut_at != max_chars {
                        return Err(too_large);
                    }
                    kind |= CellKind::CUT;
                }
                end_utf16 += utf16_len(&texts[start..]);
                ends.extend_from_slice(&end_utf16.to_le_bytes());
                kinds.push(kind);
            }
        }
        ends.extend_from_slice(&kinds);
        ends.extend_from_slice(texts.as_bytes());
        Ok(RowWindow { bytes: ends })
    }
}

fn utf16_len(text: &str) -> u32 {
    let units = if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    };
    units as u32
}
