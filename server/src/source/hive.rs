//! Hive's partitioned folders: `year=2024/month=1/file` defines columns, which follow those of the
//! file.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use percent_encoding::percent_decode_str;

/// The value that Hive and Spark write for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The columns that the folders of a table's files define.
#[derive(Debug, Clone, Default)]
pub(super) struct Partitions {
    /// The columns.
    pub(super) fields: Vec<FieldRef>,
    /// For each file, its values of those columns.
    pub(super) values: Vec<Vec<ScalarValue>>,
}

/// The column and the value in a folder's name; `None` for an ordinary folder.
pub(super) fn key_value(folder: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let (key, value) = folder.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some((unescaped(key), unescaped(value)))
}

fn folders(label: &str) -> impl Iterator<Item = &str> {
    let parent = Path::new(label).parent().unwrap_or(Path::new(""));
    parent.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    })
}

/// The folder of the table that a file belongs to: the parent of its first `key=value` folder. `None`
/// if the file is in no such folder.
pub(super) fn table_folder(label: &str) -> Option<PathBuf> {
    let names: Vec<&str> = folders(label).collect();
    let first = names.iter().position(|name| key_value(name).is_some())?;
    Some(names[..first].iter().collect())
}

/// Checks that a file has each column of `table` whose value its folders state too: nobody would know which value
/// its rows have.
///
/// # Errors
/// One line that names the column.
pub(super) fn check_columns(
    label: &str,
    file: &Schema,
    table: &Schema,
) -> std::result::Result<(), String> {
    for (key, _) in folders(label).filter_map(key_value) {
        if file.field_with_name(&key).is_err() && table.field_with_name(&key).is_ok() {
            return Err(format!(
                "{label}: column {key:?} is in other files, but here only in the name of a folder; one table needs it in all files or in none"
            ));
        }
    }
    Ok(())
}

impl Partitions {
    /// Reads the columns from the files' labels. A column has integers, dates or truth values if all its values are
    /// written as those are, otherwise texts: `01234` is a text. A column that the files contain themselves is not
    /// replaced.
    ///
    /// # Errors
    /// One line: which file is in other folders than those before it.
    pub(super) fn read<'a>(
        labels: impl Iterator<Item = &'a str>,
        file_schema: &Schema,
    ) -> std::result::Result<Self, String> {
        let mut names: Option<Vec<Cow<'_, str>>> = None;
        let mut texts: Vec<Vec<Option<Cow<'_, str>>>> = Vec::new();
        for label in labels {
            let (keys, values): (Vec<_>, Vec<_>) = folders(label)
                .filter_map(key_value)
                .filter(|(key, _)| file_schema.field_with_name(key).is_err())
                .map(|(key, value)| (key, (value != NULL).then_some(value)))
                .unzip();
            let names = names.get_or_insert_with(|| keys.clone());
            if *names != keys {
                return Err(format!(
                    "{label}: its folders define the columns {keys:?}, but those of the files before it define {names:?}; one table needs the same folders"
                ));
            }
            texts.push(values);
        }
        let names = names.unwrap_or_default();
        let fields: Vec<FieldRef> = names
            .iter()
            .enumerate()
            .map(|(column, name)| {
                let values = texts.iter().filter_map(|values| values[column].as_deref());
                let data_type = type_of(&values.collect::<Vec<_>>());
                Arc::new(Field::new(name.as_ref(), data_type, true))
            })
            .collect();
        let values = texts
            .iter()
            .map(|values| {
                let columns = fields.iter().zip(values);
                columns
                    .map(|(field, text)| value(text.as_deref(), field))
                    .collect()
            })
            .collect::<Result<_>>()
            .map_err(|error: DataFusionError| error.strip_backtrace())?;
        Ok(Self { fields, values })
    }
}

/// What a writer has escaped, or the text as it is if that is not UTF-8.
fn unescaped(text: &str) -> Cow<'_, str> {
    percent_decode_str(text)
        .decode_utf8()
        .unwrap_or(Cow::Borrowed(text))
}

fn type_of(values: &[&str]) -> DataType {
    let is_written_so = |text: &str, data_type: &DataType| {
        let value = ScalarValue::try_from_string(text.to_owned(), data_type);
        value.is_ok_and(|value| value.to_string() == text)
    };
    let types = [DataType::Int64, DataType::Date32, DataType::Boolean];
    let all_are = |data_type: &DataType| values.iter().all(|text| is_written_so(text, data_type));
    let found = types.into_iter().find(all_are);
    found
        .filter(|_| !values.is_empty())
        .unwrap_or(DataType::Utf8)
}

fn value(text: Option<&str>, field: &Field) -> Result<ScalarValue> {
    match text {
        None => ScalarValue::try_from(field.data_type()),
        Some(text) => ScalarValue::try_from_string(text.to_owned(), field.data_type()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[&str]) -> std::result::Result<Partitions, String> {
        Partitions::read(labels.iter().copied(), &Schema::empty())
    }

    #[test]
    fn the_folder_above_the_first_key_is_the_table() {
        for (label, folder) in [
            ("year=2024/a.csv", Some("")),
            ("sales/year=2024/month=1/a.csv", Some("sales")),
            ("a/b/k=v/deeper/f.csv", Some("a/b")),
            ("a/b.csv", None),
            ("k=v.csv", None),
            ("=v/a.csv", None),
            ("a/k=/a.csv", Some("a")),
        ] {
            assert_eq!(table_folder(label), folder.map(PathBuf::from), "{label}");
        }
    }

    #[test]
    fn types_are_what_all_values_are() {
        let found = read(&[
            "n=1/d=2024-01-31/t=x%2Fy/m=1/f",
            "n=-20/d=2024-02-01/t=2/m=__HIVE_DEFAULT_PARTITION__/f",
        ])
        .unwrap();
        let types: Vec<_> = found
            .fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let expected = [
            DataType::Int64,
            DataType::Date32,
            DataType::Utf8,
            DataType::Int64,
        ];
        assert_eq!(types, expected);
        assert_eq!(found.values[0][0], ScalarValue::Int64(Some(1)));
        assert_eq!(found.values[0][2], ScalarValue::Utf8(Some("x/y".into())));
        assert_eq!(found.values[1][1], ScalarValue::Date32(Some(19754)));
        assert_eq!(found.values[1][3], ScalarValue::Int64(None));
    }

    #[test]
    fn values_are_the_characters_of_their_folders() {
        let text = |text: &str| ScalarValue::Utf8(Some(text.into()));
        for (labels, expected) in [
            (["zip=01234/f", "zip=1/f"], [text("01234"), text("1")]),
            (["k=-0/f", "k=+1/f"], [text("-0"), text("+1")]),
            (["k=%E4/f", "k=%F6/f"], [text("%E4"), text("%F6")]),
            (["k=%C3%A4/f", "k=a%3Db/f"], [text("ä"), text("a=b")]),
            (["k=/f", "k=7/f"], [text(""), text("7")]),
            (
                ["k=2024-1-31/f", "k=2024-02-01/f"],
                [text("2024-1-31"), text("2024-02-01")],
            ),
            (["k=true/f", "k=True/f"], [text("true"), text("True")]),
            (
                ["k=true/f", "k=false/f"],
                [true, false].map(|truth| ScalarValue::Boolean(Some(truth))),
            ),
            (
                ["k=9223372036854775807/f", "k=9223372036854775808/f"],
                [text("9223372036854775807"), text("9223372036854775808")],
            ),
        ] {
            let found = read(&labels).unwrap().values.concat();
            assert_eq!(found, expected, "{labels:?}");
        }
        let found = read(&["my%20key=1/f", "my%20key=2/f"]).unwrap();
        assert_eq!(found.fields[0].name(), "my key");
    }

    #[test]
    fn all_files_are_in_the_same_folders() {
        assert!(read(&["a=1/f", "b=1/f"]).unwrap_err().contains("b=1/f"));
        assert!(read(&["a=1/f", "f"]).is_err());
        assert!(read(&["f", "g"]).unwrap().fields.is_empty());
    }

    #[test]
    fn a_column_of_the_files_stays_theirs() {
        let schema = Schema::new(vec![Field::new("a", DataType::Utf8, true)]);
        let labels = ["a=1/b=2/f"].into_iter();
        let found = Partitions::read(labels, &schema).unwrap();
        assert_eq!(found.fields.len(), 1);
        assert_eq!(found.fields[0].name(), "b");
    }
}
