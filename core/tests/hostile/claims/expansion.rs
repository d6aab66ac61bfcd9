use std::sync::Arc;

use arrow_ipc::{
    Endianness, Field as IpcField, FieldArgs, MessageHeader, Null, NullArgs, Schema as IpcSchema,
    SchemaArgs, Struct_, Struct_Args, Type,
};
use arrow_schema::{DataType, Field};
use colonnade_core::kernels::{FilterJob, RowOrder, SortJob, SortKey, SummaryJob};
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::DecodeErrorKind::{OverLimit, Unsupported};
use flatbuffers::FlatBufferBuilder;

use crate::CAP_BYTES;
use crate::crafted::{Claim, Stream, encapsulated};
use crate::meter;

use super::{MIB, accepted, le, refused};

/// A field of type struct, `levels` deep; each level has the next one `width` times. The innermost
/// fields are null.
fn tower(
    levels: usize,
    width: usize,
    name: &str,
    columns: usize,
    endianness: Endianness,
) -> Stream {
    let mut fbb = FlatBufferBuilder::new();
    let name = fbb.create_string(name);
    let null = Null::create(&mut fbb, &NullArgs {}).as_union_value();
    let mut args = FieldArgs {
        name: Some(name),
        nullable: true,
        type_type: Type::Null,
        type_: Some(null),
        ..Default::default()
    };
    let mut field = IpcField::create(&mut fbb, &args);
    args.type_type = Type::Struct_;
    args.type_ = Some(Struct_::create(&mut fbb, &Struct_Args {}).as_union_value());
    for _ in 1..levels {
        args.children = Some(fbb.create_vector(&vec![field; width]));
        field = IpcField::create(&mut fbb, &args);
    }
    let fields = Some(fbb.create_vector(&vec![field; columns]));
    let args = SchemaArgs {
        fields,
        endianness,
        ..Default::default()
    };
    let header = IpcSchema::create(&mut fbb, &args).as_union_value();
    Stream::new(&[encapsulated(fbb, MessageHeader::Schema, header, 0)])
}

#[test]
fn schemas_that_are_larger_than_their_bytes() {
    let little = Endianness::Little;
    accepted(&tower(64, 1, "f", 1, little));
    refused(
        &tower(65, 1, "f", 1, little),
        OverLimit,
        0,
        "deeper than 64 levels",
    );
    refused(
        &tower(64, 2, "f", 1, little),
        OverLimit,
        0,
        "more than 100000 fields",
    );
    refused(
        &tower(1, 0, "f", 100_001, little),
        OverLimit,
        0,
        "more than 100000 fields",
    );
    let name = "n".repeat(MIB / 2);
    refused(
        &tower(1, 0, &name, 50_000, little),
        OverLimit,
        0,
        "names and metadata",
    );
    refused(
        &tower(1, 0, "f", 1, Endianness::Big),
        Unsupported,
        0,
        "big-endian",
    );
}

#[test]
fn texts_that_are_larger_than_their_bytes() {
    // Every row shows the same 5,000 items.
    let num_items = 5_000;
    let offsets = le::<4>(&[0; 20_000]);
    let sizes = le::<4>(&[num_items; 20_000]);
    let items = vec![b'1'; num_items as usize];
    let claim = Claim::batch(
        &[20_000, num_items.into()],
        &[&[], &offsets, &sizes, &[], &items],
    );
    let item = Field::new("item", DataType::Int8, true);
    let decoder = accepted(&Stream::of(DataType::ListView(item.into()), &[claim]));
    let table = decoder.table().unwrap();
    let zones = FixedOffsets;
    let window = |rows, max_chars| meter::measure(|| table.window(rows, &[0], max_chars, &zones));
    assert!(window(0..1, 0).0.is_ok());
    assert!(window(0..20_000, 20).0.is_ok());
    let (result, cost) = window(0..20_000, 0);
    assert!(result.unwrap_err().to_string().contains("fewer rows"));
    assert!(cost.peak_bytes < 4 * CAP_BYTES, "{cost:?}");

    let rows = i64::from(i32::MAX);
    let claim = Claim {
        rows,
        nodes: vec![(rows, 0)],
        ..Claim::default()
    };
    let decoder = accepted(&Stream::of(DataType::Null, &[claim]));
    let table = decoder.table().unwrap();
    let (result, cost) = meter::measure(|| table.window(0..rows as u64, &[0], 0, &zones));
    assert!(result.unwrap_err().to_string().contains("fewer rows"));
    assert!(cost.peak_bytes < MIB, "{cost:?}");
}

#[test]
fn work_on_more_rows_than_there_is_memory_for() {
    let most = i64::from(i32::MAX);
    let claim = Claim::batch(&[most], &[&[], &[]]);
    let decoder = accepted(&Stream::of(DataType::FixedSizeBinary(0), &[claim]));
    let table = decoder.table().unwrap();
    let all = Arc::new(RowOrder::All(most as u32));
    let key = SortKey {
        column: "c".to_owned(),
        descending: false,
    };
    // The test's allocator gives a thread at most 2 GiB.
    let sorted = SortJob::try_new(table, Arc::clone(&all), &[key]);
    assert_eq!(sorted.unwrap_err().code, "out_of_memory");
    assert_eq!(
        all.numbers(0, most as usize).unwrap_err().code,
        "out_of_memory"
    );
    let predicate = r#"{"op": "is_null", "column": "c"}"#;
    let mut filter = FilterJob::try_new(table, all, predicate, &FixedOffsets).unwrap();
    let mut summary = SummaryJob::try_new(table, "c", 1 << 20, 10).unwrap();
    for _ in 0..10 {
        assert!(!filter.step(&FixedOffsets));
        assert!(!summary.step());
    }
}
