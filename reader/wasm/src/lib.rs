//! Exports of `colonnade-reader` for JavaScript: one file for each instance of the module.
//!
//! A damaged file can make a library trap. An instance of its own ends with its file, and the others go on. The glue of
//! wasm-bindgen has one instance for a page, so these are plain exports. Calls do not nest.
//!
//! Bytes and 32-bit numbers go in through [`input`]. Results come out through [`output`]: the bytes of a message, pairs of
//! 64-bit floats for ranges, or JSON.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use colonnade_reader::{Opening, ParquetFile, ReadError, RowReader, Step};

/// It worked, and has more to do.
const WORKED: u32 = 0;
/// It waits for the bytes of the ranges that `wanted` named.
const STARVED: u32 = 1;
/// There is one more message to take.
const MESSAGE: u32 = 2;
/// There is nothing more to do.
const DONE: u32 = 3;
/// The output is JSON: `code`, `message` and perhaps `row`.
const FAILED: u32 = 4;

#[derive(Default)]
struct Instance {
    input: Vec<u8>,
    output: Vec<u8>,
    opening: Option<Opening>,
    file: Option<ParquetFile>,
    readers: HashMap<u32, Reading>,
    next_reader: u32,
}

struct Reading {
    rows: Result<RowReader, ReadError>,
    /// Made and not yet taken.
    messages: VecDeque<Vec<u8>>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Instance) -> T) -> T {
    INSTANCE.with_borrow_mut(work)
}

impl Instance {
    fn fail(&mut self, error: &ReadError, row: Option<u64>) -> u32 {
        let message = colonnade_reader::json_string(&error.message);
        let row = row.map_or(String::new(), |row| format!(r#","row":{row}"#));
        let code = error.code.name();
        self.output = format!(r#"{{"code":"{code}","message":{message}{row}}}"#).into_bytes();
        FAILED
    }

    /// The input as 32-bit numbers.
    fn take_numbers(&mut self) -> Vec<u32> {
        let input = std::mem::take(&mut self.input);
        let (numbers, _) = input.as_chunks();
        numbers
            .iter()
            .map(|bytes| u32::from_le_bytes(*bytes))
            .collect()
    }

    /// Begins a reader of the open file.
    fn begin(&mut self, make: impl FnOnce(&ParquetFile) -> Result<RowReader, ReadError>) -> u32 {
        self.next_reader += 1;
        if let Some(file) = &self.file {
            let rows = make(file);
            let messages = VecDeque::new();
            self.readers
                .insert(self.next_reader, Reading { rows, messages });
        }
        self.next_reader
    }

    fn put_ranges(&mut self, ranges: &[std::ops::Range<u64>]) {
        let ends = ranges
            .iter()
            .flat_map(|range| [range.start as f64, range.end as f64]);
        self.output = ends.flat_map(f64::to_le_bytes).collect();
    }
}

/// The address of a buffer for the next `num_bytes` bytes of input; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn input(num_bytes: usize) -> *mut u8 {
    with(|instance| {
        instance.input = vec![0; num_bytes];
        instance.input.as_mut_ptr()
    })
}

/// The address of the output; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|instance| instance.output.as_ptr())
}

/// The length of the output, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_bytes() -> usize {
    with(|instance| instance.output.len())
}

/// Begins a file of `file_bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn begin(file_bytes: f64) {
    with(|instance| instance.opening = Some(Opening::new(file_bytes as u64)));
}

/// Opens the file: `STARVED`, with the ranges that are needed as output, `DONE` or `FAILED`.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> u32 {
    with(|instance| {
        let Some(mut opening) = instance.opening.take() else {
            return DONE;
        };
        match opening.needs() {
            Err(error) => instance.fail(&error, None),
            Ok(needs) if needs.is_empty() => match opening.finish() {
                Err(error) => instance.fail(&error, None),
                Ok(file) => {
                    instance.file = Some(file);
                    DONE
                }
            },
            Ok(needs) => {
                instance.put_ranges(&needs);
                instance.opening = Some(opening);
                STARVED
            }
        }
    })
}

/// Takes the input as the bytes from the offset `start` on, while the file is opened.
#[unsafe(no_mangle)]
pub extern "C" fn put_opening(start: f64) {
    with(|instance| {
        let bytes = std::mem::take(&mut instance.input);
        if let Some(opening) = &mut instance.opening {
            opening.put(start as u64, bytes.into());
        }
    });
}

/// The number of rows of the open file.
#[unsafe(no_mangle)]
pub extern "C" fn num_rows() -> f64 {
    with(|instance| {
        instance
            .file
            .as_ref()
            .map_or(0.0, |file| file.num_rows() as f64)
    })
}

/// Writes as output what it takes to read each column of the open file: bytes of the file, and bytes of memory at least.
#[unsafe(no_mangle)]
pub extern "C" fn column_costs() {
    with(|instance| {
        let costs = instance
            .file
            .as_ref()
            .map_or(Vec::new(), ParquetFile::column_costs);
        let numbers = costs
            .iter()
            .flat_map(|cost| [cost.file_bytes as f64, cost.memory_bytes as f64]);
        instance.output = numbers.flat_map(f64::to_le_bytes).collect();
    });
}

/// Begins to read rows `[start, end)` of the open file. The input has the numbers of the columns; without any, all are
/// read. Returns the number of the reader; a fault is told by its first step.
#[unsafe(no_mangle)]
pub extern "C" fn read(start: f64, end: f64) -> u32 {
    with(|instance| {
        let numbers = instance.take_numbers();
        instance.begin(|file| {
            RowReader::new(file, start as u64..end as u64, columns(&numbers).as_deref())
        })
    })
}

/// Begins to read single rows of the open file, in their order. The input has the numbers of `num_columns` columns, and
/// then of the rows, which are numbered from `first_row` on in the stream. Returns the number of the reader, as `read`.
#[unsafe(no_mangle)]
pub extern "C" fn read_rows(first_row: f64, num_columns: usize) -> u32 {
    with(|instance| {
        let numbers = instance.take_numbers();
        let (wanted, rows) = numbers.split_at(num_columns.min(numbers.len()));
        instance.begin(|file| {
            RowReader::selected(file, rows, columns(wanted).as_deref(), first_row as u64)
        })
    })
}

fn columns(numbers: &[u32]) -> Option<Vec<usize>> {
    (!numbers.is_empty()).then(|| numbers.iter().map(|number| *number as usize).collect())
}

/// Lets a reader do a piece of work.
#[unsafe(no_mangle)]
pub extern "C" fn step(reader: u32) -> u32 {
    with(|instance| {
        let (Some(file), Some(reading)) = (&mut instance.file, instance.readers.get_mut(&reader))
        else {
            return DONE;
        };
        let rows = match &mut reading.rows {
            Ok(rows) => rows,
            Err(error) => {
                let error = error.clone();
                return instance.fail(&error, None);
            }
        };
        match rows.step(file) {
            Ok(Step::Message(message)) => {
                reading.messages.push_back(message);
                MESSAGE
            }
            Ok(Step::Worked) => WORKED,
            Ok(Step::Starved) => STARVED,
            Ok(Step::Done) => DONE,
            Err(error) => {
                let row = rows.row();
                instance.fail(&error, Some(row))
            }
        }
    })
}

/// The length of a reader's next message, in bytes; 0 if none is made.
#[unsafe(no_mangle)]
pub extern "C" fn message_bytes(reader: u32) -> usize {
    with(|instance| {
        let reading = instance.readers.get(&reader);
        let message = reading.and_then(|reading| reading.messages.front());
        message.map_or(0, Vec::len)
    })
}

/// Takes a reader's next message as output.
#[unsafe(no_mangle)]
pub extern "C" fn take_message(reader: u32) {
    with(|instance| {
        let reading = instance.readers.get_mut(&reader);
        let message = reading.and_then(|reading| reading.messages.pop_front());
        instance.output = message.unwrap_or_default();
    });
}

/// Writes as output the ranges that a reader needs and that were not returned before.
#[unsafe(no_mangle)]
pub extern "C" fn wanted(reader: u32) {
    with(|instance| {
        let ranges = match instance.readers.get_mut(&reader) {
            Some(Reading { rows: Ok(rows), .. }) => rows.take_wanted(),
            _ => Vec::new(),
        };
        instance.put_ranges(&ranges);
    });
}

/// Takes the input as the bytes from the offset `start` on, for a reader.
#[unsafe(no_mangle)]
pub extern "C" fn put(reader: u32, start: f64) {
    with(|instance| {
        let bytes = std::mem::take(&mut instance.input);
        if let Some(Reading { rows: Ok(rows), .. }) = instance.readers.get_mut(&reader) {
            rows.put(start as u64, &bytes.into());
        }
    });
}

/// Ends a reader.
#[unsafe(no_mangle)]
pub extern "C" fn close(reader: u32) {
    with(|instance| {
        if let (Some(file), Some(Reading { rows: Ok(rows), .. })) =
            (&mut instance.file, instance.readers.remove(&reader))
        {
            rows.close(file);
        }
    });
}
