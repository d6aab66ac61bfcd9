//! What the system lets this process use: the machine's memory, or less in a control group (cgroup).

use std::fs;
use std::path::Path;

/// Where Linux mounts its control groups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// A limit of a controller: the file that has it in version 2 (cgroup-v2.rst of the kernel's documentation), and
/// in version 1.
struct Controller {
    name: &'static str,
    file: &'static str,
    v1_file: &'static str,
}

const MEMORY: Controller = Controller {
    name: "memory",
    file: "memory.max",
    v1_file: "memory.limit_in_bytes",
};

const PIDS: Controller = Controller {
    name: "pids",
    file: "pids.max",
    v1_file: "pids.max",
};

/// The memory that this process can use, in bytes; `None` if it is unknown.
pub(crate) fn memory_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    });
    [machine, of_this_process(&MEMORY)]
        .into_iter()
        .flatten()
        .min()
}

/// How many threads this process and its children can have; `None` if there is no limit.
pub(crate) fn max_threads() -> Option<u64> {
    of_this_process(&PIDS)
}

fn of_this_process(controller: &Controller) -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    least(Path::new(CGROUPS), &groups, controller)
}

/// The least limit of the groups that contain this process. `groups` has a line `ID:CONTROLLERS:PATH` for each
/// hierarchy; that of version 2 names no controllers. In a container, the path may be one of the host, and only
/// the root of the mount exists.
fn least(mount: &Path, groups: &str, controller: &Controller) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let (root, file) = match controllers {
            "" => (mount.to_owned(), controller.file),
            _ if controllers.split(',').any(|name| name == controller.name) => {
                (mount.join(controller.name), controller.v1_file)
            }
            _ => return Vec::new(),
        };
        let path = Path::new(path.trim_start_matches('/'));
        let folders = path.ancestors().map(|folder| root.join(folder).join(file));
        let limits = folders.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
        limits.collect()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_counts() {
        let mount = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = mount.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1073741824\n");
        write("a/b/pids.max", "64\n");
        write("memory/memory.limit_in_bytes", "536870912\n");
        write("memory/c/memory.limit_in_bytes", "9223372036854771712\n");
        for (groups, memory, pids) in [
            ("0::/a/b\n", Some(1 << 30), Some(64)),
            ("0::/\n", None, None),
            ("5:cpu,memory:/c\n0::/\n", Some(512 << 20), None),
            // The path of the host, of which a container sees only its own group, as the root.
            ("5:memory:/docker/1f\n", Some(512 << 20), None),
            ("5:cpu:/c\n", None, None),
            ("", None, None),
        ] {
            let least = |controller| least(mount.path(), groups, controller);
            assert_eq!(least(&MEMORY), memory, "{groups}");
            assert_eq!(least(&PIDS), pids, "{groups}");
        }
    }
}
