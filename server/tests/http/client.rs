//! A small HTTP/1.1 client that shows how a body ended. It is written here because a client crate would
//! change the features of crates that the engine shares, and the engine would be compiled a second time.

use std::io::{Error, ErrorKind, Result};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use tokio::net::TcpStream;

use crate::exchanges::Exchange;

/// One response whose body is read piece by piece. Dropping it closes the connection.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    socket: TcpStream,
    buffer: Vec<u8>,
    body: Body,
    /// Where the response is recorded, if it is.
    pub(crate) exchange: Option<Exchange>,
}

enum Body {
    /// Remaining bytes.
    Length(usize),
    /// Chunks, each after its length.
    Chunked,
    /// Nothing more.
    Ended,
}

/// Sends one request, on a connection of its own.
pub(crate) async fn ask(
    url: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response> {
    let address = url.strip_prefix("http://").unwrap_or(url);
    let socket = TcpStream::connect(address).await?;
    let mut request = format!("{method} {} HTTP/1.1\r\n", path.replace(' ', "%20"));
    if !headers.iter().any(|(name, _)| *name == "host") {
        request += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        request += &format!("content-length: {}\r\n", body.len());
    }
    request += "connection: close\r\n\r\n";
    let mut rest = [request.as_bytes(), body].concat();
    let mut response = Response {
        status: 0,
        headers: HeaderMap::new(),
        socket,
        buffer: Vec::new(),
        body: Body::Ended,
        exchange: None,
    };
    while !rest.is_empty() {
        response.socket.writable().await?;
        match response.socket.try_write(&rest) {
            Ok(num_bytes) => drop(rest.drain(..num_bytes)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The server may answer without reading a body that is too large.
            Err(_) => break,
        }
    }
    response.read_head().await?;
    Ok(response)
}

impl Response {
    /// Records the request and this response of a server under test.
    pub(crate) fn recorded(
        mut self,
        request: [&str; 2],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Self {
        self.exchange = Exchange::begin(request, headers, body, self.status, &self.headers);
        self
    }

    /// The next bytes of the body; `None` at its proper end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let piece = self.piece().await?;
        if let Some(exchange) = &mut self.exchange {
            exchange.note(piece.as_deref());
        }
        Ok(piece)
    }

    async fn piece(&mut self) -> Result<Option<Vec<u8>>> {
        match self.body {
            Body::Ended => Ok(None),
            Body::Length(0) => Ok(None),
            Body::Length(left) => {
                if self.buffer.is_empty() {
                    self.fill().await?;
                }
                let piece: Vec<u8> = self.buffer.drain(..left.min(self.buffer.len())).collect();
                self.body = Body::Length(left - piece.len());
                Ok(Some(piece))
            }
            Body::Chunked => {
                let line = self.line().await?;
                let length = usize::from_str_radix(line.trim(), 16)
                    .map_err(|_| Error::other(format!("{line:?} is no length")))?;
                let piece = self.exactly(length).await?;
                self.line().await?;
                if length == 0 {
                    self.body = Body::Ended;
                    return Ok(None);
                }
                Ok(Some(piece))
            }
        }
    }

    /// Resets the connection.
    pub(crate) fn reset(self) {
        self.socket.set_zero_linger().unwrap();
    }

    async fn read_head(&mut self) -> Result<()> {
        let line = self.line().await?;
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        self.status = status.ok_or_else(|| Error::other(format!("{line:?} is no status")))?;
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let name = HeaderName::from_str(name).map_err(Error::other)?;
            self.headers.append(
                name,
                HeaderValue::from_str(value.trim()).map_err(Error::other)?,
            );
        }
        self.body = if self.headers.contains_key("transfer-encoding") {
            Body::Chunked
        } else {
            let length = self
                .headers
                .get("content-length")
                .and_then(|value| value.to_str().ok());
            Body::Length(length.and_then(|length| length.parse().ok()).unwrap_or(0))
        };
        Ok(())
    }

    async fn line(&mut self) -> Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.fill().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn fill(&mut self) -> Result<()> {
        let mut piece = vec![0; 1 << 18];
        loop {
            self.socket.readable().await?;
            match self.socket.try_read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(num_bytes) => {
                    self.buffer.extend_from_slice(&piece[..num_bytes]);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}
