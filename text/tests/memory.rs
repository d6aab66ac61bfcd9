//! A record takes memory in proportion to its bytes, not to the fields that it claims to have.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use colonnade_text::{Format, Inference, TextErrorKind, TextOptions, csv, json};

/// An allocator that counts the bytes of each thread.
struct Meter;

#[global_allocator]
static METER: Meter = Meter;

thread_local! {
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    LIVE_BYTES.set(LIVE_BYTES.get() + bytes);
    PEAK_BYTES.set(PEAK_BYTES.get().max(LIVE_BYTES.get()));
}

// SAFETY: every call is forwarded to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller guarantees it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        count(new_bytes as isize - layout.size() as isize);
        // SAFETY: the caller guarantees it.
        unsafe { System.realloc(start, layout, new_bytes) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller guarantees it.
        unsafe { System.dealloc(start, layout) }
    }
}

/// The bytes of the records.
const RECORD_BYTES: usize = 15 << 20;

/// The most memory for one of them, and for facts about 65,536 columns.
const MAX_PEAK_BYTES: isize = 160 << 20;

/// Reads a text as a server does; the error and the peak memory beyond that of the text.
fn read(text: &str) -> (Option<TextErrorKind>, isize) {
    let before = LIVE_BYTES.get();
    PEAK_BYTES.set(before);
    let options = TextOptions::default();
    let start = &text.as_bytes()[..csv::DETECT_BYTES];
    let format = match text.starts_with(['{', '[']) {
        true => Format::Json(json::Options::detect_with(start, &options)),
        false => Format::Csv(csv::Dialect::detect_with(start, &options)),
    };
    let mut inference = Inference::new(&format);
    let mut pieces = text.as_bytes().chunks(1 << 20);
    let pushed = pieces.try_for_each(|piece| inference.push(piece));
    let error = pushed.and_then(|()| inference.finish()).err();
    (error.map(|error| error.kind), PEAK_BYTES.get() - before)
}

/// An object with as many keys as the bytes allow.
fn keys() -> String {
    let mut text = String::with_capacity(RECORD_BYTES + 32);
    let mut separator = '{';
    for number in 0.. {
        if text.len() >= RECORD_BYTES {
            break;
        }
        text.push(separator);
        text.push_str(&format!("\"{number}\":0"));
        separator = ',';
    }
    text.push('}');
    text
}

#[test]
fn a_record_of_millions_of_fields_takes_little_memory() {
    let too_many = Some(TextErrorKind::TooManyColumns);
    let keys = keys();
    for (name, text, expected) in [
        ("commas", ",".repeat(RECORD_BYTES), &too_many),
        ("quotes", "\"\",".repeat(RECORD_BYTES / 3), &too_many),
        (
            "commas behind rows",
            format!(
                "a,b\n{}\n{}",
                "1,2\n".repeat(20_000),
                ",".repeat(RECORD_BYTES)
            ),
            &too_many,
        ),
        ("keys", keys.clone(), &too_many),
        ("keys of an array", format!("[{keys}]"), &too_many),
        // An object with so many keys is one value.
        ("keys inside", format!("{{\"a\":{keys}}}\n"), &None),
        ("keys inside items", format!("{{\"a\":[{keys}]}}\n"), &None),
    ] {
        let (error, peak_bytes) = read(&text);
        assert_eq!(&error, expected, "{name}");
        println!("{name}: {} MiB", peak_bytes >> 20);
        assert!(
            peak_bytes < MAX_PEAK_BYTES,
            "{name}: {} MiB",
            peak_bytes >> 20
        );
    }
}
