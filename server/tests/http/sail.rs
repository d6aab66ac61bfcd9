//! A real Sail: an engine in one process that speaks both protocols and does not order rows.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        drop(listener);
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
    }
}

impl Drop for RealSail {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
