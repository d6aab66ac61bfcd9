//! Loads tables of a catalog again in the background.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A request waits so long for tables that it does not name.
const GRACE: Duration = Duration::from_millis(100);

/// A table that cannot be read is tried again after so many times the duration of the last attempt, so that
/// attempts take a small part of the time.
const PAUSE_FACTOR: u32 = 10;

const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The tables that are being loaded again, and when those that failed are tried again.
#[derive(Debug, Default)]
pub(super) struct Reloads {
    tables: Mutex<HashMap<String, Reload>>,
    ended: Condvar,
}

#[derive(Debug, Clone, Copy)]
enum Reload {
    InProgress,
    /// It failed, and is not tried again before this time, unless a request names the table.
    Failed(Instant),
}

impl Reloads {
    /// Whether the caller shall load this table now. Then it calls [`Reloads::end`] afterwards.
    pub(super) fn begin(&self, name: &str, is_named: bool) -> bool {
        let mut tables = self.tables();
        match tables.get(name) {
            Some(Reload::InProgress) => return false,
            Some(Reload::Failed(next)) if !is_named && Instant::now() < *next => return false,
            _ => {}
        }
        tables.insert(name.to_owned(), Reload::InProgress);
        true
    }

    /// Notes that an attempt has ended.
    pub(super) fn end(&self, name: &str, began: Instant, is_loaded: bool) {
        let mut tables = self.tables();
        if is_loaded {
            tables.remove(name);
        } else {
            let pause = (began.elapsed() * PAUSE_FACTOR).min(MAX_PAUSE);
            tables.insert(name.to_owned(), Reload::Failed(Instant::now() + pause));
        }
        self.ended.notify_all();
    }

    /// Waits until no table that `is_named` is being loaded, and a short time for the others. Blocks.
    pub(super) fn wait(&self, is_named: impl Fn(&str) -> bool) {
        let grace_end = Instant::now() + GRACE;
        let mut tables = self.tables();
        loop {
            let in_progress = tables
                .iter()
                .filter(|(_, reload)| matches!(reload, Reload::InProgress));
            let mut names = in_progress.map(|(name, _)| name).peekable();
            if names.peek().is_none() {
                return;
            }
            let must_wait = names.any(|name| is_named(name));
            let grace = grace_end.saturating_duration_since(Instant::now());
            if !must_wait && grace.is_zero() {
                return;
            }
            let time = if must_wait { MAX_PAUSE } else { grace };
            tables = self
                .ended
                .wait_timeout(tables, time)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<String, Reload>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn only_requests_that_name_a_slow_table_wait_for_it() {
        let reloads = Reloads::default();
        assert!(reloads.begin("slow", true));
        assert!(!reloads.begin("slow", true));
        reloads.wait(|name| name == "other");
        let began = Instant::now();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| reloads.wait(|name| name == "slow"));
            thread::sleep(GRACE * 2);
            assert!(!waiting.is_finished());
            reloads.end("slow", began, true);
            waiting.join().unwrap();
        });
    }

    #[test]
    fn a_table_that_failed_is_tried_again_after_a_pause_or_by_name() {
        let reloads = Reloads::default();
        assert!(reloads.begin("t", false));
        reloads.end("t", Instant::now() - Duration::from_secs(1), false);
        assert!(!reloads.begin("t", false));
        assert!(reloads.begin("t", true));
        reloads.end("t", Instant::now(), true);
        assert!(reloads.begin("t", false));
    }
}
