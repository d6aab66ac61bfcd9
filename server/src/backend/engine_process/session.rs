//! One statement in an engine process, as the server sees it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::lent_tables::LentTables;
use super::pool::{EngineLease, EnginePool, Share};
use super::protocol::{Frame, FromEngine, StatementRequest, ToEngine};
use super::socket::EngineSocket;
use crate::allocator::Need;
use crate::backend::{Admission, Usage};
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::slots::Slots;
use crate::source::Table;

/// How long a process that was just started may take until it is ready for a statement.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a process that has run a statement may take until it is ready for another.
const READY_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests of a process that are responded to at the same time.
const MAX_REQUESTS: usize = 24;

/// A statement in an engine process. Dropping it ends the process, unless the statement has ended.
pub(super) struct Session {
    lease: EngineLease,
    socket: Arc<EngineSocket>,
    lent: Arc<LentTables>,
    /// Requests that are responded to at the same time.
    permits: Arc<Semaphore>,
    /// Responds to requests for memory.
    _granting: AbortOnDropHandle<()>,
    /// Whether the statement is planned.
    is_executed: bool,
}

impl Session {
    /// Leases a process that is ready for a statement. The statement may name the tables of `lent`.
    ///
    /// # Errors
    /// As [`EnginePool::lease`].
    pub(super) async fn open(
        pool: &Arc<EnginePool>,
        lent: LentTables,
        admission: Admission,
    ) -> Result<Self, QueryError> {
        let mut lease = pool.lease(admission)?;
        let socket = match ready_socket(&lease, pool).await {
            Ok(socket) => socket,
            // A process whose last statement was large ends instead.
            Err(_) => {
                lease.replace_process().map_err(|error| unusable(&error))?;
                ready_socket(&lease, pool).await?
            }
        };
        let memory_socket = lease.process.memory_socket.try_clone();
        let memory_socket = memory_socket.and_then(UnixStream::from_std);
        let memory_socket = memory_socket.map_err(|error| unusable(&error))?;
        let granting = tokio::spawn(grant_memory(memory_socket, Arc::clone(&lease.share)));
        Ok(Self {
            lease,
            socket: Arc::new(socket),
            lent: Arc::new(lent),
            permits: Arc::new(Semaphore::new(MAX_REQUESTS)),
            _granting: AbortOnDropHandle::new(granting),
            is_executed: false,
        })
    }

    /// What the statement may use.
    pub(super) fn share(&self) -> &Share {
        &self.lease.share
    }

    /// The kinds of slots of which the statement holds one each.
    pub(super) fn slots(&self) -> Vec<Slots> {
        self.lease.share.slots()
    }

    /// Sends the statement.
    ///
    /// # Errors
    /// `engine_died`, `out_of_memory`.
    pub(super) async fn run(&mut self, statement: StatementRequest) -> Result<(), QueryError> {
        let run = Frame::of(ToEngine::Run(Box::new(statement)));
        match self.socket.send(run, None).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.why_ended().await),
        }
    }

    /// Notes that the statement is executed now, and which tables it reads.
    ///
    /// # Errors
    /// `internal`: a table does not exist; `source_changed`: it can no longer be read.
    pub(super) fn executes(&mut self, sources: &[String]) -> Result<Vec<Arc<Table>>, QueryError> {
        self.is_executed = true;
        let tables = sources.iter().map(|name| self.lent.used_table(name));
        tables.collect()
    }

    /// The next frame that is not a request, while the process works in turns with others. Tasks of the current
    /// runtime respond to requests.
    ///
    /// # Errors
    /// `engine_died`, `out_of_memory`, `busy`, `too_complex`; the error of the statement.
    pub(super) async fn next(&mut self) -> Result<Frame<FromEngine>, QueryError> {
        let planning_timeout = self.lease.share.planning_timeout();
        let planning_timeout = (!self.is_executed).then_some(planning_timeout);
        loop {
            let received = tokio::select! {
                received = self.socket.receive() => received,
                error = self.lease.take_turns(planning_timeout) => return Err(error),
            };
            let Ok(frame) = received else {
                return Err(self.why_ended().await);
            };
            let FromEngine::Request(number, request) = frame.header else {
                return Ok(frame);
            };
            let (socket, lent) = (Arc::clone(&self.socket), Arc::clone(&self.lent));
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            tokio::spawn(async move {
                let _permit = permit;
                let (frame, file) = match lent.respond(request).await {
                    Ok(response) => {
                        let header = ToEngine::Response(number, Ok(response.header));
                        let frame = Frame {
                            metadata: response.metadata,
                            ..Frame::with_body(header, response.body)
                        };
                        (frame, response.file)
                    }
                    Err(error) => (Frame::of(ToEngine::Response(number, Err(error))), None),
                };
                // If the process has ended, `receive` notices.
                let _ = socket.send(frame, file).await;
            });
        }
    }

    /// Keeps the process for another statement, because this one has ended, unless it `used` much.
    pub(super) fn end(self, used: Usage) {
        if used.permits_reuse() {
            self.lease.give_back();
        }
    }

    /// The error for a statement that failed: a table that has changed is the cause.
    pub(super) async fn explain(&self, error: QueryError) -> QueryError {
        let can_be_of_source = matches!(
            error.kind,
            ErrorKind::SourceUnreadable
                | ErrorKind::BrokenRow
                | ErrorKind::ExecutionError
                | ErrorKind::EngineDied
        );
        if !can_be_of_source {
            return error;
        }
        let lent = Arc::clone(&self.lent);
        let changed = tokio::task::spawn_blocking(move || lent.changed());
        match changed.await {
            Ok(Some(name)) => source_changed(&name),
            _ => {
                if error.kind == ErrorKind::BrokenRow {
                    self.lent.note_misfit();
                }
                error
            }
        }
    }

    async fn why_ended(&self) -> QueryError {
        let phase = if self.is_executed {
            "executed"
        } else {
            "planned"
        };
        why_ended(&self.lease, phase).await
    }
}

async fn why_ended(lease: &EngineLease, phase: &str) -> QueryError {
    let memory_bytes = lease.share.memory_bytes();
    lease.process.why_ended(phase, memory_bytes).await
}

/// The socket of a process, after the process has become ready.
///
/// # Errors
/// `engine_died`: it has ended, or does not become ready.
async fn ready_socket(
    lease: &EngineLease,
    pool: &Arc<EnginePool>,
) -> Result<EngineSocket, QueryError> {
    let process = &lease.process;
    let socket = EngineSocket::try_new(&process.socket, pool.config().memory_bytes);
    let socket = socket.map_err(|error| unusable(&error))?;
    let timeout = if process.is_used {
        READY_TIMEOUT
    } else {
        START_TIMEOUT
    };
    match tokio::time::timeout(timeout, socket.receive()).await {
        Ok(Ok(Frame {
            header: FromEngine::Ready,
            ..
        })) => Ok(socket),
        Ok(Ok(_)) => Err(unusable(&io::Error::other("an unexpected answer"))),
        Ok(Err(_)) => Err(why_ended(lease, "started").await),
        Err(_) => Err(unusable(&io::ErrorKind::TimedOut.into())),
    }
}

/// Lets the process have memory as long as the share can grow.
async fn grant_memory(mut socket: UnixStream, share: Arc<Share>) {
    while let Ok(need) = socket.read_u8().await {
        let Ok(wanted_bytes) = socket.read_u64_le().await else {
            return;
        };
        let is_required = need == Need::Required as u8;
        let granted_bytes = share.grow(wanted_bytes, is_required);
        if socket.write_u64_le(granted_bytes).await.is_err() {
            return;
        }
    }
}

fn unusable(error: &io::Error) -> QueryError {
    QueryError::new(
        ErrorKind::EngineDied,
        format!("the process of the statement cannot be used: {error}"),
        "try again in a second",
    )
}
