//! Hive's partitioned folders: `year=2024/month=1/file` defines columns, which follow those of the
//! file.

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
pub(super) fn key_value(folder: &str) -> Option<(&str, &str)> {
    folder
        .split_once('=')
        .filter(|(key, value)| !key.is_empty() && !value.is_empty())
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

impl Partitions {
    /// Reads the columns from the files' labels. A column has the type integer or date if all its
    /// values have, otherwise text. A column that the files contain themselves is not replaced.
    ///
    /// # Errors
    /// One line: which file is in other folders than those before it.
    pub(super) fn read<'a>(
        labels: impl Iterator<Item = &'a str>,
        file_schema: &Schema,
    ) -> std::result::Result<Self, String> {
        let mut names: Option<Vec<&str>> = None;
        let mut texts: Vec<Vec<Option<String>>> = Vec::new();
        for label in labels {
            let (keys, values): (Vec<&str>, Vec<&str>) = folders(label)
                .filter_map(key_value)
                .filter(|(key, _)| file_schema.field_with_name(key).is_err())
                .unzip();
            let names = names.get_or_insert_with(|| keys.clone());
            if *names != keys {
                return Err(format!(
                    "{label}: its folders define the columns {keys:?}, but those of the files before it define {names:?}; one table needs the same folders"
                ));
            }
            texts.push(values.into_iter().map(unescaped).collect());
        }
        let names = names.unwrap_or_default();
        let fields: Vec<FieldRef> = names
            .iter()
            .enumerate()
            .map(|(column, name)| {
                let values = texts.iter().filter_map(|values| values[column].as_deref());
                Arc::new(Field::new(
                    *name,
                    type_of(&values.collect::<Vec<_>>()),
                    true,
                ))
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

fn unescaped(value: &str) -> Option<String> {
    (value != NULL).then(|| percent_decode_str(value).decode_utf8_lossy().into_owned())
}

fn type_of(values: &[&str]) -> DataType {
    let is_number = |text: &&str| !text.starts_with('+') && text.parse::<i64>().is_ok();
    let is_date = |text: &&str| {
        let text = (*text).to_owned();
        text.len() == 10 && ScalarValue::try_from_string(text, &DataType::Date32).is_ok()
    };
    if values.is_empty() {
        DataType::Utf8
    } else if values.iter().all(is_number) {
        DataType::Int64
    } else if values.iter().all(is_date) {
        DataType::Date32
    } else {
        DataType::Utf8
    }
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
            ("=v/k=/a.csv", None),
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
