//! The program with its data folder, from start to end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::served::Running;
use crate::support::PATIENCE;

struct Program {
    child: Running,
    address: String,
    out: BufReader<ChildStdout>,
}

impl Program {
    /// Serves a table of 2 million rows; temporary folders are created in `temporary`.
    fn start(temporary: &Path, source: &Path, options: &[&str]) -> Self {
        Self::of(command(temporary, source, options))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        Self {
            address: address.to_owned(),
            child: Running(child),
            out,
        }
    }

    fn signal(&self) {
        let killed = Command::new("kill")
            .args(["-TERM", &self.child.0.id().to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn command(temporary: &Path, source: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_colonnade"));
    command
        .arg("serve")
        .arg(source)
        .args(["--listen", "127.0.0.1:0"])
        .args(options)
        .env("TMPDIR", temporary);
    command
}

/// The tables of a source that is given in a working directory.
pub(crate) fn tables_of(working: &Path, source: &str) -> Vec<Value> {
    let temporary = TempDir::new().unwrap();
    let mut command = command(temporary.path(), Path::new(source), &[]);
    command.current_dir(working);
    let program = Program::of(command);
    let mut socket = TcpStream::connect(&program.address).unwrap();
    let request = format!(
        "GET /v1/tables HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        program.address
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let json = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    let list: Value = serde_json::from_str(json).unwrap();
    list["tables"].as_array().unwrap().clone()
}

fn source(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("t.csv");
    fs::write(&path, format!("a,b\n{}", "1,some text\n".repeat(2_000_000))).unwrap();
    path
}

/// Requests all rows and reads only the first bytes, so that the stream stays open.
fn stall(address: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    let request = format!("GET /v1/tables/t/rows HTTP/1.1\r\nhost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut start = [0; 12];
    socket.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    socket
}

fn num_entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn the_temporary_folder_goes_with_the_program() {
    let folder = TempDir::new().unwrap();
    let source = source(folder.path());
    let temporary = TempDir::new().unwrap();
    let mut program = Program::start(temporary.path(), &source, &[]);
    assert_eq!(num_entries(temporary.path()), 1);
    program.signal();
    assert_eq!(program.wait().code(), Some(0));
    assert_eq!(num_entries(temporary.path()), 0);

    // A stream delays the shutdown; the second signal ends it at once.
    let mut program = Program::start(temporary.path(), &source, &[]);
    let stalled = stall(&program.address);
    program.signal();
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(&program.address).is_ok() {
        assert!(Instant::now() < deadline, "it still listens");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(program.child.0.try_wait().unwrap().is_none());
    program.signal();
    assert_eq!(program.wait().code(), Some(0));
    assert_eq!(num_entries(temporary.path()), 0);
    drop(stalled);
}

#[test]
fn a_data_folder_has_one_server() {
    let folder = TempDir::new().unwrap();
    let source = source(folder.path());
    let data = folder.path().join("data");
    let options = ["--data-dir", data.to_str().unwrap()];
    let program = Program::start(folder.path(), &source, &options);
    let refused = command(folder.path(), &source, &options).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(text.contains("another server uses it"), "{text}");
    // When it is killed, its lock is released.
    drop(program);
    drop(Program::start(folder.path(), &source, &options));
    assert!(data.join("uploads").is_dir());
}

#[test]
fn the_program_stops_when_asked() {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("t.csv");
    fs::write(&source, "a,b\n1,2\n").unwrap();
    let mut program = Program::start(folder.path(), &source, &[]);
    assert!(program.address.starts_with("127.0.0.1:"));
    program.signal();
    assert_eq!(program.wait().code(), Some(0));
    let mut rest = String::new();
    program.out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "standard output holds one line");
}

/// The status line and the headers of a response, and its body.
fn response_to(address: &str, path: &str) -> (String, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn a_server_that_opens_its_sources_says_so() {
    let temporary = TempDir::new().unwrap();
    // Connections to this store are accepted by the system, and get no response.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("http://{}/t.parquet", silent.local_addr().unwrap());
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let mut command = Command::new(env!("CARGO_BIN_EXE_colonnade"));
    command
        .args(["serve", &source, "--listen", &address])
        .env("TMPDIR", temporary.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _program = Running(command.spawn().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < deadline, "it does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    for path in ["/readyz", "/healthz", "/v1/tables", "/"] {
        let (head, body) = response_to(&address, path);
        assert!(head.starts_with("http/1.1 503"), "{path}: {head}");
        assert!(head.contains("retry-after: 1"), "{path}: {head}");
        assert!(body.contains("opening its sources"), "{path}: {body}");
        // A browser tries again by itself.
        assert_eq!(head.contains("refresh: 1"), path == "/", "{path}: {head}");
    }
}
