//! A table: one or more files of one type with one schema.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::convert::try_schema_from_flatbuffer_bytes;
use datafusion::catalog::TableProvider;

use crate::encode::schema_message;
use crate::error::QueryError;
use crate::source::arrow::ArrowFile;
use crate::source::hive::Partitions;
use crate::source::parallel::try_in_parallel;
use crate::source::parquet::{ParquetFile, int96_ranges};
use crate::source::provider::Contents;
use crate::source::stored::StoredFile;
use crate::source::{
    Compression, FileFormat, FileKind, FileLender, FileTable, LentTable, SourceFile, csv, int96,
    ndjson,
};

/// A table that is served.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The name of its format.
    pub format: &'static str,
    /// Its columns.
    pub schema: SchemaRef,
    /// The number of rows, if the files' metadata state it.
    pub num_rows: Option<u64>,
    /// The size of its files in bytes.
    pub num_bytes: Option<u64>,
    /// A hash that changes when the files change.
    pub version: String,
    /// The engine's access to the table.
    pub provider: Arc<dyn TableProvider>,
    files: Option<FileSet>,
    /// Keeps the file of an uploaded table while the table is in use.
    stored: Option<Arc<StoredFile>>,
    /// Whether it is borrowed, and was uploaded.
    is_removable: bool,
}

#[derive(Debug, Clone)]
struct FileSet {
    kind: FileKind,
    files: Arc<Vec<SourceFile>>,
    table: Arc<FileTable>,
}

impl Table {
    /// Reads the metadata of the files. All must be of type `kind`.
    ///
    /// # Errors
    /// One line: which file, what is wrong with it, and what would be right.
    pub fn load(name: &str, kind: FileKind, files: Vec<SourceFile>) -> Result<Self, String> {
        let mut metadata: Option<FilesMetadata> = None;
        let read = try_in_parallel(files.iter(), |file| {
            FilesMetadata::read(file, kind).map_err(|error| format!("{}: {error}", file.label))
        })?;
        for (file, next) in files.iter().zip(read) {
            metadata = Some(match metadata {
                None => next,
                Some(before) => before.merge(next, kind, &file.label)?,
            });
        }
        let metadata = metadata.ok_or_else(|| format!("{name}: no file matches"))?;
        Self::of_metadata(name, kind, files, metadata)
    }

    /// A table whose files another process holds. Blocks.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn of_lent(lent: LentTable, lender: &Arc<dyn FileLender>) -> Result<Self, String> {
        let files = lent.files.into_iter().enumerate();
        let files = files.map(|(index, file)| SourceFile::lent(lender, index, file));
        let files: Vec<SourceFile> = files.collect();
        let mut table = match lent.text_schema {
            None => Self::load(&lent.name, lent.kind, files)?,
            Some(schema) => {
                let schema = try_schema_from_flatbuffer_bytes(&schema)
                    .map_err(|error| format!("{}: {error}", lent.name))?;
                let metadata = FilesMetadata {
                    schema: Arc::new(schema),
                    contents: Contents::Text {
                        splits: lent.splits,
                    },
                };
                Self::of_metadata(&lent.name, lent.kind, files, metadata)?
            }
        };
        table.version = lent.version;
        table.is_removable = lent.is_uploaded;
        Ok(table)
    }

    /// The table as another process needs to know it to borrow it; `None` if it is not made of files.
    pub fn lend(&self) -> Option<LentTable> {
        let set = self.files.as_ref()?;
        let splits = set.table.text_splits();
        let schema = set.table.file_schema();
        Some(LentTable {
            name: self.name.clone(),
            version: self.version.clone(),
            is_uploaded: self.is_uploaded(),
            kind: set.kind,
            files: set.files.iter().map(SourceFile::lend).collect(),
            text_schema: splits.map(|_| schema_message(schema).metadata.to_vec()),
            splits: splits.unwrap_or(false),
        })
    }

    /// File `index` of the table.
    pub fn file(&self, index: usize) -> Option<&SourceFile> {
        self.files.as_ref()?.files.get(index)
    }

    fn of_metadata(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        metadata: FilesMetadata,
    ) -> Result<Self, String> {
        let schema = match &metadata.contents {
            Contents::Parquet(files) => int96::with_unit(metadata.schema, &int96_ranges(files))
                .map_err(|error| format!("{name}: {error}"))?,
            _ => metadata.schema,
        };
        let labels = files.iter().map(|file| file.label.as_str());
        let partitions = Partitions::read(labels, &schema)?;
        let table = FileTable::try_new(kind, &files, schema, partitions, metadata.contents)
            .map_err(|error| format!("{name}: {error}"))?;
        let schema = table.schema();
        check_names(&schema).map_err(|error| format!("{name}: {error}"))?;
        let table = Arc::new(table);
        Ok(Self {
            name: name.to_owned(),
            format: kind.format.name(),
            schema,
            num_rows: table.num_rows(),
            num_bytes: Some(files.iter().map(SourceFile::size_bytes).sum()),
            version: version(&files),
            provider: Arc::clone(&table) as Arc<dyn TableProvider>,
            files: Some(FileSet {
                kind,
                files: Arc::new(files),
                table,
            }),
            stored: None,
            is_removable: false,
        })
    }

    /// The table of one file on disk, whose type is detected from its content and its extension.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn load_file(name: &str, path: &Path) -> Result<Self, String> {
        let kind = FileKind::detect(path)
            .map_err(|error| format!("{name}: {error}"))?
            .ok_or_else(|| format!("{name}: unsupported file type"))?;
        let file =
            SourceFile::open(path, name, None).map_err(|error| format!("{name}: {error}"))?;
        Self::load(name, kind, vec![file])
    }

    /// A table that is not made of files.
    pub fn from_provider(name: &str, provider: Arc<dyn TableProvider>) -> Self {
        Self {
            name: name.to_owned(),
            format: "memory",
            schema: provider.schema(),
            num_rows: None,
            num_bytes: None,
            version: "0".to_owned(),
            provider,
            files: None,
            stored: None,
            is_removable: false,
        }
    }

    /// The table as files, if it consists of files.
    pub fn file_table(&self) -> Option<&Arc<FileTable>> {
        self.files.as_ref().map(|set| &set.table)
    }

    /// Whether the files have changed since they were loaded.
    pub fn has_changed(&self) -> bool {
        self.files
            .as_ref()
            .is_some_and(|set| set.files.iter().any(SourceFile::has_changed))
    }

    /// Loads the table again, from the current files.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn reload(&self) -> Result<Self, String> {
        let Some(set) = &self.files else {
            return Ok(self.clone());
        };
        let files = try_in_parallel(set.files.iter(), |file| {
            file.open_again()
                .map_err(|error| format!("{}: {error}", file.label))
        })?;
        let kind = match files.first() {
            Some(first) => FileKind::detect_open(first)
                .ok()
                .flatten()
                .unwrap_or(set.kind),
            None => set.kind,
        };
        let mut table = Self::load(&self.name, kind, files)?;
        table.stored.clone_from(&self.stored);
        Ok(table)
    }

    /// The same table, as the table of an uploaded file.
    pub fn with_stored(mut self, stored: Arc<StoredFile>) -> Self {
        self.stored = Some(stored);
        self
    }

    /// Whether a process that borrowed it may keep it for later statements: it is made of files, and cannot be
    /// deleted while they are open.
    pub fn is_cacheable(&self) -> bool {
        self.files.is_some() && !self.is_removable
    }

    /// Whether it was uploaded.
    pub fn is_uploaded(&self) -> bool {
        self.stored.is_some()
    }

    /// Finds the first row of a text file that cannot be read. Reads the files in small steps until
    /// `is_cancelled` returns true. Blocks.
    pub fn find_broken_row(&self, is_cancelled: &dyn Fn() -> bool) -> Option<QueryError> {
        let set = self.files.as_ref()?;
        let find = match set.kind.format {
            FileFormat::Csv | FileFormat::Tsv => csv::find_broken_row,
            FileFormat::Ndjson => ndjson::find_broken_row,
            _ => return None,
        };
        let schema = set.table.file_schema();
        let mut files = set.files.iter();
        files.find_map(|file| find(file, set.kind, schema, is_cancelled))
    }

    /// The folders of the files on disk, so that messages can omit them.
    pub fn folders(&self) -> Vec<String> {
        let Some(set) = &self.files else {
            return Vec::new();
        };
        let folders: HashSet<&Path> = set.files.iter().filter_map(SourceFile::folder).collect();
        folders
            .into_iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect()
    }
}

struct FilesMetadata {
    schema: SchemaRef,
    contents: Contents,
}

impl FilesMetadata {
    fn read(file: &SourceFile, kind: FileKind) -> Result<Self, String> {
        let (schema, contents) = match kind.format {
            FileFormat::Parquet => {
                let file = ParquetFile::open(file)?;
                let schema = Arc::clone(&file.schema);
                (schema, Contents::Parquet(vec![Arc::new(file)]))
            }
            FileFormat::ArrowFile | FileFormat::ArrowStream => {
                let file = ArrowFile::open(file, kind.format)?;
                let schema = Arc::clone(&file.schema);
                (schema, Contents::Arrow(vec![Arc::new(file)]))
            }
            FileFormat::Csv | FileFormat::Tsv => {
                let schema = csv::infer_schema(file, kind).map_err(|error| error.to_string())?;
                let splits = !csv::has_quoted_newlines(file, kind);
                (schema, Contents::Text { splits })
            }
            FileFormat::Ndjson => {
                let schema = ndjson::infer_schema(file, kind).map_err(|error| error.to_string())?;
                let splits = kind.compression == Compression::None;
                (schema, Contents::Text { splits })
            }
        };
        Ok(Self { schema, contents })
    }

    fn merge(mut self, next: Self, kind: FileKind, label: &str) -> Result<Self, String> {
        self.schema = match kind.format {
            FileFormat::Csv | FileFormat::Tsv => csv::merge(&self.schema, &next.schema, label)?,
            FileFormat::Ndjson => {
                Schema::try_merge([self.schema.as_ref().clone(), next.schema.as_ref().clone()])
                    .map(Arc::new)
                    .map_err(|error| format!("{label} does not fit the files before it: {error}"))?
            }
            _ => merge_typed(&self.schema, &next.schema, label)?,
        };
        match (&mut self.contents, next.contents) {
            (Contents::Parquet(files), Contents::Parquet(more)) => files.extend(more),
            (Contents::Arrow(files), Contents::Arrow(more)) => files.extend(more),
            (Contents::Text { splits }, Contents::Text { splits: next }) => *splits &= next,
            _ => {
                return Err(format!(
                    "{label}: not of the same file type as the files before it"
                ));
            }
        }
        Ok(self)
    }
}

/// Merges the schemas of two files, which must have the same columns of the same types.
fn merge_typed(a: &Schema, b: &Schema, label: &str) -> Result<SchemaRef, String> {
    for field in b.fields() {
        match a.field_with_name(field.name()) {
            Ok(before) if before.data_type() == field.data_type() => {}
            Ok(before) => {
                return Err(format!(
                    "{label}: column {:?} is {}, but {} in the files before it; one table needs one type",
                    field.name(),
                    field.data_type(),
                    before.data_type()
                ));
            }
            Err(_) => {
                return Err(format!(
                    "{label}: column {:?} is not in the files before it; one table needs the same columns",
                    field.name()
                ));
            }
        }
    }
    if let Some(missing) = a
        .fields()
        .iter()
        .find(|field| b.field_with_name(field.name()).is_err())
    {
        return Err(format!(
            "{label}: column {:?} is missing; one table needs the same columns",
            missing.name()
        ));
    }
    let fields: Vec<_> = a
        .fields()
        .iter()
        .map(|field| {
            let nullable = b
                .field_with_name(field.name())
                .is_ok_and(|other| other.is_nullable());
            if nullable {
                Arc::new(field.as_ref().clone().with_nullable(true))
            } else {
                Arc::clone(field)
            }
        })
        .collect();
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        a.metadata().clone(),
    )))
}

fn check_names(schema: &Schema) -> Result<(), String> {
    let mut names = HashSet::new();
    match schema
        .fields()
        .iter()
        .find(|field| !names.insert(field.name()))
    {
        Some(twice) => Err(format!(
            "two columns are named {:?}; give each its own name",
            twice.name()
        )),
        None => Ok(()),
    }
}

fn version(files: &[SourceFile]) -> String {
    let mut hasher = DefaultHasher::new();
    for file in files {
        (&file.identity, &file.label).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}
