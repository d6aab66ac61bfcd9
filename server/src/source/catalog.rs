//! The catalog of served tables, which follows changes of their files.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::DataFusionError;

use crate::error::{ErrorKind, QueryError};
use crate::source::folders::{Change, Folders};
use crate::source::parallel::in_parallel;
use crate::source::poller::Poller;
use crate::source::reloads::Reloads;
use crate::source::table::MAX_FILES_LOOKED_AT;
use crate::source::{LeftOutFile, Table, Unreadable, read_as};

/// The number of files of the tables that it does not name at which a request looks. The others are looked at in the
/// background.
const MAX_OTHER_FILES: usize = 64;

/// The most other readings of tables that are kept; those that were asked for first go first.
const MAX_READINGS: usize = 64;

/// A table, and why it cannot be read at present.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The table as it was last loaded.
    pub table: Arc<Table>,
    /// The error if its files cannot be read any more.
    pub broken: Option<String>,
}

impl Entry {
    /// A table that can be read.
    pub fn of(table: Table) -> Self {
        Self {
            table: Arc::new(table),
            broken: None,
        }
    }

    /// A table that was found.
    fn found(table: Table) -> Self {
        Self {
            broken: table.unreadable.as_ref().map(|why| why.reason.clone()),
            table: Arc::new(table),
        }
    }

    /// The table if it is read with the options in `pairs`. Blocks.
    fn read_as(&self, name: &str, pairs: &str) -> Self {
        let options = read_as::parse_options(pairs);
        match options.and_then(|options| self.table.read_with(name, &options)) {
            Ok(table) => Self::of(table),
            Err(reason) => {
                let why = Unreadable {
                    kind: ErrorKind::BadParameter,
                    reason: reason.clone(),
                    hint: "correct the options, or leave them out",
                };
                let table = Table::without_columns(name, self.table.format, why);
                Self {
                    table: Arc::new(table.read_from(&self.table)),
                    broken: Some(reason),
                }
            }
        }
    }

    /// Whether the table should be loaded again. Looks at its files, or only says what is known of them.
    fn is_stale(&self, looks: bool) -> bool {
        match &self.table.unreadable {
            _ if self.table.is_other_reading() => false,
            Some(why) => why.may_pass(),
            None => self.broken.is_some() || self.table.is_stale(looks),
        }
    }

    /// Checks that the table can be read at present.
    ///
    /// # Errors
    /// `source_changed`, or that of [`Unreadable`](crate::source::Unreadable).
    pub fn check(&self) -> Result<(), QueryError> {
        let Some(reason) = &self.broken else {
            return Ok(());
        };
        let name = &self.table.name;
        if let Some(why) = &self.table.unreadable {
            return Err(QueryError::new(
                why.kind,
                format!("table {name:?} cannot be read: {reason}"),
                why.hint,
            ));
        }
        Err(QueryError::new(
            ErrorKind::SourceChanged,
            format!("table {name:?} can no longer be read: {reason}"),
            "restore the file, or restart the server with other sources",
        ))
    }
}

/// Loads the tables of a catalog when they are first named.
pub trait TableLoader: Send + Sync {
    /// The names of all tables, sorted.
    fn names(&self) -> Vec<String>;

    /// The table with that name; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// The table cannot be read.
    fn load(&self, name: &str) -> Result<Option<Table>, QueryError>;
}

/// All tables, in the order of their names. For the engine it is the schema in which SQL finds the
/// tables.
pub struct Catalog {
    entries: RwLock<Arc<Vec<Entry>>>,
    /// Locked while `entries` is replaced by a changed copy.
    changing: Mutex<()>,
    reloads: Reloads,
    /// The names of other readings, in the order in which they were asked for.
    readings: Mutex<VecDeque<String>>,
    poller: Arc<Poller>,
    /// Set once, if there are any.
    folders: OnceLock<Folders>,
    loader: Option<Arc<dyn TableLoader>>,
}

impl Catalog {
    /// A catalog of these tables.
    pub fn new(mut tables: Vec<Table>) -> Self {
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        let entries = tables.into_iter().map(Entry::found);
        Self {
            entries: RwLock::new(Arc::new(entries.collect())),
            changing: Mutex::new(()),
            reloads: Reloads::default(),
            readings: Mutex::default(),
            poller: Arc::new(Poller::new()),
            folders: OnceLock::new(),
            loader: None,
        }
    }

    /// A catalog of the tables of a loader, of which some are loaded.
    pub fn of_loader(loader: Arc<dyn TableLoader>, loaded: Vec<Table>) -> Self {
        Self {
            loader: Some(loader),
            ..Self::new(loaded)
        }
    }

    /// Adds the tables of files that these folders will get.
    pub fn follow(&self, folders: Folders) {
        // A second call would change nothing.
        let _ = self.folders.set(folders);
    }

    /// Files of folders that are no tables.
    pub fn left_out(&self) -> Vec<LeftOutFile> {
        self.folders
            .get()
            .map(Folders::left_out)
            .unwrap_or_default()
    }

    /// The table with that name, loaded if it was not yet. Blocks if there is a loader.
    ///
    /// # Errors
    /// The loader's error.
    pub fn find(&self, name: &str) -> Result<Option<Entry>, QueryError> {
        if let Some(entry) = self.entry(name) {
            return Ok(Some(entry));
        }
        let Some(loader) = &self.loader else {
            return Ok(None);
        };
        let Some(table) = loader.load(name)? else {
            return Ok(None);
        };
        let table = Arc::new(table);
        self.put(Arc::clone(&table));
        Ok(Some(Entry {
            table,
            broken: None,
        }))
    }

    /// The table with that name, if it is loaded.
    fn entry(&self, name: &str) -> Option<Entry> {
        find(&self.entries(), name).cloned()
    }

    /// The current tables.
    pub fn entries(&self) -> Arc<Vec<Entry>> {
        Arc::clone(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The tables, after loading those again whose files have changed. Waits for the tables that are `named`; a table
    /// that is slow or cannot be read does not delay requests for others. Blocks.
    pub fn refreshed(self: &Arc<Self>, named: &HashSet<String>) -> Arc<Vec<Entry>> {
        let readings = named
            .iter()
            .filter_map(|name| Some((name, read_as::split_options(name)?)));
        let readings: Vec<_> = readings.collect();
        if readings.is_empty() {
            return self.refresh(named);
        }
        let bases = readings.iter().map(|(_, (base, _))| (*base).to_owned());
        let entries = self.refresh(&named.iter().cloned().chain(bases).collect());
        for (name, (base, pairs)) in readings {
            match find(&entries, base) {
                Some(base) => self.refresh_reading(base, name, pairs),
                // It may have been asked for while its table was removed.
                None if self.loader.is_none() => self.remove(base),
                None => {}
            }
        }
        self.entries()
    }

    /// Loads another reading of a table, unless it was loaded of the present files. Blocks.
    fn refresh_reading(&self, base: &Entry, name: &str, pairs: &str) {
        let new = match self.entry(name) {
            Some(known) if !known.table.is_other_reading() => return,
            Some(known) if known.table.is_reading_of(&base.table) && base.broken.is_none() => {
                if !known.table.is_stale(true) {
                    return;
                }
                match known.table.reload() {
                    Ok(table) => Entry::of(table),
                    Err(_) => base.read_as(name, pairs),
                }
            }
            _ => base.read_as(name, pairs),
        };
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.retain(|known| known != name);
        readings.push_back(name.to_owned());
        if readings.len() > MAX_READINGS
            && let Some(oldest) = readings.pop_front()
        {
            self.remove(&oldest);
        }
        self.put_entry(new);
    }

    fn refresh(self: &Arc<Self>, named: &HashSet<String>) -> Arc<Vec<Entry>> {
        let catalog = Arc::downgrade(self);
        self.poller.request(move || {
            let catalog = catalog.upgrade();
            catalog.inspect(|catalog| catalog.look()).is_some()
        });
        let is_named = |name: &str| named.contains(name);
        let entries = self.entries();
        let is_stale =
            |entry: &&Entry| entry.is_stale(entry.table.num_files() <= MAX_FILES_LOOKED_AT);
        let found = named.iter().filter_map(|name| find(&entries, name));
        let mut stale: Vec<&Entry> = found.filter(is_stale).collect();
        let mut num_files = 0;
        let others = entries.iter().filter(|entry| !is_named(&entry.table.name));
        let others = others.take_while(|entry| {
            num_files += entry.table.num_files().max(1);
            num_files <= MAX_OTHER_FILES
        });
        stale.extend(others.filter(|entry| entry.is_stale(true)));
        if stale.is_empty() {
            return entries;
        }
        self.reload(stale, is_named);
        self.reloads.wait(is_named);
        self.entries()
    }

    /// Loads these tables again, those first that a request names, except for those that are being loaded, or have
    /// failed a short time ago. Does not wait.
    fn reload(self: &Arc<Self>, mut stale: Vec<&Entry>, is_named: impl Fn(&str) -> bool) {
        stale.sort_by_key(|entry| !is_named(&entry.table.name));
        stale.retain(|entry| {
            let name = &entry.table.name;
            self.reloads.begin(name, is_named(name))
        });
        let reloads = stale.into_iter().map(|entry| Reload::new(self, entry));
        let reloads: Vec<_> = reloads.collect();
        if !reloads.is_empty() {
            let run = move || in_parallel(reloads.into_iter(), Reload::run);
            // Without a thread, the next request tries again.
            let _ = thread::Builder::new().spawn(run);
        }
    }

    /// Looks for new files in folders, and at those of all tables. Blocks.
    fn look(self: &Arc<Self>) {
        if let Some(folders) = self.folders.get() {
            let known = |name: &str| self.entry(name).map(|entry| entry.table);
            folders.look(known, |change| self.apply(change));
        }
        let entries = self.entries();
        let stale = entries.iter().filter(|entry| entry.is_stale(true));
        self.reload(stale.collect(), |_| false);
    }

    /// Adds a table, or replaces the one with the same name. Queries that read the old table continue
    /// with it.
    pub fn put(&self, table: Arc<Table>) {
        self.put_entry(Entry {
            table,
            broken: None,
        });
    }

    /// Replaces a table, unless it was replaced or removed meanwhile.
    fn replace(&self, old: &Arc<Table>, new: Entry) {
        let _changing = self.changing();
        let mut entries = self.entries().as_ref().clone();
        let same = |entry: &&mut Entry| Arc::ptr_eq(&entry.table, old);
        if let Some(entry) = entries.iter_mut().find(same) {
            *entry = new;
            self.set(entries);
        }
    }

    fn put_entry(&self, entry: Entry) {
        let _changing = self.changing();
        let mut entries = self.entries().as_ref().clone();
        let name = entry.table.name.as_str();
        match entries.binary_search_by(|entry| entry.table.name.as_str().cmp(name)) {
            Ok(index) => entries[index] = entry,
            Err(index) => entries.insert(index, entry),
        }
        self.set(entries);
    }

    fn apply(&self, change: Change) {
        match change {
            Change::Loaded(table) => self.put_entry(Entry::found(*table)),
            Change::Unreadable(old, error) => {
                let table = Arc::clone(&old);
                let broken = Some(error);
                self.replace(&old, Entry { table, broken });
            }
            Change::Removed(name) => self.remove(&name),
        }
    }

    /// Removes a table, and its other readings.
    pub fn remove(&self, name: &str) {
        let _changing = self.changing();
        let mut entries = self.entries().as_ref().clone();
        entries.retain(|Entry { table, .. }| {
            let base = read_as::split_options(&table.name).filter(|_| table.is_other_reading());
            table.name != name && base.is_none_or(|(base, _)| base != name)
        });
        self.set(entries);
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, entries: Vec<Entry>) {
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(entries);
    }
}

/// The table with that name among those in the order of their names.
pub(crate) fn find<'a>(entries: &'a [Entry], name: &str) -> Option<&'a Entry> {
    let found = entries.binary_search_by(|entry| entry.table.name.as_str().cmp(name));
    found.ok().map(|index| &entries[index])
}

/// One table that is being loaded again. Its end is noted in any case.
struct Reload {
    catalog: Arc<Catalog>,
    table: Arc<Table>,
    began: Instant,
    is_loaded: bool,
}

impl Reload {
    fn new(catalog: &Arc<Catalog>, entry: &Entry) -> Self {
        Self {
            catalog: Arc::clone(catalog),
            table: Arc::clone(&entry.table),
            began: Instant::now(),
            is_loaded: false,
        }
    }

    fn run(mut self) {
        let old = &self.table;
        // A damaged file can make a reader panic.
        let loaded = catch_unwind(AssertUnwindSafe(|| old.reload()))
            .unwrap_or_else(|_| Err("the file is damaged".to_owned()));
        self.is_loaded = loaded.is_ok();
        let new = match loaded {
            Ok(table) => {
                tracing::info!("table {:?} has changed and was loaded again", table.name);
                Entry::of(table)
            }
            Err(error) => Entry {
                table: Arc::clone(old),
                broken: Some(error),
            },
        };
        self.catalog.replace(old, new);
    }
}

impl Drop for Reload {
    fn drop(&mut self) {
        let reloads = &self.catalog.reloads;
        reloads.end(&self.table.name, self.began, self.is_loaded);
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.entries().iter().map(|entry| &entry.table.name))
            .finish()
    }
}

#[async_trait]
impl SchemaProvider for Catalog {
    fn table_names(&self) -> Vec<String> {
        if let Some(loader) = &self.loader {
            return loader.names();
        }
        let entries = self.entries();
        entries
            .iter()
            .filter(|entry| !entry.table.is_other_reading())
            .map(|entry| entry.table.name.clone())
            .collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let found = self.find(name);
        let found = found.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(found.map(|entry| Arc::clone(&entry.table.provider)))
    }

    // By default, this loads the table.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>, DataFusionError> {
        Ok(self.table_exist(name).then_some(TableType::Base))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Schema;
    use datafusion::datasource::empty::EmptyTable;

    fn table(name: &str) -> Table {
        Table::from_provider(name, Arc::new(EmptyTable::new(Arc::new(Schema::empty()))))
    }

    #[test]
    fn tables_come_go_and_stay_in_order() {
        let catalog = Catalog::new(vec![table("m"), table("b")]);
        catalog.put(Arc::new(table("a")));
        catalog.put(Arc::new(table("z")));
        let before = catalog.entries();
        catalog.put(Arc::new(table("m")));
        assert_eq!(catalog.table_names(), ["a", "b", "m", "z"]);
        assert!(!Arc::ptr_eq(&before[2].table, &catalog.entries()[2].table));
        catalog.remove("b");
        catalog.remove("nothing");
        assert_eq!(catalog.table_names(), ["a", "m", "z"]);
    }
}
