//! Parallel work on many items, for work that mostly waits.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The maximum number of items in progress.
const NUM_THREADS: usize = 32;

/// The results of `work`, in the order of the items. Blocks.
pub(super) fn in_parallel<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let num_threads = items.len().min(NUM_THREADS);
    if num_threads <= 1 {
        return items.map(work).collect();
    }
    let left = Mutex::new(items.enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_turns = || {
        let mut done = Vec::new();
        while let Some((index, item)) = next() {
            done.push((index, work(item)));
        }
        done
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..num_threads).map(|_| scope.spawn(take_turns)).collect();
        threads
            .into_iter()
            .flat_map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Like [`in_parallel`] for work that can fail. After a failure, no further work is started. Blocks.
///
/// # Errors
/// A failure of `work`.
pub(super) fn try_in_parallel<T: Send, R: Send, E: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let has_failed = AtomicBool::new(false);
    let done = in_parallel(items, |item| {
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(item);
        if result.is_err() {
            has_failed.store(true, Ordering::Relaxed);
        }
        Some(result)
    });
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn results_are_in_the_items_order() {
        for num_items in [0, 1, 2, 1000] {
            let squares = in_parallel(0..num_items, |n: usize| n * n);
            assert!(squares.into_iter().eq((0..num_items).map(|n| n * n)));
        }
    }

    #[test]
    fn after_a_failure_nothing_more_is_begun() {
        let squares = try_in_parallel(0..100, |n: usize| Ok::<_, ()>(n * n));
        assert!(squares.unwrap().into_iter().eq((0..100).map(|n| n * n)));
        let num_begun = AtomicUsize::new(0);
        let failed = try_in_parallel(0..1000, |n: usize| {
            num_begun.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(n)
        });
        assert!(failed.is_err());
        assert!(num_begun.into_inner() <= NUM_THREADS);
    }
}
