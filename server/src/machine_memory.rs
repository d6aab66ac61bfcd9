//! The memory that this process may use.

use std::fs;
use std::path::Path;

/// The least default, so that a few streams have room.
const LEAST_BYTES: u64 = 64 << 20;

/// Half of the memory that the machine and the process's control groups permit, in bytes; 4 GiB where that is unknown.
pub fn default_memory_bytes() -> u64 {
    let permitted_bytes = permitted_bytes(Path::new("/proc"), Path::new("/sys/fs/cgroup"));
    permitted_bytes.map_or(4 << 30, |bytes| (bytes / 2).max(LEAST_BYTES))
}

/// The least of the machine's memory and the limits of the control groups, version 1 and 2, that the process is in.
fn permitted_bytes(proc: &Path, cgroups: &Path) -> Option<u64> {
    let memory = fs::read_to_string(proc.join("meminfo")).ok();
    let total_bytes = memory.and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    });
    let groups = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limits_of(line, cgroups));
    total_bytes.into_iter().chain(limits).min()
}

/// The limits of a group and of those above it. A line of `/proc/self/cgroup` is `number:controllers:path`; version 2
/// has no controllers there. In a container, the path may be that of the host, and only the root is there.
fn limits_of(line: &str, cgroups: &Path) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let (root, file) = if controllers.is_empty() {
        (cgroups.to_owned(), "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        (cgroups.join("memory"), "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    let limit = |group: &Path| {
        let text = fs::read_to_string(root.join(group).join(file)).ok()?;
        // Without a limit it is `max`, or, in version 1, more than any machine has.
        text.trim().parse().ok()
    };
    groups.filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn permitted(groups: &str, limits: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/meminfo", "MemTotal:  16777216 kB\nMemFree: 1 kB\n");
        write("proc/self/cgroup", groups);
        for (path, limit) in limits {
            write(&format!("cgroup/{path}"), &format!("{limit}\n"));
        }
        permitted_bytes(&root.path().join("proc"), &root.path().join("cgroup"))
    }

    #[test]
    fn the_smallest_limit_counts() {
        let half = (GIB / 2).to_string();
        let two = (2 * GIB).to_string();
        assert_eq!(permitted("", &[]), Some(16 * GIB));
        assert_eq!(
            permitted("0::/\n", &[("memory.max", "max")]),
            Some(16 * GIB)
        );
        assert_eq!(permitted("0::/\n", &[("memory.max", &half)]), Some(GIB / 2));
        let nested = [
            ("a.slice/memory.max", &*half),
            ("a.slice/b/memory.max", &*two),
        ];
        assert_eq!(permitted("0::/a.slice/b\n", &nested), Some(GIB / 2));
        let first = "5:cpu,cpuacct:/x\n4:memory:/docker/0123\n";
        let container = [("memory/memory.limit_in_bytes", &*half)];
        assert_eq!(permitted(first, &container), Some(GIB / 2));
        let unlimited = [(
            "memory/docker/0123/memory.limit_in_bytes",
            "9223372036854771712",
        )];
        assert_eq!(permitted(first, &unlimited), Some(16 * GIB));
    }
}
