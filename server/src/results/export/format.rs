use crate::error::{ErrorKind, QueryError};

/// The kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values, RFC 4180 with LF.
    Csv,
    /// An Arrow IPC file.
    Arrow,
    /// One JSON object per line.
    Ndjson,
    /// One JSON object with the fields and the rows; 64-bit integers and decimals are strings.
    Json,
}

impl Format {
    /// The name in `format=`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Arrow => "arrow",
            Self::Ndjson => "ndjson",
            Self::Json => "json",
        }
    }

    /// The media type of such a file.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Arrow => "application/vnd.apache.arrow.file",
            Self::Ndjson => "application/x-ndjson",
            Self::Json => "application/json",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [
            Self::Parquet,
            Self::Csv,
            Self::Arrow,
            Self::Ndjson,
            Self::Json,
        ]
        .into_iter()
        .find(|format| format.name() == text)
    }
}

/// How the pages of a Parquet file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Zstandard, level 1.
    #[default]
    Zstd,
    /// Snappy.
    Snappy,
    /// LZ4, without frames (`LZ4_RAW`).
    Lz4,
    /// No compression.
    None,
}

/// The options of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// The kind of file.
    pub format: Format,
    /// The compression of a Parquet file.
    pub compression: Compression,
    /// In a CSV file, put `'` before texts that a spreadsheet would run as formulas.
    pub escape_formulas: bool,
}

impl ExportOptions {
    /// The default options for a format.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            compression: Compression::default(),
            escape_formulas: false,
        }
    }

    /// Parses the values of the parameters of a URL that have these names.
    ///
    /// # Errors
    /// `bad_parameter`: the format is missing, or a value is unknown or not for that format.
    pub fn parse(
        format: Option<&str>,
        compression: Option<&str>,
        escape_formulas: Option<&str>,
    ) -> Result<Self, QueryError> {
        let formats = "give format=parquet, csv, arrow, ndjson or json";
        let format = format.ok_or_else(|| bad("the format is missing".to_owned(), formats))?;
        let mut options = Self::new(
            Format::parse(format)
                .ok_or_else(|| bad(format!("format={format:?} is not a known format"), formats))?,
        );
        if let Some(value) = compression {
            options.compression = match (options.format, value) {
                (Format::Parquet, "zstd") => Compression::Zstd,
                (Format::Parquet, "snappy") => Compression::Snappy,
                (Format::Parquet, "lz4") => Compression::Lz4,
                (Format::Parquet, "none") => Compression::None,
                _ => {
                    return Err(bad(
                        format!("compression={value:?} is not available with format={format}"),
                        "give compression=zstd, snappy, lz4 or none with format=parquet",
                    ));
                }
            };
        }
        if let Some(value) = escape_formulas {
            options.escape_formulas = match (options.format, value) {
                (Format::Csv, "true") => true,
                (Format::Csv, "false") => false,
                _ => {
                    return Err(bad(
                        format!("escape_formulas={value:?} is not available with format={format}"),
                        "give escape_formulas=true or false with format=csv",
                    ));
                }
            };
        }
        Ok(options)
    }
}

fn bad(message: String, hint: &str) -> QueryError {
    QueryError::new(ErrorKind::BadParameter, message, hint)
}
