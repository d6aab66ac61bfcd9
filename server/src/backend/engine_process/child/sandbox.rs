//! What an engine process may do: compute, and write to its spill folder.

use std::io;
use std::path::Path;

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
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };

    /// System calls that a computation does not need.
    const REFUSED: [libc::c_long; 45] = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_kexec_load,
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        libc::SYS_flock,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_ioprio_set,
    ];

    /// Those that only x86-64 has; elsewhere they are forms of the others.
    #[cfg(target_arch = "x86_64")]
    const REFUSED_OLD: &[libc::c_long] = &[
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const REFUSED_OLD: &[libc::c_long] = &[];

    pub(super) fn enter(spill_folder: &Path) -> io::Result<()> {
        // When the system runs out of memory, it ends this process first. Some systems refuse this setting.
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
        // No other process of the user may read its memory.
        nix::sys::prctl::set_dumpable(false)?;
        restrict_files(spill_folder).map_err(io::Error::other)?;
        restrict_calls().map_err(io::Error::other)
    }

    /// The newest rules that the system has; none on a system without Landlock.
    fn restrict_files(spill_folder: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
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

    fn restrict_calls() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let refused = REFUSED.iter().chain(REFUSED_OLD);
        let mut rules: Rules = refused.map(|call| (*call, vec![])).collect();
        // A new process would outlive this one; a thread does not.
        let thread = libc::CLONE_THREAD as u64;
        let is_process = SeccompCmpOp::MaskedEq(thread);
        rules.insert(libc::SYS_clone, vec![rule(is_process, 0)?]);
        // Limits of another process.
        rules.insert(libc::SYS_prlimit64, vec![rule(SeccompCmpOp::Ne, 0)?]);
        apply(rules, libc::EPERM)?;
        // The flags of `clone3` are out of a filter's reach. Without it, threads are started by `clone`.
        apply(Rules::from([(libc::SYS_clone3, vec![])]), libc::ENOSYS)
    }

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// A call whose first argument compares so with `value`.
    fn rule(operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, operator, value)?;
        SeccompRule::new(vec![condition])
    }

    /// Lets these calls fail with `error`, if the system has such filters.
    fn apply(
        rules: Rules,
        error: libc::c_int,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else {
            return Ok(());
        };
        let refusal = SeccompAction::Errno(error as u32);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch)?;
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
