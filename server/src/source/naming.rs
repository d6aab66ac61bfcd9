//! Names of tables and columns.

use std::collections::HashMap;
use std::path::Path;

use colonnade_core::semantics::distinct_names;
use datafusion::arrow::datatypes::{Fields, Schema};

/// Extensions that are not part of a table's name.
const EXTENSIONS: [&str; 16] = [
    "parquet", "csv", "tsv", "tab", "ndjson", "jsonl", "json", "arrow", "feather", "arrows", "ipc",
    "txt", "gz", "gzip", "zst", "zstd",
];

/// The columns with names that tell them apart: `a`, `a (2)`.
pub(super) fn with_distinct_names(schema: &Schema) -> Schema {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let fields = distinct_names(names)
        .into_iter()
        .zip(schema.fields())
        .map(|(name, field)| field.as_ref().clone().with_name(name));
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

/// The short name of a table: `a/b.csv.gz` becomes `a.b`.
pub(super) fn name_of(relative: &Path) -> String {
    let name = dotted(relative);
    let mut stem = name.as_str();
    // A compressed file can have two extensions.
    for _ in 0..2 {
        match stem.rsplit_once('.') {
            Some((before, extension))
                if !before.is_empty()
                    && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) =>
            {
                stem = before;
            }
            _ => break,
        }
    }
    stem.to_owned()
}

/// The long name of a table: `a/b.csv.gz` becomes `a.b.csv.gz`.
pub(super) fn dotted(relative: &Path) -> String {
    relative
        .components()
        .map(|component| component.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join(".")
}

/// Chooses the names of tables from their short and long names. Tables with equal short names get their
/// long names. Names that are still equal get a number.
pub(super) fn resolve(names: &[(String, String)]) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (short, _) in names {
        *uses.entry(short).or_default() += 1;
    }
    let mut taken: HashMap<String, usize> = HashMap::new();
    names
        .iter()
        .map(|(short, long)| {
            let name = if uses[short.as_str()] > 1 {
                long
            } else {
                short
            };
            let count = taken.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 {
                name.clone()
            } else {
                format!("{name}_{count}")
            }
        })
        .collect()
}

/// Whether `text` can be the name of a table before `=`.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (path, name) in [
            ("flights.parquet", "flights"),
            ("sub/deep/t.csv.gz", "sub.deep.t"),
            ("v1.2.csv", "v1.2"),
            ("noext", "noext"),
            (".csv", ".csv"),
            ("a.tar", "a.tar"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }

    #[test]
    fn collisions_keep_the_extension() {
        let pair = |path: &str| (name_of(Path::new(path)), dotted(Path::new(path)));
        let names = resolve(&[
            pair("a.csv"),
            pair("a.parquet"),
            pair("b.csv"),
            pair("a.csv"),
        ]);
        assert_eq!(names, ["a.csv", "a.parquet", "b", "a.csv_2"]);
    }

    #[test]
    fn identifiers() {
        assert!(is_identifier("a_1") && is_identifier("größe"));
        assert!(
            !is_identifier("")
                && !is_identifier("1a")
                && !is_identifier("a b")
                && !is_identifier("s3://x")
        );
    }
}
