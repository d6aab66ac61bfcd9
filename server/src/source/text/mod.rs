//! CSV, TSV and JSON files: how they are written, which columns they have, and their rows.

mod broken_row;
mod preview;
mod scan;
mod schema_file;
mod transcoded;

use std::io::{self, Read};
use std::sync::Arc;

use colonnade_core::semantics::distinct_names;
use colonnade_text::csv::{DETECT_BYTES, Dialect, QuoteScan};
use colonnade_text::json::{Layout, Options};
use colonnade_text::{
    Columns, Decoder, Encoding, Format, Inference, TextError, TextErrorKind, TextOptions,
};
use datafusion::arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

pub(super) use scan::TextSource;

pub use preview::Preview;
pub use schema_file::OptionsFrom;
pub(super) use schema_file::{SchemaFile, is_schema_file, options_of, read_schema_file};

use self::broken_row::located;
use self::transcoded::Transcoded;

use crate::source::cursor::Cursor;
use crate::source::parallel::in_parallel;
use crate::source::{Compression, FileFormat, FileKind, SourceFile, hive};

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

/// How the text of a file is stored.
#[derive(Debug, Clone, Hash, Serialize, Deserialize)]
pub(super) struct Storing {
    compression: Compression,
    encoding: Encoding,
    format: Format,
}

impl Storing {
    /// The same as keys and values of [`TextOptions::set`].
    fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = vec![("encoding", self.encoding.label().to_owned())];
        if let Format::Csv(dialect) = &self.format {
            let quote = dialect.quote.map(char::from);
            options.push(("delimiter", char::from(dialect.delimiter).to_string()));
            options.push(("quote", quote.map(String::from).unwrap_or_default()));
            options.push(("header", dialect.has_header.to_string()));
        }
        options
    }
}

/// How the files of a table are read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TextFiles {
    pub(super) storing: Storing,
    /// Whether a file may be split into ranges of bytes.
    pub(super) splits: bool,
    /// Whether all rows decided the types.
    pub(super) is_of_all_rows: bool,
    /// The columns whose types were said.
    pub(super) typed: Vec<String>,
    /// For each file, the table's column at each of its columns; `None` if they are those of the table, in that order,
    /// or have names in each row.
    pub(super) positions: Vec<Option<Vec<usize>>>,
}

/// How text files are stored, by the first of them that shows it, and what was found in each, or why it cannot be
/// read.
///
/// # Errors
/// One line: no file shows how it is stored.
pub(super) fn find_columns(
    files: &[SourceFile],
    kind: FileKind,
    options: &TextOptions,
    types_from: TypesFrom,
) -> Result<(Storing, Vec<Result<FileColumns, String>>), String> {
    let (full, empty): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.size_bytes() > 0);
    let mut errors = Vec::new();
    let storing = full.into_iter().chain(empty).find_map(|file| {
        let detected = detect(file, kind, options);
        let note = |error| errors.push(format!("{}: {error}", file.label));
        detected.map_err(note).ok()
    });
    let storing = storing.ok_or_else(|| errors.into_iter().next().unwrap_or_default())?;
    let sample_bytes = (types_from == TypesFrom::Sample).then(|| SAMPLE_BYTES / files.len() as u64);
    let found = in_parallel(files.iter(), |file| {
        let found = FileColumns::infer(file, &storing, sample_bytes).map_err(|e| e.to_string())?;
        match &found.broken {
            Some(error) if found.must_be_sound(types_from) => Err(located(file, &storing, error)),
            _ => Ok(found),
        }
    });
    Ok((storing, found))
}

/// The columns of text files, and how the files are read.
///
/// # Errors
/// One line: which file has no columns, or does not fit the files before it.
pub(super) fn merge(
    files: &[SourceFile],
    storing: Storing,
    found: Vec<FileColumns>,
    options: &TextOptions,
) -> Result<(SchemaRef, TextFiles), String> {
    let with_content = files.iter().find(|file| file.size_bytes() > 0);
    let first = with_content.or(files.first());
    let first = first.map_or("", |file| file.label.as_str());
    let (mut splits, mut is_of_all_rows) = (true, true);
    let mut columns: Option<Columns> = None;
    let mut positions = Vec::with_capacity(files.len());
    let schemas: Vec<_> = files
        .iter()
        .zip(&found)
        .filter_map(|(file, found)| Some((&file.label, found.columns.as_ref()?.schema())))
        .collect();
    for (file, next) in files.iter().zip(found) {
        splits &= next.splits;
        is_of_all_rows &= next.is_of_all_rows;
        positions.push(match (&mut columns, next.columns) {
            (_, None) => {
                tracing::warn!("{}: the file has no rows and no columns", file.label);
                None
            }
            (Some(columns), Some(next)) => columns
                .merge(next)
                .map_err(|error| format!("{}: {error}", file.label))?,
            (columns @ None, Some(next)) => {
                let positions = match &next {
                    Columns::Csv(next) => Some((0..next.names.len()).collect()),
                    Columns::Json(_) => None,
                };
                *columns = Some(next);
                positions
            }
        });
    }
    let columns = columns.ok_or_else(|| {
        let missing = match storing.format {
            Format::Csv(_) => "the file has no header line",
            Format::Json(_) => "the file has no line with an object",
        };
        format!("{first}: {missing}")
    })?;
    let schema = options.typed(&columns.schema()).map(Arc::new);
    let schema = schema.map_err(|error| format!("{first}: {error}"))?;
    for (label, file) in &schemas {
        hive::check_columns(label, file, &schema)?;
    }
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    Decoder::new(&storing.format, &schema, &all, 0..u64::MAX, 1)
        .map_err(|error| format!("{first}: {error}"))?;
    let is_as_table = |positions: &Vec<usize>| positions.iter().copied().eq(0..all.len());
    let positions = positions.into_iter();
    let positions = positions.map(|positions| positions.filter(|them| !is_as_table(them)));
    let read = TextFiles {
        storing,
        splits,
        is_of_all_rows,
        typed: options.typed_columns().map(str::to_owned).collect(),
        positions: positions.collect(),
    };
    Ok((schema, read))
}

/// The text of a file from its start, as UTF-8.
fn open(file: &SourceFile, storing: &Storing) -> io::Result<Box<dyn Read + Send>> {
    let bytes = open_bytes(file, storing.compression)?;
    Ok(if storing.encoding == Encoding::UTF_8 {
        bytes
    } else {
        Box::new(Transcoded::new(bytes, storing.encoding))
    })
}

/// The decompressed bytes of a file from its start.
fn open_bytes(file: &SourceFile, compression: Compression) -> io::Result<Box<dyn Read + Send>> {
    compression.unpack(Cursor::buffered(file))
}

/// How the text of `file` is stored, by its first bytes, as far as the options leave it open.
fn detect(file: &SourceFile, kind: FileKind, options: &TextOptions) -> io::Result<Storing> {
    let mut mark = vec![0; 3];
    let num_bytes = fill(open_bytes(file, kind.compression)?.as_mut(), &mut mark)?;
    let marked = Encoding::of_mark(&mark[..num_bytes]);
    let mut storing = Storing {
        compression: kind.compression,
        encoding: options.encoding().or(marked).unwrap_or_default(),
        format: Format::Csv(Dialect::default()),
    };
    let mut start = vec![0; DETECT_BYTES];
    let num_bytes = fill(open(file, &storing)?.as_mut(), &mut start)?;
    storing.format = detect_format(&start[..num_bytes], kind.format, options);
    Ok(storing)
}

fn detect_format(start: &[u8], format: FileFormat, options: &TextOptions) -> Format {
    match format {
        FileFormat::Ndjson | FileFormat::Json => Format::Json(Options::detect_with(start, options)),
        FileFormat::Tsv => Format::Csv(Dialect::detect_with(start, &options.clone().tabbed())),
        _ => Format::Csv(Dialect::detect_with(start, options)),
    }
}

/// What was found in one file.
pub(super) struct FileColumns {
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
    fn infer(file: &SourceFile, storing: &Storing, sample_bytes: Option<u64>) -> io::Result<Self> {
        let mut reader = open(file, storing)?;
        let mut inference = Inference::new(&storing.format);
        let mut line_ends = LineEnds::of(file, storing);
        let mut piece = vec![0; PIECE_BYTES];
        let mut num_bytes = 0;
        let (mut has_types, mut is_sampled, mut broken) = (false, false, None);
        while !has_types || matches!(line_ends, LineEnds::Searched(_)) {
            let length = match fill(reader.as_mut(), &mut piece).map_err(io::Error::downcast) {
                Ok(0) => break,
                Ok(length) => length,
                Err(Ok(error)) => {
                    broken = Some(error);
                    has_types = true;
                    break;
                }
                Err(Err(error)) => return Err(error),
            };
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
        let mut columns = inference.into_columns();
        if let Some(Columns::Csv(columns)) = &mut columns {
            columns.names = distinct_names(columns.names.iter().map(String::as_str));
        }
        Ok(Self {
            columns,
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
    fn of(file: &SourceFile, storing: &Storing) -> Self {
        if storing.compression != Compression::None || storing.encoding != Encoding::UTF_8 {
            return Self::Unknown;
        }
        let max_bytes = if file.is_remote() {
            MAX_REMOTE_SEARCH_BYTES
        } else {
            MAX_SEARCH_BYTES
        };
        match &storing.format {
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
