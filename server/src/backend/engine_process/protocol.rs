//! The frames that the server and an engine process exchange over a socket.
//!
//! A frame is a prefix of 16 bytes, a header as JSON, and two runs of bytes. The prefix has the three lengths as
//! little-endian numbers of 4, 4 and 8 bytes. A descriptor may accompany the first byte.
//!
//! On a second socket the process asks for memory: a byte that says why ([`Need`](crate::allocator::Need)), and the
//! number of bytes that it wants. The response is the number of bytes that it may take in addition. Both numbers
//! have 8 bytes and are little-endian.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::backend::Usage;
use crate::backend::embedded::TableScan;
use crate::backend::request::Request;
use crate::encode::Codec;
use crate::error::QueryError;
use crate::message::{IpcMessage, MessageKind};
use crate::order::Order;
use crate::source::LentTable;

/// Bytes of the prefix of a frame.
pub(super) const PREFIX_BYTES: usize = 16;

/// The largest header and the largest metadata that the server accepts.
pub(super) const MAX_HEAD_BYTES: usize = 16 << 20;

/// Bytes of an object that one request may ask for.
pub(super) const MAX_READ_BYTES: u64 = 8 << 20;

/// What the server sends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToEngine {
    /// Plan and run a statement. The process is ready.
    Run(Box<StatementRequest>),
    /// The response to the request with that number.
    Response(u64, Result<EngineResponse, QueryError>),
}

/// A statement, with what an engine process needs to run it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StatementRequest {
    /// The request.
    pub(super) request: Request,
    /// How the client accepts compressed bodies.
    #[serde(with = "codec_name")]
    pub(super) codec: Option<Codec>,
    /// The names and versions of all tables, sorted by name.
    pub(super) tables: Vec<(String, String)>,
    /// Memory that the statement may take before it asks for more.
    pub(super) memory_bytes: u64,
    /// Memory that it can probably get in all.
    pub(super) expected_bytes: u64,
    /// Disk that the statement may take.
    pub(super) spill_bytes: u64,
}

/// A response of the server. Bytes follow the header.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum EngineResponse {
    /// The table.
    Table(TableResponse),
    /// The descriptor accompanies the frame.
    File,
    /// The bytes of the range.
    Bytes,
    /// A record batch as an Arrow IPC stream; without bytes at the end of the partition.
    Rows,
}

/// The requested table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum TableResponse {
    /// No table has that name.
    None,
    /// A table of files.
    Files(Box<LentTable>),
    /// A table whose rows the server reads. The schema message's metadata follows the header.
    Rows {
        /// How many partitions it has.
        num_partitions: usize,
    },
}

/// What an engine process sends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromEngine {
    /// The process waits for a statement.
    Ready,
    /// The statement is plain columns of one table, which the server reads itself. `Ready` or the end of the
    /// process follows.
    Scan(TableScan),
    /// The statement is planned. The schema message's metadata follows the header.
    Planned(Planned),
    /// The next message: its metadata and its body follow the header.
    Message {
        /// The kind of the message.
        kind: MessageKind,
        /// Rows of a batch.
        num_rows: u64,
    },
    /// What the statement has used so far, and the most bytes that it will read of its sources, if that is known.
    Progress(Usage, Option<u64>),
    /// The last message was sent. `Ready` or the end of the process follows.
    End(Usage),
    /// The statement failed. `Ready` or the end of the process follows.
    Failed(QueryError, Usage),
    /// A request with a number, which the response repeats.
    Request(u64, EngineRequest),
}

/// How a statement will be executed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) order: Order,
    pub(super) is_repeatable: bool,
    /// The names of the tables that are read.
    pub(super) sources: Vec<String>,
}

/// A request of an engine process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum EngineRequest {
    /// What the table with that name is.
    Table(String),
    /// The descriptor of a file of a table.
    File(String, usize),
    /// A range of a file of a table.
    Bytes(String, usize, Range<u64>),
    /// The next rows of a partition of a table, in a reading of that partition with this number.
    Rows(String, usize, u64),
}

/// A frame without its descriptor.
#[derive(Debug)]
pub(super) struct Frame<H> {
    pub(super) header: H,
    pub(super) metadata: Bytes,
    pub(super) body: Bytes,
}

impl<H> Frame<H> {
    /// A frame without bytes after its header.
    pub(super) fn of(header: H) -> Self {
        Self {
            header,
            metadata: Bytes::new(),
            body: Bytes::new(),
        }
    }

    pub(super) fn with_body(header: H, body: Bytes) -> Self {
        Self {
            body,
            ..Self::of(header)
        }
    }
}

impl Frame<FromEngine> {
    /// The next message of the result.
    pub(super) fn message(message: IpcMessage) -> Self {
        Self {
            header: FromEngine::Message {
                kind: message.kind,
                num_rows: message.num_rows,
            },
            metadata: message.metadata,
            body: message.body,
        }
    }
}

impl<H: Serialize> Frame<H> {
    /// The prefix, the header and the metadata; the body follows them.
    ///
    /// # Errors
    /// The header cannot be written.
    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = vec![0; PREFIX_BYTES];
        serde_json::to_writer(&mut head, &self.header)?;
        let header_bytes = (head.len() - PREFIX_BYTES) as u32;
        head[..4].copy_from_slice(&header_bytes.to_le_bytes());
        head[4..8].copy_from_slice(&(self.metadata.len() as u32).to_le_bytes());
        head[8..PREFIX_BYTES].copy_from_slice(&(self.body.len() as u64).to_le_bytes());
        head.extend_from_slice(&self.metadata);
        Ok(head)
    }
}

/// The lengths in the prefix of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) header_bytes: usize,
    pub(super) metadata_bytes: usize,
    pub(super) body_bytes: usize,
}

impl Lengths {
    /// Reads a prefix.
    ///
    /// # Errors
    /// A length is beyond its limit.
    pub(super) fn read(
        prefix: [u8; PREFIX_BYTES],
        max_head_bytes: usize,
        max_body_bytes: u64,
    ) -> io::Result<Self> {
        let [a, b, c, d, e, f, g, h, body @ ..] = prefix;
        let header_bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        let metadata_bytes = u32::from_le_bytes([e, f, g, h]) as usize;
        let body_bytes = u64::from_le_bytes(body);
        if header_bytes.max(metadata_bytes) > max_head_bytes || body_bytes > max_body_bytes {
            return Err(io::Error::other("a frame is too large"));
        }
        Ok(Self {
            header_bytes,
            metadata_bytes,
            body_bytes: body_bytes as usize,
        })
    }

    /// A frame from its header, and the bytes that follow it.
    ///
    /// # Errors
    /// The header is not what is expected.
    pub(super) fn frame<H: DeserializeOwned>(
        self,
        header: &[u8],
        mut bytes: Bytes,
    ) -> io::Result<Frame<H>> {
        let metadata = bytes.split_to(self.metadata_bytes);
        Ok(Frame {
            header: serde_json::from_slice(header)?,
            metadata,
            body: bytes,
        })
    }
}

mod codec_name {
    use super::{Codec, Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        codec: &Option<Codec>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        codec.map(Codec::name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Codec>, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?;
        let codecs = [Codec::Lz4, Codec::Zstd];
        Ok(name.and_then(|name| codecs.into_iter().find(|codec| codec.name() == name)))
    }
}
