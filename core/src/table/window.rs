use std::fmt;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, GenericStringArray, OffsetSizeTrait};
use arrow_schema::DataType;

use super::Table;
use crate::text::{CellKind, CellText, TimeZones, write_cell, write_decimal};
use crate::wire::{DecodeError, DecodeErrorKind};

/// The text of a rectangle of cells, packed so that one copy transfers it to another thread.
///
/// For `n` cells in row-major order, little-endian: `n` u32 end offsets into the text in UTF-16 code
/// units (a cell's text starts where the one before it ends), `n` bytes of [`CellKind`] with
/// [`CellKind::CUT`] set where the text was cut, then all texts as UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellWindow {
    /// The packed bytes.
    pub bytes: Vec<u8>,
}

/// Why a window cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowError {
    /// Not all of rows `[start, end)` exist.
    Rows {
        /// The first requested row.
        start: u64,
        /// The row after the last requested one.
        end: u64,
        /// The number of rows of the table.
        num_rows: u64,
    },
    /// The texts of the cells exceed what a window can hold.
    TooLarge {
        /// The maximum number of characters of a window.
        max_chars: usize,
    },
    /// The column does not exist.
    Column {
        /// The requested index.
        index: usize,
        /// The number of columns of the table.
        num_columns: usize,
    },
    /// There is no memory for the cells, or for the values of a dictionary that grew.
    Unreadable(DecodeError),
}

impl From<DecodeError> for WindowError {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

impl WindowError {
    /// The stable name that JavaScript sees.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Rows { .. } | Self::Column { .. } => "out_of_range",
            Self::TooLarge { .. } => "over_limit",
            Self::Unreadable(error) if error.kind == DecodeErrorKind::MemoryBudgetExceeded => {
                "out_of_memory"
            }
            Self::Unreadable(error) => error.kind.code(),
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
                "rows {start} to {end} were requested, but the table has {num_rows}"
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
                    "column {index} was requested, but the table has {num_columns}"
                )
            }
            Self::Unreadable(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for WindowError {}

/// The maximum number of characters of a window. A nested value can show the same items in each row, so
/// texts can be larger than the memory of the values.
const MAX_CHARS: usize = 128 << 20;

const TOO_LARGE: WindowError = WindowError::TooLarge {
    max_chars: MAX_CHARS,
};

impl Table {
    /// The text of `columns` (indices, in this order) in `rows` (end exclusive). A text of more than
    /// `max_chars` characters is cut there and marked; 0 means no limit.
    ///
    /// # Errors
    /// [`WindowError`] if a row or column does not exist, or if there is too much text.
    pub fn window(
        &self,
        rows: Range<u64>,
        columns: &[usize],
        max_chars: usize,
        zones: &dyn TimeZones,
    ) -> Result<CellWindow, WindowError> {
        if rows.start > rows.end || rows.end > self.num_rows() {
            return Err(WindowError::Rows {
                start: rows.start,
                end: rows.end,
                num_rows: self.num_rows(),
            });
        }
        self.check_columns(columns)?;
        match columns {
            [column] if max_chars == 0 => self.write_column(rows, *column, zones),
            _ => self.write_window(rows, columns, max_chars, zones),
        }
    }

    /// # Errors
    /// [`WindowError::Column`] if a column does not exist.
    pub(crate) fn check_columns(&self, columns: &[usize]) -> Result<(), WindowError> {
        let num_columns = self.columns().len();
        match columns.iter().find(|&&index| index >= num_columns) {
            Some(&index) => Err(WindowError::Column { index, num_columns }),
            None => Ok(()),
        }
    }

    /// The window of `rows` in this order. It ends at the first row that does not exist.
    ///
    /// # Errors
    /// [`WindowError::TooLarge`].
    pub(crate) fn write_window(
        &self,
        rows: impl Iterator<Item = u64>,
        columns: &[usize],
        max_chars: usize,
        zones: &dyn TimeZones,
    ) -> Result<CellWindow, WindowError> {
        let mut packing = Packing::try_new(rows.size_hint().0.saturating_mul(columns.len()))?;
        for row in rows {
            let Some((chunk, index)) = self.locate(row) else {
                break;
            };
            for &column in columns {
                let array = self.columns[column].chunk(chunk)?;
                packing.push(max_chars, |cell| {
                    write_cell(array, self.extensions[column], index, zones, cell)
                })?;
            }
        }
        packing.finish()
    }

    /// The window of one column with uncut texts. Texts that memory already holds in their displayed
    /// form are copied in bulk.
    fn write_column(
        &self,
        rows: Range<u64>,
        column: usize,
        zones: &dyn TimeZones,
    ) -> Result<CellWindow, WindowError> {
        let num_rows = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
        let mut packing = Packing::try_new(num_rows)?;
        let mut row = rows.start;
        while let Some((chunk, first)) = self.locate(row).filter(|_| row < rows.end) {
            let array = self.columns[column].chunk(chunk)?;
            let last = array.len().min(first + (rows.end - row) as usize);
            row += (last - first) as u64;
            if self.extensions[column].is_none() && packing.extend(array, first..last)? {
                continue;
            }
            for index in first..last {
                packing.push(0, |cell| {
                    write_cell(array, self.extensions[column], index, zones, cell)
                })?;
            }
        }
        packing.finish()
    }
}

/// Reserves `num_bytes` more bytes, or returns an error where an allocation would abort.
fn reserve(bytes: &mut Vec<u8>, num_bytes: usize) -> Result<(), WindowError> {
    bytes.try_reserve_exact(num_bytes).map_err(|_| {
        let message = format!("no memory for {num_bytes} bytes of texts; ask for fewer rows");
        DecodeError::new(DecodeErrorKind::MemoryBudgetExceeded, message).into()
    })
}

/// Packs the cells of a [`CellWindow`].
struct Packing {
    ends: Vec<u8>,
    kinds: Vec<u8>,
    texts: String,
    end_utf16: u32,
}

impl Packing {
    fn try_new(num_cells: usize) -> Result<Self, WindowError> {
        if num_cells > MAX_CHARS {
            return Err(TOO_LARGE);
        }
        let (mut ends, mut kinds) = (Vec::new(), Vec::new());
        reserve(&mut ends, num_cells * 4)?;
        reserve(&mut kinds, num_cells)?;
        Ok(Self {
            ends,
            kinds,
            texts: String::new(),
            end_utf16: 0,
        })
    }

    /// Appends a cell, cut at `max_chars` characters; 0 means no limit.
    fn push(
        &mut self,
        max_chars: usize,
        write: impl FnOnce(&mut CellText) -> CellKind,
    ) -> Result<(), WindowError> {
        let start = self.texts.len();
        let room = MAX_CHARS.saturating_sub(start).max(1);
        let cut_at = if max_chars == 0 {
            room
        } else {
            max_chars.min(room)
        };
        let mut cell = CellText::new(&mut self.texts, cut_at);
        let mut kind = write(&mut cell) as u8;
        if cell.was_cut() {
            if cut_at != max_chars {
                return Err(TOO_LARGE);
            }
            kind |= CellKind::CUT;
        }
        self.end_utf16 += utf16_len(&self.texts[start..]);
        self.ends.extend_from_slice(&self.end_utf16.to_le_bytes());
        self.kinds.push(kind);
        Ok(())
    }

    /// Appends the texts of some rows of an array in bulk. Returns false, and appends nothing, if each
    /// row must be read separately.
    fn extend(&mut self, array: &dyn Array, rows: Range<usize>) -> Result<bool, WindowError> {
        if array.null_count() > 0 {
            return Ok(false);
        }
        match array.data_type() {
            DataType::Utf8 => Ok(self.extend_ascii(array.as_string::<i32>(), rows)),
            DataType::LargeUtf8 => Ok(self.extend_ascii(array.as_string::<i64>(), rows)),
            DataType::Decimal128(_, scale) => {
                let values = &array.as_primitive::<Decimal128Type>().values()[rows];
                for &value in values {
                    let start = self.texts.len();
                    write_decimal(value, *scale, &mut CellText::new(&mut self.texts, 0));
                    if self.texts.len() > MAX_CHARS {
                        return Err(TOO_LARGE);
                    }
                    // A digit is one byte and one UTF-16 code unit.
                    self.end_utf16 += (self.texts.len() - start) as u32;
                    self.ends.extend_from_slice(&self.end_utf16.to_le_bytes());
                }
                let num_cells = self.kinds.len() + values.len();
                self.kinds.resize(num_cells, CellKind::Value as u8);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The same for texts, if every character is one byte and they fit into the window.
    fn extend_ascii<O: OffsetSizeTrait>(
        &mut self,
        array: &GenericStringArray<O>,
        rows: Range<usize>,
    ) -> bool {
        let offsets = &array.value_offsets()[rows.start..=rows.end];
        let (start, end) = (offsets[0].as_usize(), offsets[rows.len()].as_usize());
        let bytes = &array.value_data()[start..end];
        if !bytes.is_ascii() || self.texts.len() + bytes.len() > MAX_CHARS {
            return false;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return false;
        };
        self.texts.push_str(text);
        let before = self.end_utf16;
        for offset in &offsets[1..] {
            let end_utf16 = before + (offset.as_usize() - start) as u32;
            self.ends.extend_from_slice(&end_utf16.to_le_bytes());
        }
        self.end_utf16 += text.len() as u32;
        self.kinds
            .resize(self.kinds.len() + rows.len(), CellKind::Value as u8);
        true
    }

    fn finish(self) -> Result<CellWindow, WindowError> {
        let mut bytes = self.ends;
        reserve(&mut bytes, self.kinds.len() + self.texts.len())?;
        bytes.extend_from_slice(&self.kinds);
        bytes.extend_from_slice(self.texts.as_bytes());
        Ok(CellWindow { bytes })
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
