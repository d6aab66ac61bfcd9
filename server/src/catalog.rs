//! The tables that are served, kept true to their files.

use std::sync::{Arc, PoisonError, RwLock};

use crate::source::Table;

/// A table, and why it cannot be read at present.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The table as it was last loaded.
    pub table: Arc<Table>,
    /// Why its files cannot be read any more.
    pub broken: Option<String>,
}

/// All tables by name, in the order in which they are listed.
#[derive(Debug)]
pub struct Catalog {
    entries: RwLock<Arc<Vec<Entry>>>,
}

impl Catalog {
    /// A catalog of these tables, listed by name.
    pub fn new(mut tables: Vec<Table>) -> Self {
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        let entries = tables.into_iter().map(|table| Entry {
            table: Arc::new(table),
            broken: None,
        });
        Self {
            entries: RwLock::new(Arc::new(entries.collect())),
        }
    }

    /// The tables as they are now.
    pub fn entries(&self) -> Arc<Vec<Entry>> {
        Arc::clone(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Loads again what has changed on disk; returns the tables that are new. Reads files: call it
    /// where blocking is allowed.
    pub fn refresh(&self) -> Vec<Arc<Table>> {
        let before = self.entries();
        if !before
            .iter()
            .any(|entry| entry.broken.is_some() || entry.table.has_changed())
        {
            return Vec::new();
        }
        let mut reloaded = Vec::new();
        let now = before
            .iter()
            .map(|entry| {
                if entry.broken.is_none() && !entry.table.has_changed() {
                    return entry.clone();
                }
                match entry.table.reload() {
                    Ok(table) => {
                        tracing::info!("table {:?} has changed and was loaded again", table.name);
                        let table = Arc::new(table);
                        reloaded.push(Arc::clone(&table));
                        Entry {
                            table,
                            broken: None,
                        }
                    }
                    Err(error) => Entry {
                        table: Arc::clone(&entry.table),
                        broken: Some(error),
                    },
                }
            })
            .collect();
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
        reloaded
    }
}
