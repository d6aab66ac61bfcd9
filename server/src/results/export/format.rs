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
}

impl Format {
    /// The name in `format=`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Arrow => "arrow",
            Self::Ndjson => "ndjson",
        }
    }

    /// The media type of such a file.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Arrow => "application/vnd.apache.arrow.file",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Parquet, Self::Csv, Self::Arrow, Self::Ndjson]
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
    /// How a CSV file is written.
    pub csv: CsvOptions,
}

/// How a CSV file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvOptions {
    /// The character between fields, in ASCII.
    pub delimiter: char,
    /// Whether numbers that are not whole have a comma before their fraction.
    pub has_decimal_comma: bool,
    /// Whether the file begins with the byte order mark of UTF-8, by which Excel detects it.
    pub has_bom: bool,
    /// Put `'` before texts that a spreadsheet would run as formulas.
    pub escape_formulas: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: ',',
            has_decimal_comma: false,
            has_bom: false,
            escape_formulas: false,
        }
    }
}

impl CsvOptions {
    /// Sets the option of a parameter. Returns what would be right if the value is not.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let truth = |right| match value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(right),
        };
        match name {
            "delimiter" => {
                self.delimiter = match value {
                    "," | ";" | "|" => value.chars().next().unwrap_or(','),
                    "tab" | "\t" | "\\t" => '\t',
                    _ => return Err("delimiter=, or ; (written as %3B) or | or tab"),
                }
            }
            "decimal" => {
                self.has_decimal_comma = match value {
                    "," => true,
                    "." => false,
                    _ => return Err("decimal=, or ."),
                }
            }
            "bom" => self.has_bom = truth("bom=true or false")?,
            _ => self.escape_formulas = truth("escape_formulas=true or false")?,
        }
        Ok(())
    }
}

impl ExportOptions {
    /// The default options for a format.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            compression: Compression::default(),
            csv: CsvOptions::default(),
        }
    }

    /// Parses the values of the parameters of a URL. `csv` has the others by their names: `delimiter`, `decimal`, `bom`
    /// and `escape_formulas`.
    ///
    /// # Errors
    /// `bad_parameter`: the format is missing, or a value is unknown or not for that format.
    pub fn parse(
        format: Option<&str>,
        compression: Option<&str>,
        csv: &[(&str, Option<&str>)],
    ) -> Result<Self, QueryError> {
        let formats = "give format=parquet, csv, arrow or ndjson";
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
        for (name, value) in csv {
            let Some(value) = value else { continue };
            let set = match options.format {
                Format::Csv => options.csv.set(name, value),
                _ => Err("this parameter with format=csv only"),
            };
            set.map_err(|right| {
                let wrong = format!("{name}={value:?} is not available with format={format}");
                bad(wrong, &format!("give {right}"))
            })?;
        }
        Ok(options)
    }
}

fn bad(message: String, hint: &str) -> QueryError {
    QueryError::new(ErrorKind::BadParameter, message, hint)
}
