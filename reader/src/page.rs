//! Pages of a column chunk: their headers, and what they hold.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::Page;

use crate::codec::decompress;
use crate::error::{ReadError, Result};
use crate::footer::WRONG_COMPRESSION;
use crate::thrift::{Compact, Field};

/// The largest page that is decompressed, in bytes. Writers make pages of about a MiB.
const MAX_PAGE_BYTES: usize = 256 << 20;

/// The longest header, in bytes: it may hold a least and a greatest text.
pub(crate) const MAX_HEADER_BYTES: usize = 16 << 20;

/// The header of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageHeader {
    /// The length of the header itself, in bytes.
    pub(crate) header_bytes: usize,
    /// The length of what follows it, in bytes.
    pub(crate) body_bytes: usize,
    decompressed_bytes: usize,
    pub(crate) kind: PageKind,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum PageKind {
    Dictionary(DictionaryHeader),
    Data(DataHeader),
    DataV2(DataHeaderV2),
    /// An index, or a kind that is not known. It has no rows.
    Other,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DictionaryHeader {
    num_values: i32,
    encoding: i32,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataHeader {
    /// The number of values with nulls and empty lists: of rows, if the column is not in a list.
    pub(crate) num_values: i32,
    encoding: i32,
    definition_encoding: i32,
    repetition_encoding: i32,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataHeaderV2 {
    num_values: i32,
    num_nulls: i32,
    pub(crate) num_rows: i32,
    encoding: i32,
    definition_bytes: i32,
    repetition_bytes: i32,
    is_uncompressed: bool,
}

impl PageHeader {
    /// The header at the start of `bytes`. `None` if they end early, or are no header.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut kind = None;
        let (mut decompressed, mut compressed) = (None, None);
        let mut dictionary = DictionaryHeader::default();
        let mut data = DataHeader::default();
        let mut data_v2 = DataHeaderV2::default();
        let mut value = Compact::new(bytes);
        value.fields(|value, field| {
            match field.id {
                1 => kind = Some(value.int32()?),
                2 => decompressed = Some(value.int32()?),
                3 => compressed = Some(value.int32()?),
                5 => data = data_header(value)?,
                7 => dictionary = dictionary_header(value)?,
                8 => data_v2 = data_header_v2(value)?,
                _ => value.skip(field)?,
            }
            Some(())
        })?;
        Some(Self {
            header_bytes: bytes.len() - value.num_left(),
            body_bytes: usize::try_from(compressed?).ok()?,
            decompressed_bytes: usize::try_from(decompressed?).ok()?,
            kind: match kind? {
                0 => PageKind::Data(data),
                2 => PageKind::Dictionary(dictionary),
                3 => PageKind::DataV2(data_v2),
                _ => PageKind::Other,
            },
        })
    }

    /// The length of the whole page, in bytes.
    pub(crate) fn page_bytes(&self) -> usize {
        self.header_bytes + self.body_bytes
    }

    /// The rows of the page, if its header tells them. `has_lists`: the column is in a list.
    pub(crate) fn num_rows(&self, has_lists: bool) -> Option<u64> {
        let rows = match self.kind {
            PageKind::Data(header) if !has_lists => header.num_values,
            PageKind::DataV2(header) => header.num_rows,
            _ => return None,
        };
        u64::try_from(rows).ok()
    }
}

fn integers(value: &mut Compact<'_>, mut set: impl FnMut(i16, i32)) -> Option<()> {
    value.fields(|value, field| match field.id {
        1..=4 => {
            set(field.id, value.int32()?);
            Some(())
        }
        _ => value.skip(field),
    })
}

fn data_header(value: &mut Compact<'_>) -> Option<DataHeader> {
    let mut header = DataHeader::default();
    integers(value, |id, number| match id {
        1 => header.num_values = number,
        2 => header.encoding = number,
        3 => header.definition_encoding = number,
        _ => header.repetition_encoding = number,
    })?;
    Some(header)
}

fn dictionary_header(value: &mut Compact<'_>) -> Option<DictionaryHeader> {
    let mut header = DictionaryHeader::default();
    value.fields(|value, field| {
        match field.id {
            1 => header.num_values = value.int32()?,
            2 => header.encoding = value.int32()?,
            _ => value.skip(field)?,
        }
        Some(())
    })?;
    Some(header)
}

fn data_header_v2(value: &mut Compact<'_>) -> Option<DataHeaderV2> {
    let mut header = DataHeaderV2::default();
    let number = |value: &mut Compact<'_>, _: Field| value.int32();
    value.fields(|value, field| {
        match field.id {
            1 => header.num_values = number(value, field)?,
            2 => header.num_nulls = number(value, field)?,
            3 => header.num_rows = number(value, field)?,
            4 => header.encoding = number(value, field)?,
            5 => header.definition_bytes = number(value, field)?,
            6 => header.repetition_bytes = number(value, field)?,
            7 => header.is_uncompressed = field.boolean() == Some(false),
            _ => value.skip(field)?,
        }
        Some(())
    })?;
    Some(header)
}

/// What is known of the pages of a column chunk beforehand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFormat {
    pub(crate) codec: Compression,
    /// See [`has_wrong_compression`](crate::footer::has_wrong_compression).
    pub(crate) has_wrong_compression: bool,
}

/// A page, decompressed. `bytes` are its header and what follows. `None` for a page without rows.
///
/// # Errors
/// It is damaged, too large, or has an encoding that is not known.
pub(crate) fn decode_page(format: PageFormat, bytes: &Bytes) -> Result<Option<Page>> {
    let header =
        PageHeader::parse(bytes).ok_or_else(|| ReadError::invalid("a page header is damaged"))?;
    let body = bytes
        .get(header.header_bytes..header.page_bytes())
        .ok_or_else(|| ReadError::invalid("a page is longer than the file says"))?;
    let size = header.decompressed_bytes;
    if size > MAX_PAGE_BYTES {
        return Err(ReadError::too_large(format!(
            "a page of the file has {size} bytes; at most {MAX_PAGE_BYTES} are read"
        )));
    }
    let whole = || match format.codec {
        Compression::UNCOMPRESSED => Ok(bytes.slice_ref(body)),
        codec => decompress(codec, body, size).map(Bytes::from),
    };
    let count = |number: i32| {
        u32::try_from(number).map_err(|_| ReadError::invalid("a page header has a negative count"))
    };
    Ok(Some(match header.kind {
        PageKind::Dictionary(header) => Page::DictionaryPage {
            buf: whole()?,
            num_values: count(header.num_values)?,
            encoding: encoding(header.encoding)?,
            is_sorted: false,
        },
        PageKind::Data(header) => Page::DataPage {
            buf: whole()?,
            num_values: count(header.num_values)?,
            encoding: encoding(header.encoding)?,
            def_level_encoding: encoding(header.definition_encoding)?,
            rep_level_encoding: encoding(header.repetition_encoding)?,
            statistics: None,
        },
        PageKind::DataV2(header) => {
            let is_compressed = format.codec != Compression::UNCOMPRESSED;
            if is_compressed && header.is_uncompressed && format.has_wrong_compression {
                return Err(ReadError::unsupported(WRONG_COMPRESSION));
            }
            let (definition, repetition) = (
                count(header.definition_bytes)?,
                count(header.repetition_bytes)?,
            );
            let level_bytes = (definition as usize).saturating_add(repetition as usize);
            let levels = body.get(..level_bytes).filter(|_| level_bytes <= size);
            let levels = levels.ok_or_else(|| ReadError::invalid("a page header is damaged"))?;
            let buf = match is_compressed && !header.is_uncompressed && size > level_bytes {
                false => bytes.slice_ref(body),
                true => {
                    let values =
                        decompress(format.codec, &body[level_bytes..], size - level_bytes)?;
                    Bytes::from([levels, &values].concat())
                }
            };
            Page::DataPageV2 {
                buf,
                num_values: count(header.num_values)?,
                encoding: encoding(header.encoding)?,
                num_nulls: count(header.num_nulls)?,
                num_rows: count(header.num_rows)?,
                def_levels_byte_len: definition,
                rep_levels_byte_len: repetition,
                is_compressed,
                statistics: None,
            }
        }
        PageKind::Other => return Ok(None),
    }))
}

/// The number of `Encoding` in `parquet.thrift`.
fn encoding(number: i32) -> Result<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[allow(deprecated, reason = "old files have it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        other => {
            return Err(ReadError::unsupported(format!(
                "a page has the encoding {other}, which is not known"
            )));
        }
    })
}
