//! Streams of random types, and the texts of their cells. Tests draw them from a seed, the fuzz target
//! `drawn_types` from its input. `replay.py` compares them with what pyarrow reads.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeListArray, Int8Array,
    Int16Array, Int32Array, Int64Array, ListArray, ListViewArray, RecordBatch, RunArray,
    StringArray, StringViewArray, StructArray, UInt32Array, UnionArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Fields, UnionFields};
use arrow_select::take::take;
use colonnade_core::decode::Decoder;
use colonnade_core::text::{CellText, FixedOffsets, WideNumbers, write_cell, write_json};
use colonnade_core::wire::{Framer, Limits, Message, write_batch};

const NUM_BATCHES: usize = 4;
/// The values of each message of a dictionary.
const PART_ROWS: usize = 10;

/// Numbers that decide types and values.
pub(crate) struct Numbers<'a>(pub(crate) Box<dyn FnMut() -> usize + 'a>);

impl Numbers<'_> {
    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.0)() % end
    }

    fn each<T>(&mut self, len: usize, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..len).map(|_| item(self)).collect()
    }

    fn nulls(&mut self, len: usize) -> Option<NullBuffer> {
        (self.below(2) == 0).then(|| self.each(len, |numbers| numbers.below(4) > 0).into())
    }

    fn optional<T>(&mut self, len: usize, item: impl Fn(usize) -> T) -> Vec<Option<T>> {
        self.each(len, |numbers| {
            let number = numbers.below(1000);
            (numbers.below(5) > 0).then(|| item(number))
        })
    }

    /// An array of a random type, at most `depth` levels deep.
    fn array(&mut self, len: usize, depth: usize) -> ArrayRef {
        let item = |child: &ArrayRef| Arc::new(Field::new("item", child.data_type().clone(), true));
        match self.below(if depth == 0 { 6 } else { 14 }) {
            0 => Arc::new(Int8Array::from(self.optional(len, |number| number as i8))),
            1 => Arc::new(Int64Array::from(self.optional(len, |number| number as i64))),
            2 => Arc::new(BooleanArray::from(
                self.optional(len, |number| number % 2 == 0),
            )),
            3 => Arc::new(Decimal128Array::from(
                self.optional(len, |number| number as i128),
            )),
            4 => Arc::new(StringArray::from(
                self.optional(len, |number| format!("é{number}")),
            )),
            5 => Arc::new(StringViewArray::from_iter(self.optional(len, |number| {
                "long text ".repeat(number % 3) + &number.to_string()
            }))),
            6 => {
                let lens = self.each(len, |numbers| numbers.below(4));
                let offsets = OffsetBuffer::<i32>::from_lengths(lens);
                let child = self.array(offsets[len] as usize, depth - 1);
                let nulls = self.nulls(len);
                Arc::new(ListArray::new(item(&child), offsets, child, nulls))
            }
            7 => {
                let num_items = 8;
                let child = self.array(num_items, depth - 1);
                let starts = self.each(len, |numbers| numbers.below(num_items) as i32);
                let sizes = starts.iter().map(|start| {
                    let most = num_items - *start as usize;
                    self.below(most + 1) as i32
                });
                let sizes: Vec<i32> = sizes.collect();
                let nulls = self.nulls(len);
                let list =
                    ListViewArray::new(item(&child), starts.into(), sizes.into(), child, nulls);
                Arc::new(list)
            }
            8 => {
                let size = 1 + self.below(3);
                let child = self.array(len * size, depth - 1);
                let nulls = self.nulls(len);
                let list = FixedSizeListArray::try_new_with_length(
                    item(&child),
                    size as i32,
                    child,
                    nulls,
                    len,
                );
                Arc::new(list.unwrap())
            }
            9 => {
                let children = self.each(2, |numbers| numbers.array(len, depth - 1));
                let fields: Fields = ["a", "b"]
                    .iter()
                    .zip(&children)
                    .map(|(name, child)| Field::new(*name, child.data_type().clone(), true))
                    .collect();
                let nulls = self.nulls(len);
                Arc::new(StructArray::new(fields, children, nulls))
            }
            10 | 11 => {
                let is_dense = self.below(2) == 0;
                let child_len = if is_dense { 5 } else { len };
                let children = self.each(2, |numbers| numbers.array(child_len, depth - 1));
                let fields = children
                    .iter()
                    .map(|child| Field::new("u", child.data_type().clone(), true));
                let fields = UnionFields::try_new([0, 1], fields).unwrap();
                let ids = self.each(len, |numbers| numbers.below(2) as i8);
                let offsets =
                    is_dense.then(|| self.each(len, |numbers| numbers.below(5) as i32).into());
                Arc::new(UnionArray::try_new(fields, ids.into(), offsets, children).unwrap())
            }
            12 => {
                let lens = self.each(len, |numbers| 1 + numbers.below(3) as i16);
                let ends = lens.iter().scan(0, |end, len| {
                    *end += len;
                    Some(*end)
                });
                let ends = Int16Array::from_iter_values(ends);
                let values = self.array(len, depth - 1);
                let runs = RunArray::<Int16Type>::try_new(&ends, &values).unwrap();
                Arc::new(runs.slice(0, len))
            }
            _ => {
                let keys = Int32Array::from(self.optional(len, |number| number as i32 % 7));
                let values = self.array(7, depth - 1);
                Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).unwrap())
            }
        }
    }
}

/// A stream of one column, and its rows as the decoder reads them.
pub(crate) struct Drawn {
    stream: Vec<u8>,
    rows: Vec<ArrayRef>,
}

impl Drawn {
    /// Writes `NAME.arrows` and its rows, as JSON in one line each, `NAME.jsonl`, into the folder
    /// `COLONNADE_DRAWN`, if it is set.
    pub(crate) fn write(&self, name: &str) {
        let Some(folder) = std::env::var_os("COLONNADE_DRAWN").map(PathBuf::from) else {
            return;
        };
        let mut rows = String::new();
        for array in &self.rows {
            for index in 0..array.len() {
                let mut row = CellText::new(&mut rows, 0);
                write_json(
                    array,
                    None,
                    index,
                    &FixedOffsets,
                    WideNumbers::Digits,
                    &mut row,
                );
                row.push("\n");
            }
        }
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.arrows")), &self.stream).unwrap();
        std::fs::write(folder.join(format!("{name}.jsonl")), rows).unwrap();
    }
}

fn texts(array: &ArrayRef) -> Vec<String> {
    let text = |index| {
        let mut out = String::new();
        let mut cell = CellText::new(&mut out, 0);
        let kind = write_cell(array, None, index, &FixedOffsets, &mut cell);
        format!("{kind:?} {out}")
    };
    (0..array.len()).map(text).collect()
}

/// The messages of `array` as the only column of a stream, after its schema. With `dictionary`, its
/// batch becomes a message of that dictionary; ids of other dictionaries stay.
fn messages(array: &ArrayRef, dictionary: Option<(i64, bool)>) -> Result<Vec<u8>, ArrowError> {
    let batch = RecordBatch::try_from_iter([("d", Arc::clone(array))])?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    let mut out = Vec::new();
    for frame in Framer::new(Limits::default())
        .push(&writer.into_inner()?)
        .unwrap()
    {
        let (header, dictionary) = match frame.message {
            Message::Schema(_) => continue,
            Message::Dictionary(inner) => (inner.values, Some((inner.id, inner.is_delta))),
            Message::Batch(header) => (header, dictionary),
        };
        let metadata = write_batch(&header, dictionary, frame.body.len());
        out.extend([0xff; 4]);
        out.extend((metadata.len() as u32).to_le_bytes());
        out.extend(metadata);
        out.extend_from_slice(&frame.body);
    }
    Ok(out)
}

/// A stream of dictionaries whose values arrive in parts, each followed by a batch of keys.
fn stream(parts: &[ArrayRef], keys: &[Int32Array]) -> Result<Vec<u8>, ArrowError> {
    let array = |keys| DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(&parts[0]));
    let none: ArrayRef = Arc::new(array(Int32Array::new_null(0))?);
    let schema = RecordBatch::try_from_iter([("d", none)])?.schema();
    let mut bytes = StreamWriter::try_new(Vec::new(), &schema)?.into_inner()?;
    bytes.truncate(bytes.len() - 8);
    // Dictionaries inside of the values have the ids before it.
    let id = num_dictionaries(parts[0].data_type());
    for (index, (part, keys)) in parts.iter().zip(keys).enumerate() {
        bytes.extend(messages(part, Some((id, index > 0)))?);
        bytes.extend(messages(&(Arc::new(keys.clone()) as ArrayRef), None)?);
    }
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    Ok(bytes)
}

fn num_dictionaries(data_type: &DataType) -> i64 {
    let of = |field: &Arc<Field>| num_dictionaries(field.data_type());
    match data_type {
        DataType::Dictionary(_, values) => 1 + num_dictionaries(values),
        DataType::List(item) | DataType::ListView(item) | DataType::FixedSizeList(item, _) => {
            of(item)
        }
        DataType::Struct(fields) => fields.iter().map(of).sum(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| of(field)).sum(),
        DataType::RunEndEncoded(_, values) => of(values),
        _ => 0,
    }
}

/// Draws values of a type, and a stream in which they are a dictionary that grows with every batch. Panics
/// unless each batch has the texts of its values. Returns `None` if arrow-rs cannot write the type: it does
/// not write dictionaries directly inside of dictionaries.
pub(crate) fn check_grown_dictionary(numbers: &mut Numbers) -> Option<Drawn> {
    let values = numbers.array(NUM_BATCHES * PART_ROWS, 3);
    let data_type = values.data_type();
    let rows = |part: usize| {
        let rows = (part * PART_ROWS) as u32..((part + 1) * PART_ROWS) as u32;
        take(&values, &UInt32Array::from_iter_values(rows), None)
    };
    let keys: Vec<Int32Array> = (1..=NUM_BATCHES)
        .map(|part| {
            let key = |number| (number % (part * PART_ROWS)) as i32;
            numbers.optional(15, key).into()
        })
        .collect();
    let parts = (0..NUM_BATCHES).map(rows).collect::<Result<Vec<_>, _>>();
    let stream = parts.and_then(|parts| stream(&parts, &keys)).ok()?;
    let texts_of_values = texts(&values);
    let rows = decoded(&stream, data_type);
    for (read, keys) in rows.iter().zip(&keys) {
        let text = |key: Option<i32>| match key {
            Some(key) => texts_of_values[key as usize].clone(),
            None => "Null ".to_owned(),
        };
        let wanted: Vec<String> = keys.iter().map(text).collect();
        assert_eq!(texts(read), wanted, "{data_type}");
    }
    Some(Drawn { stream, rows })
}

/// Draws two batches of a type. Panics unless they have the texts that they have in arrow-rs's reader.
/// Returns `None` if arrow-rs cannot write or read the type.
pub(crate) fn check_batches(numbers: &mut Numbers) -> Option<Drawn> {
    let values = numbers.array(2 * PART_ROWS, 3);
    let data_type = values.data_type();
    let batch = |start| RecordBatch::try_from_iter([("d", values.slice(start, PART_ROWS))]);
    let written = || -> Result<_, ArrowError> {
        let batches = [batch(0)?, batch(PART_ROWS)?];
        let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema())?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.into_inner()
    };
    let stream = written().ok()?;
    let reader = StreamReader::try_new(Cursor::new(&stream), None).ok()?;
    let wanted = reader.collect::<Result<Vec<_>, _>>().ok()?;
    let rows = decoded(&stream, data_type);
    for (read, wanted) in rows.iter().zip(&wanted) {
        assert_eq!(texts(read), texts(wanted.column(0)), "{data_type}");
    }
    Some(Drawn { stream, rows })
}

/// The chunks of the only column of a stream.
fn decoded(bytes: &[u8], data_type: &DataType) -> Vec<ArrayRef> {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    let pushed = decoder.push(bytes).and_then(|_| decoder.finish());
    pushed.unwrap_or_else(|error| panic!("{data_type}: {error}"));
    let column = &decoder.table().unwrap().columns()[0];
    let validated = column.validate_full();
    validated.unwrap_or_else(|error| panic!("{data_type}: {error}"));
    column
        .chunks()
        .map(|chunk| chunk.unwrap().clone())
        .collect()
}
