//! Streams of random types have the texts of their values.

#![allow(clippy::unwrap_used)]

mod drawn;

use drawn::{Drawn, Numbers, check_batches, check_grown_dictionary};

const SEEDS: std::ops::Range<u64> = 0..400;

/// Runs `check` with numbers of many seeds; most types can be written. The streams are called `name`.
fn check_seeds(name: &str, check: fn(&mut Numbers) -> Option<Drawn>) {
    let mut num_read = 0;
    for seed in SEEDS {
        if let Some(drawn) = check(&mut generator(seed)) {
            drawn.write(&format!("{name}-{seed}"));
            num_read += 1;
        }
    }
    let num_seeds = SEEDS.count();
    println!("{num_read} of {num_seeds} streams were read; arrow-rs does not write the others");
    assert!(num_read > num_seeds / 2);
}

/// Knuth's linear congruential generator (MMIX).
fn generator(seed: u64) -> Numbers<'static> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Numbers(Box::new(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    }))
}

#[test]
fn dictionaries_that_grow() {
    check_seeds("dictionary", check_grown_dictionary);
}

#[test]
fn batches_as_another_reader_reads_them() {
    check_seeds("batches", check_batches);
}
