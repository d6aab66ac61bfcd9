//! Memory and processor time of the program and its children, as Linux counts them.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often memory is sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The window over which processor time is measured, and the most ticks (of 10 ms) that idle processes use
/// in it.
const QUIET_WINDOW: Duration = Duration::from_millis(500);
const QUIET_TICKS: u64 = 5;

/// The fields of `/proc/PID/stat` after the command: state, parent and so on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

/// The children of a process, their children, and so on.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|child| Some((child, stat(child)?.get(1)?.parse().ok()?)))
        .collect();
    let mut family = vec![pid];
    let mut index = 0;
    while index < family.len() {
        let parent = family[index];
        family.extend(
            parents
                .iter()
                .filter(|pair| pair.1 == parent)
                .map(|pair| pair.0),
        );
        index += 1;
    }
    family.split_off(1)
}

fn family(pid: u32) -> Vec<u32> {
    let mut family = children(pid);
    family.push(pid);
    family
}

/// Memory of the process and its children: their proportional set size, or the resident set size of a child
/// that does not permit reading the former.
pub(crate) fn memory_bytes(pid: u32) -> u64 {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    family(pid)
        .into_iter()
        .filter_map(|pid| {
            field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
                .or_else(|| field(&format!("/proc/{pid}/status"), "VmRSS:"))
        })
        .sum::<u64>()
        << 10
}

/// Processor time of the process and its living children, in ticks of 10 ms.
pub(crate) fn cpu_ticks(pid: u32) -> u64 {
    let ticks = |pid| {
        let fields = stat(pid)?;
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    family(pid).into_iter().filter_map(ticks).sum()
}

/// Whether the process and its children use next to no processor time, at the latest after `patience`.
pub(crate) async fn falls_quiet(pid: u32, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let started = Instant::now();
        let before = cpu_ticks(pid);
        tokio::time::sleep(QUIET_WINDOW).await;
        if cpu_ticks(pid).saturating_sub(before) <= QUIET_TICKS {
            return true;
        }
        if started > deadline {
            return false;
        }
    }
}

/// Samples the memory of a process and its children until it is read.
pub(crate) struct MemorySampler {
    is_done: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl MemorySampler {
    /// A process that takes more than `max_bytes` is killed, to protect the machine.
    pub(crate) fn start(pid: u32, max_bytes: u64) -> Self {
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        let thread = thread::spawn(move || {
            let mut peak_bytes = 0;
            while !done.load(Ordering::Relaxed) {
                peak_bytes = memory_bytes(pid).max(peak_bytes);
                if peak_bytes > max_bytes {
                    for pid in family(pid) {
                        let pid = pid.to_string();
                        let _ = Command::new("kill").args(["-KILL", &pid]).status();
                    }
                    break;
                }
                thread::sleep(SAMPLE_INTERVAL);
            }
            peak_bytes
        });
        Self { is_done, thread }
    }

    /// The largest sample.
    pub(crate) fn peak_bytes(self) -> u64 {
        self.is_done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
