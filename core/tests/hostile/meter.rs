//! Measures the cost of a case: the memory of its thread, and its time.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// An allocator that counts the bytes of each thread.
pub(crate) struct Meter;

#[global_allocator]
static METER: Meter = Meter;

/// The maximum number of bytes of a thread, so that a case out of control fails the test instead of
/// exhausting the machine.
const MAX_THREAD_BYTES: isize = 2 << 30;

thread_local! {
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<isize> = const { Cell::new(0) };
}

/// Returns whether `bytes` more are allowed, and counts them if so.
fn take(bytes: isize) -> bool {
    let live_bytes = LIVE_BYTES.get() + bytes;
    PEAK_BYTES.set(PEAK_BYTES.get().max(live_bytes));
    if live_bytes > MAX_THREAD_BYTES {
        return false;
    }
    LIVE_BYTES.set(live_bytes);
    true
}

// SAFETY: every call is forwarded to the system's allocator with the same arguments, or returns null.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller guarantees it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller guarantees it.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        if !take(new_bytes as isize - layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller guarantees it.
        unsafe { System.realloc(start, layout, new_bytes) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller guarantees it.
        unsafe { System.dealloc(start, layout) }
    }
}

/// The cost of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// The peak memory, in addition to the memory in use before.
    pub(crate) peak_bytes: usize,
    /// The processor time.
    pub(crate) time: Duration,
}

/// Runs `case` and measures it.
pub(crate) fn measure<T>(case: impl FnOnce() -> T) -> (T, Cost) {
    let before_bytes = LIVE_BYTES.get();
    PEAK_BYTES.set(before_bytes);
    let start = processor_time();
    let result = case();
    let cost = Cost {
        peak_bytes: (PEAK_BYTES.get() - before_bytes) as usize,
        time: processor_time() - start,
    };
    (result, cost)
}

/// The processor time of this thread, which does not depend on what else the machine does; the time of the clock
/// where the system does not say.
fn processor_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // Nanoseconds on a processor, and two more numbers: https://docs.kernel.org/scheduler/sched-stats.html
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|stat| stat.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
