//! Walks the headers of a whole stream or file without decoding its bodies.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::compression::claimed_bytes;
use super::flatbuffer::Table;
use super::message::within;
use super::schema::read_schema;
use super::{
    BatchHeader, DecodeError, DecodeErrorKind, Framer, Limits, Message, StreamSchema, read_layout,
};

/// What the headers of a stream or file say.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The schema.
    pub schema: Arc<StreamSchema>,
    /// Rows in all batches.
    pub num_rows: u64,
    /// Record batches.
    pub num_batches: u64,
}

/// Why a survey ended early.
#[derive(Debug)]
pub enum SurveyError {
    /// The bytes could not be read.
    Io(io::Error),
    /// The bytes are not sound.
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
struct Surveyor<'a> {
    limits: &'a Limits,
    schema: Option<Arc<StreamSchema>>,
    num_rows: u64,
    num_batches: u64,
}

impl<'a> Surveyor<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            schema: None,
            num_rows: 0,
            num_batches: 0,
        }
    }

    fn visit(&mut self, message: Message, body: &[u8]) -> Result<(), DecodeError> {
        match (message, &self.schema) {
            (Message::Schema(schema), None) => self.schema = Some(schema),
            (Message::Schema(_), Some(_)) => {
                return Err(DecodeError::header("a second schema stands in the stream"));
            }
            (_, None) => {
                return Err(DecodeError::header("the first message is not a schema"));
            }
            (Message::Dictionary(header), Some(schema)) => {
                let field = schema.dictionary_field(header.id).ok_or_else(|| {
                    DecodeError::header(format!("no field uses dictionary {}", header.id))
                })?;
                let values = field.dictionary_values();
                read_layout(&header.values, std::slice::from_ref(&values))?;
                self.check_claims(&header.values, body)?;
            }
            (Message::Batch(header), Some(schema)) => {
                read_layout(&header, &schema.fields)?;
                self.check_claims(&header, body)?;
                self.num_rows += header.num_rows as u64;
                self.num_batches += 1;
            }
        }
        Ok(())
    }

    fn check_claims(&self, header: &BatchHeader, body: &[u8]) -> Result<(), DecodeError> {
        if header.compression.is_none() {
            return Ok(());
        }
        let mut left = self.limits.max_decompressed_bytes;
        for range in header.buffers.iter().filter(|range| range.length > 0) {
            left -= claimed_bytes(&body[range.offset..range.offset + range.length], left)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Survey, DecodeError> {
        Ok(Survey {
            schema: self
                .schema
                .ok_or_else(|| DecodeError::header("there is no schema"))?,
            num_rows: self.num_rows,
            num_batches: self.num_batches,
        })
    }
}

/// Walks an IPC stream from its start to its end. A stream of another producer may lack the
/// end-of-stream marker; it has to end between two messages.
///
/// # Errors
/// What `reader` says, or what is wrong with the bytes and where.
pub fn survey_stream<R: Read>(mut reader: R, limits: &Limits) -> Result<Survey, SurveyError> {
    let mut framer = Framer::new(limits.clone());
    let mut surveyor = Surveyor::new(limits);
    while !framer.is_complete() {
        let num_bytes = match reader.read(framer.space()) {
            Ok(num_bytes) => num_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if num_bytes == 0 {
            match framer.finish() {
                Err(error) if error.kind != DecodeErrorKind::MissingEndOfStream => {
                    return Err(error.at_row(surveyor.num_rows).into());
                }
                _ => break,
            }
        }
        let row = surveyor.num_rows;
        if let Some(frame) = framer
            .advance(num_bytes)
            .map_err(|error| error.at_row(row))?
        {
            surveyor
                .visit(frame.message, &frame.body)
                .map_err(|error| error.at_byte(frame.byte).at_row(row))?;
        }
    }
    Ok(surveyor.finish()?)
}

const MAGIC: &[u8; 6] = b"ARROW1";

/// Walks an IPC file by its footer: the schema there, then every dictionary and record batch.
///
/// File: magic, padding, stream, footer, i32 length of the footer, magic. Spec: `format/File.fbs`.
///
/// # Errors
/// What `reader` says, or what is wrong with the bytes and where.
pub fn survey_file<R: Read + Seek>(mut reader: R, limits: &Limits) -> Result<Survey, SurveyError> {
    let file_bytes = reader.seek(SeekFrom::End(0))?;
    let not_a_file = |what: &str| {
        DecodeError::new(
            DecodeErrorKind::NotArrow,
            format!("{what}; an Arrow IPC file begins and ends with ARROW1"),
        )
    };
    if file_bytes < 8 + 10 {
        return Err(not_a_file("the file is too short").into());
    }
    let mut head = [0; 6];
    reader.rewind()?;
    reader.read_exact(&mut head)?;
    let mut tail = [0; 10];
    reader.seek(SeekFrom::Start(file_bytes - 10))?;
    reader.read_exact(&mut tail)?;
    if &head != MAGIC {
        return Err(not_a_file("the magic is missing at the start").into());
    }
    if &tail[4..] != MAGIC {
        return Err(not_a_file("the magic is missing at the end, so the file is cut short").into());
    }
    let footer_bytes = within(
        i64::from(i32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]])),
        limits.max_metadata_bytes.min(file_bytes - 18),
        "footer length",
    )?;
    let footer_start = file_bytes - 10 - footer_bytes;
    let mut footer = vec![0; footer_bytes as usize];
    reader.seek(SeekFrom::Start(footer_start))?;
    reader.read_exact(&mut footer)?;

    let root = Table::root(&footer)?;
    let schema = root
        .table(1)?
        .ok_or_else(|| DecodeError::header("the footer has no schema"))?;
    let mut surveyor = Surveyor::new(limits);
    surveyor.schema = Some(Arc::new(read_schema(&schema, limits)?));
    for slot in [2, 3] {
        // Block { offset: i64, metaDataLength: i32, padding: i32, bodyLength: i64 }
        let blocks = root.vector(slot, 24)?;
        for index in 0..blocks.len() {
            let offset = within(blocks.i64(index)?, footer_start, "block offset")?;
            reader.seek(SeekFrom::Start(offset))?;
            let row = surveyor.num_rows;
            visit_block(&mut reader, offset, footer_start - offset, &mut surveyor).map_err(
                |error| match error {
                    SurveyError::Decode(error) => error.at_byte(offset).at_row(row).into(),
                    io => io,
                },
            )?;
        }
    }
    Ok(surveyor.finish()?)
}

fn visit_block<R: Read>(
    reader: &mut R,
    offset: u64,
    available_bytes: u64,
    surveyor: &mut Surveyor,
) -> Result<(), SurveyError> {
    let mut framer = Framer::new(surveyor.limits.clone());
    framer.set_remaining_budget_bytes(available_bytes);
    let mut reader = reader.take(available_bytes);
    loop {
        let num_bytes = reader.read(framer.space())?;
        if num_bytes == 0 {
            return Err(DecodeError::new(
                DecodeErrorKind::TruncatedMessage,
                format!("the footer points to byte {offset}, where no whole message is"),
            )
            .into());
        }
        if let Some(frame) = framer.advance(num_bytes)? {
            return Ok(surveyor.visit(frame.message, &frame.body)?);
        }
        if framer.is_complete() {
            return Err(DecodeError::header("the footer points to an end-of-stream marker").into());
        }
    }
}
