//! Reads the headers of a whole stream or file without its bodies.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::file::{Footer, MAGIC, TAIL_BYTES};
use super::{DecodeError, DecodeErrorKind, Limits, Message, StreamSchema, read_layout};
use crate::check::limits::within;

/// The result of reading the headers of a stream or file.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The schema.
    pub schema: Arc<StreamSchema>,
    /// The FlatBuffers bytes that hold the schema: the first message of a stream, or the footer of a
    /// file.
    pub schema_bytes: Vec<u8>,
    /// Number of rows in all batches.
    pub num_rows: u64,
    /// Number of record batches.
    pub num_batches: u64,
    /// The byte offset after the end-of-stream marker. `None` for a stream without the marker, and for
    /// a file, whose footer replaces it.
    pub marker_end: Option<u64>,
    /// The positions of dictionary and record batches, in reading order.
    pub messages: Vec<SurveyedMessage>,
}

/// The position of a message: its prefix and metadata are bytes `[start, body_start)`, its body is
/// `[body_start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurveyedMessage {
    /// Byte offset of the message.
    pub start: u64,
    /// Byte offset of its body.
    pub body_start: u64,
    /// Byte offset after its body.
    pub end: u64,
    /// The contents of the message.
    pub kind: SurveyedKind,
}

/// The contents of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyedKind {
    /// Values of a dictionary.
    Dictionary {
        /// The dictionary's id.
        id: i64,
        /// Whether the values are appended to the existing ones.
        is_delta: bool,
    },
    /// Rows.
    Batch {
        /// Number of rows.
        num_rows: u64,
        /// Whether the buffers are compressed.
        is_compressed: bool,
    },
}

/// Why a survey ended early.
#[derive(Debug)]
pub enum SurveyError {
    /// The bytes could not be read.
    Io(io::Error),
    /// The bytes are invalid.
    Decode(DecodeError),
}

impl fmt::Display for SurveyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SurveyError {}

impl From<io::Error> for SurveyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for SurveyError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// Counts rows and batches, and checks each header against the schema.
struct Surveyor {
    schema: Option<Arc<StreamSchema>>,
    num_rows: u64,
    num_batches: u64,
    messages: Vec<SurveyedMessage>,
}

impl Surveyor {
    fn new(schema: Option<Arc<StreamSchema>>) -> Self {
        Self {
            schema,
            num_rows: 0,
            num_batches: 0,
            messages: Vec::new(),
        }
    }

    fn visit(&mut self, header: Header) -> Result<(), DecodeError> {
        let kind = match (header.message, &self.schema) {
            (Message::Schema(schema), None) => {
                self.schema = Some(schema);
                return Ok(());
            }
            (Message::Schema(_), Some(_)) => {
                return Err(DecodeError::header("the stream has a second schema"));
            }
            (_, None) => {
                return Err(DecodeError::header("the first message is not a schema"));
            }
            (Message::Dictionary(dictionary), Some(schema)) => {
                let field = schema.dictionary_field(dictionary.id).ok_or_else(|| {
                    DecodeError::header(format!("no field uses dictionary {}", dictionary.id))
                })?;
                let values = field.dictionary_values();
                read_layout(&dictionary.values, std::slice::from_ref(&values))?;
                SurveyedKind::Dictionary {
                    id: dictionary.id,
                    is_delta: dictionary.is_delta,
                }
            }
            (Message::Batch(batch), Some(schema)) => {
                read_layout(&batch, &schema.fields)?;
                let num_rows = batch.num_rows as u64;
                self.num_rows += num_rows;
                self.num_batches += 1;
                SurveyedKind::Batch {
                    num_rows,
                    is_compressed: batch.compression.is_some(),
                }
            }
        };
        self.messages.push(SurveyedMessage {
            start: header.start,
            body_start: header.body_start,
            end: header.end,
            kind,
        });
        Ok(())
    }

    fn finish(self, schema_bytes: Vec<u8>, marker_end: Option<u64>) -> Result<Survey, DecodeError> {
        Ok(Survey {
            schema: self
                .schema
                .ok_or_else(|| DecodeError::header("there is no schema"))?,
            schema_bytes,
            num_rows: self.num_rows,
            num_batches: self.num_batches,
            marker_end,
            messages: self.messages,
        })
    }
}

/// A message without its body.
struct Header {
    message: Message,
    metadata: Vec<u8>,
    start: u64,
    body_start: u64,
    end: u64,
}

/// Reads the header of the message at `start`, which must end before byte `limit`. `None` means the
/// end-of-stream marker.
fn read_header<R: Read + Seek>(
    reader: &mut R,
    start: u64,
    limit: u64,
    limits: &Limits,
) -> Result<Option<Header>, SurveyError> {
    let truncated = || {
        DecodeError::new(
            DecodeErrorKind::TruncatedMessage,
            "the bytes end in the middle of a message",
        )
        .at_byte(start)
    };
    let mut position = start;
    let mut word = || -> Result<[u8; 4], SurveyError> {
        if limit - position < 4 {
            return Err(truncated().into());
        }
        let mut word = [0; 4];
        reader.read_exact(&mut word)?;
        position += 4;
        Ok(word)
    };
    // Before Arrow 0.15 there was no continuation.
    let mut length = word()?;
    if length == [0xff; 4] {
        length = word()?;
    }
    let length = i64::from(i32::from_le_bytes(length));
    if length == 0 {
        return Ok(None);
    }
    if length < 4 || length as u64 > limits.max_metadata_bytes {
        return Err(DecodeError::new(
            DecodeErrorKind::NotArrow,
            format!(
                "a message claims {length} bytes of metadata; expected 4 to {}",
                limits.max_metadata_bytes
            ),
        )
        .at_byte(start)
        .into());
    }
    if limit - position < length as u64 {
        return Err(truncated().into());
    }
    let mut metadata = vec![0; length as usize];
    reader.read_exact(&mut metadata)?;
    let (message, body_bytes) =
        Message::read(&metadata, limits).map_err(|error| error.at_byte(start))?;
    let body_start = position + length as u64;
    if limit - body_start < body_bytes {
        return Err(truncated().into());
    }
    Ok(Some(Header {
        message,
        metadata,
        start,
        body_start,
        end: body_start + body_bytes,
    }))
}

/// Reads the headers of an IPC stream from its start to its end. A stream of another producer may lack
/// the end-of-stream marker, but must end between two messages.
///
/// # Errors
/// The error of `reader`, or what is wrong with the bytes and where.
pub fn survey_stream<R: Read + Seek>(
    mut reader: R,
    limits: &Limits,
) -> Result<Survey, SurveyError> {
    let num_bytes = reader.seek(SeekFrom::End(0))?;
    let not_arrow = |what: &str| DecodeError::new(DecodeErrorKind::NotArrow, what);
    if num_bytes == 0 {
        return Err(not_arrow("the stream is empty; it must begin with its schema").into());
    }
    let mut surveyor = Surveyor::new(None);
    let mut schema_bytes = Vec::new();
    let mut marker_end = None;
    let mut position = 0;
    while position < num_bytes {
        reader.seek(SeekFrom::Start(position))?;
        let row = surveyor.num_rows;
        let Some(mut header) = read_header(&mut reader, position, num_bytes, limits)
            .map_err(|error| at_row(error, row))?
        else {
            if surveyor.schema.is_none() {
                return Err(not_arrow(
                    "the stream begins with zeros or an end-of-stream marker; it must begin with its schema",
                )
                .into());
            }
            marker_end = Some(reader.stream_position()?);
            break;
        };
        if surveyor.schema.is_none() {
            schema_bytes = std::mem::take(&mut header.metadata);
        }
        let (start, end) = (header.start, header.end);
        surveyor
            .visit(header)
            .map_err(|error| error.at_byte(start).at_row(row))?;
        position = end;
    }
    Ok(surveyor.finish(schema_bytes, marker_end)?)
}

fn at_row(error: SurveyError, row: u64) -> SurveyError {
    match error {
        SurveyError::Decode(error) => error.at_row(row).into(),
        io => io,
    }
}

/// Reads the headers of an IPC file by its footer: the schema there, then every dictionary and record
/// batch.
///
/// # Errors
/// The error of `reader`, or what is wrong with the bytes and where.
pub fn survey_file<R: Read + Seek>(mut reader: R, limits: &Limits) -> Result<Survey, SurveyError> {
    let file_bytes = reader.seek(SeekFrom::End(0))?;
    let not_a_file = |what: &str| {
        DecodeError::new(
            DecodeErrorKind::NotArrow,
            format!("{what}; an Arrow IPC file begins and ends with ARROW1"),
        )
    };
    if file_bytes < (8 + TAIL_BYTES) as u64 {
        return Err(not_a_file("the file is too short").into());
    }
    let mut head = [0; 6];
    reader.rewind()?;
    reader.read_exact(&mut head)?;
    let mut tail = [0; TAIL_BYTES];
    reader.seek(SeekFrom::Start(file_bytes - TAIL_BYTES as u64))?;
    reader.read_exact(&mut tail)?;
    if &head != MAGIC {
        return Err(not_a_file("the magic is missing at the start").into());
    }
    if &tail[4..] != MAGIC {
        return Err(not_a_file("the magic is missing at the end, so the file is truncated").into());
    }
    let footer_bytes = within(
        i64::from(i32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]])),
        limits.max_metadata_bytes.min(file_bytes - 18),
        "footer length",
    )?;
    let footer_start = file_bytes - TAIL_BYTES as u64 - footer_bytes;
    let mut footer = vec![0; footer_bytes as usize];
    reader.seek(SeekFrom::Start(footer_start))?;
    reader.read_exact(&mut footer)?;

    let blocks = Footer::read(&footer, footer_start, limits)?;
    let mut surveyor = Surveyor::new(Some(blocks.schema));
    for block in blocks.dictionaries.iter().chain(&blocks.batches) {
        let start = block.start;
        reader.seek(SeekFrom::Start(start))?;
        let row = surveyor.num_rows;
        let header = read_header(&mut reader, start, block.end, limits)
            .map_err(|error| at_row(error, row))?
            .ok_or_else(|| {
                DecodeError::header("the footer points to an end-of-stream marker").at_byte(start)
            })?;
        surveyor
            .visit(header)
            .map_err(|error| error.at_byte(start).at_row(row))?;
    }
    Ok(surveyor.finish(footer, None)?)
}
