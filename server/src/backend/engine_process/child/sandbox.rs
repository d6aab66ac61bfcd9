//! What an engine process may do: compute, and write to its spill folder.

use std::os::fd::RawFd;
use std::path::Path;
use std::{fs, io};

use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Pid, setpgid};

/// Gives up all rights but those to `spill_folder`, as far as the system can take them. Call it before other
/// threads are started. Files that are open stay so.
///
/// # Errors
/// The system refuses what it should always permit.
pub(super) fn enter(spill_folder: &Path) -> io::Result<()> {
    // A group of its own, so that Ctrl+C in a terminal reaches the server alone, which ends this process.
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    // A core file would hold rows.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    #[cfg(target_os = "linux")]
    linux::enter(spill_folder)?;
    #[cfg(not(target_os = "linux"))]
    let _ = spill_folder;
    Ok(())
}

/// Closes the files that the server was started with, which every process below it inherits. Call it before any file
/// is opened.
pub(super) fn close_inherited() {
    // Without this folder, they stay open.
    let entries = fs::read_dir("/dev/fd").into_iter().flatten();
    let numbers: Vec<RawFd> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers {
        if number > libc::STDERR_FILENO {
            // SAFETY: nothing in this process has opened it, except for the list that has ended.
            unsafe { libc::close(number) };
        }
    }
}

/// Sets the priority of all threads of the process; it can only fall.
pub(super) fn set_niceness(niceness: i32) {
    // SAFETY: takes no pointer. `enter` has made the process a group of its own.
    unsafe { libc::setpriority(libc::PRIO_PGRP, 0, niceness) };
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io;
    use std::path::Path;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, Scope,
    };
    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch,
    };

    /// System calls that a computation, its threads, its spill files and its sockets need, with any arguments.
    const ALLOWED: &[libc::c_long] = &[
        // Memory.
        libc::SYS_brk,
        libc::SYS_madvise,
        libc::SYS_membarrier,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        // Files. Landlock says which.
        libc::SYS_close,
        libc::SYS_copy_file_range,
        libc::SYS_dup,
        libc::SYS_dup3,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_fadvise64,
        libc::SYS_fallocate,
        libc::SYS_fdatasync,
        libc::SYS_fstat,
        libc::SYS_fstatfs,
        libc::SYS_fsync,
        libc::SYS_ftruncate,
        libc::SYS_getcwd,
        libc::SYS_getdents64,
        libc::SYS_lseek,
        libc::SYS_mkdirat,
        libc::SYS_newfstatat,
        libc::SYS_openat,
        libc::SYS_pread64,
        libc::SYS_preadv,
        libc::SYS_pwrite64,
        libc::SYS_pwritev,
        libc::SYS_read,
        libc::SYS_readlinkat,
        libc::SYS_readv,
        libc::SYS_renameat2,
        libc::SYS_statfs,
        libc::SYS_statx,
        libc::SYS_unlinkat,
        libc::SYS_write,
        libc::SYS_writev,
        // Sockets that are open, and pairs of them.
        libc::SYS_getpeername,
        libc::SYS_getsockname,
        libc::SYS_getsockopt,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_sendmsg,
        libc::SYS_sendto,
        libc::SYS_setsockopt,
        libc::SYS_shutdown,
        libc::SYS_socketpair,
        // Events.
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_epoll_pwait,
        libc::SYS_epoll_pwait2,
        libc::SYS_eventfd2,
        libc::SYS_pipe2,
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        // Time.
        libc::SYS_clock_getres,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_nanosleep,
        // Threads and their signals.
        libc::SYS_clone3, // Refused before, with another error.
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_get_robust_list,
        libc::SYS_getcpu,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_getrusage,
        libc::SYS_gettid,
        libc::SYS_restart_syscall,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_set_tid_address,
        libc::SYS_sigaltstack,
        // What the system is.
        libc::SYS_getegid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getuid,
        libc::SYS_sysinfo,
        libc::SYS_uname,
    ];

    /// Those that only x86-64 has; elsewhere they are forms of the others.
    #[cfg(target_arch = "x86_64")]
    const ALLOWED_OLD: &[libc::c_long] = &[
        libc::SYS_access,
        libc::SYS_arch_prctl,
        libc::SYS_dup2,
        libc::SYS_epoll_create,
        libc::SYS_epoll_wait,
        libc::SYS_getdents,
        libc::SYS_lstat,
        libc::SYS_mkdir,
        libc::SYS_open,
        libc::SYS_pipe,
        libc::SYS_poll,
        libc::SYS_readlink,
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_rmdir,
        libc::SYS_select,
        libc::SYS_stat,
        libc::SYS_time,
        libc::SYS_unlink,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const ALLOWED_OLD: &[libc::c_long] = &[];

    #[allow(
        clippy::unnecessary_cast,
        reason = "requests of ioctl are signed in some C libraries"
    )]
    /// Calls that are allowed if an argument has one of some values: the call, the argument's number, the values.
    const RESTRICTED: &[(libc::c_long, u8, &[u64])] = &[
        // Not those that name a process that gets signals.
        (
            libc::SYS_fcntl,
            1,
            &[
                libc::F_DUPFD as u64,
                libc::F_DUPFD_CLOEXEC as u64,
                libc::F_GETFD as u64,
                libc::F_GETFL as u64,
                libc::F_SETFD as u64,
                libc::F_SETFL as u64,
            ],
        ),
        (
            libc::SYS_ioctl,
            1,
            &[libc::FIONBIO as u64, libc::TCGETS as u64],
        ),
        (
            libc::SYS_prctl,
            0,
            &[libc::PR_SET_NAME as u64, libc::PR_SET_VMA as u64],
        ),
        // Limits of this process.
        (libc::SYS_prlimit64, 0, &[0]),
    ];

    pub(super) fn enter(spill_folder: &Path) -> io::Result<()> {
        // When the system runs out of memory, it ends this process first. Some systems refuse this setting.
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
        // No other process of the user may read its memory.
        nix::sys::prctl::set_dumpable(false)?;
        restrict_files(spill_folder).map_err(io::Error::other)?;
        restrict_calls().map_err(io::Error::other)
    }

    /// The newest rules that the system has; none on a system without Landlock.
    fn restrict_files(spill_folder: &Path) -> Result<(), Failure> {
        let abi = ABI::V6;
        let folder = PathBeneath::new(PathFd::new(spill_folder)?, AccessFs::from_all(abi));
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .add_rule(folder)?
            .restrict_self()?;
        Ok(())
    }

    fn restrict_calls() -> Result<(), Failure> {
        // The flags of `clone3` are out of a filter's reach. Without it, threads are started by `clone`.
        let refused = Rules::from([(libc::SYS_clone3, vec![])]);
        apply(refused, SeccompAction::Allow, errno(libc::ENOSYS))?;
        apply(allowed_calls()?, errno(libc::EPERM), SeccompAction::Allow)
    }

    fn allowed_calls() -> Result<Rules, BackendError> {
        let allowed = ALLOWED.iter().chain(ALLOWED_OLD);
        let mut rules: Rules = allowed.map(|call| (*call, vec![])).collect();
        for (call, argument, values) in RESTRICTED {
            let rule = |value: &u64| SeccompRule::new(vec![equals(*argument, *value)?]);
            rules.insert(*call, values.iter().map(rule).collect::<Result<_, _>>()?);
        }
        // A new process would outlive this one; a thread does not.
        let thread = libc::CLONE_THREAD as u64;
        let is_thread = condition(0, SeccompCmpOp::MaskedEq(thread), thread)?;
        rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![is_thread])?]);
        // `abort` sends a signal to its own process.
        let is_own = equals(0, std::process::id().into())?;
        rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![is_own])?]);
        // The priority of the own group of processes.
        let is_own = vec![equals(0, libc::PRIO_PGRP as u64)?, equals(1, 0)?];
        rules.insert(libc::SYS_setpriority, vec![SeccompRule::new(is_own)?]);
        Ok(rules)
    }

    fn equals(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
        condition(argument, SeccompCmpOp::Eq, value)
    }

    fn condition(
        argument: u8,
        operator: SeccompCmpOp,
        value: u64,
    ) -> Result<SeccompCondition, BackendError> {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    }

    fn errno(error: libc::c_int) -> SeccompAction {
        SeccompAction::Errno(error as u32)
    }

    type Failure = Box<dyn std::error::Error + Send + Sync>;
    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// Lets these calls end as `matching`, and all others as `other`, if the system has such filters.
    fn apply(rules: Rules, other: SeccompAction, matching: SeccompAction) -> Result<(), Failure> {
        let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else {
            return Ok(());
        };
        let filter = SeccompFilter::new(rules, other, matching, arch)?;
        let program: BpfProgram = filter.try_into()?;
        match seccompiler::apply_filter(&program) {
            Err(seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error))
                if error.raw_os_error() == Some(libc::EINVAL) =>
            {
                Ok(())
            }
            applied => Ok(applied?),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, File};
    use std::io;
    use std::process::Command;
    use std::ptr::null;
    use std::thread;

    use tempfile::TempDir;

    /// Another process: that of the server, if a stranger controls the engine's.
    fn other_process() -> libc::c_long {
        std::os::unix::process::parent_id().into()
    }

    fn call(number: libc::c_long, arguments: [libc::c_long; 4]) -> io::Result<()> {
        let [a, b, c, d] = arguments;
        // SAFETY: no call gets memory to write to.
        match unsafe { libc::syscall(number, a, b, c, d) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    #[test]
    #[ignore = "gives up the rights of its process; the next test starts it"]
    fn in_the_sandbox() {
        let folder = std::env::temp_dir();
        let (other, own) = (other_process(), std::process::id().into());
        let path = c"/tmp/colonnade-node".as_ptr() as libc::c_long;
        let file = File::open("/dev/null").unwrap();
        super::enter(&folder).unwrap();

        let refused = [
            (
                libc::SYS_setpriority,
                [libc::PRIO_PROCESS.into(), other, 19, 0],
            ),
            (libc::SYS_setpriority, [libc::PRIO_USER.into(), 0, 19, 0]),
            (libc::SYS_setpgid, [0, other, 0, 0]),
            (libc::SYS_kill, [other, 0, 0, 0]),
            (libc::SYS_tgkill, [other, other, 0, 0]),
            (libc::SYS_fcntl, [0, libc::F_SETOWN.into(), other, 0]),
            (
                libc::SYS_ioctl,
                [0, 0x8901, null::<u8>() as libc::c_long, 0],
            ),
            (libc::SYS_prlimit64, [other, 0, 0, 0]),
            (
                libc::SYS_shmget,
                [libc::IPC_PRIVATE.into(), 64 << 20, 0o600, 0],
            ),
            (libc::SYS_memfd_create, [path, 0, 0, 0]),
            (
                libc::SYS_mknodat,
                [libc::AT_FDCWD.into(), path, libc::S_IFIFO.into(), 0],
            ),
            (libc::SYS_chroot, [path, 0, 0, 0]),
            (
                libc::SYS_socket,
                [libc::AF_INET.into(), libc::SOCK_STREAM.into(), 0, 0],
            ),
            (libc::SYS_execve, [path, 0, 0, 0]),
            (libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0, 0]),
            (libc::SYS_seccomp, [0, 0, 0, 0]),
            (libc::SYS_clone, [libc::SIGCHLD.into(), 0, 0, 0]),
        ];
        for (number, arguments) in refused {
            let error = call(number, arguments).expect_err(&format!("call {number}"));
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "call {number}");
        }

        let thread = nix::unistd::gettid().as_raw().into();
        call(libc::SYS_tgkill, [own, thread, 0, 0]).unwrap();
        super::set_niceness(5);
        assert_eq!(thread::spawn(|| 1).join().unwrap(), 1);
        file.try_clone().unwrap();
        fs::write(folder.join("spilled"), "rows").unwrap();
        fs::remove_file(folder.join("spilled")).unwrap();
    }

    #[test]
    fn an_engine_process_can_compute_and_spill_and_no_more() {
        let name = "backend::engine_process::child::sandbox::tests::in_the_sandbox";
        let tests = std::env::current_exe().unwrap();
        let folder = TempDir::new().unwrap();
        let output = Command::new(tests)
            .args(["--exact", name, "--ignored", "--nocapture"])
            .env("TMPDIR", folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
