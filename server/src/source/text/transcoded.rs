//! Reads text of any encoding as UTF-8.

use std::io::{self, Read};

use colonnade_text::{Encoding, Transcoder};

use super::PIECE_BYTES;

/// The UTF-8 of the text that a reader has in another encoding.
pub(super) struct Transcoded<R> {
    inner: R,
    transcoder: Transcoder,
    bytes: Vec<u8>,
    text: io::Cursor<Vec<u8>>,
    is_finished: bool,
}

impl<R: Read> Transcoded<R> {
    pub(super) fn new(inner: R, encoding: Encoding) -> Self {
        Self {
            inner,
            transcoder: Transcoder::new(encoding),
            bytes: vec![0; PIECE_BYTES],
            text: io::Cursor::default(),
            is_finished: false,
        }
    }
}

impl<R: Read> Read for Transcoded<R> {
    /// # Errors
    /// Those of the inner reader, and the `TextError` of bytes that are not of the encoding.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let num_bytes = self.text.read(into)?;
            if num_bytes > 0 || into.is_empty() || self.is_finished {
                return Ok(num_bytes);
            }
            let text = match self.inner.read(&mut self.bytes)? {
                0 => {
                    self.is_finished = true;
                    self.transcoder.finish()
                }
                num_bytes => self.transcoder.push(&self.bytes[..num_bytes]),
            };
            self.text = io::Cursor::new(text.map_err(io::Error::other)?);
        }
    }
}
