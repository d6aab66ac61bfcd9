//! The server's end of the socket to an engine process.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as StdUnixStream;

use bytes::{BufMut, Bytes, BytesMut};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use super::protocol::{Frame, FromEngine, Lengths, MAX_HEAD_BYTES, PREFIX_BYTES, ToEngine};

/// Receives and sends frames.
pub(super) struct EngineSocket {
    socket: UnixStream,
    sending: Mutex<()>,
    max_body_bytes: u64,
}

impl EngineSocket {
    /// The frames of `socket`, which does not block. Bodies that are received have at most `max_body_bytes`.
    ///
    /// # Errors
    /// The descriptor cannot be used.
    pub(super) fn try_new(socket: &StdUnixStream, max_body_bytes: u64) -> io::Result<Self> {
        Ok(Self {
            socket: UnixStream::from_std(socket.try_clone()?)?,
            sending: Mutex::new(()),
            max_body_bytes,
        })
    }

    /// The next frame. It is lost if the future is dropped.
    ///
    /// # Errors
    /// The process has ended, or has sent something else than a frame.
    pub(super) async fn receive(&self) -> io::Result<Frame<FromEngine>> {
        let prefix = self.read(PREFIX_BYTES).await?;
        let mut lengths = [0; PREFIX_BYTES];
        lengths.copy_from_slice(&prefix);
        let lengths = Lengths::read(lengths, MAX_HEAD_BYTES, self.max_body_bytes)?;
        // Apart, so that a message that is kept does not keep the header's memory.
        let header = self.read(lengths.header_bytes).await?;
        let rest = self
            .read(lengths.metadata_bytes + lengths.body_bytes)
            .await?;
        lengths.frame(&header, rest)
    }

    /// Sends a frame, and a descriptor with it.
    ///
    /// # Errors
    /// The process has ended.
    pub(super) async fn send(&self, frame: Frame<ToEngine>, file: Option<File>) -> io::Result<()> {
        let head = frame.head()?;
        let _sending = self.sending.lock().await;
        let mut sent = 0;
        if let Some(file) = file {
            let descriptors = [file.as_raw_fd()];
            let rights = [ControlMessage::ScmRights(&descriptors)];
            let parts = [IoSlice::new(&head)];
            let socket = self.socket.as_raw_fd();
            let send = || {
                let flags = MsgFlags::empty();
                sendmsg::<()>(socket, &parts, &rights, flags, None).map_err(io::Error::from)
            };
            sent = self.socket.async_io(Interest::WRITABLE, send).await?;
        }
        self.write(&head[sent..]).await?;
        self.write(&frame.body).await
    }

    async fn read(&self, num_bytes: usize) -> io::Result<Bytes> {
        let mut bytes = BytesMut::with_capacity(num_bytes);
        while bytes.len() < num_bytes {
            self.socket.readable().await?;
            let rest_bytes = num_bytes - bytes.len();
            match self
                .socket
                .try_read_buf(&mut (&mut bytes).limit(rest_bytes))
            {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(bytes.freeze())
    }

    async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.socket.writable().await?;
            match self.socket.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}
