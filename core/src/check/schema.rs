//! The schema message: fields, their types and dictionaries.
//!
//! Spec: `format/Schema.fbs`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{
    DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode,
};

use super::flatbuffer::{Table, Vector};
use super::{DecodeError, DecodeErrorKind, Limits};

type Result<T> = std::result::Result<T, DecodeError>;

/// How a field's values are looked up in a dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryEncoding {
    /// The id by which dictionary batches name this dictionary.
    pub id: i64,
    /// Whether the order of the values is significant.
    pub is_ordered: bool,
    /// Type of the values; the field's own type is `Dictionary(index, value)`.
    pub value_type: DataType,
}

/// A field together with the dictionary ids of its tree, which arrow-rs's own `Field` does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaField {
    /// Name, type, nullability and metadata.
    pub field: FieldRef,
    /// The encoding, if this field is dictionary-encoded.
    pub dictionary: Option<DictionaryEncoding>,
    /// The children in the order of the message. For a dictionary they are those of its values.
    pub children: Vec<SchemaField>,
}

/// The schema of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSchema {
    /// The columns.
    pub fields: Vec<SchemaField>,
    /// Custom metadata of the schema.
    pub metadata: HashMap<String, String>,
    /// The bytes from which the schema was read.
    pub encoded: EncodedSchema,
}

/// A schema as a FlatBuffers table in its original message or footer. One schema can be encoded in
/// different ways, so all values of this type are equal.
#[derive(Clone)]
pub struct EncodedSchema {
    #[cfg_attr(not(feature = "kernels"), allow(dead_code))]
    pub(crate) buffer: Vec<u8>,
    /// The position of the table in `buffer`.
    #[cfg_attr(not(feature = "kernels"), allow(dead_code))]
    pub(crate) position: usize,
}

impl PartialEq for EncodedSchema {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EncodedSchema {}

impl std::fmt::Debug for EncodedSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EncodedSchema")
    }
}

impl SchemaField {
    /// The field in a dictionary batch of this field: it has the type of the values, not of the keys.
    #[must_use]
    pub fn dictionary_values(&self) -> Self {
        let Some(dictionary) = &self.dictionary else {
            return self.clone();
        };
        let field = Field::new(self.field.name(), dictionary.value_type.clone(), true);
        Self {
            field: Arc::new(field),
            dictionary: None,
            children: self.children.clone(),
        }
    }
}

impl StreamSchema {
    /// The fields as arrow-rs types.
    #[must_use]
    pub fn arrow_fields(&self) -> Fields {
        self.fields
            .iter()
            .map(|field| field.field.clone())
            .collect()
    }

    /// The field whose values are in dictionary `id`, at any depth of the schema.
    #[must_use]
    pub fn dictionary_field(&self, id: i64) -> Option<&SchemaField> {
        fn find(fields: &[SchemaField], id: i64) -> Option<&SchemaField> {
            fields.iter().find_map(|field| match &field.dictionary {
                Some(dictionary) if dictionary.id == id => Some(field),
                _ => find(&field.children, id),
            })
        }
        find(&self.fields, id)
    }
}

pub(crate) fn read_schema(table: &Table, limits: &Limits) -> Result<StreamSchema> {
    if table.i16(0, 0)? != 0 {
        return Err(DecodeError::new(
            DecodeErrorKind::Unsupported,
            "the stream is big-endian; only little-endian streams are supported",
        ));
    }
    let mut reader = FieldReader {
        limits,
        num_fields: 0,
        left_text_bytes: limits.max_metadata_bytes,
    };
    Ok(StreamSchema {
        fields: reader.fields(table.vector(1, 4)?, 1)?,
        metadata: reader.metadata(table.vector(2, 4)?)?,
        encoded: EncodedSchema {
            buffer: table.buffer().to_vec(),
            position: table.position(),
        },
    })
}

/// Offsets in a hostile message can make a small buffer describe a huge tree, or refer to one text a
/// thousand times. Therefore fields and texts are counted as they are read.
struct FieldReader<'a> {
    limits: &'a Limits,
    num_fields: usize,
    left_text_bytes: u64,
}

impl FieldReader<'_> {
    fn metadata(&mut self, vector: Vector) -> Result<HashMap<String, String>> {
        (0..vector.len())
            .map(|index| {
                let pair = vector.table(index)?;
                // Producers store arbitrary bytes there, for example a pickle.
                let text = |slot| {
                    let bytes = pair.string_bytes(slot)?.unwrap_or_default();
                    Ok(String::from_utf8_lossy(bytes))
                };
                let (key, value) = (text(0)?, text(1)?);
                // The offsets to a pair and to its texts.
                self.take_text(12 + key.len() + value.len())?;
                Ok((key.into_owned(), value.into_owned()))
            })
            .collect()
    }

    fn take_text(&mut self, num_bytes: usize) -> Result<()> {
        let left_bytes = self.left_text_bytes.checked_sub(num_bytes as u64);
        self.left_text_bytes = left_bytes.ok_or_else(|| {
            DecodeError::new(
                DecodeErrorKind::OverLimit,
                format!(
                    "the schema's names and metadata have more than {} bytes",
                    self.limits.max_metadata_bytes
                ),
            )
        })?;
        Ok(())
    }

    fn fields(&mut self, vector: Vector, depth: usize) -> Result<Vec<SchemaField>> {
        if vector.len() > 0 && depth > self.limits.max_depth {
            return Err(DecodeError::new(
                DecodeErrorKind::OverLimit,
                format!("fields nest deeper than {} levels", self.limits.max_depth),
            ));
        }
        (0..vector.len())
            .map(|index| self.field(&vector.table(index)?, depth))
            .collect()
    }

    fn field(&mut self, table: &Table, depth: usize) -> Result<SchemaField> {
        self.num_fields += 1;
        if self.num_fields > self.limits.max_fields {
            return Err(DecodeError::new(
                DecodeErrorKind::OverLimit,
                format!("the schema has more than {} fields", self.limits.max_fields),
            ));
        }
        let name = table.string(0)?.unwrap_or_default();
        let children = self.fields(table.vector(5, 4)?, depth + 1)?;
        let value_type = read_type(table, name, &children)?;
        self.take_text(name.len() + zone_bytes(&value_type))?;
        let (data_type, dictionary) = match table.table(4)? {
            None => (value_type, None),
            Some(encoding) => {
                let index_type = match encoding.table(1)? {
                    Some(int) => int_type(&int)?,
                    None => DataType::Int32,
                };
                let dictionary = DictionaryEncoding {
                    id: encoding.i64(0, 0)?,
                    is_ordered: encoding.bool(2)?,
                    value_type: value_type.clone(),
                };
                (
                    DataType::Dictionary(Box::new(index_type), Box::new(value_type)),
                    Some(dictionary),
                )
            }
        };
        let field = Field::new(name, data_type, table.bool(1)?)
            .with_metadata(self.metadata(table.vector(6, 4)?)?);
        Ok(SchemaField {
            field: Arc::new(field),
            dictionary,
            children,
        })
    }
}

fn zone_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => zone.len(),
        _ => 0,
    }
}

fn invalid(name: &str, what: &str) -> DecodeError {
    DecodeError::header(format!("field \"{name}\" {what}"))
}

fn child(name: &str, children: &[SchemaField]) -> Result<FieldRef> {
    match children {
        [only] => Ok(only.field.clone()),
        _ => Err(invalid(name, "needs exactly one child field")),
    }
}

fn int_type(table: &Table) -> Result<DataType> {
    Ok(match (table.i32(0, 0)?, table.bool(1)?) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (64, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (64, false) => DataType::UInt64,
        (bits, _) => {
            return Err(DecodeError::header(format!(
                "an integer has {bits} bits; expected 8, 16, 32 or 64"
            )));
        }
    })
}

fn time_unit(value: i16) -> Result<TimeUnit> {
    Ok(match value {
        0 => TimeUnit::Second,
        1 => TimeUnit::Millisecond,
        2 => TimeUnit::Microsecond,
        3 => TimeUnit::Nanosecond,
        other => {
            return Err(DecodeError::header(format!(
                "time unit {other} does not exist"
            )));
        }
    })
}

fn decimal_type(table: &Table, name: &str) -> Result<DataType> {
    let (precision, scale, bits) = (table.i32(0, 0)?, table.i32(1, 0)?, table.i32(2, 128)?);
    let precision = u8::try_from(precision)
        .ok()
        .filter(|precision| (1..=76).contains(precision))
        .ok_or_else(|| invalid(name, "has a decimal precision outside 1 to 76"))?;
    let scale = i8::try_from(scale)
        .map_err(|_| invalid(name, "has a decimal scale outside -128 to 127"))?;
    Ok(match bits {
        32 => DataType::Decimal32(precision, scale),
        64 => DataType::Decimal64(precision, scale),
        128 => DataType::Decimal128(precision, scale),
        256 => DataType::Decimal256(precision, scale),
        _ => {
            return Err(invalid(
                name,
                "is a decimal whose width is not 32, 64, 128 or 256 bits",
            ));
        }
    })
}

fn union_type(table: &Table, name: &str, children: &[SchemaField]) -> Result<DataType> {
    let ids = table.vector(1, 4)?;
    let type_ids: Vec<i8> = if ids.len() == 0 {
        if children.len() > 128 {
            return Err(invalid(name, "is a union of more than 128 types"));
        }
        (0..children.len()).map(|id| id as i8).collect()
    } else if ids.len() != children.len() {
        return Err(invalid(
            name,
            "does not have one union type id for each child",
        ));
    } else {
        (0..ids.len())
            .map(|index| {
                i8::try_from(ids.i32(index)?)
                    .ok()
                    .filter(|id| *id >= 0)
                    .ok_or_else(|| invalid(name, "has a union type id outside 0 to 127"))
            })
            .collect::<Result<_>>()?
    };
    let fields = UnionFields::try_new(type_ids, children.iter().map(|child| child.field.clone()))
        .map_err(|error| invalid(name, &format!("is not a valid union: {error}")))?;
    let mode = if table.i16(0, 0)? == 0 {
        UnionMode::Sparse
    } else {
        UnionMode::Dense
    };
    Ok(DataType::Union(fields, mode))
}

fn map_type(table: &Table, name: &str, children: &[SchemaField]) -> Result<DataType> {
    let entries = child(name, children)?;
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => {}
        _ => {
            return Err(invalid(
                name,
                "is a map whose child is not a struct of key and value",
            ));
        }
    }
    Ok(DataType::Map(entries, table.bool(0)?))
}

fn run_end_encoded_type(name: &str, children: &[SchemaField]) -> Result<DataType> {
    match children {
        [run_ends, values]
            if matches!(
                run_ends.field.data_type(),
                DataType::Int16 | DataType::Int32 | DataType::Int64
            ) =>
        {
            Ok(DataType::RunEndEncoded(
                run_ends.field.clone(),
                values.field.clone(),
            ))
        }
        _ => Err(invalid(
            name,
            "is run-end encoded without integer run ends and values",
        )),
    }
}

fn non_negative(value: i32, name: &str, what: &str) -> Result<i32> {
    if value < 0 {
        return Err(invalid(name, what));
    }
    Ok(value)
}

fn read_type(table: &Table, name: &str, children: &[SchemaField]) -> Result<DataType> {
    let kind = table.u8(2, 0)?;
    let details = table
        .table(3)?
        .ok_or_else(|| invalid(name, "has no type"))?;
    let details = &details;
    Ok(match kind {
        1 => DataType::Null,
        2 => int_type(details)?,
        3 => match details.i16(0, 0)? {
            0 => DataType::Float16,
            1 => DataType::Float32,
            2 => DataType::Float64,
            _ => return Err(invalid(name, "is a float of unknown precision")),
        },
        4 => DataType::Binary,
        5 => DataType::Utf8,
        6 => DataType::Boolean,
        7 => decimal_type(details, name)?,
        8 => match details.i16(0, 1)? {
            0 => DataType::Date32,
            1 => DataType::Date64,
            _ => return Err(invalid(name, "is a date of unknown unit")),
        },
        9 => match (time_unit(details.i16(0, 1)?)?, details.i32(1, 32)?) {
            (unit @ (TimeUnit::Second | TimeUnit::Millisecond), 32) => DataType::Time32(unit),
            (unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond), 64) => DataType::Time64(unit),
            _ => return Err(invalid(name, "is a time whose unit does not fit its bits")),
        },
        10 => DataType::Timestamp(
            time_unit(details.i16(0, 0)?)?,
            details
                .string(1)?
                .filter(|zone| !zone.is_empty())
                .map(Into::into),
        ),
        11 => DataType::Interval(match details.i16(0, 0)? {
            0 => IntervalUnit::YearMonth,
            1 => IntervalUnit::DayTime,
            2 => IntervalUnit::MonthDayNano,
            _ => return Err(invalid(name, "is an interval of unknown unit")),
        }),
        12 => DataType::List(child(name, children)?),
        13 => DataType::Struct(children.iter().map(|child| child.field.clone()).collect()),
        14 => union_type(details, name, children)?,
        15 => DataType::FixedSizeBinary(non_negative(
            details.i32(0, 0)?,
            name,
            "has a negative byte width",
        )?),
        16 => DataType::FixedSizeList(
            child(name, children)?,
            non_negative(details.i32(0, 0)?, name, "has a negative list size")?,
        ),
        17 => map_type(details, name, children)?,
        18 => DataType::Duration(time_unit(details.i16(0, 1)?)?),
        19 => DataType::LargeBinary,
        20 => DataType::LargeUtf8,
        21 => DataType::LargeList(child(name, children)?),
        22 => run_end_encoded_type(name, children)?,
        23 => DataType::BinaryView,
        24 => DataType::Utf8View,
        25 => DataType::ListView(child(name, children)?),
        26 => DataType::LargeListView(child(name, children)?),
        other => {
            return Err(DecodeError::new(
                DecodeErrorKind::Unsupported,
                format!("field \"{name}\" has the unknown type {other}"),
            ));
        }
    })
}
