//! CSV, TSV and JSON files: how they are written, which columns they have, and their rows.

mod broken_row;
mod scan;

use std::io::{self, Read};
use std::sync::Arc;

use colonnade_core::semantics::distinct_names;
use colonnade_text::csv::{DETECT_BYTES, Dialect, QuoteScan};
use colonnade_text::json::{Layout, Options};
use colonnade_text::{Columns, Format, Inference, TextError, TextErrorKind};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

pub(super) use scan::TextSource;

use self::broken_row::describe;

use crate::source::cursor::Cursor;
use crate::source::parallel::try_in_parallel;
use crate::source::{Compression, FileFormat, FileKind, SourceFile};

/// The rows of each file that decide the types of a table with more than [`SAMPLE_BYTES`] of text.
const SAMPLE_ROWS: u64 = 20_000;

/// Bytes of text of a table that decide its types in any case.
const SAMPLE_BYTES: u64 = 8 << 20;

/// Bytes of text that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// Uncompressed files up to this size are searched for line ends inside quotes. A larger file is read
/// in one piece, which is always correct.
const MAX_SEARCH_BYTES: u64 = 4 << 30;

/// The same limit for a file in an object store, which must be downloaded for the search.
const MAX_REMOTE_SEARCH_BYTES: u64 = 64 << 20;

/// The rows that decide the types of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypesFrom {
    /// The first rows of each file, and all rows of a small table. A later value that does not fit is an
    /// error.
    Sample,
    /// All rows before the first broken one.
    AllRows,
    /// All rows, of which none may be broken.
    SoundRows,
}

/// How the files of a table are read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TextFiles {
    pub(super) format: Format,
    /// Whether a file may be split into ranges of bytes.
    pub(super) splits: bool,
    /// Whether all rows decided the types.
    pub(super) is_of_all_rows: bool,
}

/// The columns of text files, and how the files are read.
///
/// # Errors
/// One line: which file cannot be read, has no columns, or does not fit the files before it.
pub(super) fn read(
    files: &[SourceFile],
    kind: FileKind,
    types_from: TypesFrom,
) -> Result<(SchemaRef, TextFiles), String> {
    let with_content = files.iter().find(|file| file.size_bytes() > 0);
    let first = with_content.or(files.first()).ok_or("no file matches")?;
    let sample_bytes = (types_from == TypesFrom::Sample).then(|| SAMPLE_BYTES / files.len() as u64);
    let format = detect(first, kind).map_err(|error| format!("{}: {error}", first.label))?;
    let found = try_in_parallel(files.iter(), |file| {
        let found = FileColumns::infer(file, kind, &format, sample_bytes)
            .map_err(|error| format!("{}: {error}", file.label))?;
        match &found.broken {
            Some(error) if found.must_be_sound(types_from) => {
                Err(describe(file, kind, &format, error).message)
            }
            _ => Ok(found),
        }
    })?;
    let (mut splits, mut is_of_all_rows) = (true, true);
    let mut columns: Option<Columns> = None;
    for (file, next) in files.iter().zip(found) {
        splits &= next.splits;
        is_of_all_rows &= next.is_of_all_rows;
        match (&mut columns, next.columns) {
            (_, None) => tracing::warn!("{}: the file has no rows and no columns", file.label),
            (Some(columns), Some(next)) => columns
                .merge(next)
                .map_err(|error| format!("{}: {error}", file.label))?,
            (columns, next) => *columns = next,
        }
    }
    let columns = columns.ok_or_else(|| {
        let missing = match format {
            Format::Csv(_) => "the file has no header line",
            Format::Json(_) => "the file has no line with an object",
        };
        format!("{}: {missing}", first.label)
    })?;
    let read = TextFiles {
        format,
        splits,
        is_of_all_rows,
    };
    let schema = match &columns {
        Columns::Csv(_) => with_distinct_names(&columns.schema()),
        Columns::Json(_) => columns.schema(),
    };
    Ok((Arc::new(schema), read))
}

fn with_distinct_names(schema: &Schema) -> Schema {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let fields = distinct_names(names)
        .into_iter()
        .zip(schema.fields())
        .map(|(name, field)| field.as_ref().clone().with_name(name));
    Schema::new(fields.collect::<Vec<Field>>())
}

/// The decompressed text of a file from its start.
fn open(file: &SourceFile, kind: FileKind) -> io::Result<Box<dyn Read + Send>> {
    kind.compression
        .datafusion()
        .convert_read(Cursor::buffered(file))
        .map_err(io::Error::other)
}

/// How the text of `file` is written, by its first bytes.
fn detect(file: &SourceFile, kind: FileKind) -> io::Result<Format> {
    let mut start = vec![0; DETECT_BYTES];
    let num_bytes = fill(open(file, kind)?.as_mut(), &mut start)?;
    let start = &start[..num_bytes];
    Ok(match kind.format {
        FileFormat::Ndjson | FileFormat::Json => Format::Json(Options::detect(start)),
        FileFormat::Tsv => Format::Csv(Dialect {
            delimiter: b'\t',
            ..Dialect::detect(start)
        }),
        _ => Format::Csv(Dialect::detect(start)),
    })
}

/// What was found in one file.
struct FileColumns {
    /// `None` if the file is empty.
    columns: Option<Columns>,
    splits: bool,
    is_of_all_rows: bool,
    /// The first broken row.
    broken: Option<TextError>,
}

impl FileColumns {
    /// Whether a broken row makes the whole file unreadable: if none may be broken, or if the columns are not known
    /// without it.
    fn must_be_sound(&self, types_from: TypesFrom) -> bool {
        let is_of_columns = match self.broken.as_ref().map(|error| &error.kind) {
            Some(TextErrorKind::TooManyColumns) => true,
            Some(TextErrorKind::Empty) | None => false,
            Some(_) => self.columns.is_none(),
        };
        types_from == TypesFrom::SoundRows || is_of_columns
    }

    /// Reads all rows, or at least [`SAMPLE_ROWS`] and `sample_bytes`. A broken row ends the reading, and is
    /// reported when rows are read.
    fn infer(
        file: &SourceFile,
        kind: FileKind,
        format: &Format,
        sample_bytes: Option<u64>,
    ) -> io::Result<Self> {
        let mut reader = open(file, kind)?;
        let mut inference = Inference::new(format);
        let mut line_ends = LineEnds::of(file, kind, format);
        let mut piece = vec![0; PIECE_BYTES];
        let mut num_bytes = 0;
        let (mut has_types, mut is_sampled, mut broken) = (false, false, None);
        while !has_types || matches!(line_ends, LineEnds::Searched(_)) {
            let length = fill(reader.as_mut(), &mut piece)?;
            if length == 0 {
                break;
            }
            line_ends.search(&piece[..length]);
            if has_types {
                continue;
            }
            num_bytes += length as u64;
            broken = inference.push(&piece[..length]).err();
            is_sampled = sample_bytes.is_some_and(|sample_bytes| {
                num_bytes >= sample_bytes && inference.num_rows() >= SAMPLE_ROWS
            });
            has_types = broken.is_some() || is_sampled;
        }
        if !has_types {
            broken = inference.finish().err();
        }
        Ok(Self {
            columns: inference.into_columns(),
            splits: !matches!(line_ends, LineEnds::Unknown),
            is_of_all_rows: !is_sampled,
            broken,
        })
    }
}

/// Whether each line end is the end of a row.
enum LineEnds {
    /// The file must be read in one piece.
    Unknown,
    EndRows,
    /// None was found inside quotes so far.
    Searched(QuoteScan),
}

impl LineEnds {
    fn of(file: &SourceFile, kind: FileKind, format: &Format) -> Self {
        if kind.compression != Compression::None {
            return Self::Unknown;
        }
        let max_bytes = if file.is_remote() {
            MAX_REMOTE_SEARCH_BYTES
        } else {
            MAX_SEARCH_BYTES
        };
        match format {
            Format::Csv(dialect) if file.size_bytes() <= max_bytes => {
                Self::Searched(QuoteScan::new(dialect))
            }
            Format::Json(options) if options.layout == Layout::Lines => Self::EndRows,
            _ => Self::Unknown,
        }
    }

    fn search(&mut self, text: &[u8]) {
        if let Self::Searched(scan) = self {
            scan.push(text);
            if scan.has_quoted_line_end() {
                *self = Self::Unknown;
            }
        }
    }
}

/// Fills `piece`, unless the text ends.
fn fill(reader: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut num_bytes = 0;
    while num_bytes < piece.len() {
        match reader.read(&mut piece[num_bytes..])? {
            0 => break,
            read => num_bytes += read,
        }
    }
    Ok(num_bytes)
}
