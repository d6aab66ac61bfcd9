//! Looks at files in the background while requests arrive.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks is so many times the duration of the last one, within the limits.
const PAUSE_FACTOR: u32 = 20;
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// A request waits so long for a look, if there was none for some time.
const GRACE: Duration = Duration::from_millis(100);

/// Without requests for this time, there are no more looks.
const IDLE: Duration = Duration::from_secs(10);

/// Whether a thread looks at files, and how recently.
#[derive(Debug)]
pub(super) struct Poller {
    state: Mutex<State>,
    looked: Condvar,
}

#[derive(Debug)]
struct State {
    last_request: Instant,
    is_running: bool,
    /// Whether the thread has looked at least once.
    has_looked: bool,
}

impl Poller {
    /// Nothing is looked at before the first request.
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                last_request: Instant::now(),
                is_running: false,
                has_looked: false,
            }),
            looked: Condvar::new(),
        }
    }

    /// Notes a request. If there were none for some time, begins to look, and waits a short time for the first
    /// result. `look` returns whether there is anything left to look at. Blocks.
    pub(super) fn request(self: &Arc<Self>, look: impl Fn() -> bool + Send + 'static) {
        if let Some(running) = self.begin() {
            // Without a thread, this request has the files as they were, and the next one tries again.
            let _ = thread::Builder::new().spawn(move || running.run(look));
        }
        let is_waiting = |state: &mut State| state.is_running && !state.has_looked;
        let waited = self
            .looked
            .wait_timeout_while(self.state(), GRACE, is_waiting);
        drop(waited);
    }

    /// Notes a request. If no thread looks, the caller starts one, whose end is noted whatever ends it.
    fn begin(self: &Arc<Self>) -> Option<Running> {
        let mut state = self.state();
        state.last_request = Instant::now();
        if state.is_running {
            return None;
        }
        state.is_running = true;
        state.has_looked = false;
        Some(Running(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that looks.
struct Running(Arc<Poller>);

impl Running {
    fn run(self, look: impl Fn() -> bool) {
        loop {
            let began = Instant::now();
            if !look() {
                return;
            }
            self.0.state().has_looked = true;
            self.0.looked.notify_all();
            thread::sleep((began.elapsed() * PAUSE_FACTOR).clamp(MIN_PAUSE, MAX_PAUSE));
            if self.0.state().last_request.elapsed() > IDLE {
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state().is_running = false;
        self.0.looked.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_look_that_panics_is_tried_again() {
        let poller = Arc::new(Poller::new());
        let num_looks = Arc::new(AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(60);
        while num_looks.load(Ordering::Relaxed) < 3 {
            let num_looks = Arc::clone(&num_looks);
            poller.request(move || {
                let number = num_looks.fetch_add(1, Ordering::Relaxed);
                assert!(number > 0, "the first look fails");
                true
            });
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn requests_wait_for_the_first_look_only_and_not_for_long() {
        let poller = Arc::new(Poller::new());
        let slow = || {
            thread::sleep(GRACE * 5);
            false
        };
        let began = Instant::now();
        poller.request(slow);
        assert!(began.elapsed() >= GRACE);
        assert!(poller.state().is_running);
        let deadline = Instant::now() + Duration::from_secs(60);
        while poller.state().is_running {
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(10));
        }
    }
}
