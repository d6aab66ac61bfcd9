//! Decompresses messages for a reader that did not request compression.

use std::sync::Arc;

use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamDecoder;

use crate::encode::Encoder;
use crate::message::{IpcMessage, MessageKind};

/// Decompresses the messages of one stream in order.
pub struct Recoder {
    decoder: StreamDecoder,
    encoder: Option<Encoder>,
}

impl Recoder {
    /// A recoder for messages of `schema`.
    ///
    /// # Errors
    /// The message is not a schema.
    pub fn try_new(schema: &IpcMessage) -> Result<Self, ArrowError> {
        let mut decoder = StreamDecoder::new();
        decoder.decode(&mut Buffer::from(schema.frame()))?;
        Ok(Self {
            decoder,
            encoder: None,
        })
    }

    /// The same rows as uncompressed messages.
    ///
    /// # Errors
    /// The message does not fit the schema.
    pub fn recode(&mut self, message: &IpcMessage) -> Result<Vec<IpcMessage>, ArrowError> {
        let mut out = Vec::new();
        if message.kind == MessageKind::Batch && message.body.is_empty() {
            // There is nothing to decompress. Also, the decoder would hold the message back until the
            // next one.
            return Ok(vec![message.clone()]);
        }
        let mut frame = Buffer::from(message.frame());
        while let Some(batch) = self.decoder.decode(&mut frame)? {
            let encoder = match &mut self.encoder {
                Some(encoder) => encoder,
                none => none.insert(Encoder::try_new(
                    Arc::clone(&batch.schema()),
                    usize::MAX / 8,
                    None,
                    None,
                )?),
            };
            out.extend(encoder.encode(&batch)?);
        }
        Ok(out)
    }
}
