//! The memory allocator: jemalloc on Linux, and a limit for an engine process, which it asks its server to raise.
//!
//! The allocators of C libraries keep what was freed. Under 12 clients, glibc held 390 MB of which 170 MB were in use.

#[cfg(not(target_os = "linux"))]
use std::alloc::System as Allocator;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use nix::sys::resource::{Resource, getrlimit, setrlimit};
#[cfg(target_os = "linux")]
use tikv_jemallocator::Jemalloc as Allocator;

/// The exit code of a process that needed more memory than its limit.
pub const OUT_OF_MEMORY: i32 = 86;

/// Bytes that a thread allocates or frees before it reports them, so that threads seldom write to the same
/// cache line.
const REPORT_BYTES: i64 = 64 << 10;

/// Settings of jemalloc: threads share four arenas, because each arena keeps some memory for itself, and free memory
/// goes back to the system within 0.2 s, together with its addresses, which count in an engine process too. With 1 s,
/// 32 readers held 34 MB more, at the same speed.
#[cfg(target_os = "linux")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static JEMALLOC_SETTINGS: &std::ffi::c_char = {
    let settings = c"narenas:4,dirty_decay_ms:200,muzzy_decay_ms:0,retain:false";
    // SAFETY: the string is static.
    unsafe { &*settings.as_ptr() }
};

/// Free memory is kept a millisecond for so many bytes that the program may take, but within these times.
#[cfg(target_os = "linux")]
const DECAY_BYTES_OF_MS: u64 = 10 << 20;
#[cfg(target_os = "linux")]
const MIN_DECAY_MS: u64 = 20;
#[cfg(target_os = "linux")]
const MAX_DECAY_MS: u64 = 200;

/// How old a measurement of the pages that the process holds may be.
#[cfg(target_os = "linux")]
const MAX_AGE_US: u64 = 2000;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK_BYTES: AtomicI64 = AtomicI64::new(0);
static LIMIT_BYTES: AtomicI64 = AtomicI64::new(i64::MAX);

/// The bytes that were allocated when [`limit`] was called.
static BASE_BYTES: AtomicI64 = AtomicI64::new(0);

/// Held by the thread that waits for a response of the server. The others sleep meanwhile.
static ASKING: Mutex<()> = Mutex::new(());

thread_local! {
    static UNREPORTED_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// The allocator of the program. After [`count`], it counts the bytes that are allocated. Before they exceed the limit,
/// it asks the server for more, and if it gets nothing, ends the process with [`OUT_OF_MEMORY`]. A failed
/// allocation aborts a Rust program in any case; the exit code lets the parent tell why.
#[derive(Debug)]
pub struct LimitedAllocator;

// SAFETY: every method passes its arguments to `Allocator` unchanged, and returns what it returns.
unsafe impl GlobalAlloc for LimitedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is that of `Allocator`.
        checked(|| unsafe { Allocator.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: as in `alloc`.
        checked(|| unsafe { Allocator.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: as in `alloc`.
        unsafe { Allocator.dealloc(pointer, layout) };
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add(new_size as i64 - layout.size() as i64);
        // SAFETY: as in `alloc`. A failed call leaves the block as it is.
        checked(|| unsafe { Allocator.realloc(pointer, layout, new_size) })
    }
}

/// Begins to count. Call it before other threads are started.
pub(crate) fn count() {
    IS_COUNTING.store(true, Ordering::Relaxed);
}

/// Permits `bytes` in addition to those that are allocated now, and forgets the peak.
pub(crate) fn limit(bytes: u64) {
    report();
    let live_bytes = LIVE_BYTES.load(Ordering::Relaxed);
    BASE_BYTES.store(live_bytes, Ordering::Relaxed);
    PEAK_BYTES.store(live_bytes, Ordering::Relaxed);
    LIMIT_BYTES.store(live_bytes.saturating_add(signed(bytes)), Ordering::Relaxed);
}

/// Permits any number of bytes.
pub(crate) fn lift_limit() {
    LIMIT_BYTES.store(i64::MAX, Ordering::Relaxed);
}

/// The bytes that are permitted in addition to those that were allocated when [`limit`] was called.
pub(crate) fn permitted_bytes() -> u64 {
    let limit_bytes = LIMIT_BYTES.load(Ordering::Relaxed);
    limit_bytes.saturating_sub(BASE_BYTES.load(Ordering::Relaxed)) as u64
}

/// Why more memory is wanted. The discriminants are those of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Need {
    /// Without it, the statement fails.
    Required = 0,
    /// Without it, the statement continues on disk.
    Useful = 1,
}

/// Asks the server for `bytes` more. Returns whether it permits them. Blocks, and does not allocate.
pub(crate) fn grow(bytes: u64, need: Need) -> bool {
    grow_by(|| bytes, need)
}

fn grow_by(wanted_bytes: impl FnOnce() -> u64, need: Need) -> bool {
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    // Another thread may just have raised the limit.
    let wanted_bytes = wanted_bytes();
    let granted_bytes = if wanted_bytes > 0 {
        ask(wanted_bytes, need)
    } else {
        0
    };
    raise_data_limit(granted_bytes);
    LIMIT_BYTES.fetch_add(signed(granted_bytes), Ordering::Relaxed);
    granted_bytes >= wanted_bytes
}

/// Reports what this thread has not yet reported. Call it when a thread ends.
pub(crate) fn report() {
    add_reported(UNREPORTED_BYTES.take());
}

/// The bytes that are allocated, and the most that were since [`limit`].
pub(crate) fn counted_bytes() -> (u64, u64) {
    let read = |count: &AtomicI64| count.load(Ordering::Relaxed).max(0) as u64;
    (read(&LIVE_BYTES), read(&PEAK_BYTES))
}

fn add(bytes: i64) {
    if !IS_COUNTING.load(Ordering::Relaxed) {
        return;
    }
    let unreported_bytes = UNREPORTED_BYTES.get() + bytes;
    if unreported_bytes.abs() < REPORT_BYTES {
        UNREPORTED_BYTES.set(unreported_bytes);
        return;
    }
    UNREPORTED_BYTES.set(0);
    add_reported(unreported_bytes);
}

fn add_reported(bytes: i64) {
    let live_bytes = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if bytes > 0 && live_bytes > PEAK_BYTES.load(Ordering::Relaxed) {
        PEAK_BYTES.fetch_max(live_bytes, Ordering::Relaxed);
        let excess_bytes = || (live_bytes - LIMIT_BYTES.load(Ordering::Relaxed)).max(0) as u64;
        if excess_bytes() > 0 && !grow_by(excess_bytes, Need::Required) {
            exit();
        }
    }
}

/// An allocation. If the system's limit of an engine process is in the way, free memory that is not given back yet may
/// be what is missing.
fn checked(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let pointer = allocate();
    if !pointer.is_null() || !IS_COUNTING.load(Ordering::Relaxed) {
        return pointer;
    }
    give_back();
    let pointer = allocate();
    if pointer.is_null() {
        exit();
    }
    pointer
}

/// Asks for `bytes` on standard output, which is a socket. Returns how many the server grants. The protocol is that
/// of `engine_process/protocol.rs`.
#[cfg(unix)]
fn ask(bytes: u64, need: Need) -> u64 {
    let mut request = [need as u8; 9];
    request[1..].copy_from_slice(&bytes.to_le_bytes());
    let mut response = [0; 8];
    let output = libc::STDOUT_FILENO;
    // SAFETY: each call gets a pointer to an array that outlives it, and the length of that array. So few bytes
    // are neither written nor read in parts, because nothing else is on the socket.
    let (written, read) = unsafe {
        let written = libc::write(output, request.as_ptr().cast(), request.len());
        let read = libc::read(output, response.as_mut_ptr().cast(), response.len());
        (written, read)
    };
    if (written, read) == (9, 8) {
        u64::from_le_bytes(response)
    } else {
        0
    }
}

/// Raises the system's limit for all memory, which also holds what this allocator does not count.
#[cfg(unix)]
fn raise_data_limit(bytes: u64) {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_DATA) {
        // If it cannot be raised, an allocation fails, which `checked` notices.
        let _ = setrlimit(
            Resource::RLIMIT_DATA,
            soft.saturating_add(bytes).min(hard),
            hard,
        );
    }
}

/// Grants nothing, because the system has no engine processes.
#[cfg(not(unix))]
fn ask(_: u64, _: Need) -> u64 {
    0
}

/// Does nothing, because nothing is granted.
#[cfg(not(unix))]
fn raise_data_limit(_: u64) {}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Ends the process without running destructors, which could allocate.
fn exit() -> ! {
    #[cfg(unix)]
    // SAFETY: takes no pointer and may be called at any time from any thread.
    unsafe {
        libc::_exit(OUT_OF_MEMORY)
    }
    #[cfg(not(unix))]
    std::process::abort()
}

/// Returns free memory to the system also while the program allocates nothing, by a thread of its own; and the sooner,
/// the fewer bytes the program may take. With 512 MiB and 12 clients, that saves 60 MiB. With more, there is room for a
/// reader of lineitem to be 8 % faster.
#[cfg(target_os = "linux")]
pub fn return_free_memory(memory_bytes: u64) {
    let decay_ms = (memory_bytes / DECAY_BYTES_OF_MS).clamp(MIN_DECAY_MS, MAX_DECAY_MS) as isize;
    // SAFETY: the settings have these types. The first is that of arenas that do not exist yet.
    unsafe {
        control(c"arenas.dirty_decay_ms", decay_ms);
        for arena in [
            c"arena.0.dirty_decay_ms",
            c"arena.1.dirty_decay_ms",
            c"arena.2.dirty_decay_ms",
            c"arena.3.dirty_decay_ms",
        ] {
            control(arena, decay_ms);
        }
        control(c"background_thread", true);
    }
}

/// Does nothing, because other allocators return memory as they see fit.
#[cfg(not(target_os = "linux"))]
pub fn return_free_memory(_memory_bytes: u64) {}

/// Returns all free memory to the system at once.
#[cfg(target_os = "linux")]
pub(crate) fn give_back() {
    // SAFETY: this is a command for all arenas, which takes nothing.
    unsafe { control(c"arena.4096.purge", ()) }
}

/// Does nothing, as above.
#[cfg(not(target_os = "linux"))]
pub(crate) fn give_back() {}

/// The bytes of pages that the process holds: in use, or freed and not yet returned. They are up to
/// [`MAX_AGE_US`] old.
#[cfg(target_os = "linux")]
pub(crate) fn held_bytes() -> Option<u64> {
    use std::sync::LazyLock;
    use std::sync::atomic::AtomicU64;
    use std::time::Instant;

    static HELD_BYTES: AtomicU64 = AtomicU64::new(0);
    static NEXT_US: AtomicU64 = AtomicU64::new(0);
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let now_us = START.elapsed().as_micros() as u64;
    let next_us = NEXT_US.load(Ordering::Relaxed);
    let next = now_us + MAX_AGE_US;
    let is_due = now_us >= next_us
        && NEXT_US
            .compare_exchange(next_us, next, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
    if is_due {
        // SAFETY: these settings have these types. The first refreshes the others, of which 4096 is all arenas.
        let (num_pages, page_bytes) = unsafe {
            control(c"epoch", 1_u64);
            let num_active = read::<usize>(c"stats.arenas.4096.pactive");
            let num_dirty = read::<usize>(c"stats.arenas.4096.pdirty");
            (num_active + num_dirty, read::<usize>(c"arenas.page"))
        };
        HELD_BYTES.store((num_pages * page_bytes) as u64, Ordering::Relaxed);
    }
    Some(HELD_BYTES.load(Ordering::Relaxed))
}

/// Unknown of other allocators.
#[cfg(not(target_os = "linux"))]
pub(crate) fn held_bytes() -> Option<u64> {
    None
}

/// A value of jemalloc, or 0 if it has none with this name.
///
/// # Safety
/// `T` must be the type of the value.
#[cfg(target_os = "linux")]
unsafe fn read<T: Default>(name: &std::ffi::CStr) -> T {
    let (mut value, mut size) = (T::default(), size_of::<T>());
    let nothing = std::ptr::null_mut();
    // SAFETY: `value` is valid for `size` bytes, and nothing is written.
    unsafe {
        let at = (&raw mut value).cast();
        tikv_jemalloc_sys::mallctl(name.as_ptr(), at, &raw mut size, nothing, 0);
    }
    value
}

/// Changes a setting of jemalloc, or runs a command. Has no effect if that fails.
///
/// # Safety
/// `T` must be the type of the setting, or `()` for a command.
#[cfg(target_os = "linux")]
unsafe fn control<T>(name: &std::ffi::CStr, mut value: T) {
    let (nothing, size) = (std::ptr::null_mut(), size_of::<T>());
    let value = match size {
        0 => nothing,
        _ => (&raw mut value).cast(),
    };
    // SAFETY: nothing is read, and `value` is valid for `size` bytes.
    unsafe { tikv_jemalloc_sys::mallctl(name.as_ptr(), nothing, nothing.cast(), value, size) };
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pages_in_use_are_held() {
        let layout = Layout::from_size_align(64 << 20, 8).unwrap();
        let before_bytes = held_bytes().unwrap();
        // SAFETY: the layout is not empty.
        let block = unsafe { LimitedAllocator.alloc(layout) };
        std::thread::sleep(Duration::from_micros(MAX_AGE_US + 1));
        let after_bytes = held_bytes().unwrap();
        // SAFETY: the block was allocated with this layout.
        unsafe { LimitedAllocator.dealloc(block, layout) };
        assert!(
            after_bytes >= before_bytes + (64 << 20),
            "{before_bytes} {after_bytes}"
        );
    }
}
