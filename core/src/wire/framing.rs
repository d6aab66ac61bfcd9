//! Splits an Arrow IPC stream into messages as its bytes land.
//!
//! Encapsulated message: continuation `FFFFFFFF`, i32 length of the metadata, metadata (padded to 8
//! bytes), body. A length of zero is the end-of-stream marker. Before Arrow 0.15 there was no
//! continuation, so the length came first. A file ([`super::file`]) is read as the stream inside it.

use super::file::{FileInOrder, MAGIC, cut_short, foreign};
use super::integrity::Integrity;
use super::slab::{Arena, Region, has_room};
use super::{AlignedBody, DecodeError, DecodeErrorKind, Limits, Message, SlabPool};

const CONTINUATION: [u8; 4] = [0xff; 4];
/// From this size on, metadata is only read if the allocator has room for it.
const LARGE_METADATA_BYTES: usize = 64 << 10;
/// Upper bound of the memory that is kept per byte of metadata, including the fields of a schema and
/// their strings.
const HEADER_BYTES_PER_BYTE: usize = 8;

/// One message with a checked header, and its body.
#[derive(Debug)]
pub struct Frame {
    /// The header.
    pub message: Message,
    /// The producer's statements for checking it.
    pub integrity: Integrity,
    /// The complete body.
    pub body: AlignedBody,
    /// Byte offset of the message in the stream.
    pub byte: u64,
}

/// The part of a message to which the next byte belongs.
#[derive(Debug)]
enum State {
    /// Continuation and length; in old streams the length and the first 4 bytes of the metadata.
    Prefix { bytes: [u8; 8], filled: usize },
    /// The FlatBuffers header.
    Metadata { bytes: Vec<u8>, filled: usize },
    /// The buffers.
    Body {
        header: Option<(Message, Integrity)>,
        body: Region,
    },
    /// The end-of-stream marker of a file has been read; its footer follows.
    Footer,
    /// The end-of-stream marker has been read; further bytes are ignored.
    Complete,
    /// An error occurred; no more bytes are read.
    Failed(DecodeError),
}

impl State {
    const START: Self = Self::Prefix {
        bytes: [0; 8],
        filled: 0,
    };
}

/// A push parser for the stream format. The caller writes bytes directly to their final place:
/// [`space`](Self::space) returns the buffer, [`advance`](Self::advance) accepts the written bytes.
#[derive(Debug)]
pub struct Framer {
    limits: Limits,
    state: State,
    /// Set if the bytes are a file.
    file: Option<Box<FileInOrder>>,
    /// Bytes taken so far.
    position: u64,
    /// The position at which the current message began.
    message_start: u64,
    /// The memory of the bodies.
    arena: Arena,
}

impl Framer {
    /// A framer at the start of a stream, without a memory budget.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::with_memory(limits, u64::MAX, SlabPool::default())
    }

    /// A framer whose bodies lie in slabs of `pool` and take at most `memory_bytes` at a time. A
    /// message with a larger body is refused before memory is reserved for it.
    #[must_use]
    pub fn with_memory(limits: Limits, memory_bytes: u64, pool: SlabPool) -> Self {
        Self {
            limits,
            state: State::START,
            file: None,
            position: 0,
            message_start: 0,
            arena: Arena::new(pool, memory_bytes),
        }
    }

    /// Continues with messages from byte `start` of a file on, or with a further stream, which starts
    /// at 0. The incomplete message and any error are dropped.
    #[cfg(feature = "decode")]
    pub(crate) fn restart_at(&mut self, start: u64) {
        self.state = State::START;
        self.file = None;
        self.position = start;
        self.message_start = start;
    }

    /// Whether the bytes are a file that is read in byte order.
    #[cfg(feature = "decode")]
    pub(crate) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// The memory of the bodies.
    #[cfg(feature = "decode")]
    pub(crate) fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }

    /// Bytes of memory that the bodies hold, as long as something refers to them.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.arena.used_bytes()
    }

    /// The buffer for the next bytes. It is empty only if the stream is complete, has failed, or waits
    /// for a larger memory budget.
    pub fn space(&mut self) -> &mut [u8] {
        match &mut self.state {
            State::Prefix { bytes, filled } => &mut bytes[*filled..],
            State::Metadata { bytes, filled } => &mut bytes[*filled..],
            State::Body { body, .. } => body.space(),
            State::Footer => self.file.as_mut().map_or(&mut [], |file| file.space()),
            State::Complete | State::Failed(_) => &mut [],
        }
    }

    /// Like [`space`](Self::space), for a caller who writes through a pointer: the memory may never have
    /// been written. Before `advance`, the caller calls `assume_written`.
    #[cfg(feature = "decode")]
    pub(crate) fn unwritten(&mut self) -> (*mut u8, usize) {
        match &mut self.state {
            State::Body { body, .. } => body.unwritten(),
            _ => {
                let space = self.space();
                (space.as_mut_ptr(), space.len())
            }
        }
    }

    /// Counts the first `num_bytes` of [`unwritten`](Self::unwritten) as written.
    ///
    /// # Safety
    /// The caller has written them.
    #[cfg(feature = "decode")]
    pub(crate) unsafe fn assume_written(&mut self, num_bytes: usize) {
        if let State::Body { body, .. } = &mut self.state {
            // SAFETY: the caller guarantees it.
            unsafe { body.assume_written(num_bytes) }
        }
    }

    /// Accepts the first `num_bytes` bytes of [`space`](Self::space), which the caller has written.
    /// Returns the message that they complete, if any.
    ///
    /// # Errors
    /// What is wrong with the message, with its byte offset. Every further call returns the same error.
    /// A message that exceeds the memory budget waits: when the budget is larger, an `advance` by 0
    /// goes on.
    pub fn advance(&mut self, num_bytes: usize) -> Result<Option<Frame>, DecodeError> {
        if let State::Failed(error) = &self.state {
            return Err(error.clone());
        }
        let num_bytes = match num_bytes {
            0 => 0,
            _ => num_bytes.min(self.space().len()),
        };
        self.position += num_bytes as u64;
        self.step(num_bytes).map_err(|error| {
            let error = error.at_byte(self.message_start);
            if error.kind != DecodeErrorKind::MemoryBudgetExceeded {
                self.state = State::Failed(error.clone());
            }
            error
        })
    }

    fn step(&mut self, num_bytes: usize) -> Result<Option<Frame>, DecodeError> {
        match &mut self.state {
            State::Prefix { bytes, filled } => {
                *filled += num_bytes;
                let (prefix, filled) = (*bytes, *filled);
                self.read_prefix(prefix, filled)?;
                Ok(None)
            }
            State::Metadata { bytes, filled } => {
                *filled += num_bytes;
                if *filled < bytes.len() {
                    return Ok(None);
                }
                let (message, body_bytes) = Message::read(bytes, &self.limits)?;
                let integrity = Integrity::read(bytes)?;
                self.arena.check_budget(body_bytes)?;
                let is_compressed = match &message {
                    Message::Schema(_) => false,
                    Message::Dictionary(header) => header.values.compression.is_some(),
                    Message::Batch(header) => header.compression.is_some(),
                };
                let body = if is_compressed {
                    self.arena.reserve_alone(body_bytes)?
                } else {
                    self.arena.reserve(body_bytes)?
                };
                self.state = State::Body {
                    header: Some((message, integrity)),
                    body,
                };
                self.step(0)
            }
            State::Body { header, body } => {
                body.advance(num_bytes);
                if !body.is_complete() {
                    return Ok(None);
                }
                let frame = header.take().map(|(message, integrity)| Frame {
                    message,
                    integrity,
                    body: std::mem::replace(body, Region::empty()).complete(),
                    byte: self.message_start,
                });
                if let (Some(file), Some(frame)) = (&mut self.file, &frame) {
                    file.note(&frame.message, frame.byte);
                }
                self.message_start = self.position;
                self.state = State::START;
                Ok(frame)
            }
            State::Footer => {
                if let Some(file) = &mut self.file {
                    file.advance(num_bytes, &self.limits)?;
                }
                Ok(None)
            }
            State::Complete | State::Failed(_) => Ok(None),
        }
    }

    /// Handles the end-of-stream marker and the bytes `rest` after it.
    fn end_stream(&mut self, rest: &[u8]) -> Result<(), DecodeError> {
        self.state = State::Complete;
        if let Some(file) = &mut self.file {
            self.state = State::Footer;
            file.space()[..rest.len()].copy_from_slice(rest);
            file.advance(rest.len(), &self.limits)?;
        }
        Ok(())
    }

    fn read_prefix(&mut self, prefix: [u8; 8], filled: usize) -> Result<(), DecodeError> {
        if filled < 4 {
            return Ok(());
        }
        let [first, second] =
            [0, 4].map(|at| [prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]]);
        let has_continuation = first == CONTINUATION;
        let is_start = self.message_start == 0;
        let is_marker = first == [0; 4] || (has_continuation && filled == 8 && second == [0; 4]);
        if is_marker && is_start {
            return Err(DecodeError::new(
                DecodeErrorKind::NotArrow,
                "the stream ends before its schema",
            ));
        }
        if !has_continuation && first == [0; 4] {
            return self.end_stream(&prefix[4..filled]);
        }
        if let Some(what) = foreign(first).filter(|_| is_start && self.file.is_none()) {
            return Err(DecodeError::new(
                DecodeErrorKind::NotArrow,
                format!("this is {what}; expected an Arrow IPC stream or file"),
            ));
        }
        if filled < 8 {
            return Ok(());
        }
        if is_start && prefix.starts_with(MAGIC) {
            self.file = Some(Box::default());
            self.message_start = self.position;
            self.state = State::START;
            return Ok(());
        }
        let length = i64::from(i32::from_le_bytes(if has_continuation {
            second
        } else {
            first
        }));
        if has_continuation && length == 0 {
            return self.end_stream(&[]);
        }
        if length < 4 || length as u64 > self.limits.max_metadata_bytes {
            let looks = if has_continuation || self.message_start > 0 {
                format!("a message claims {length} bytes of metadata")
            } else {
                "the bytes are neither an Arrow IPC stream nor a file".to_owned()
            };
            return Err(DecodeError::new(
                DecodeErrorKind::NotArrow,
                format!(
                    "{looks}; expected FFFFFFFF and a length of 4 to {}",
                    self.limits.max_metadata_bytes
                ),
            ));
        }
        let length = length as usize;
        if length >= LARGE_METADATA_BYTES && !has_room(length.saturating_mul(HEADER_BYTES_PER_BYTE))
        {
            return Err(DecodeError::new(
                DecodeErrorKind::MemoryBudgetExceeded,
                format!("no memory for {length} bytes of metadata"),
            ));
        }
        let mut bytes = vec![0; length];
        let filled = if has_continuation {
            0
        } else {
            bytes[..4].copy_from_slice(&second);
            4
        };
        self.state = State::Metadata { bytes, filled };
        if filled == length {
            self.step(0)?;
        }
        Ok(())
    }

    /// Copies `bytes` into the framer and returns the messages that they complete. Bytes after the
    /// end-of-stream marker are ignored.
    ///
    /// # Errors
    /// As [`advance`](Self::advance). The messages before the wrong one are lost, so use `space` and
    /// `advance` where that matters.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Frame>, DecodeError> {
        let mut frames = Vec::new();
        while !bytes.is_empty() {
            let space = self.space();
            let taken = space.len().min(bytes.len());
            space[..taken].copy_from_slice(&bytes[..taken]);
            frames.extend(self.advance(taken)?);
            if taken == 0 {
                break;
            }
            bytes = &bytes[taken..];
        }
        Ok(frames)
    }

    /// Stops at an error that the reader of the frames found.
    #[cfg(feature = "decode")]
    pub(crate) fn fail(&mut self, error: DecodeError) {
        self.state = State::Failed(error);
    }

    /// Whether the end-of-stream marker has been read. It is the only proof that the stream is
    /// complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// Whether the stream is between two messages. Always false for a file, which ends with its footer.
    #[must_use]
    pub fn at_message_boundary(&self) -> bool {
        matches!(
            self.state,
            State::Prefix { filled: 0, .. } | State::Complete
        ) && self.file.is_none()
    }

    /// The number of bytes that were accepted so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Checks that the stream is complete, after the last byte of the body.
    ///
    /// # Errors
    /// `MissingEndOfStream` or `TruncatedMessage` if the marker has not been read; the earlier error if
    /// there was one.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match &self.state {
            State::Complete => Ok(()),
            State::Failed(error) => Err(error.clone()),
            State::Footer => self
                .file
                .as_ref()
                .map_or(Ok(()), |file| file.check(self.position, &self.limits))
                .map_err(|error| error.at_byte(self.position)),
            State::Prefix { filled: 0, .. } if self.file.is_some() => {
                Err(cut_short().at_byte(self.position))
            }
            _ if self.at_message_boundary() => Err(DecodeError::new(
                DecodeErrorKind::MissingEndOfStream,
                "the stream ended without its end-of-stream marker, so rows may be missing",
            )
            .at_byte(self.position)),
            _ => Err(DecodeError::new(
                DecodeErrorKind::TruncatedMessage,
                "the stream ended in the middle of a message",
            )
            .at_byte(self.position)),
        }
    }
}
