//! A real Sail: an engine in one process that speaks both protocols and does not order rows.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// Sail's command for a protocol, and the scheme of its address.
type Protocol = (&'static str, &'static str);

pub(crate) const FLIGHT_SQL: Protocol = ("flight", "flightsql");
pub(crate) const SPARK_CONNECT: Protocol = ("spark", "sc");

/// A Sail process, from the program in `COLONNADE_SAIL` or the installed `sail`.
pub(crate) struct RealSail {
    pub(crate) address: String,
    process: Child,
}

impl RealSail {
    /// Starts it; `None` if there is no such program.
    pub(crate) async fn start((command, scheme): Protocol) -> Option<Self> {
        let place = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let program = std::env::var("COLONNADE_SAIL").unwrap_or_else(|_| "sail".to_owned());
        let process = Command::new(program)
            .args([command, "server", "--port", &place.port().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let sail = Self {
            address: format!("{scheme}://{place}"),
            process,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while tokio::net::TcpStream::connect(place).await.is_err() {
            assert!(Instant::now() < deadline, "sail does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Some(sail)
    }
}

impl RealSail {
    /// Stops the process, or lets it go on.
    pub(crate) fn signal(&self, signal: &str) {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.unwrap().success());
        if signal == "-STOP" {
            // Returns once all threads stand.
            let pid = Pid::from_raw(self.process.id().try_into().unwrap());
            waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        }
    }
}

/// A free port that the system gives to no other program meanwhile: one below those of outgoing connections.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let offset = std::process::id() as u16 ^ NEXT.fetch_add(1, Ordering::Relaxed).swap_bytes();
        let port = 20_000 + offset % 10_000;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

impl Drop for RealSail {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
