//! The engine process's end of the socket.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use bytes::{Bytes, BytesMut};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::backend::engine_process::protocol::{
    EngineRequest, EngineResponse, Frame, FromEngine, Lengths, PREFIX_BYTES, StatementRequest,
    ToEngine,
};
use crate::error::{ErrorKind, QueryError};
use crate::message::IpcMessage;

/// Messages that may wait for the socket.
const MAX_QUEUED: usize = 2;

/// A response of the server.
pub(super) struct Response {
    pub(super) header: EngineResponse,
    pub(super) metadata: Bytes,
    pub(super) body: Bytes,
    pub(super) file: Option<File>,
}

/// Where the response to each request goes.
type PendingResponses = HashMap<u64, mpsc::Sender<Result<Response, QueryError>>>;

/// Sends frames, and passes each response to its request. Threads of its own read and write the socket, so that
/// the threads of a statement may block.
pub(super) struct ServerConnection {
    outgoing: mpsc::Sender<Outgoing>,
    pending: Mutex<PendingResponses>,
    next_request: AtomicU64,
    queue: Arc<Semaphore>,
}

enum Outgoing {
    Frame(Frame<FromEngine>, Option<OwnedSemaphorePermit>),
    /// Ends the process.
    Close,
}

impl ServerConnection {
    /// A connection over `socket`, and the statements that arrive. The process ends when the socket is closed.
    ///
    /// # Errors
    /// The system cannot start the threads.
    pub(super) fn start(
        socket: UnixStream,
    ) -> io::Result<(Arc<Self>, mpsc::Receiver<Box<StatementRequest>>)> {
        let (outgoing, frames) = mpsc::channel();
        let (statements, received) = mpsc::channel();
        let connection = Arc::new(Self {
            outgoing,
            pending: Mutex::default(),
            next_request: AtomicU64::new(0),
            queue: Arc::new(Semaphore::new(MAX_QUEUED)),
        });
        let writing = socket.try_clone()?;
        thread::Builder::new()
            .name("write".to_owned())
            .spawn(move || {
                let _ = write(writing, &frames);
                std::process::exit(0);
            })?;
        let reading = Arc::clone(&connection);
        thread::Builder::new()
            .name("read".to_owned())
            .spawn(move || {
                let _ = reading.read(socket, &statements);
                std::process::exit(0);
            })?;
        Ok((connection, received))
    }

    /// Sends a frame without bytes.
    pub(super) fn send(&self, header: FromEngine) {
        self.send_frame(Frame::of(header));
    }

    /// Sends a frame.
    pub(super) fn send_frame(&self, frame: Frame<FromEngine>) {
        // If the writer has ended, so does the process.
        let _ = self.outgoing.send(Outgoing::Frame(frame, None));
    }

    /// Sends a message after the messages before it have been written, but for a few.
    pub(super) async fn send_message(&self, message: IpcMessage) {
        let permit = Arc::clone(&self.queue).acquire_owned().await;
        let frame = Frame::message(message);
        let _ = self.outgoing.send(Outgoing::Frame(frame, permit.ok()));
    }

    /// Ends the process after all frames have been written.
    pub(super) fn close(&self) -> ! {
        let _ = self.outgoing.send(Outgoing::Close);
        loop {
            thread::park();
        }
    }

    /// Sends a request and waits for its response. Blocks.
    ///
    /// # Errors
    /// The server's error.
    pub(super) fn request(&self, request: EngineRequest) -> Result<Response, QueryError> {
        let number = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        self.pending().insert(number, sender);
        self.send(FromEngine::Request(number, request));
        receiver
            .recv()
            .map_err(|_| QueryError::new(ErrorKind::Internal, "the server does not answer", ""))?
    }

    fn pending(&self) -> MutexGuard<'_, PendingResponses> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(
        &self,
        mut socket: UnixStream,
        statements: &mpsc::Sender<Box<StatementRequest>>,
    ) -> io::Result<()> {
        loop {
            let (prefix, file) = read_prefix(&mut socket)?;
            let lengths = Lengths::read(prefix, usize::MAX, u64::MAX)?;
            let mut header = vec![0; lengths.header_bytes];
            socket.read_exact(&mut header)?;
            let mut bytes = BytesMut::zeroed(lengths.metadata_bytes + lengths.body_bytes);
            socket.read_exact(&mut bytes)?;
            let frame: Frame<ToEngine> = lengths.frame(&header, bytes.freeze())?;
            match frame.header {
                ToEngine::Run(statement) => {
                    let _ = statements.send(statement);
                }
                ToEngine::Response(number, response) => {
                    let sender = self.pending().remove(&number);
                    let response = response.map(|header| Response {
                        header,
                        metadata: frame.metadata,
                        body: frame.body,
                        file,
                    });
                    if let Some(sender) = sender {
                        let _ = sender.send(response);
                    }
                }
            }
        }
    }
}

fn write(mut socket: UnixStream, frames: &mpsc::Receiver<Outgoing>) -> io::Result<()> {
    for outgoing in frames {
        let Outgoing::Frame(frame, _permit) = outgoing else {
            break;
        };
        socket.write_all(&frame.head()?)?;
        socket.write_all(&frame.body)?;
    }
    Ok(())
}

/// The prefix of the next frame, and the descriptor that accompanies it.
fn read_prefix(socket: &mut UnixStream) -> io::Result<([u8; PREFIX_BYTES], Option<File>)> {
    let mut prefix = [0; PREFIX_BYTES];
    let mut space = nix::cmsg_space!([std::os::fd::RawFd; 1]);
    let mut parts = [IoSliceMut::new(&mut prefix)];
    let flags = MsgFlags::empty();
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut file = None;
    for message in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = message {
            for descriptor in descriptors {
                // SAFETY: the system has just made this descriptor for this process; nothing else owns it.
                file = Some(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }));
            }
        }
    }
    let num_bytes = received.bytes;
    if num_bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    socket.read_exact(&mut prefix[num_bytes..])?;
    Ok((prefix, file))
}
