//! The check of single messages refuses what the decoder refuses. It also refuses what the decoder does
//! not read (null counts of headers, some values of custom metadata), and bodies of another length than
//! their headers state.

use colonnade_core::check::{DecodeError, Limits, Message, MessageChecker};
use colonnade_core::decode::Decoder;

use crate::{BUDGET_BYTES, read_folder, small_streams};

/// The messages of an intact stream: positions of metadata, body and end.
fn positions(stream: &[u8]) -> Vec<[usize; 3]> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let prefix = stream[at + 4..at + 8].try_into().unwrap();
        let metadata_bytes = u32::from_le_bytes(prefix) as usize;
        if metadata_bytes == 0 {
            return found;
        }
        let start = at + 8;
        let body = start + metadata_bytes;
        let (_, body_bytes) = Message::read(&stream[start..body], &Limits::default()).unwrap();
        at = body + usize::try_from(body_bytes).unwrap();
        found.push([start, body, at]);
    }
}

/// Checks the messages at `positions` of a stream.
fn check(stream: &[u8], positions: &[[usize; 3]]) -> Result<(), DecodeError> {
    let mut checker = MessageChecker::new(Limits::default());
    positions.iter().try_for_each(|&[start, body, end]| {
        checker
            .check(&stream[start..body], &stream[body..end])
            .map(drop)
    })
}

fn decode(stream: &[u8]) -> Result<(), DecodeError> {
    let mut decoder = Decoder::new(BUDGET_BYTES, Limits::default());
    decoder.push(stream).and_then(|_| decoder.finish())
}

#[test]
fn intact_messages_are_accepted() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut streams = small_streams();
    streams.extend(read_folder(&folder, ".arrows"));
    if let Ok(folder) = std::env::var("COLONNADE_CONFORMANCE") {
        let gold = std::path::Path::new(&folder).join("arrow/gold");
        for set in std::fs::read_dir(gold).unwrap() {
            streams.extend(read_folder(&set.unwrap().path(), ".stream"));
        }
    }
    for (name, stream) in &streams {
        // Streams of the first versions have no continuation, and no check without the framing.
        if stream.starts_with(&[0xff; 4]) && decode(stream).is_ok() {
            check(stream, &positions(stream)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn damaged_messages_are_refused_as_by_the_decoder() {
    let (mut num_cases, mut num_refused, mut num_unread) = (0, 0, 0);
    for (name, mut stream) in small_streams() {
        let positions = positions(&stream);
        for bit in positions
            .iter()
            .flat_map(|&[start, _, end]| start * 8..end * 8)
        {
            stream[bit / 8] ^= 1 << (bit % 8);
            let (checked, decoded) = (check(&stream, &positions), decode(&stream));
            stream[bit / 8] ^= 1 << (bit % 8);
            num_cases += 1;
            match (checked, decoded) {
                (Ok(()), Ok(())) => {}
                (Err(_), Err(_)) => num_refused += 1,
                (Err(error), Ok(())) => {
                    let unread = [
                        "its header states",
                        "but its struct has",
                        "points outside itself",
                        // The decoder takes bytes of the end-of-stream marker, whose rest ends the
                        // stream, too.
                        "a message states a body of",
                    ];
                    let is_unread = unread.iter().any(|what| error.message.contains(what));
                    assert!(is_unread, "{name} with bit {bit} flipped: {error}");
                    num_unread += 1;
                }
                (Ok(()), Err(error)) => panic!("{name} with bit {bit} flipped: {error}"),
            }
        }
    }
    println!("of {num_cases} flipped bits, both refuse {num_refused}, one alone {num_unread}");
    assert!(num_refused > 0 && num_unread > 0);
}
