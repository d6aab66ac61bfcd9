//! How the allocator keeps memory.

/// Lets threads share arenas. glibc makes eight for each core, and each keeps for itself the most that
/// the queries whose threads met in it have ever needed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_arenas() {
    let num_cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    let num_arenas = libc::c_int::try_from(num_cores).unwrap_or(libc::c_int::MAX);
    // SAFETY: takes no pointer; called before other threads are started.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, num_arenas) };
}

/// Gives back to the system what the allocator keeps for later: after four minutes of 120 clients
/// glibc was seen to hold 1.1 GB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() {
    // SAFETY: takes no pointer and may be called at any time from any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_arenas() {}

/// Other allocators give back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
