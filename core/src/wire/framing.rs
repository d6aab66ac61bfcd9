//! Cuts an Arrow IPC stream into messages as its bytes land.
//!
//! Encapsulated message: continuation `FFFFFFFF`, i32 length of the metadata, metadata (padded to
//! 8 bytes), body. A length of zero is the end-of-stream marker. Before Arrow 0.15 there was no
//! continuation; the length came first.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::integrity::Integrity;
use super::{DecodeError, DecodeErrorKind, Limits, Message};

const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes at an address that is a multiple of 64, as Arrow recommends for buffers.
#[derive(Debug)]
pub struct AlignedBody {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the allocation is owned and reached only through `&self` or `&mut self`.
unsafe impl Send for AlignedBody {}
// SAFETY: as above; `&self` only reads.
unsafe impl Sync for AlignedBody {}

impl AlignedBody {
    const ALIGNMENT: usize = 64;

    /// `len` zero bytes.
    ///
    /// # Errors
    /// `MemoryBudgetExceeded` where the allocator refuses.
    pub fn try_new(len: usize) -> Result<Self, DecodeError> {
        if len == 0 {
            return Ok(Self {
                start: NonNull::dangling(),
                len,
            });
        }
        Layout::from_size_align(len, Self::ALIGNMENT)
            .ok()
            // SAFETY: the layout's size is not zero.
            .and_then(|layout| NonNull::new(unsafe { alloc_zeroed(layout) }))
            .map(|start| Self { start, len })
            .ok_or_else(|| {
                DecodeError::new(
                    DecodeErrorKind::MemoryBudgetExceeded,
                    format!("no memory for {len} more bytes"),
                )
            })
    }

    #[cfg(feature = "decode")]
    pub(crate) fn into_buffer(self) -> arrow_buffer::Buffer {
        let (start, len) = (self.start, self.len);
        if len == 0 {
            return arrow_buffer::Buffer::from_vec(Vec::<u8>::new());
        }
        // SAFETY: `start` and `len` describe the allocation that `self` owns, and the buffer keeps
        // `self` alive.
        unsafe {
            arrow_buffer::Buffer::from_custom_allocation(start, len, std::sync::Arc::new(self))
        }
    }
}

impl Drop for AlignedBody {
    fn drop(&mut self) {
        if self.len > 0
            && let Ok(layout) = Layout::from_size_align(self.len, Self::ALIGNMENT)
        {
            // SAFETY: allocated in `try_new` with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

impl Deref for AlignedBody {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (dangling only where `len` is 0).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBody {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// One message whose header has been checked, with its body.
#[derive(Debug)]
pub struct Frame {
    /// The header.
    pub message: Message,
    /// What its producer says to check it by.
    pub integrity: Integrity,
    /// The body, complete.
    pub body: AlignedBody,
    /// Byte offset of the message in the stream.
    pub byte: u64,
}

/// Where the next byte belongs.
#[derive(Debug)]
enum State {
    /// Continuation and length, or in old streams the length and the metadata's first 4 bytes.
    Prefix { bytes: [u8; 8], filled: usize },
    /// The FlatBuffers header.
    Metadata { bytes: Vec<u8>, filled: usize },
    /// The buffers.
    Body {
        header: Option<(Message, Integrity)>,
        body: AlignedBody,
        filled: usize,
    },
    /// The end-of-stream marker was seen; what follows belongs to nobody.
    Complete,
    /// Something was wrong; nothing more is read.
    Failed(DecodeError),
}

impl State {
    const START: Self = Self::Prefix {
        bytes: [0; 8],
        filled: 0,
    };
}

/// A push parser for the stream format. Bytes are written straight to where they stay:
/// [`space`](Self::space) says where, [`advance`](Self::advance) that they are there.
#[derive(Debug)]
pub struct Framer {
    limits: Limits,
    state: State,
    /// Bytes taken so far.
    position: u64,
    /// Where the current message began.
    message_start: u64,
    /// How many more body bytes may be allocated.
    remaining_budget_bytes: u64,
}

impl Framer {
    /// A framer at the start of a stream, without a memory budget.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::START,
            position: 0,
            message_start: 0,
            remaining_budget_bytes: u64::MAX,
        }
    }

    /// Bounds the bodies still to come: a message with a longer one is refused before it is
    /// allocated.
    pub fn set_remaining_budget_bytes(&mut self, bytes: u64) {
        self.remaining_budget_bytes = bytes;
    }

    /// Where the next bytes go; never empty until the stream is complete, has failed, or waits for a
    /// larger memory budget.
    pub fn space(&mut self) -> &mut [u8] {
        match &mut self.state {
            State::Prefix { bytes, filled } => &mut bytes[*filled..],
            State::Metadata { bytes, filled } => &mut bytes[*filled..],
            State::Body { body, filled, .. } => &mut body[*filled..],
            State::Complete | State::Failed(_) => &mut [],
        }
    }

    /// Takes the first `num_bytes` bytes of [`space`](Self::space), which have been written.
    /// Returns the message that they complete, if they do.
    ///
    /// # Errors
    /// What is wrong with the message, with its byte offset; then again at every further call. A
    /// message beyond the memory budget waits: once that is larger, an advance by 0 goes on.
    pub fn advance(&mut self, num_bytes: usize) -> Result<Option<Frame>, DecodeError> {
        if let State::Failed(error) = &self.state {
            return Err(error.clone());
        }
        let num_bytes = num_bytes.min(self.space().len());
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
                if body_bytes > self.remaining_budget_bytes {
                    return Err(DecodeError::new(
                        DecodeErrorKind::MemoryBudgetExceeded,
                        format!(
                            "the next message holds {body_bytes} bytes, but the memory budget has {} left",
                            self.remaining_budget_bytes
                        ),
                    ));
                }
                let len = usize::try_from(body_bytes).map_err(|_| {
                    DecodeError::header("the body is larger than this machine's memory")
                })?;
                self.state = State::Body {
                    header: Some((message, integrity)),
                    body: AlignedBody::try_new(len)?,
                    filled: 0,
                };
                self.step(0)
            }
            State::Body {
                header,
                body,
                filled,
            } => {
                *filled += num_bytes;
                if *filled < body.len() {
                    return Ok(None);
                }
                let frame = header.take().map(|(message, integrity)| Frame {
                    message,
                    integrity,
                    body: std::mem::replace(
                        body,
                        AlignedBody {
                            start: NonNull::dangling(),
                            len: 0,
                        },
                    ),
                    byte: self.message_start,
                });
                self.message_start = self.position;
                self.state = State::START;
                Ok(frame)
            }
            State::Complete | State::Failed(_) => Ok(None),
        }
    }

    fn read_prefix(&mut self, prefix: [u8; 8], filled: usize) -> Result<(), DecodeError> {
        if filled < 4 {
            return Ok(());
        }
        let [first, second] =
            [0, 4].map(|at| [prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]]);
        let has_continuation = first == CONTINUATION;
        if !has_continuation && first == [0; 4] {
            self.state = State::Complete;
            return Ok(());
        }
        if filled < 8 {
            return Ok(());
        }
        let length = i64::from(i32::from_le_bytes(if has_continuation {
            second
        } else {
            first
        }));
        if has_continuation && length == 0 {
            self.state = State::Complete;
            return Ok(());
        }
        if length < 4 || length as u64 > self.limits.max_metadata_bytes {
            let looks = if has_continuation || self.message_start > 0 {
                format!("a message claims {length} bytes of metadata")
            } else {
                "the bytes are not an Arrow IPC stream".to_owned()
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
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| {
            DecodeError::new(
                DecodeErrorKind::MemoryBudgetExceeded,
                format!("no memory for {length} bytes of metadata"),
            )
        })?;
        bytes.resize(length, 0);
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

    /// Copies `bytes` in and returns the messages that they complete. Bytes after the end-of-stream
    /// marker are ignored.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); the messages before the one at fault are lost with it, so use
    /// `space` and `advance` where that matters.
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

    /// The end-of-stream marker was seen: the only proof that the stream is whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// No message is half read.
    #[must_use]
    pub fn at_message_boundary(&self) -> bool {
        matches!(
            self.state,
            State::Prefix { filled: 0, .. } | State::Complete
        )
    }

    /// Bytes taken so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The body has ended.
    ///
    /// # Errors
    /// `MissingEndOfStream` or `TruncatedMessage` unless the marker was seen; the earlier error
    /// where there was one.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match &self.state {
            State::Complete => Ok(()),
            State::Failed(error) => Err(error.clone()),
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
