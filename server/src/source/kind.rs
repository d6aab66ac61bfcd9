//! Detects the type of a file by its content, or else by its extension.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use colonnade_text::csv::delimiter_of_table;
use colonnade_text::{Encoding, Transcoder};
use serde::{Deserialize, Serialize};

use crate::source::{Compression, SourceFile};

/// Bytes at the start of a file by which its type is detected.
const START_BYTES: u64 = 4096;

/// The same for a compressed file, whose first block can be this long.
const PACKED_BYTES: u64 = 160 << 10;

/// The most words and bytes of a line of a list.
const MAX_LIST_WORDS: usize = 4;
const MAX_LIST_BYTES: usize = 120;

/// The supported formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Text with a header line and comma-separated fields.
    Csv,
    /// Text with a header line and tab-separated fields.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// A JSON array of objects.
    Json,
    /// The Arrow IPC file format.
    ArrowFile,
    /// The Arrow IPC stream format.
    ArrowStream,
}

impl FileFormat {
    /// The name in `/v1/tables`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::ArrowFile => "arrow",
            Self::ArrowStream => "arrows",
        }
    }

    /// Whether the format is text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Ndjson | Self::Json)
    }
}

/// The format and the compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileKind {
    /// The format inside.
    pub format: FileFormat,
    /// The compression of the whole file. Only text formats can have one.
    pub compression: Compression,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packed = match self.compression {
            Compression::None => "",
            Compression::Gzip => " with gzip",
            Compression::Zstd => " with Zstandard",
        };
        write!(f, "{}{packed}", self.format.name())
    }
}

/// The recognised extensions, for messages.
pub const KNOWN_EXTENSIONS: &str =
    ".parquet, .csv, .tsv, .ndjson, .jsonl, .json (also .gz, .zst), .arrow, .feather or .arrows";

impl FileKind {
    /// Detects the type by the first bytes, or by the extension if they do not decide. `None` means an
    /// unknown type.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn detect(path: &Path) -> io::Result<Option<Self>> {
        Self::of(path, |num_bytes| {
            let mut start = Vec::new();
            File::open(path)?.take(num_bytes).read_to_end(&mut start)?;
            Ok(start)
        })
    }

    /// Like [`FileKind::detect`], for an open file and its label. Blocks.
    ///
    /// # Errors
    /// As [`FileKind::detect`].
    pub(super) fn detect_open(file: &SourceFile) -> io::Result<Option<Self>> {
        Self::of(Path::new(&file.label), |num_bytes| {
            file.read(0..file.size_bytes().min(num_bytes))
        })
    }

    /// Like [`FileKind::detect`], for a file that begins with `start`.
    pub(super) fn detect_start(path: &Path, start: &[u8]) -> Option<Self> {
        let head = |num_bytes: u64| Ok(&start[..start.len().min(num_bytes as usize)]);
        Self::of(path, head).ok().flatten()
    }

    /// `read_start` reads this number of bytes from the start of the file, or all if there are fewer.
    fn of<B: AsRef<[u8]>>(
        path: &Path,
        read_start: impl Fn(u64) -> io::Result<B>,
    ) -> io::Result<Option<Self>> {
        let start = read_start(START_BYTES)?;
        let start = start.as_ref();
        let compression = Compression::of_start(start);
        let extension = |path: &Path| {
            path.extension()
                .and_then(|e| e.to_str())
                .map(str::to_ascii_lowercase)
        };
        let format = if start.starts_with(b"PAR1") || start.starts_with(b"PARE") {
            Some(FileFormat::Parquet)
        } else if start.starts_with(b"ARROW1") {
            Some(FileFormat::ArrowFile)
        } else if start.starts_with(&[0xFF; 4]) {
            Some(FileFormat::ArrowStream)
        } else if compression != Compression::None {
            let stem = path.file_stem().map(Path::new).filter(|_| {
                matches!(
                    extension(path).as_deref(),
                    Some("gz" | "gzip" | "zst" | "zstd")
                )
            });
            match extension(stem.unwrap_or(path)).and_then(|e| text_format(&e)) {
                None => {
                    let packed = read_start(PACKED_BYTES)?;
                    decompressed_start(packed.as_ref(), compression)
                        .and_then(|start| guess_text(&start))
                }
                known => known,
            }
        } else {
            // An old Arrow stream has no continuation marker, so only the extension shows its type.
            match extension(path).as_deref() {
                Some("arrows") => Some(FileFormat::ArrowStream),
                Some("parquet" | "arrow" | "feather" | "gz" | "zst") | None => guess_text(start),
                Some("txt") => {
                    guess_text(start).or_else(|| is_list(start).then_some(FileFormat::Csv))
                }
                Some(other) => text_format(other).or_else(|| guess_text(start)),
            }
        };
        Ok(format.map(|format| Self {
            format,
            compression,
        }))
    }
}

fn text_format(extension: &str) -> Option<FileFormat> {
    match extension {
        "csv" => Some(FileFormat::Csv),
        "tsv" | "tab" => Some(FileFormat::Tsv),
        "ndjson" | "jsonl" => Some(FileFormat::Ndjson),
        _ => None,
    }
}

fn decompressed_start(packed: &[u8], compression: Compression) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let reader = compression.unpack(packed).ok()?;
    // The packed bytes end early, which is expected. A damaged file fails later, with a better message.
    let _ = reader.take(START_BYTES).read_to_end(&mut start);
    Some(start)
}

/// Detects text formats: an object or an array of objects at the start, or records with equally many fields.
fn guess_text(start: &[u8]) -> Option<FileFormat> {
    let text = text_of(start)?;
    if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        return None;
    }
    let text = text.trim_start_matches('\u{feff}');
    if let Some(items) = text.trim_start().strip_prefix('[')
        && items.trim_start().starts_with('{')
    {
        return Some(FileFormat::Json);
    }
    let first = text
        .lines()
        .map(str::trim_end)
        .find(|line| !line.is_empty())?;
    if first.starts_with('{') && first.ends_with('}') {
        return Some(FileFormat::Ndjson);
    }
    Some(match delimiter_of_table(text.as_bytes())? {
        b'\t' => FileFormat::Tsv,
        _ => FileFormat::Csv,
    })
}

/// The text at the start of a file, by its byte order mark.
fn text_of(start: &[u8]) -> Option<Cow<'_, str>> {
    match Encoding::of_mark(start) {
        Some(encoding) if encoding != Encoding::UTF_8 => {
            let text = Transcoder::new(encoding).push(start).ok()?;
            String::from_utf8(text).ok().map(Cow::Owned)
        }
        _ => Some(String::from_utf8_lossy(start)),
    }
}

/// Whether a text is a list with one value on each line: short lines of few words, none of them empty. Prose is not.
fn is_list(start: &[u8]) -> bool {
    let Some(text) = text_of(start) else {
        return false;
    };
    let mut lines: Vec<&str> = text.lines().collect();
    if start.len() as u64 == START_BYTES {
        lines.pop();
    }
    let is_value = |line: &&str| {
        let num_words = line.split_whitespace().count();
        let is_plain = !line.chars().any(|c| c.is_control());
        (1..=MAX_LIST_WORDS).contains(&num_words) && line.len() <= MAX_LIST_BYTES && is_plain
    };
    lines.len() > 1 && lines.iter().all(is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str, start: &[u8]) -> Option<FileFormat> {
        let found = FileKind::of(Path::new(path), |_| Ok(start)).unwrap();
        found.map(|kind| kind.format)
    }

    #[test]
    fn content_counts_before_the_extension() {
        assert_eq!(kind("a.csv", b"PAR1...."), Some(FileFormat::Parquet));
        assert_eq!(kind("a.csv", b"PARE...."), Some(FileFormat::Parquet));
        assert_eq!(kind("a", b"ARROW1\0\0"), Some(FileFormat::ArrowFile));
        assert_eq!(
            kind("a.arrow", &[0xFF, 0xFF, 0xFF, 0xFF, 0, 1]),
            Some(FileFormat::ArrowStream)
        );
        assert_eq!(kind("a", b"x,y\n1,2\n"), Some(FileFormat::Csv));
        assert_eq!(kind("a.parquet", b"x\ty\n1\t2\n"), Some(FileFormat::Tsv));
        assert_eq!(
            kind("a.txt", b"{\"a\":1}\n{\"a\":2}"),
            Some(FileFormat::Ndjson)
        );
        assert_eq!(
            kind("a.json", b"[\n  {\"a\": 1},\n"),
            Some(FileFormat::Json)
        );
        assert_eq!(kind("a", b"x;y\n1,5;2\n"), Some(FileFormat::Csv));
        let quoted = b"\"a;b\";c\n\"1\n2\";3\n";
        assert_eq!(kind("a.txt", quoted), Some(FileFormat::Csv));
        assert_eq!(kind("a.txt", b"name\nAnna Lee\n"), Some(FileFormat::Csv));
        let unicode: Vec<u8> = "\u{feff}a\tb\n\u{e4}\t2\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(kind("a.txt", &unicode), Some(FileFormat::Tsv));
        let prose = b"Dear Anna,\n\nthank you for the long letter, which I have read.\n";
        assert_eq!(kind("a.txt", prose), None);
        assert_eq!(kind("a.md", b"name\nAnna\n"), None);
    }

    #[test]
    fn the_extension_counts_where_content_says_nothing() {
        assert_eq!(kind("a.CSV", b"one\n1\n"), Some(FileFormat::Csv));
        assert_eq!(kind("a.jsonl", b""), Some(FileFormat::Ndjson));
        assert_eq!(kind("a.csv.gz", &[0x1F, 0x8B, 8]), Some(FileFormat::Csv));
        assert_eq!(
            kind("a.tsv.zst", &[0x28, 0xB5, 0x2F, 0xFD]),
            Some(FileFormat::Tsv)
        );
        assert_eq!(kind("README.md", b"# A title\n\nText."), None);
        assert_eq!(kind("package.json", b"{\n  \"a\": 1\n}"), None);
        assert_eq!(kind("a.bin", &[0, 1, 2, 3]), None);
    }
}
