//! JavaScript bindings of `colonnade-core`: newtypes whose methods delegate to it.

mod kernels;
mod warm;
mod zone;

use colonnade_core::decode;
use colonnade_core::text::json_string;
use colonnade_core::wire::{DecodeError, Limits, SlabPool, StreamSchema};
use js_sys::{Error, Reflect};
use wasm_bindgen::prelude::*;

use zone::IntlTimeZones;

thread_local! {
    /// Memory of dropped streams, reused for new ones. Memory that was written before is much faster
    /// than new memory.
    static POOL: SlabPool = SlabPool::default();
}

/// Decodes one Arrow IPC stream as its bytes land, or several responses that form one result.
///
/// JavaScript writes bytes directly into the module's memory: `spacePtr` and `spaceLen` describe the
/// buffer for the next ones, `advance` accepts them. Thrown errors have `code`, `byte` and `row`.
#[wasm_bindgen]
pub struct Decoder {
    pub(crate) decoder: decode::Decoder,
    pub(crate) zones: IntlTimeZones,
}

#[wasm_bindgen]
impl Decoder {
    /// A decoder that keeps at most `memory_bytes` of message bodies.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(memory_bytes: f64) -> Self {
        std::panic::set_hook(Box::new(|panic| {
            web_sys::console::error_1(&panic.to_string().into());
        }));
        let pool = POOL.with(SlabPool::clone);
        Self {
            decoder: decode::Decoder::with_pool(memory_bytes as u64, Limits::of_memory(), pool),
            zones: IntlTimeZones::default(),
        }
    }

    /// Address of the buffer for the next bytes; valid until the next call.
    #[wasm_bindgen(js_name = spacePtr)]
    #[must_use]
    pub fn space_ptr(&mut self) -> *mut u8 {
        self.decoder.unwritten().0
    }

    /// Length of the buffer for the next bytes. It is 0 once the stream is complete, has failed, or
    /// waits for a larger budget.
    #[wasm_bindgen(js_name = spaceLen)]
    #[must_use]
    pub fn space_len(&mut self) -> usize {
        self.decoder.unwritten().1
    }

    /// Accepts the `num_bytes` bytes that were written at `spacePtr`.
    ///
    /// # Errors
    /// What is wrong with the stream. Rows that were read before stay readable.
    pub fn advance(&mut self, num_bytes: usize) -> Result<(), JsValue> {
        // SAFETY: JavaScript has written them, and wasm memory that was not written holds zeros.
        unsafe { self.decoder.assume_written(num_bytes) };
        self.decoder
            .advance(num_bytes)
            .map(drop)
            .map_err(|error| to_js_error(&error))
    }

    /// Begins an IPC file whose footer is at byte `start`. Returns the byte ranges to write, in order,
    /// as pairs of start and end. After them, the caller writes an end-of-stream marker.
    ///
    /// # Errors
    /// What is wrong with the footer.
    #[wasm_bindgen(js_name = openFile)]
    pub fn open_file(&mut self, footer: &[u8], start: f64) -> Result<Vec<f64>, JsValue> {
        let ranges = self.decoder.open_file(footer, start as u64);
        ranges
            .map(|ranges| {
                ranges
                    .iter()
                    .flat_map(|range| [range.start as f64, range.end as f64])
                    .collect()
            })
            .map_err(|error| to_js_error(&error))
    }

    /// Begins a further response, which was requested from the next row on: `first_row` of the result.
    /// The incomplete message and any error are dropped; the rows stay.
    pub fn resume(&mut self, first_row: f64) {
        self.decoder.resume(first_row as u64);
    }

    /// A decoder for other rows of the same result, from `first_row` of the result on. It keeps at most
    /// `memory_bytes`. It refuses another schema, and rows of another state of the source.
    #[wasm_bindgen(js_name = block)]
    #[must_use]
    pub fn row_block(&self, first_row: f64, memory_bytes: f64) -> Self {
        Self {
            decoder: self
                .decoder
                .row_block(first_row as u64, memory_bytes as u64),
            zones: IntlTimeZones::default(),
        }
    }

    /// Drops the batches that begin at or after row `num_rows`. The stream cannot be read further.
    #[wasm_bindgen(js_name = keepFirst)]
    pub fn keep_first(&mut self, num_rows: f64) {
        self.decoder.keep_first(num_rows as u64);
    }

    /// Changes the memory budget. A message that was refused because it exceeded the budget is tried
    /// again.
    ///
    /// # Errors
    /// As `advance`.
    #[wasm_bindgen(js_name = setMemoryBytes)]
    pub fn set_memory_bytes(&mut self, memory_bytes: f64) -> Result<(), JsValue> {
        self.decoder
            .set_memory_bytes(memory_bytes as u64)
            .map(drop)
            .map_err(|error| to_js_error(&error))
    }

    /// Checks that the stream is complete, after the last byte of the body.
    ///
    /// # Errors
    /// `missing_end_of_stream` or `truncated_message` if the end-of-stream marker has not been read.
    pub fn finish(&self) -> Result<(), JsValue> {
        self.decoder.finish().map_err(|error| to_js_error(&error))
    }

    /// Whether the end-of-stream marker has been read.
    #[wasm_bindgen(js_name = isComplete)]
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.decoder.progress().is_complete
    }

    /// Whether the stream is between two messages.
    #[wasm_bindgen(js_name = atMessageBoundary)]
    #[must_use]
    pub fn at_message_boundary(&self) -> bool {
        self.decoder.at_message_boundary()
    }

    /// `{"fields":[{"name","type","nullable","metadata"}],"metadata"}`, once the schema is known.
    /// `type` is the name of the type as pyarrow prints it.
    #[wasm_bindgen(js_name = schemaJson)]
    #[must_use]
    pub fn schema_json(&self) -> Option<String> {
        self.decoder.schema().map(|schema| schema_json(schema))
    }

    /// Rows that can be read now.
    #[wasm_bindgen(js_name = numRows)]
    #[must_use]
    pub fn num_rows(&self) -> f64 {
        self.decoder.progress().num_rows as f64
    }

    /// The number of record batches that were received.
    #[wasm_bindgen(js_name = numBatches)]
    #[must_use]
    pub fn num_batches(&self) -> f64 {
        self.decoder.progress().num_batches as f64
    }

    /// Bytes of memory that hold message bodies.
    #[wasm_bindgen(js_name = memoryBytes)]
    #[must_use]
    pub fn memory_bytes(&self) -> f64 {
        self.decoder.used_bytes() as f64
    }
}

fn schema_json(schema: &StreamSchema) -> String {
    let fields: Vec<_> = schema
        .fields
        .iter()
        .map(|field| {
            format!(
                r#"{{"name":{},"type":{},"nullable":{},"metadata":{}}}"#,
                json_string(field.field.name()),
                json_string(&field.type_name()),
                field.field.is_nullable(),
                metadata_json(field.field.metadata().iter()),
            )
        })
        .collect();
    format!(
        r#"{{"fields":[{}],"metadata":{}}}"#,
        fields.join(","),
        metadata_json(schema.metadata.iter())
    )
}

fn metadata_json<'a>(metadata: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let mut pairs: Vec<_> = metadata
        .map(|(key, value)| format!("{}:{}", json_string(key), json_string(value)))
        .collect();
    pairs.sort_unstable();
    format!("{{{}}}", pairs.join(","))
}

fn to_js_error(error: &DecodeError) -> JsValue {
    js_error(error.kind.code(), &error.message, error.row, error.byte)
}

pub(crate) fn js_error(code: &str, message: &str, row: u64, byte: u64) -> JsValue {
    let error = Error::new(message);
    for (key, value) in [
        ("code", JsValue::from(code)),
        ("row", JsValue::from(row as f64)),
        ("byte", JsValue::from(byte as f64)),
    ] {
        // Setting a property of a new object cannot fail.
        let _ = Reflect::set(&error, &key.into(), &value);
    }
    error.into()
}
