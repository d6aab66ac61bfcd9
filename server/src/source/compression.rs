//! Compressed files, which are read to their end.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};

/// The compression of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Compression {
    /// No compression.
    None,
    /// One or more members of gzip, RFC 1952.
    Gzip,
    /// One or more frames of Zstandard, RFC 8878.
    Zstd,
}

impl Compression {
    /// The compression of a file that begins with `start`.
    pub(super) fn of_start(start: &[u8]) -> Self {
        match start {
            [0x1F, 0x8B, ..] => Self::Gzip,
            // A skippable frame can come first: some parallel writers put one before each frame.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The bytes of a file, of which `packed` reads the compressed ones. They end where `packed` ends.
    ///
    /// # Errors
    /// When it is read: the errors of `packed`; `InvalidData` if the data are damaged, are cut, or are followed by
    /// something else, with the position in the compressed file.
    pub(crate) fn unpack<'a>(
        self,
        packed: impl BufRead + Send + 'a,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let counted = |bytes| Packed {
            bytes,
            position: 0,
            has_failed: false,
        };
        Ok(match self {
            Self::None => Box::new(packed),
            Self::Gzip => Box::new(Unpacked::Gzip(Box::new(MultiGzDecoder::new(counted(
                packed,
            ))))),
            Self::Zstd => Box::new(Unpacked::Zstd(zstd::Decoder::with_buffer(counted(packed))?)),
        })
    }
}

/// Compressed bytes, with the position of the next one.
struct Packed<R> {
    bytes: R,
    position: u64,
    has_failed: bool,
}

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let num_bytes = self.fill_buf()?.read(into)?;
        self.consume(num_bytes);
        Ok(num_bytes)
    }
}

impl<R: BufRead> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.bytes.fill_buf();
        self.has_failed = bytes.is_err();
        bytes
    }

    fn consume(&mut self, num_bytes: usize) {
        self.bytes.consume(num_bytes);
        self.position += num_bytes as u64;
    }
}

enum Unpacked<R> {
    Gzip(Box<MultiGzDecoder<Packed<R>>>),
    Zstd(zstd::Decoder<'static, Packed<R>>),
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (read, packed, name) = match self {
            Self::Gzip(decoder) => (decoder.read(into), decoder.get_ref(), "gzip"),
            Self::Zstd(decoder) => (decoder.read(into), decoder.get_ref(), "Zstandard"),
        };
        read.map_err(|error| {
            let at = packed.position;
            let message = match error.kind() {
                _ if packed.has_failed => return error,
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => {
                    format!("its {name} data end too early, after {at} bytes")
                }
                _ => format!("its {name} data are damaged near byte {at}: {error}"),
            };
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }
}
