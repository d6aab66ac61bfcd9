//! An engine process, as the server holds it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use shared_child::SharedChild;
use shared_child::unix::SharedChildExt;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::allocator::OUT_OF_MEMORY;
use crate::error::from_datafusion::out_of_memory;
use crate::error::{ErrorKind, QueryError};

/// How long a process may take to end after its socket was closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A process that runs one statement at a time. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct EngineProcess {
    child: Arc<SharedChild>,
    /// The server's end of the socket for frames, which does not block.
    pub(super) socket: UnixStream,
    /// The server's end of the socket on which the process asks for memory, which does not block.
    pub(super) memory_socket: UnixStream,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Whether it has run a statement.
    pub(super) is_used: bool,
}

impl EngineProcess {
    /// Starts `program` with a spill folder of its own below `spill_folder`. The folder is removed after the
    /// process.
    ///
    /// # Errors
    /// The system cannot start the process.
    pub(super) fn start(
        program: &Path,
        spill_folder: &Path,
        num_threads: usize,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("engine-")
            .tempdir_in(spill_folder)?;
        let (socket, their_socket) = UnixStream::pair()?;
        let (memory_socket, their_memory_socket) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        memory_socket.set_nonblocking(true)?;
        let mut command = Command::new(program);
        command
            .args([OsStr::new("engine"), folder.path().as_os_str()])
            .arg(num_threads.to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(their_socket)))
            .stdout(Stdio::from(OwnedFd::from(their_memory_socket)))
            // A panic's text can hold values of rows, which the log must not.
            .stderr(Stdio::null());
        let child = Arc::new(SharedChild::spawn(&mut command)?);
        // The command holds the other ends of the sockets, whose end must be noticed.
        drop(command);
        let (ended, exit) = watch::channel(None);
        let waiting = Arc::clone(&child);
        let waiter = thread::Builder::new()
            .name("wait".to_owned())
            .spawn(move || wait(&waiting, &ended, folder));
        if let Err(error) = waiter {
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        Ok(Self {
            child,
            socket,
            memory_socket,
            exit,
            is_used: false,
        })
    }

    /// Stops the process until [`EngineProcess::go_on`].
    pub(super) fn stop(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets the process work again.
    pub(super) fn go_on(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: libc::c_int) {
        // It may have ended.
        let _ = self.child.send_signal(signal);
    }

    /// Why the process ended while a statement was in `phase` (planned or executed), with `memory_bytes`.
    pub(super) async fn why_ended(&self, phase: &str, memory_bytes: u64) -> QueryError {
        let mut exit = self.exit.clone();
        let status = tokio::time::timeout(EXIT_TIMEOUT, exit.wait_for(Option::is_some)).await;
        let status = status.ok().and_then(Result::ok).and_then(|status| *status);
        if status.and_then(|status| status.code()) == Some(OUT_OF_MEMORY) {
            return out_of_memory(Some(memory_bytes));
        }
        let how = match status.map(|status| (status.signal(), status)) {
            Some((Some(libc::SIGKILL), _)) => {
                "the system ended it, which may have run out of memory".to_owned()
            }
            Some((Some(signal), _)) => format!("signal {signal}"),
            Some((None, status)) => status.to_string(),
            None => "it does not answer".to_owned(),
        };
        QueryError::new(
            ErrorKind::EngineDied,
            format!("the process of the statement ended while it was {phase}: {how}"),
            "rewrite the statement; if it is an ordinary one, report it",
        )
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
    }
}

fn wait(child: &SharedChild, ended: &watch::Sender<Option<ExitStatus>>, folder: TempDir) {
    let status = child.wait().ok();
    ended.send_replace(status);
    // A folder that cannot be removed is removed at the next start.
    let _ = folder.close();
}
