//! The program as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use crate::client;
use crate::support::*;

/// A process that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The command for the program with these sources.
pub(crate) fn program(sources: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_colonnade"));
    command
        .arg("serve")
        .args(sources)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped());
    command
}

/// Starts the program and returns it with its address.
pub(crate) fn serve(mut command: Command) -> (Running, String) {
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .unwrap()
        .to_owned();
    (Running(child), address)
}

/// The exit code and the error line of a program that refuses to start.
pub(crate) fn refusal(mut command: Command) -> (i32, String) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let code = child.wait().unwrap().code().unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    (
        code,
        text.trim_end()
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned(),
    )
}

pub(crate) async fn get(address: &str, path: &str) -> Outcome {
    let response = client::ask(address, "GET", path, &[], b"").await.unwrap();
    read(response.recorded(["GET", path], &[], b"")).await
}
