// Times `ArrayData::validate_values`: `cargo run --release --example validate`
use std::time::Instant;
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

fn main() {
    const ROWS: i32 = 1 << 20;
    for data_type in [DataType::Binary, DataType::Utf8] {
        let offsets: Vec<i32> = (0..=ROWS).map(|row| row * 16).collect();
        let values = vec![b'a'; 16 * ROWS as usize];
        let data = ArrayData::builder(data_type.clone())
            .len(ROWS as usize)
            .add_buffer(Buffer::from_vec(offsets))
            .add_buffer(Buffer::from_vec(values))
            .build()
            .unwrap();
        let mut times: Vec<_> = (0..41)
            .map(|_| {
                let start = Instant::now();
                data.validate_values().unwrap();
                start.elapsed()
            })
            .collect();
        times.sort();
        println!("{data_type}: least {:?}, median {:?}", times[0], times[20]);
    }
}
