//! Writes streams whose headers make any claims, true or false.

use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::DictionaryTracker;
use arrow_ipc::{
    BodyCompression, BodyCompressionArgs, Buffer, CompressionType, DictionaryBatch,
    DictionaryBatchArgs, DictionaryEncoding, FieldNode, Message, MessageArgs, MessageHeader,
    MetadataVersion, RecordBatch, RecordBatchArgs, root_as_message,
};
use arrow_schema::{DataType, Field, Schema};
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

/// A stream, with the positions of its messages.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) bytes: Vec<u8>,
    pub(crate) starts: Vec<u64>,
}

impl Stream {
    /// A stream of messages, followed by the end-of-stream marker.
    pub(crate) fn new(messages: &[Vec<u8>]) -> Self {
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for message in messages {
            starts.push(bytes.len() as u64);
            bytes.extend_from_slice(message);
        }
        starts.push(bytes.len() as u64);
        bytes.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        Self { bytes, starts }
    }

    /// A stream of one column.
    pub(crate) fn of(data_type: DataType, messages: &[Claim]) -> Self {
        let mut all = vec![schema(vec![Field::new("c", data_type, true)])];
        all.extend(messages.iter().map(Claim::message));
        Self::new(&all)
    }
}

/// The claims of a record batch or dictionary batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claim {
    pub(crate) rows: i64,
    /// Rows and nulls of each array.
    pub(crate) nodes: Vec<(i64, i64)>,
    /// Offset and length of each buffer.
    pub(crate) buffers: Vec<(i64, i64)>,
    pub(crate) body: Vec<u8>,
    /// The claimed length of the body, if it differs from the actual one.
    pub(crate) body_bytes: Option<i64>,
    pub(crate) compression: Option<CompressionType>,
    pub(crate) variadic_counts: Vec<i64>,
    /// The id of the dictionary, and whether it is a delta.
    pub(crate) dictionary: Option<(i64, bool)>,
}

impl Claim {
    /// A batch with true claims, of one array or an array with children. `nodes` are the numbers of
    /// rows; there are no nulls.
    pub(crate) fn batch(nodes: &[i64], buffers: &[&[u8]]) -> Self {
        let mut claim = Self {
            rows: nodes[0],
            nodes: nodes.iter().map(|&rows| (rows, 0)).collect(),
            ..Self::default()
        };
        for buffer in buffers {
            claim
                .buffers
                .push((claim.body.len() as i64, buffer.len() as i64));
            claim.body.extend_from_slice(buffer);
            claim.body.resize(claim.body.len().next_multiple_of(8), 0);
        }
        claim
    }

    /// The same batch as values of a dictionary.
    pub(crate) fn dictionary_batch(self, id: i64, is_delta: bool) -> Self {
        let dictionary = Some((id, is_delta));
        Self { dictionary, ..self }
    }

    pub(crate) fn compressed(self, codec: CompressionType) -> Self {
        let compression = Some(codec);
        Self {
            compression,
            ..self
        }
    }

    pub(crate) fn message(&self) -> Vec<u8> {
        let mut fbb = FlatBufferBuilder::new();
        let nodes: Vec<_> = self
            .nodes
            .iter()
            .map(|(rows, nulls)| FieldNode::new(*rows, *nulls))
            .collect();
        let nodes = fbb.create_vector(&nodes);
        let buffers: Vec<_> = self
            .buffers
            .iter()
            .map(|(at, len)| Buffer::new(*at, *len))
            .collect();
        let buffers = fbb.create_vector(&buffers);
        let compression = self.compression.map(|codec| {
            let args = BodyCompressionArgs {
                codec,
                ..Default::default()
            };
            BodyCompression::create(&mut fbb, &args)
        });
        let counts = fbb.create_vector(&self.variadic_counts);
        let args = RecordBatchArgs {
            length: self.rows,
            nodes: Some(nodes),
            buffers: Some(buffers),
            compression,
            variadicBufferCounts: Some(counts),
        };
        let batch = RecordBatch::create(&mut fbb, &args);
        let (header_type, header) = match self.dictionary {
            None => (MessageHeader::RecordBatch, batch.as_union_value()),
            Some((id, is_delta)) => {
                let args = DictionaryBatchArgs {
                    id,
                    data: Some(batch),
                    isDelta: is_delta,
                };
                let dictionary = DictionaryBatch::create(&mut fbb, &args);
                (MessageHeader::DictionaryBatch, dictionary.as_union_value())
            }
        };
        let body_bytes = self.body_bytes.unwrap_or(self.body.len() as i64);
        let mut bytes = encapsulated(fbb, header_type, header, body_bytes);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A schema message whose dictionaries have ids from 0 on; those inside of others come first.
pub(crate) fn numbered_schema(fields: Vec<Field>) -> Vec<u8> {
    let mut fbb = FlatBufferBuilder::new();
    let mut tracker = DictionaryTracker::new(false);
    let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker);
    let schema = encoder.schema_to_fb_offset(&mut fbb, &Schema::new(fields));
    encapsulated(fbb, MessageHeader::Schema, schema.as_union_value(), 0)
}

/// A schema message in which every dictionary has the id 0.
pub(crate) fn schema(fields: Vec<Field>) -> Vec<u8> {
    let mut bytes = numbered_schema(fields);
    for at in dictionary_ids(&bytes[8..]) {
        bytes[8 + at..][..8].fill(0);
    }
    bytes
}

/// The positions of dictionary ids in the metadata of a schema message. An id of 0 may be absent.
fn dictionary_ids(metadata: &[u8]) -> Vec<usize> {
    let message = root_as_message(metadata).unwrap();
    let schema = message.header_as_schema().unwrap();
    let mut fields: Vec<_> = schema.fields().into_iter().flatten().collect();
    let mut ids = Vec::new();
    while let Some(field) = fields.pop() {
        fields.extend(field.children().into_iter().flatten());
        if let Some(table) = field.dictionary().map(|encoding| encoding._tab) {
            match table.vtable().get(DictionaryEncoding::VT_ID) {
                0 => {}
                offset => ids.push(table.loc() + usize::from(offset)),
            }
        }
    }
    ids
}

/// An encapsulated message: continuation, length and metadata.
pub(crate) fn encapsulated(
    mut fbb: FlatBufferBuilder<'_>,
    header_type: MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    body_bytes: i64,
) -> Vec<u8> {
    let args = MessageArgs {
        version: MetadataVersion::V5,
        header_type,
        header: Some(header),
        bodyLength: body_bytes,
        custom_metadata: None,
    };
    let message = Message::create(&mut fbb, &args);
    fbb.finish(message, None);
    let metadata = fbb.finished_data();
    let padded = metadata.len().next_multiple_of(8);
    let mut bytes = vec![0xff; 4];
    bytes.extend_from_slice(&(padded as i32).to_le_bytes());
    bytes.extend_from_slice(metadata);
    bytes.resize(8 + padded, 0);
    bytes
}
