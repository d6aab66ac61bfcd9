//! Assigns the flat lists of nodes and buffers in a batch to the tree of its fields.
//!
//! A header is checked against the schema here: counts, lengths of children, and the minimum size of
//! every buffer, all as 64-bit numbers.

use arrow_schema::{DataType, UnionMode};

use super::batch_header::{BatchHeader, BufferRange, FieldNode, MetadataVersion};
use super::schema::SchemaField;
use super::{DecodeError, DecodeErrorKind};

type Result<T> = std::result::Result<T, DecodeError>;

/// The contents of a buffer, which determine its minimum size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferRole {
    /// One bit per row; may be absent if nothing is null.
    Validity,
    /// One bit per row.
    Bits,
    /// This number of bytes per row.
    Fixed(u64),
    /// Offsets of this number of bytes, one more than there are rows; may be absent if there are no
    /// rows.
    Offsets(u64),
    /// The values that offsets or views refer to.
    Values,
}

impl BufferRole {
    /// The minimum size in bytes of such a buffer for `node`.
    #[must_use]
    pub fn least_bytes(self, node: FieldNode) -> u64 {
        let num_rows = node.num_rows as u64;
        match self {
            Self::Validity if node.null_count == 0 => 0,
            Self::Validity | Self::Bits => num_rows.div_ceil(8),
            Self::Fixed(width) => num_rows.saturating_mul(width),
            Self::Offsets(_) if num_rows == 0 => 0,
            Self::Offsets(width) => (num_rows + 1) * width,
            Self::Values => 0,
        }
    }
}

/// One array of a batch: its counts, buffers and children.
#[derive(Debug, Clone)]
pub struct ArraySlot {
    /// Numbers of rows and nulls.
    pub node: FieldNode,
    /// The buffers; validity comes first if the type has one.
    pub buffers: Vec<(BufferRole, BufferRange)>,
    /// The child arrays.
    pub children: Vec<ArraySlot>,
}

impl ArraySlot {
    /// Whether the validity counts. Before V5, unions had a validity buffer too; it is ignored.
    #[must_use]
    pub fn has_nulls(&self, data_type: &DataType) -> bool {
        self.node.null_count > 0 && !matches!(data_type, DataType::Union(..))
    }
}

/// Assigns the nodes and buffers of `header` to `fields`; returns one slot for each field.
///
/// # Errors
/// `InvalidHeader` if counts or lengths do not fit the fields.
pub fn read_layout(header: &BatchHeader, fields: &[SchemaField]) -> Result<Vec<ArraySlot>> {
    let mut reader = Reader {
        header,
        next_node: 0,
        next_buffer: 0,
        next_variadic: 0,
    };
    let slots = fields
        .iter()
        .map(|field| {
            let slot = reader.slot(field)?;
            if slot.node.num_rows != header.num_rows {
                return Err(DecodeError::header(format!(
                    "column \"{}\" has {} rows in a batch of {}",
                    field.field.name(),
                    slot.node.num_rows,
                    header.num_rows
                )));
            }
            Ok(slot)
        })
        .collect::<Result<_>>()?;
    if reader.next_node != header.nodes.len() || reader.next_buffer != header.buffers.len() {
        return Err(DecodeError::header(format!(
            "a batch has {} nodes and {} buffers; its schema needs {} and {}",
            header.nodes.len(),
            header.buffers.len(),
            reader.next_node,
            reader.next_buffer
        )));
    }
    Ok(slots)
}

/// The position of a column in the node and buffer lists; the same in every batch of a schema.
#[cfg(feature = "decode")]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ColumnStart {
    /// The number of arrays before it.
    nodes: usize,
    /// The number of buffers before it, without the data buffers of views.
    buffers: usize,
    /// The number of view arrays before it. The batch states how many data buffers each has.
    views: usize,
    /// The number of unions before it. Each has one more buffer before V5.
    unions: usize,
}

#[cfg(feature = "decode")]
impl ColumnStart {
    /// The starts of `fields`.
    pub(crate) fn all(fields: &[SchemaField]) -> Vec<Self> {
        let mut next = Self::default();
        let mut starts = Vec::with_capacity(fields.len());
        for field in fields {
            starts.push(next);
            next.pass(field);
        }
        starts
    }

    fn pass(&mut self, field: &SchemaField) {
        let data_type = field.field.data_type();
        self.nodes += 1;
        each_role(data_type, MetadataVersion::V5, |_| self.buffers += 1);
        self.views += usize::from(is_view(data_type));
        self.unions += usize::from(matches!(data_type, DataType::Union(..)));
        if field.dictionary.is_none() {
            for child in &field.children {
                self.pass(child);
            }
        }
    }
}

/// The slot of `field`, which begins at `start`.
///
/// # Errors
/// As [`read_layout`]; none if it has accepted the header.
#[cfg(feature = "decode")]
pub(crate) fn read_column(
    header: &BatchHeader,
    field: &SchemaField,
    start: ColumnStart,
) -> Result<ArraySlot> {
    let views = header.variadic_buffer_counts.iter().take(start.views);
    let unions = match header.version {
        MetadataVersion::V4 => start.unions,
        MetadataVersion::V5 => 0,
    };
    let mut reader = Reader {
        header,
        next_node: start.nodes,
        next_buffer: start.buffers + unions + views.sum::<usize>(),
        next_variadic: start.views,
    };
    reader.slot(field)
}

/// The maximum number of rows of a child array or a dictionary whose rows take no bytes. All of them
/// are visited when their one parent row is written.
const MAX_ROWS_OF_NO_BYTES: usize = 1 << 24;

/// Refuses too many rows of child arrays that take no bytes of the body.
pub(crate) fn check_inner_rows(node: FieldNode, field: &SchemaField) -> Result<()> {
    let takes_no_bytes = match field.field.data_type() {
        DataType::Null | DataType::RunEndEncoded(..) => true,
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) => *size == 0,
        DataType::Struct(fields) => fields.is_empty(),
        _ => false,
    };
    if takes_no_bytes && node.num_rows > MAX_ROWS_OF_NO_BYTES {
        return Err(DecodeError::new(
            DecodeErrorKind::OverLimit,
            format!(
                "an array inside column \"{}\" has {} rows that take no bytes; at most {MAX_ROWS_OF_NO_BYTES} are supported",
                field.field.name(),
                node.num_rows
            ),
        ));
    }
    Ok(())
}

struct Reader<'a> {
    header: &'a BatchHeader,
    next_node: usize,
    next_buffer: usize,
    next_variadic: usize,
}

impl Reader<'_> {
    fn buffer(&mut self) -> Result<BufferRange> {
        let range = self.header.buffers.get(self.next_buffer).copied();
        self.next_buffer += 1;
        range.ok_or_else(|| DecodeError::header("a batch has fewer buffers than its schema needs"))
    }

    fn slot(&mut self, field: &SchemaField) -> Result<ArraySlot> {
        let node =
            *self.header.nodes.get(self.next_node).ok_or_else(|| {
                DecodeError::header("a batch has fewer nodes than its schema needs")
            })?;
        self.next_node += 1;
        let data_type = field.field.data_type();
        let mut buffers = Vec::with_capacity(3);
        let nowhere = BufferRange {
            offset: 0,
            length: 0,
        };
        each_role(data_type, self.header.version, |role| {
            buffers.push((role, nowhere));
        });
        for (role, range) in &mut buffers {
            *range = self.buffer()?;
            if self.header.compression.is_none() {
                check_size(*role, node, range.length as u64, field)?;
            }
        }
        if is_view(data_type) {
            let count = self
                .header
                .variadic_buffer_counts
                .get(self.next_variadic)
                .copied()
                .ok_or_else(|| DecodeError::header("a view column has no variadic buffer count"))?;
            self.next_variadic += 1;
            for _ in 0..count {
                buffers.push((BufferRole::Values, self.buffer()?));
            }
        }
        let children = if field.dictionary.is_some() {
            Vec::new()
        } else {
            field
                .children
                .iter()
                .map(|child| {
                    let slot = self.slot(child)?;
                    check_inner_rows(slot.node, child)?;
                    Ok(slot)
                })
                .collect::<Result<Vec<_>>>()?
        };
        check_children(data_type, node, &children, field)?;
        Ok(ArraySlot {
            node,
            buffers,
            children,
        })
    }
}

/// Refuses a buffer of `length` bytes that is too short for its rows.
fn check_size(
    role: BufferRole,
    node: FieldNode,
    length_bytes: u64,
    field: &SchemaField,
) -> Result<()> {
    let least = role.least_bytes(node);
    if length_bytes < least {
        return Err(DecodeError::header(format!(
            "a buffer of column \"{}\" has {length_bytes} bytes; {} rows need {least}",
            field.field.name(),
            node.num_rows
        )));
    }
    Ok(())
}

/// The buffers of `data_type` in a batch, without the data buffers of views. Spec: "Buffer listing for
/// each layout". Unions before V5 also have the validity buffer of that time.
fn each_role(data_type: &DataType, version: MetadataVersion, mut take: impl FnMut(BufferRole)) {
    use BufferRole::{Bits, Fixed, Offsets, Validity, Values};
    let has_validity = match data_type {
        DataType::Null | DataType::RunEndEncoded(..) => false,
        DataType::Union(..) => version == MetadataVersion::V4,
        _ => true,
    };
    if has_validity {
        take(Validity);
    }
    match data_type {
        DataType::Null
        | DataType::RunEndEncoded(..)
        | DataType::Struct(_)
        | DataType::FixedSizeList(..) => {}
        DataType::Boolean => take(Bits),
        DataType::Utf8 | DataType::Binary => {
            take(Offsets(4));
            take(Values);
        }
        DataType::LargeUtf8 | DataType::LargeBinary => {
            take(Offsets(8));
            take(Values);
        }
        DataType::Utf8View | DataType::BinaryView => take(Fixed(16)),
        DataType::List(_) | DataType::Map(..) => take(Offsets(4)),
        DataType::LargeList(_) => take(Offsets(8)),
        DataType::ListView(_) => {
            take(Fixed(4));
            take(Fixed(4));
        }
        DataType::LargeListView(_) => {
            take(Fixed(8));
            take(Fixed(8));
        }
        DataType::Union(_, mode) => {
            take(Fixed(1));
            if *mode == UnionMode::Dense {
                take(Fixed(4));
            }
        }
        DataType::FixedSizeBinary(width) => take(Fixed(u64::from(width.unsigned_abs()))),
        DataType::Dictionary(index, _) => take(Fixed(index.primitive_width().unwrap_or(8) as u64)),
        primitive => take(Fixed(primitive.primitive_width().unwrap_or(8) as u64)),
    }
}

fn is_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

fn check_children(
    data_type: &DataType,
    node: FieldNode,
    children: &[ArraySlot],
    field: &SchemaField,
) -> Result<()> {
    let num_rows = node.num_rows as u64;
    let needed = match data_type {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => num_rows,
        DataType::FixedSizeList(_, size) => num_rows.saturating_mul(u64::from(size.unsigned_abs())),
        _ => 0,
    };
    match children
        .iter()
        .find(|child| (child.node.num_rows as u64) < needed)
    {
        Some(short) => Err(DecodeError::header(format!(
            "a child of column \"{}\" has {} rows; {needed} are needed",
            field.field.name(),
            short.node.num_rows
        ))),
        None => Ok(()),
    }
}
