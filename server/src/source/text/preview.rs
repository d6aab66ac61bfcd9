//! The first rows of a text file, before it is uploaded.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use colonnade_text::{Decoder, Encoding, Format, Inference, TextOptions, Transcoder};
use datafusion::arrow::array::RecordBatch;

use super::{Storing, detect_format};
use crate::source::naming::with_distinct_names;
use crate::source::{Compression, FileKind};

/// The most rows of a preview.
const PREVIEW_ROWS: u64 = 100;

/// The first rows of a text file, and how it is read.
#[derive(Debug)]
pub struct Preview {
    /// The columns with the types of the rows that were read, and at most 100 rows.
    pub rows: RecordBatch,
    /// How the text is read, as keys and values of `TextOptions::set`.
    pub options: Vec<(&'static str, String)>,
}

impl Preview {
    /// Reads the first rows of the file called `name` that begins with `start`. `is_whole` says that the file
    /// has no more bytes.
    ///
    /// # Errors
    /// One line: the file is not text, or one of these rows is broken.
    pub fn read(
        name: &str,
        start: &[u8],
        is_whole: bool,
        options: &TextOptions,
    ) -> Result<Self, String> {
        let kind = FileKind::detect_start(Path::new(name), start);
        let kind = kind.filter(|kind| kind.format.is_text());
        let kind = kind.ok_or_else(|| format!("{name}: not a text file"))?;
        let bytes = decompressed(start, kind.compression);
        let encoding = options.encoding().or(Encoding::of_mark(&bytes));
        let encoding = encoding.unwrap_or_default();
        let text = if encoding == Encoding::UTF_8 {
            bytes
        } else {
            let text = Transcoder::new(encoding).push(&bytes);
            text.map_err(|error| format!("{name}: {error}"))?
        };
        let storing = Storing {
            compression: kind.compression,
            encoding,
            format: detect_format(&text, kind.format, options),
        };
        let is_whole = is_whole && kind.compression == Compression::None;
        let rows = first_rows(&text, is_whole, &storing.format, options)
            .map_err(|error| format!("{name}: {error}"))?;
        Ok(Self {
            rows,
            options: storing.options(),
        })
    }
}

/// The text, as far as the first bytes of the compressed file have it.
fn decompressed(start: &[u8], compression: Compression) -> Vec<u8> {
    let reader = compression.unpack(start);
    let mut bytes = Vec::new();
    if let Ok(reader) = reader {
        let max_bytes = 4 * start.len() as u64 + 4096;
        // The compressed bytes end early, which is expected.
        let _ = reader.take(max_bytes).read_to_end(&mut bytes);
    }
    bytes
}

fn first_rows(
    text: &[u8],
    is_whole: bool,
    format: &Format,
    options: &TextOptions,
) -> Result<RecordBatch, String> {
    let mut inference = Inference::new(format);
    let mut read = inference.push(text);
    if is_whole && read.is_ok() {
        read = inference.finish();
    }
    let num_rows = inference.num_rows().min(PREVIEW_ROWS);
    if let Err(error) = read
        && num_rows < PREVIEW_ROWS
    {
        return Err(format!("row {}: {error}", num_rows + 1));
    }
    let columns = inference
        .into_columns()
        .ok_or("there is no complete row in its first bytes")?;
    let schema = options.typed(&with_distinct_names(&columns.schema()))?;
    let schema = Arc::new(schema);
    let projection: Vec<usize> = (0..schema.fields().len()).collect();
    let batch_rows = num_rows.max(1) as usize;
    let mut decoder = Decoder::new(format, &schema, &projection, 0..u64::MAX, batch_rows)
        .map_err(|error| error.to_string())?;
    let read = decoder.push(text).map(drop);
    let read = if is_whole {
        read.and_then(|()| decoder.finish())
    } else {
        read
    };
    match (decoder.next_batch(), read) {
        (Some(rows), _) => Ok(rows),
        (None, Err(error)) => Err(error.to_string()),
        (None, Ok(())) => Ok(RecordBatch::new_empty(schema)),
    }
}
