//! Names of tables.

use std::collections::HashMap;
use std::path::Path;

/// Extensions that are not part of a table's name.
const EXTENSIONS: [&str; 16] = [
    "parquet", "csv", "tsv", "tab", "ndjson", "jsonl", "json", "arrow", "feather", "arrows", "ipc",
    "gz", "gzip", "zst", "zstd", "lance",
];

/// The short name of a table: `a/b.csv.gz` becomes `a.b`.
pub(super) fn name_of(relative: &Path) -> String {
    let last = relative.file_name().unwrap_or_default().to_string_lossy();
    let mut stem = last.as_ref();
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
    dotted(&relative.with_file_name(stem))
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
            ("a/csv", "a.csv"),
            ("a/v.lance", "a.v"),
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
