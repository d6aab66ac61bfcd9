//! One test for each kind of false claim: the error, the refused message, and the cost.

mod expansion;
mod lengths;
mod nested;
mod structure;
mod work;

use std::io::Write;

use arrow_ipc::CompressionType;
use colonnade_core::decode::Decoder;
use colonnade_core::wire::{DecodeErrorKind, Limits};

use crate::crafted::{Claim, Stream};
use crate::meter::{self, Cost};
use crate::{BUDGET_BYTES, CAP_BYTES, TIME_LIMIT, replay, use_table};

pub(super) const MIB: usize = 1 << 20;

/// Decodes a stream and uses its rows, within the limits of memory and time.
pub(super) fn decode(stream: &Stream) -> (Decoder, Result<(), colonnade_core::wire::DecodeError>) {
    let case = || {
        let mut decoder = Decoder::new(BUDGET_BYTES, Limits::of_memory());
        let result = decoder.push(&stream.bytes).and_then(|_| decoder.finish());
        use_table::use_table(&decoder);
        (decoder, result)
    };
    let ((decoder, result), cost) = meter::measure(case);
    assert!(cost.peak_bytes <= CAP_BYTES, "{result:?}: {cost:?}");
    let is_slow = |cost: Cost| cost.time > TIME_LIMIT;
    let is_always_slow = is_slow(cost) && (0..2).all(|_| is_slow(meter::measure(case).1));
    assert!(!is_always_slow, "{result:?}: {cost:?}");
    replay::write_stream(&stream.bytes, &result);
    (decoder, result)
}

/// Checks that the stream is refused at the start of message `index` with an error that contains
/// `what`.
#[track_caller]
pub(super) fn refused(stream: &Stream, kind: DecodeErrorKind, index: usize, what: &str) {
    let error = decode(stream).1.expect_err("the stream was accepted");
    assert_eq!(error.kind, kind, "{error}");
    assert_eq!(error.byte, stream.starts[index], "{error}");
    assert!(error.message.contains(what), "{error}");
}

#[track_caller]
pub(super) fn accepted(stream: &Stream) -> Decoder {
    let (decoder, result) = decode(stream);
    result.unwrap();
    decoder
}

pub(super) fn compressed(codec: CompressionType, plain: &[u8], claimed_bytes: i64) -> Claim {
    let mut buffer = claimed_bytes.to_le_bytes().to_vec();
    if codec == CompressionType::LZ4_FRAME {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(&mut buffer);
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap();
    } else {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        buffer.extend(ruzstd::encoding::compress_to_vec(plain, level));
    }
    Claim::batch(&[plain.len() as i64], &[&[], &buffer]).compressed(codec)
}

pub(super) const CODECS: [CompressionType; 2] = [CompressionType::LZ4_FRAME, CompressionType::ZSTD];

pub(super) fn le<const N: usize>(numbers: &[i32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes().into_iter().take(N))
        .collect()
}
