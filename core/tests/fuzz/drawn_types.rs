//! Writes streams of the types and values that the input chooses. Each batch must have the texts of its
//! values, as they are in arrow-rs's reader.
//!
//! Input: two bytes for each choice.

#[path = "../drawn/mod.rs"]
mod drawn;

use drawn::{Numbers, check_batches, check_grown_dictionary};

pub(crate) fn run(input: &[u8]) {
    check_batches(&mut numbers(input));
    check_grown_dictionary(&mut numbers(input));
}

/// The numbers of an input; 0 after the last one.
fn numbers(mut input: &[u8]) -> Numbers<'_> {
    Numbers(Box::new(move || match input.split_first_chunk() {
        Some((&number, rest)) => {
            input = rest;
            usize::from(u16::from_le_bytes(number))
        }
        None => 0,
    }))
}
