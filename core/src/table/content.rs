use arrow_buffer::Buffer;

use crate::wire::{BatchHeader, Reservation};
#[cfg(feature = "kernels")]
use crate::wire::{frame, write_batch};

/// The content of a message: the header with the positions of the buffers, and the body. It is not
/// compressed, or no longer.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) header: BatchHeader,
    pub(crate) body: Buffer,
    /// The memory of buffers that are copied, because they are not aligned for their type.
    #[allow(dead_code)]
    pub(crate) copies: Reservation,
}

impl Content {
    /// Appends the message to `out`: a record batch, or, with `dictionary` (its id, and whether it is a
    /// delta), a dictionary batch.
    #[cfg(feature = "kernels")]
    pub(crate) fn write(&self, dictionary: Option<(i64, bool)>, out: &mut Vec<u8>) {
        let body_bytes = self.body.len().next_multiple_of(8);
        out.extend(frame(&write_batch(&self.header, dictionary, body_bytes)));
        out.extend_from_slice(&self.body);
        out.resize(out.len().next_multiple_of(8), 0);
    }
}
