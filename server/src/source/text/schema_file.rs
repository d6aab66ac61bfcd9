//! Files that say how a text file is read: `FILE.schema.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use colonnade_text::TextOptions;
use serde_json::Value;

use crate::source::disk::identity_at;
use crate::source::{Identity, SourceFile};

const SUFFIX: &str = ".schema.json";

/// The largest schema file.
const MAX_BYTES: u64 = 16 << 20;

/// Where the options of text files come from.
#[derive(Debug, Clone, Default)]
pub enum OptionsFrom {
    /// The schema file beside the first file; nothing if there is none.
    #[default]
    SchemaFile,
    /// Someone has said them, so that no schema file counts.
    Given(Arc<TextOptions>),
}

/// The state of the schema file beside a file on disk.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::source) struct SchemaFile {
    path: PathBuf,
    /// `None` if there is none.
    identity: Option<Identity>,
}

impl SchemaFile {
    /// The schema file of a table; `None` if the table's options were given, or its files are in a store.
    pub(in crate::source) fn of(files: &[SourceFile], options: &OptionsFrom) -> Option<Self> {
        match options {
            OptionsFrom::SchemaFile => Self::at(beside(files.first()?)?),
            OptionsFrom::Given(_) => None,
        }
    }

    fn at(path: PathBuf) -> Option<Self> {
        let identity = identity_at(&path);
        Some(Self { path, identity })
    }

    /// Whether the file was written, replaced or removed since.
    pub(in crate::source) fn has_changed(&self) -> bool {
        identity_at(&self.path) != self.identity
    }

    /// What the file says.
    ///
    /// # Errors
    /// As [`read_schema_file`].
    fn read(&self) -> Result<TextOptions, String> {
        match self.identity {
            None => Ok(TextOptions::default()),
            Some(_) => read_schema_file(&self.path),
        }
    }
}

/// The options of a table.
///
/// # Errors
/// As [`read_schema_file`].
pub(in crate::source) fn options_of(
    options: &OptionsFrom,
    schema_file: Option<&SchemaFile>,
) -> Result<Arc<TextOptions>, String> {
    match (options, schema_file) {
        (OptionsFrom::Given(options), _) => Ok(Arc::clone(options)),
        (OptionsFrom::SchemaFile, Some(file)) => file.read().map(Arc::new),
        (OptionsFrom::SchemaFile, None) => Ok(Arc::default()),
    }
}

fn beside(file: &SourceFile) -> Option<PathBuf> {
    let name = Path::new(&file.label).file_name()?.to_str()?;
    Some(file.folder()?.join(format!("{name}{SUFFIX}")))
}

/// Whether a file of that name says how another is read.
pub(in crate::source) fn is_schema_file(name: &str) -> bool {
    name.ends_with(SUFFIX)
}

/// The options in a JSON object whose members are those of the command line; `types` is an object of
/// columns and types, or a list of objects with `name` and `type`.
///
/// # Errors
/// One line: the file cannot be read, or what in it is wrong.
pub(in crate::source) fn read_schema_file(path: &Path) -> Result<TextOptions, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    parse(path).map_err(|error| format!("{name}: {error}"))
}

fn parse(path: &Path) -> Result<TextOptions, String> {
    let size_bytes = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size_bytes > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let Value::Object(members) = value else {
        return Err("write a JSON object, such as {\"types\": {\"a\": \"text\"}}".to_owned());
    };
    let mut options = TextOptions::default();
    for (key, value) in members {
        match (key.as_str(), value) {
            ("types" | "fields", value) => set_types(&mut options, value)?,
            (_, Value::Array(items)) => {
                for item in items {
                    options.set(&key, &text_of(&item)?)?;
                }
            }
            (_, value) => options.set(&key, &text_of(&value)?)?,
        }
    }
    Ok(options)
}

fn set_types(options: &mut TextOptions, types: Value) -> Result<(), String> {
    match types {
        Value::Object(types) => types
            .iter()
            .try_for_each(|(column, word)| options.set_type(column, &text_of(word)?)),
        Value::Array(fields) => fields.iter().try_for_each(|field| {
            let member = |key| field.get(key).and_then(Value::as_str);
            match (member("name"), member("type")) {
                (Some(column), Some(word)) => options.set_type(column, word),
                _ => Err("each field needs a name and a type".to_owned()),
            }
        }),
        _ => Err("types must be an object of columns and types".to_owned()),
    }
}

fn text_of(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(truth) => Ok(truth.to_string()),
        other => Err(format!("{other} must be a text, true or false")),
    }
}
