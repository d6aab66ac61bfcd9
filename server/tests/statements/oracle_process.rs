//! The oracle in processes of its own: a statement may crash it, take all memory or have no end.

use std::env;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream as BlockingSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::compare::decode;
use crate::oracle;

/// The address of the socket of such a process, and the folder of its tables.
const SOCKET: &str = "COLONNADE_ORACLE_SOCKET";
const TABLES: &str = "COLONNADE_ORACLE_TABLES";

/// The pool of the operators, and the limit of the process, which ends at it.
const POOL_BYTES: usize = 1 << 30;
const PROCESS_BYTES: u64 = 3 << 30;

const START_PATIENCE: Duration = Duration::from_secs(60);

/// A process answers one statement at a time and is used again, unless it failed.
pub(crate) struct OracleProcesses {
    tables: PathBuf,
    idle: Mutex<Vec<OracleProcess>>,
}

impl OracleProcesses {
    /// Processes with all tables of this folder.
    pub(crate) fn new(tables: &Path) -> Self {
        Self {
            tables: tables.to_owned(),
            idle: Mutex::default(),
        }
    }

    /// As [`oracle::answer`], by a context with `target_partitions` of 1 or 4.
    pub(crate) async fn answer(
        &self,
        target_partitions: u8,
        sql: &str,
        patience: Duration,
    ) -> Option<Result<Vec<RecordBatch>, String>> {
        let idle = self.idle.lock().unwrap().pop();
        let mut process = match idle {
            Some(process) => process,
            None => OracleProcess::start(&self.tables).await,
        };
        let answer = timeout(patience, process.answer(target_partitions, sql)).await;
        let answer = answer.ok()?.ok()?;
        self.idle.lock().unwrap().push(process);
        answer
    }
}

struct OracleProcess {
    child: Child,
    socket: UnixStream,
}

impl Drop for OracleProcess {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl OracleProcess {
    async fn start(tables: &Path) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let child = Command::new(env::current_exe().unwrap())
            .args(["oracle_process::answers_statements", "--exact", "--ignored"])
            .env(SOCKET, &path)
            .env(TABLES, tables)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let accepted = timeout(START_PATIENCE, listener.accept()).await;
        let (socket, _) = accepted.expect("an oracle starts").unwrap();
        Self { child, socket }
    }

    async fn answer(
        &mut self,
        target_partitions: u8,
        sql: &str,
    ) -> std::io::Result<Option<Result<Vec<RecordBatch>, String>>> {
        self.socket.write_u8(target_partitions).await?;
        self.socket.write_u32(sql.len() as u32).await?;
        self.socket.write_all(sql.as_bytes()).await?;
        let tag = self.socket.read_u8().await?;
        let mut bytes = vec![0; self.socket.read_u32().await? as usize];
        self.socket.read_exact(&mut bytes).await?;
        Ok(match tag {
            ROWS => Some(Ok(decode(&bytes).map_err(std::io::Error::other)?)),
            ERROR => Some(Err(String::from_utf8_lossy(&bytes).into_owned())),
            _ => None,
        })
    }
}

const NOTHING: u8 = 0;
const ROWS: u8 = 1;
const ERROR: u8 = 2;

#[test]
#[ignore = "it is the program of an oracle's process"]
fn answers_statements() {
    let (Some(socket), Some(tables)) = (env::var_os(SOCKET), env::var_os(TABLES)) else {
        panic!("it is started by the fuzzer");
    };
    rlimit::Resource::DATA
        .set(PROCESS_BYTES, PROCESS_BYTES)
        .unwrap();
    let contexts = [1, 4].map(|partitions| context(partitions, &tables));
    let mut socket = BlockingSocket::connect(socket).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut head = [0; 5];
    while socket.read_exact(&mut head).is_ok() {
        let [target_partitions, length @ ..] = head;
        let mut sql = vec![0; u32::from_be_bytes(length) as usize];
        socket.read_exact(&mut sql).unwrap();
        let sql = String::from_utf8(sql).unwrap();
        let context = &contexts[usize::from(target_partitions > 1)];
        let answer = runtime.block_on(oracle::answer(context, &sql, Duration::MAX));
        let (tag, bytes) = match answer {
            Some(Ok(batches)) => match encode(&batches) {
                Ok(bytes) => (ROWS, bytes),
                Err(_) => (NOTHING, Vec::new()),
            },
            Some(Err(error)) => (ERROR, error.into_bytes()),
            None => (NOTHING, Vec::new()),
        };
        socket.write_all(&[tag]).unwrap();
        let length = (bytes.len() as u32).to_be_bytes();
        socket.write_all(&length).unwrap();
        socket.write_all(&bytes).unwrap();
    }
}

fn context(target_partitions: usize, tables: &OsStr) -> SessionContext {
    let context = oracle::context(target_partitions, POOL_BYTES);
    for table in ["lineitem", "every_type"] {
        oracle::register_in_memory(&context, Path::new(tables), table);
    }
    context
}

fn encode(batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema())?;
    for batch in batches {
        writer.write(batch)?;
    }
    Ok(writer.into_inner()?)
}
