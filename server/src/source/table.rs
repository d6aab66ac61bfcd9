//! A table: one or more files of one type with one schema.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use colonnade_text::TextOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::convert::try_schema_from_flatbuffer_bytes;
use datafusion::catalog::TableProvider;
use datafusion::datasource::empty::EmptyTable;

use crate::encode::schema_message;
use crate::source::arrow::ArrowFile;
use crate::source::hive::Partitions;
use crate::source::parallel::try_in_parallel;
use crate::source::parquet::{ParquetFile, int96_ranges};
use crate::source::provider::Contents;
use crate::source::stored::StoredFile;
use crate::source::text::{OptionsFrom, SchemaFile, TextFiles};
use crate::source::{
    FileFormat, FileKind, FileLender, FileTable, LentTable, SourceFile, TypesFrom, Unreadable,
    int96, text,
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
    /// Why it cannot be read since it was found.
    pub unreadable: Option<Unreadable>,
}

#[derive(Debug, Clone)]
struct FileSet {
    kind: FileKind,
    files: Arc<Vec<SourceFile>>,
    /// `None` if the files cannot be read.
    table: Option<Arc<FileTable>>,
    options: OptionsFrom,
    schema_file: Option<SchemaFile>,
    /// Whether a value did not fit its column's type, so that all rows decide at the next loading.
    has_misfit: Arc<AtomicBool>,
}

impl Table {
    /// Reads the metadata of the files. All must be of type `kind`. `options` say how text files are read, and
    /// `types_from` which rows decide their types.
    ///
    /// # Errors
    /// One line: which file, what is wrong with it, and what would be right.
    pub fn load(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        options: &OptionsFrom,
        types_from: TypesFrom,
    ) -> Result<Self, String> {
        if kind.format.is_text() {
            return Self::load_text(name, kind, files, options, types_from);
        }
        if let OptionsFrom::Given(options) = options
            && **options != TextOptions::default()
        {
            return Err(format!(
                "{name}: options are for text files, and this is {}",
                kind.format.name()
            ));
        }
        let mut metadata: Option<FilesMetadata> = None;
        let read = try_in_parallel(files.iter(), |file| {
            FilesMetadata::read(file, kind).map_err(|error| format!("{}: {error}", file.label))
        })?;
        for (file, next) in files.iter().zip(read) {
            metadata = Some(match metadata {
                None => next,
                Some(before) => before.merge(next, &file.label)?,
            });
        }
        let metadata = metadata.ok_or_else(|| format!("{name}: no file matches"))?;
        Self::of_metadata(name, kind, files, metadata)
    }

    fn load_text(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        options: &OptionsFrom,
        types_from: TypesFrom,
    ) -> Result<Self, String> {
        let schema_file = SchemaFile::of(&files, options);
        let said = match (options, &schema_file) {
            (OptionsFrom::Given(said), _) => Arc::clone(said),
            (_, Some(file)) => Arc::new(file.read()?),
            (_, None) => Arc::default(),
        };
        let (schema, text) = text::read(&files, kind, &said, types_from)?;
        let contents = Contents::Text(text);
        let mut table = Self::of_metadata(name, kind, files, FilesMetadata { schema, contents })?;
        if let Some(set) = &mut table.files {
            set.options = options.clone();
            set.schema_file = schema_file;
        }
        Ok(table)
    }

    /// A table that stands for files that cannot be read. Loading it again may succeed.
    pub fn unreadable(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        options: &OptionsFrom,
        reason: String,
    ) -> Self {
        Self {
            files: Some(FileSet {
                kind,
                schema_file: SchemaFile::of(&files, options),
                files: Arc::new(files),
                table: None,
                options: options.clone(),
                has_misfit: Arc::default(),
            }),
            ..Self::without_columns(name, kind.format.name(), Unreadable::files(reason))
        }
    }

    /// A table without columns, which says why it cannot be read.
    pub(super) fn without_columns(name: &str, format: &'static str, why: Unreadable) -> Self {
        let empty = EmptyTable::new(Arc::new(Schema::empty()));
        Self {
            format,
            unreadable: Some(why),
            ..Self::from_provider(name, Arc::new(empty))
        }
    }

    /// A table whose files another process holds. Blocks.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn of_lent(lent: LentTable, lender: &Arc<dyn FileLender>) -> Result<Self, String> {
        let files = lent.files.into_iter().enumerate();
        let files = files.map(|(index, file)| SourceFile::lent(lender, index, file));
        let files: Vec<SourceFile> = files.collect();
        let mut table = match lent.text {
            None => Self::load(
                &lent.name,
                lent.kind,
                files,
                &OptionsFrom::SchemaFile,
                TypesFrom::Sample,
            )?,
            Some((schema, text)) => {
                let schema = try_schema_from_flatbuffer_bytes(&schema)
                    .map_err(|error| format!("{}: {error}", lent.name))?;
                let metadata = FilesMetadata {
                    schema: Arc::new(schema),
                    contents: Contents::Text(text),
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
        let table = set.table.as_ref()?;
        let schema = schema_message(table.file_schema());
        Some(LentTable {
            name: self.name.clone(),
            version: self.version.clone(),
            is_uploaded: self.is_uploaded(),
            kind: set.kind,
            files: set.files.iter().map(SourceFile::lend).collect(),
            text: table
                .text()
                .map(|text| (schema.metadata.to_vec(), text.clone())),
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
            version: version(&files, &table),
            provider: Arc::clone(&table) as Arc<dyn TableProvider>,
            files: Some(FileSet {
                kind,
                files: Arc::new(files),
                table: Some(table),
                options: OptionsFrom::default(),
                schema_file: None,
                has_misfit: Arc::default(),
            }),
            stored: None,
            is_removable: false,
            unreadable: None,
        })
    }

    /// The table of one uploaded file, whose type is detected from its content and its extension. All rows
    /// decide the types of text.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn load_upload(name: &str, path: &Path, options: Arc<TextOptions>) -> Result<Self, String> {
        let kind = FileKind::detect(path)
            .map_err(|error| format!("{name}: {error}"))?
            .ok_or_else(|| format!("{name}: unsupported file type"))?;
        let file =
            SourceFile::open(path, name, None).map_err(|error| format!("{name}: {error}"))?;
        let options = OptionsFrom::Given(options);
        Self::load(name, kind, vec![file], &options, TypesFrom::SoundRows)
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
            unreadable: None,
        }
    }

    /// The table as files, if it consists of files.
    pub fn file_table(&self) -> Option<&Arc<FileTable>> {
        self.files.as_ref()?.table.as_ref()
    }

    /// Whether the files have changed since they were loaded.
    pub fn has_changed(&self) -> bool {
        self.files.as_ref().is_some_and(|set| {
            set.files.iter().any(SourceFile::has_changed)
                || set
                    .schema_file
                    .as_ref()
                    .is_some_and(SchemaFile::has_changed)
        })
    }

    /// Notes that a row did not have the types of its columns, unless all rows decided them.
    pub fn note_misfit(&self) {
        if let Some(set) = &self.files
            && set.text().is_some_and(|text| !text.is_of_all_rows)
        {
            set.has_misfit.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the table should be loaded again: its files have changed, or a row did not fit its types.
    pub fn is_stale(&self) -> bool {
        self.has_misfit() || self.has_changed()
    }

    fn has_misfit(&self) -> bool {
        let has_misfit = |set: &FileSet| set.has_misfit.load(Ordering::Relaxed);
        self.files.as_ref().is_some_and(has_misfit)
    }

    /// Loads the table again, from the current files.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn reload(&self) -> Result<Self, String> {
        let Some(set) = &self.files else {
            let reason = self.unreadable.as_ref().map(|why| why.reason.clone());
            return reason.map_or_else(|| Ok(self.clone()), Err);
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
        let is_of_all_rows = set.text().is_some_and(|text| text.is_of_all_rows);
        let types_from = if self.has_misfit() || is_of_all_rows {
            TypesFrom::AllRows
        } else {
            TypesFrom::Sample
        };
        let mut table = Self::load(&self.name, kind, files, &set.options, types_from)?;
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

impl FileSet {
    fn text(&self) -> Option<&TextFiles> {
        self.table.as_ref()?.text()
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
            FileFormat::Csv | FileFormat::Tsv | FileFormat::Ndjson | FileFormat::Json => {
                return Err("text does not state its columns".to_owned());
            }
        };
        Ok(Self { schema, contents })
    }

    fn merge(mut self, next: Self, label: &str) -> Result<Self, String> {
        self.schema = merge_typed(&self.schema, &next.schema, label)?;
        match (&mut self.contents, next.contents) {
            (Contents::Parquet(files), Contents::Parquet(more)) => files.extend(more),
            (Contents::Arrow(files), Contents::Arrow(more)) => files.extend(more),
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

/// A hash of the states of the files, and of how text is read, which may change without them.
fn version(files: &[SourceFile], table: &FileTable) -> String {
    let mut hasher = DefaultHasher::new();
    if let Some(text) = table.text() {
        (table.file_schema().fields(), &text.storing).hash(&mut hasher);
    }
    for file in files {
        (&file.identity, &file.label).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}
