//! The spool of one run: an append-only list of messages with their rows.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::byte_pool::BytePool;
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, LiveDictionaries, MessageKind};
use crate::spool::{MessageLocation, Segment, SpoolStorage};

/// Bytes that a spool keeps in memory before it moves its oldest messages to disk.
const HOT_BYTES: u64 = 8 << 20;

/// Bytes of the last messages that a spool keeps if earlier rows can be read again from their source.
/// This is more than the buffers of a stalled connection hold.
const TAIL_BYTES: u64 = 16 << 20;

/// The same limit while all spools together take more than [`TAILS_BYTES`].
const SMALL_TAIL_BYTES: u64 = 1 << 20;

/// See [`SMALL_TAIL_BYTES`].
const TAILS_BYTES: u64 = 64 << 20;

/// The messages of a run, beginning with the first row that is still kept. It has one writer and any
/// number of readers.
#[derive(Debug)]
pub struct RunSpool {
    storage: Arc<SpoolStorage>,
    keeps_all: bool,
    state: Mutex<State>,
    grown: Notify,
}

#[derive(Debug)]
struct State {
    entries: VecDeque<Entry>,
    /// The number of the first entry. Entries keep their numbers when older ones are dropped.
    first_index: u64,
    first_row: u64,
    end_row: u64,
    /// The dictionaries that are valid before the first entry.
    dictionaries: LiveDictionaries,
    /// The number of entries, from the front, that are on disk.
    num_on_disk: usize,
    memory_bytes: u64,
    segment: Option<Arc<Segment>>,
    end: Option<Result<(), QueryError>>,
}

/// One message of a spool.
#[derive(Debug, Clone)]
pub struct Entry {
    kind: MessageKind,
    first_row: u64,
    num_rows: u64,
    location: MessageLocation,
}

/// The result of reading a position of a spool.
#[derive(Debug)]
pub enum Fetched {
    /// A message.
    Entry(Entry),
    /// Nothing yet, but more may follow.
    NotYet,
    /// The end: the run is complete or has failed.
    End(Result<(), QueryError>),
    /// The message was dropped.
    Gone,
}

/// A position at which to start reading.
#[derive(Debug)]
pub struct Position {
    /// The number of the entry.
    pub index: u64,
    /// The dictionary entries before the position.
    before: Vec<Entry>,
    dictionaries: LiveDictionaries,
}

impl Entry {
    /// The number of its first row. An entry without rows has the number of the next row.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The message.
    ///
    /// # Errors
    /// Reading from disk fails.
    pub async fn read(self) -> Result<IpcMessage, QueryError> {
        let read = match &self.location {
            MessageLocation::Memory(message) => return Ok(message.clone()),
            MessageLocation::Disk { .. } => {
                tokio::task::spawn_blocking(move || self.location.read(self.kind, self.num_rows))
                    .await
            }
        };
        read.map_err(io::Error::other)
            .flatten()
            .map_err(|error| disk_error(&error))
    }
}

impl Position {
    /// The dictionaries that are valid at this position.
    ///
    /// # Errors
    /// Reading from disk fails.
    pub async fn dictionaries(self) -> Result<LiveDictionaries, QueryError> {
        let mut dictionaries = self.dictionaries;
        for entry in self.before {
            dictionaries.note(&entry.read().await?);
        }
        Ok(dictionaries)
    }
}

impl RunSpool {
    /// An empty spool whose first row will be `first_row`. With `keeps_all` it keeps all rows, on disk
    /// if necessary, until the disk budget is used up; then it drops the oldest. Otherwise it keeps the last
    /// rows, in memory.
    pub fn new(storage: Arc<SpoolStorage>, first_row: u64, keeps_all: bool) -> Self {
        let state = State {
            entries: VecDeque::new(),
            first_index: 0,
            first_row,
            end_row: first_row,
            dictionaries: LiveDictionaries::default(),
            num_on_disk: 0,
            memory_bytes: 0,
            segment: None,
            end: None,
        };
        Self {
            storage,
            keeps_all,
            state: Mutex::new(state),
            grown: Notify::new(),
        }
    }

    /// The first row that is kept, and the row after the last one that was appended.
    pub fn rows(&self) -> std::ops::Range<u64> {
        let state = self.lock();
        state.first_row..state.end_row
    }

    /// The memory budget that it shares with others.
    pub fn memory(&self) -> &BytePool {
        self.storage.memory()
    }

    /// Whether its rows are in memory alone, because they can be read from their source again.
    pub fn is_tail(&self) -> bool {
        !self.keeps_all
    }

    /// How the run ended; `None` while it goes on.
    pub fn end(&self) -> Option<Result<(), QueryError>> {
        self.lock().end.clone()
    }

    /// Whether messages are on disk.
    pub fn has_disk(&self) -> bool {
        self.lock().num_on_disk > 0
    }

    /// The bytes in memory, and the bytes of the current segment on disk.
    pub fn kept_bytes(&self) -> (u64, u64) {
        let state = self.lock();
        let disk_bytes = state
            .segment
            .as_ref()
            .map_or(0, |segment| segment.num_bytes());
        (state.memory_bytes, disk_bytes)
    }

    /// Ends the spool. Only the first call has an effect.
    pub fn finish(&self, end: Result<(), QueryError>) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(end);
            state.segment = None;
        }
        drop(state);
        self.grown.notify_waiters();
    }

    /// The position of the entry that holds `row`, or the end. `None` if the row is no longer kept.
    pub fn seek(&self, row: u64) -> Option<Position> {
        let state = self.lock();
        if row < state.first_row {
            return None;
        }
        let at = state
            .entries
            .partition_point(|entry| entry.first_row + entry.num_rows <= row);
        let before = state.entries.iter().take(at);
        Some(Position {
            index: state.first_index + at as u64,
            before: before
                .filter(|entry| entry.kind != MessageKind::Batch)
                .cloned()
                .collect(),
            dictionaries: state.dictionaries.clone(),
        })
    }

    /// The entry at `index`.
    pub fn get(&self, index: u64) -> Fetched {
        let state = self.lock();
        let Some(at) = index.checked_sub(state.first_index) else {
            return Fetched::Gone;
        };
        match (state.entries.get(at as usize), &state.end) {
            (Some(entry), _) => Fetched::Entry(entry.clone()),
            (None, Some(end)) => Fetched::End(end.clone()),
            (None, None) => Fetched::NotYet,
        }
    }

    /// Waits until there is an entry at `index`. Calls `ask` while there is none.
    pub async fn wait(&self, index: u64, ask: impl Fn()) -> Fetched {
        loop {
            let grown = self.grown.notified();
            tokio::pin!(grown);
            grown.as_mut().enable();
            match self.get(index) {
                Fetched::NotYet => {}
                fetched => return fetched,
            }
            ask();
            grown.await;
        }
    }

    /// Appends a message, then moves or drops messages that exceed the limits. `free` tries to free
    /// disk space that other results use, and returns whether it did. Returns whether all messages are kept. Only one
    /// task may append.
    pub async fn append(&self, message: IpcMessage, free: impl Fn() -> bool) -> bool {
        self.push(message);
        let first_row = self.rows().start;
        loop {
            let Some(coldest) = self.coldest_message() else {
                return self.rows().start == first_row;
            };
            if !self.keeps_all {
                if !self.drop_oldest(1) {
                    return false;
                }
                continue;
            }
            let num_bytes = coldest.num_bytes() as u64;
            let location = match self.make_room(num_bytes, &free) {
                true => self.write(coldest).await,
                false => None,
            };
            match location {
                Some(location) => self.moved(location, num_bytes),
                // Without disk space, the oldest rows are dropped.
                None => {
                    let num_on_disk = self.lock().num_on_disk;
                    if !self.drop_oldest(num_on_disk + 1) {
                        return false;
                    }
                }
            }
        }
    }

    /// Drops all rows.
    pub fn clear(&self) {
        let num_entries = self.lock().entries.len();
        self.drop_head(num_entries);
    }

    /// Drops the oldest entries, but not the last batch and its dictionaries: these have not been read yet. Returns
    /// false if nothing was dropped.
    fn drop_oldest(&self, num_entries: usize) -> bool {
        let num_droppable = {
            let entries = &self.lock().entries;
            let is_batch = |entry: &Entry| entry.kind == MessageKind::Batch;
            let last_batch = entries.iter().rposition(is_batch).unwrap_or(0);
            let before = entries.iter().take(last_batch).rposition(is_batch);
            before.map_or(0, |batch| batch + 1)
        };
        let num_dropped = num_entries.min(num_droppable);
        self.drop_head(num_dropped);
        num_dropped > 0
    }

    fn push(&self, message: IpcMessage) {
        let mut state = self.lock();
        let num_bytes = message.num_bytes() as u64;
        let first_row = state.end_row;
        state.end_row += message.num_rows;
        state.memory_bytes += num_bytes;
        self.storage.memory.add(num_bytes);
        state.entries.push_back(Entry {
            kind: message.kind,
            first_row,
            num_rows: message.num_rows,
            location: MessageLocation::Memory(message),
        });
        drop(state);
        self.grown.notify_waiters();
    }

    /// The oldest message in memory, if memory exceeds its limit.
    fn coldest_message(&self) -> Option<IpcMessage> {
        let state = self.lock();
        let memory = &self.storage.memory;
        let limit_bytes = match self.keeps_all {
            true if memory.has_room(0) => HOT_BYTES,
            true => 0,
            false if memory.used_bytes() <= TAILS_BYTES.min(memory.limit_bytes()) => TAIL_BYTES,
            false => SMALL_TAIL_BYTES,
        };
        if state.memory_bytes <= limit_bytes {
            return None;
        }
        match &state.entries.get(state.num_on_disk)?.location {
            MessageLocation::Memory(message) => Some(message.clone()),
            MessageLocation::Disk { .. } => None,
        }
    }

    fn make_room(&self, num_bytes: u64, free: &impl Fn() -> bool) -> bool {
        if num_bytes > self.storage.disk.limit_bytes() {
            return false;
        }
        while !self.storage.has_room(num_bytes) {
            if !free() && !self.drop_oldest_segment() {
                return false;
            }
        }
        true
    }

    async fn write(&self, message: IpcMessage) -> Option<MessageLocation> {
        let limit_bytes = self.storage.segment_bytes();
        let current = self.lock().segment.clone();
        let current = current.filter(|segment| segment.num_bytes() < limit_bytes);
        let storage = Arc::clone(&self.storage);
        let written = tokio::task::spawn_blocking(move || {
            let segment = match current {
                Some(segment) => segment,
                None => Segment::create(&storage.folder, &storage.disk)?,
            };
            Ok::<_, io::Error>((segment.append(&message)?, segment))
        });
        match written.await.map_err(io::Error::other).flatten() {
            Ok((location, segment)) => {
                self.lock().segment = Some(segment);
                Some(location)
            }
            Err(error) => {
                tracing::error!("a result cannot be kept on disk: {error}");
                None
            }
        }
    }

    fn moved(&self, location: MessageLocation, num_bytes: u64) {
        let mut state = self.lock();
        let at = state.num_on_disk;
        if let Some(entry) = state.entries.get_mut(at) {
            entry.location = location;
            state.num_on_disk += 1;
            state.memory_bytes -= num_bytes;
            self.storage.memory.remove(num_bytes);
        }
    }

    /// Drops the entries of the oldest segment. Returns false if none is on disk.
    fn drop_oldest_segment(&self) -> bool {
        let num_entries = {
            let mut state = self.lock();
            let Some(MessageLocation::Disk {
                segment: oldest, ..
            }) = state.entries.front().map(|e| &e.location)
            else {
                return false;
            };
            let oldest = Arc::clone(oldest);
            if state
                .segment
                .as_ref()
                .is_some_and(|current| Arc::ptr_eq(current, &oldest))
            {
                state.segment = None;
            }
            state
                .entries
                .iter()
                .take_while(|entry| {
                    matches!(&entry.location, MessageLocation::Disk { segment, .. } if Arc::ptr_eq(segment, &oldest))
                })
                .count()
        };
        self.drop_head(num_entries);
        true
    }

    fn drop_head(&self, num_entries: usize) {
        let mut state = self.lock();
        for _ in 0..num_entries {
            let Some(entry) = state.entries.pop_front() else {
                break;
            };
            state.first_index += 1;
            match &entry.location {
                MessageLocation::Memory(message) => {
                    let num_bytes = message.num_bytes() as u64;
                    state.memory_bytes -= num_bytes;
                    self.storage.memory.remove(num_bytes);
                }
                MessageLocation::Disk { .. } => state.num_on_disk -= 1,
            }
            if entry.kind != MessageKind::Batch
                && let Ok(message) = entry.location.read(entry.kind, entry.num_rows)
            {
                state.dictionaries.note(&message);
            }
            state.first_row = entry.first_row + entry.num_rows;
        }
        drop(state);
        // Readers of the dropped entries must notice it.
        self.grown.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunSpool {
    fn drop(&mut self) {
        let memory_bytes = self.lock().memory_bytes;
        self.storage.memory.remove(memory_bytes);
    }
}

fn disk_error(error: &io::Error) -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        format!("rows that were kept on disk cannot be read: {error}"),
        "run the query again, and check the server's disk",
    )
}
