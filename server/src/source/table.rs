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
use crate::source::gather::{FoundFiles, Opened};
use crate::source::hive::{self, Partitions};
use crate::source::left_out::{IsRequired, LeftOut, Sieve};
use crate::source::lent_table::LentContents;
use crate::source::merge;
use crate::source::parallel::in_parallel;
use crate::source::parquet::{OpenedParquet, ParquetFile};
use crate::source::provider::Contents;
use crate::source::stored::StoredFile;
use crate::source::text::{OptionsFrom, SchemaFile, TextFiles};
use crate::source::{
    FileFormat, FileKind, FileLender, FileTable, LeftOutFile, LentTable, SourceFile, TypesFrom,
    Unreadable, int96, text,
};

/// A table with more files is only known to have changed if the background or a read has seen it.
pub(super) const MAX_FILES_LOOKED_AT: usize = 1000;

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
    /// The version of the table of which it is another reading; see [`read_as`](crate::source::read_as).
    base_version: Option<String>,
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
    left_out: Vec<LeftOut>,
    /// Whether a value did not fit its column's type, so that all rows decide at the next loading.
    has_misfit: Arc<AtomicBool>,
}

impl Table {
    /// Reads the metadata of the files. Files that cannot be read are left out, if they are not required and others
    /// can be read. `types_from` says which rows decide the types of text.
    ///
    /// # Errors
    /// One line: which file, what is wrong with it, and what would be right.
    pub(super) fn load(
        name: &str,
        found: FoundFiles,
        is_required: IsRequired,
        types_from: TypesFrom,
    ) -> Result<Self, String> {
        let FoundFiles {
            kind,
            files,
            options,
        } = found;
        let required = files.iter().find(|opened| is_required(&opened.file.label));
        let kind = required.map_or(kind, |opened| *opened.kind.as_ref().unwrap_or(&kind));
        let mut sieve = Sieve::new(is_required);
        let other = |other| format!("its type is {other}, but that of the table's files is {kind}");
        let typed = files.into_iter().map(|opened| {
            let same = |is| if is == kind { Ok(()) } else { Err(other(is)) };
            (opened.file, opened.kind.and_then(same))
        });
        let (files, _) = sieve.readable(typed)?;
        let mut table = match options {
            _ if kind.format.is_text() => {
                Self::load_text(name, kind, files, options, types_from, &mut sieve)?
            }
            OptionsFrom::Given(options) if *options != TextOptions::default() => {
                return Err(format!(
                    "{name}: options are for text files, and this is {}",
                    kind.format.name()
                ));
            }
            _ => Self::load_binary(name, kind, files, &mut sieve)?,
        };
        if let Some(set) = &mut table.files {
            set.left_out = sieve.left_out;
            set.left_out
                .sort_by(|a, b| a.file.path().cmp(b.file.path()));
        }
        Ok(table)
    }

    fn load_binary(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        sieve: &mut Sieve,
    ) -> Result<Self, String> {
        let merged = |files: &[SourceFile], schemas: &[SchemaRef]| {
            let labels = files.iter().map(|file| file.label.as_str());
            let schema = merge::merge(labels.clone().zip(schemas))?;
            let mut files = labels.zip(schemas);
            files.try_for_each(|(label, file)| hive::check_columns(label, file, &schema))?;
            Ok::<_, String>(schema)
        };
        let (files, schema, contents) = if kind.format == FileFormat::Parquet {
            let read = in_parallel(files.iter(), OpenedParquet::open);
            let (files, read) = sieve.readable(files.into_iter().zip(read))?;
            let columns = read.iter().map(|file| (&file.schema, file.int96.as_ref()));
            let (schemas, int96_unit) = int96::with_unit(&columns.collect::<Vec<_>>())
                .map_err(|error| format!("{name}: {error}"))?;
            let schema = merged(&files, &schemas)?;
            let read = read.into_iter().map(|read| Arc::new(read.file)).collect();
            (files, schema, Contents::Parquet(read, int96_unit))
        } else {
            let read = in_parallel(files.iter(), |file| ArrowFile::open(file, kind.format));
            let (files, read) = sieve.readable(files.into_iter().zip(read))?;
            let schemas: Vec<_> = read.iter().map(|file| Arc::clone(&file.schema)).collect();
            let schema = merged(&files, &schemas)?;
            let read = read.into_iter().map(Arc::new).collect();
            (files, schema, Contents::Arrow(read))
        };
        Self::of_contents(name, kind, files, schema, contents)
    }

    fn load_text(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        options: OptionsFrom,
        types_from: TypesFrom,
        sieve: &mut Sieve,
    ) -> Result<Self, String> {
        let schema_file = SchemaFile::of(&files, &options);
        let said = text::options_of(&options, schema_file.as_ref())?;
        let (storing, found) = text::find_columns(&files, kind, &said, types_from)?;
        let (files, found) = sieve.readable(files.into_iter().zip(found))?;
        let (schema, text) = text::merge(&files, storing, found, &said)?;
        let mut table = Self::of_contents(name, kind, files, schema, Contents::Text(text))?;
        if let Some(set) = &mut table.files {
            set.options = options;
            set.schema_file = schema_file;
        }
        Ok(table)
    }

    /// A table that stands for files of which none can be read. Loading it again may succeed.
    pub(super) fn unreadable(name: &str, found: FoundFiles, reason: String) -> Self {
        let files = found.files.into_iter().map(|opened| opened.file);
        let files: Vec<SourceFile> = files.collect();
        Self {
            files: Some(FileSet {
                kind: found.kind,
                schema_file: SchemaFile::of(&files, &found.options),
                files: Arc::new(files),
                table: None,
                options: found.options,
                left_out: Vec::new(),
                has_misfit: Arc::default(),
            }),
            ..Self::without_columns(name, found.kind.format.name(), Unreadable::files(reason))
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
        let (name, kind) = (&lent.name, lent.kind);
        let files = lent.files.into_iter().enumerate();
        let files = files.map(|(index, file)| SourceFile::lent(lender, index, file));
        let files: Vec<SourceFile> = files.collect();
        let schema = try_schema_from_flatbuffer_bytes(&lent.schema);
        let schema = Arc::new(schema.map_err(|error| format!("{name}: {error}"))?);
        let mut table = match lent.contents {
            LentContents::Parquet(facts, int96_unit) => {
                let read = files.iter().zip(facts);
                let read = read.map(|(file, facts)| Arc::new(ParquetFile::new(file, facts)));
                let contents = Contents::Parquet(read.collect(), int96_unit);
                Self::of_contents(name, kind, files, schema, contents)?
            }
            LentContents::Text(text) => {
                Self::of_contents(name, kind, files, schema, Contents::Text(text))?
            }
            LentContents::Arrow => {
                Self::load_binary(name, kind, files, &mut Sieve::new(&|_| true))?
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
        Some(LentTable {
            name: self.name.clone(),
            version: self.version.clone(),
            is_uploaded: self.is_uploaded(),
            kind: set.kind,
            files: set.files.iter().map(SourceFile::lend).collect(),
            schema: schema_message(table.file_schema()).metadata.to_vec(),
            contents: match table.contents() {
                Contents::Parquet(files, int96_unit) => LentContents::Parquet(
                    files.iter().map(|file| file.facts).collect(),
                    *int96_unit,
                ),
                Contents::Arrow(_) => LentContents::Arrow,
                Contents::Text(text) => LentContents::Text(text.clone()),
            },
        })
    }

    /// File `index` of the table.
    pub fn file(&self, index: usize) -> Option<&SourceFile> {
        self.files.as_ref()?.files.get(index)
    }

    fn of_contents(
        name: &str,
        kind: FileKind,
        files: Vec<SourceFile>,
        schema: SchemaRef,
        contents: Contents,
    ) -> Result<Self, String> {
        let labels = files.iter().map(|file| file.label.as_str());
        let partitions = Partitions::read(labels, &schema)?;
        let table = FileTable::try_new(kind, &files, schema, partitions, contents)
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
                left_out: Vec::new(),
                has_misfit: Arc::default(),
            }),
            stored: None,
            is_removable: false,
            base_version: None,
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
        let found = FoundFiles::one(file, kind, OptionsFrom::Given(options));
        Self::load(name, found, &|_| true, TypesFrom::SoundRows)
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
            base_version: None,
            unreadable: None,
        }
    }

    /// The table as files, if it consists of files.
    pub fn file_table(&self) -> Option<&Arc<FileTable>> {
        self.files.as_ref()?.table.as_ref()
    }

    /// Files that are not in it, because they could not be read so far.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOutFile> {
        let left_out = self.files.iter().flat_map(|set| &set.left_out);
        left_out.map(LeftOutFile::from)
    }

    /// The number of its files, with those that are left out.
    pub(super) fn num_files(&self) -> usize {
        self.all_files().count()
    }

    fn all_files(&self) -> impl Iterator<Item = &SourceFile> {
        let set = self.files.iter();
        set.flat_map(|set| {
            let left_out = set.left_out.iter().map(|left| &left.file);
            set.files.iter().chain(left_out)
        })
    }

    /// Whether the files are known to have changed since they were loaded. Looks at them if they are few; a read of a
    /// file that has changed fails in any case.
    pub fn has_changed(&self) -> bool {
        let Some(set) = &self.files else { return false };
        let looks = set.files.len() <= MAX_FILES_LOOKED_AT;
        let mut files = set.files.iter();
        let schema_file = set.schema_file.as_ref();
        files.any(|file| file.has_changed(looks))
            || schema_file.is_some_and(SchemaFile::has_changed)
    }

    /// Notes that a row did not have the types of its columns, unless all rows decided them.
    pub fn note_misfit(&self) {
        if let Some(set) = &self.files
            && set.text().is_some_and(|text| !text.is_of_all_rows)
        {
            set.has_misfit.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the table should be loaded again: its files have changed, or those that are left out, or a row did
    /// not fit its types. Looks at the files, or only says what is known of them.
    pub fn is_stale(&self, looks: bool) -> bool {
        let set = self.files.as_ref();
        let schema_file = set.and_then(|set| set.schema_file.as_ref());
        let has_changed = |file: &SourceFile| file.has_changed(looks);
        // All files, so that each change is known afterwards.
        let num_changed = self.all_files().filter(|file| has_changed(file)).count();
        self.has_misfit() || num_changed > 0 || schema_file.is_some_and(SchemaFile::has_changed)
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
        let left_out = set.left_out.iter().map(|left| (&left.file, None));
        let files = set.files.iter().map(|file| (file, Some(set.kind)));
        let files: Vec<_> = files.chain(left_out).collect();
        let mut files = in_parallel(files.into_iter(), |(file, kind)| {
            Opened::new(file.opened_again(), kind)
        });
        files.sort_by(|a, b| a.file.path().cmp(b.file.path()));
        let found = FoundFiles {
            kind: set.kind,
            files,
            options: OptionsFrom::default(),
        };
        self.load_again(found)
    }

    /// Loads the table again, from these files, with its options. Those that it has are required.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub(super) fn load_again(&self, mut found: FoundFiles) -> Result<Self, String> {
        let set = self.files.as_ref();
        if let Some(set) = set {
            found.options = set.options.clone();
        }
        let read = set.filter(|set| set.table.is_some());
        let read = read.iter().flat_map(|set| set.files.iter());
        let read: HashSet<&str> = read.map(|file| file.label.as_str()).collect();
        let text = set.and_then(FileSet::text);
        let types_from = if self.has_misfit() || text.is_some_and(|text| text.is_of_all_rows) {
            TypesFrom::AllRows
        } else {
            TypesFrom::Sample
        };
        let mut table = Self::load(&self.name, found, &|label| read.contains(label), types_from)?;
        table.stored.clone_from(&self.stored);
        table.base_version.clone_from(&self.base_version);
        Ok(table)
    }

    /// The same files as a table that is read with other options besides its own. Blocks.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub(super) fn read_with(&self, name: &str, options: &TextOptions) -> Result<Self, String> {
        let set = self.files.as_ref().filter(|set| set.kind.format.is_text());
        let set = set.ok_or_else(|| {
            format!(
                "options are for text files, and the format is {}",
                self.format
            )
        })?;
        let own = text::options_of(&set.options, set.schema_file.as_ref())?;
        let files = set.files.iter().cloned();
        let found = FoundFiles {
            kind: set.kind,
            files: files
                .map(|file| Opened {
                    file,
                    kind: Ok(set.kind),
                })
                .collect(),
            options: OptionsFrom::Given(Arc::new(options.clone().over(&own))),
        };
        let is_of_all_rows = set.text().is_some_and(|text| text.is_of_all_rows);
        let types_from = if is_of_all_rows {
            TypesFrom::AllRows
        } else {
            TypesFrom::Sample
        };
        let mut table = Self::load(name, found, &|_| true, types_from)?;
        table.stored.clone_from(&self.stored);
        Ok(table.read_from(self))
    }

    /// The same table, as another reading of `base`.
    pub(super) fn read_from(mut self, base: &Self) -> Self {
        self.base_version = Some(base.version.clone());
        self
    }

    /// Whether it is another reading of a table, which is not listed.
    pub fn is_other_reading(&self) -> bool {
        self.base_version.is_some()
    }

    /// Whether it is another reading of the present `base`.
    pub(super) fn is_reading_of(&self, base: &Self) -> bool {
        self.base_version.as_ref() == Some(&base.version)
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
