use colonnade_core::table::Table;
use colonnade_core::text::{CellKind, CellText, FixedOffsets};
use colonnade_core::wire::DecodeError;
use datafusion::arrow::datatypes::DataType;

use super::batches::schema_of;
use super::text::{RowWriter, text_file};
use super::{CsvOptions, FileChunks, not_exportable};
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// Writes RFC 4180 with LF, perhaps with another delimiter: a header line, nulls as empty fields, empty texts as `""`.
struct CsvWriter {
    header: Vec<String>,
    /// For each column, whether cells that a spreadsheet would run are escaped.
    escaped: Vec<bool>,
    /// For each column, whether its points become commas.
    has_commas: Vec<bool>,
    options: CsvOptions,
}

pub(super) fn csv_file(
    result: ResultStream,
    options: CsvOptions,
    num_threads: usize,
) -> Result<FileChunks, QueryError> {
    let schema = schema_of(&result.schema)?;
    if schema.fields().is_empty() {
        return Err(not_exportable(
            "the result has no columns, so CSV cannot hold its rows",
            "export it as arrow or ndjson",
        ));
    }
    let writer = CsvWriter {
        header: schema.fields().iter().map(|f| f.name().clone()).collect(),
        escaped: schema
            .fields()
            .iter()
            .map(|field| options.escape_formulas && holds_text(field.data_type()))
            .collect(),
        has_commas: schema
            .fields()
            .iter()
            .map(|field| options.has_decimal_comma && holds_fractions(field.data_type()))
            .collect(),
        options,
    };
    text_file(result, writer, num_threads)
}

impl RowWriter for CsvWriter {
    fn head(&self) -> String {
        let mut out = String::new();
        if self.options.has_bom {
            out.push('\u{feff}');
        }
        for (index, name) in self.header.iter().enumerate() {
            let start = self.next_field(&mut out, index);
            out.push_str(name);
            self.end_field(&mut out, start, self.options.escape_formulas);
        }
        out.push('\n');
        out
    }

    fn write(&self, rows: &Table, out: &mut String) -> Result<(), DecodeError> {
        for row in 0..rows.num_rows() {
            let Some((chunk, index)) = rows.locate(row) else {
                return Ok(());
            };
            for position in 0..rows.columns().len() {
                let start = self.next_field(out, position);
                let mut cell = CellText::for_programs(out);
                let kind = rows.write_cell(position, chunk, index, &FixedOffsets, &mut cell)?;
                if kind != CellKind::Null {
                    if self.has_commas[position] {
                        point_to_comma(out, start);
                    }
                    self.end_field(out, start, self.escaped[position]);
                }
            }
            out.push('\n');
        }
        Ok(())
    }
}

impl CsvWriter {
    fn next_field(&self, out: &mut String, index: usize) -> usize {
        if index > 0 {
            out.push(self.options.delimiter);
        }
        out.len()
    }

    fn end_field(&self, out: &mut String, start: usize, escape_formula: bool) {
        end_field(out, start, self.options.delimiter, escape_formula);
    }
}

fn point_to_comma(out: &mut String, start: usize) {
    if let Some(at) = out[start..].find('.') {
        out.replace_range(start + at..=start + at, ",");
    }
}

/// Quotes the field that begins at `start`, if it needs quotes.
fn end_field(out: &mut String, start: usize, delimiter: char, escape_formula: bool) {
    let field = &out[start..];
    let is_formula = escape_formula && is_formula(field);
    let is_plain = !field.is_empty()
        && !is_formula
        && !field.starts_with(' ')
        && !field.ends_with(' ')
        && !field.contains([delimiter, '"', '\n', '\r']);
    if is_plain {
        return;
    }
    let quoted = field.replace('"', "\"\"");
    out.truncate(start);
    out.push('"');
    if is_formula {
        out.push('\'');
    }
    out.push_str(&quoted);
    out.push('"');
}

/// Whether a spreadsheet could run the text.
/// <https://owasp.org/www-community/attacks/CSV_Injection>: `=`, `+`, `-`, `@`, their full-width
/// forms, tab and line ends at the start; also after characters that an import strips: white space, quotes,
/// invisible characters.
fn is_formula(text: &str) -> bool {
    if text.starts_with(['\t', '\r', '\n']) {
        return true;
    }
    let is_stripped = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(
                c,
                '"' | '\'' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}'
            )
    };
    text.trim_start_matches(is_stripped)
        .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

fn holds_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => holds_text(value),
        DataType::RunEndEncoded(_, values) => holds_text(values.data_type()),
        DataType::Union(members, _) => members.iter().any(|(_, m)| holds_text(m.data_type())),
        _ => false,
    }
}

fn holds_fractions(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => holds_fractions(value),
        DataType::RunEndEncoded(_, values) => holds_fractions(values.data_type()),
        other => other.is_floating() || other.is_decimal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str, escape: bool) -> String {
        let mut out = text.to_owned();
        end_field(&mut out, 0, ',', escape);
        out
    }

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        for (text, written) in [
            ("a", "a"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            (" padded", "\" padded\""),
            ("=1+1", "=1+1"),
        ] {
            assert_eq!(field(text, false), written);
        }
    }

    #[test]
    fn formulas_are_neutralised() {
        for text in [
            "=cmd|' /C calc'!A0",
            "+1",
            "-1",
            "@SUM(1)",
            "\t=1",
            "\r=1",
            "\n",
            "＝1",
            "＋1",
            "－1",
            "＠x",
            "  =1",
            "\"=1\"",
            "'=1",
            "\u{FEFF}=1",
            "\u{00A0}=1",
        ] {
            let written = field(text, true);
            assert_eq!(written, format!("\"'{}\"", text.replace('"', "\"\"")));
        }
        for text in ["a=1", "1-1", "x@y", "", "ünï"] {
            assert_eq!(field(text, true), field(text, false));
        }
    }
}
