//! One test for each way to lie: what it is refused as, at which message, and how cheaply.

use std::io::Write;
use std::sync::Arc;

use arrow_ipc::{
    CompressionType, Endianness, Field as IpcField, FieldArgs, MessageHeader, Null, NullArgs,
    Schema as IpcSchema, SchemaArgs, Struct_, Struct_Args, Type,
};
use arrow_schema::{DataType, Field, UnionFields, UnionMode};
use colonnade_core::decode::Decoder;
use colonnade_core::kernels::{FilterJob, Rows, SortJob, SortKey, SummaryJob};
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::DecodeErrorKind::{
    self, InvalidData, InvalidHeader, MemoryBudgetExceeded, NotArrow, OverLimit, TruncatedMessage,
    Unsupported,
};
use flatbuffers::FlatBufferBuilder;

use super::crafted::{Claim, Stream, encapsulated, schema};
use super::meter::{self, Cost};
use super::{BUDGET_BYTES, CAP_BYTES, TIME_LIMIT, limits, use_table};

const MIB: usize = 1 << 20;

/// Decodes and uses a stream, within the limits.
fn decode(stream: &Stream) -> (Decoder, Result<(), colonnade_core::wire::DecodeError>) {
    let case = || {
        let mut decoder = Decoder::new(BUDGET_BYTES, limits());
        let result = decoder.push(&stream.bytes).and_then(|_| decoder.finish());
        use_table::use_table(&decoder);
        (decoder, result)
    };
    let ((decoder, result), cost) = meter::measure(case);
    assert!(cost.peak_bytes <= CAP_BYTES, "{result:?}: {cost:?}");
    let is_slow = |cost: Cost| cost.time > TIME_LIMIT;
    let is_always_slow = is_slow(cost) && (0..2).all(|_| is_slow(meter::measure(case).1));
    assert!(!is_always_slow, "{result:?}: {cost:?}");
    (decoder, result)
}

/// The stream is refused at the beginning of message `index` with a message that says `what`.
#[track_caller]
fn refused(stream: &Stream, kind: DecodeErrorKind, index: usize, what: &str) {
    let error = decode(stream).1.expect_err("the stream was accepted");
    assert_eq!(error.kind, kind, "{error}");
    assert_eq!(error.byte, stream.starts[index], "{error}");
    assert!(error.message.contains(what), "{error}");
}

#[track_caller]
fn accepted(stream: &Stream) -> Decoder {
    let (decoder, result) = decode(stream);
    result.unwrap();
    decoder
}

fn compressed(codec: CompressionType, plain: &[u8], claimed_bytes: i64) -> Claim {
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

const CODECS: [CompressionType; 2] = [CompressionType::LZ4_FRAME, CompressionType::ZSTD];

#[test]
fn claimed_decompressed_lengths_over_the_cap() {
    for codec in CODECS {
        for claimed_bytes in [1 << 40, i64::MAX, BUDGET_BYTES as i64 + 1] {
            let claim = compressed(codec, &[7; 1000], claimed_bytes);
            let stream = Stream::of(DataType::Int8, &[claim]);
            refused(&stream, OverLimit, 1, "decompressed length");
        }
        let claim = compressed(codec, &[7; 1000], -2);
        let stream = Stream::of(DataType::Int8, &[claim]);
        refused(&stream, InvalidHeader, 1, "negative");
    }
}

#[test]
fn bombs_that_claim_little() {
    for codec in CODECS {
        let claim = compressed(codec, &vec![0; 64 * MIB], 1000);
        let stream = Stream::of(DataType::Int8, &[claim]);
        assert!(stream.bytes.len() < MIB, "{} bytes", stream.bytes.len());
        refused(&stream, InvalidData, 1, "its prefix says 1000");
    }
}

#[test]
fn buffers_that_are_over_the_cap_together() {
    let one = compressed(CompressionType::ZSTD, &vec![0; 6 * MIB], 6 * MIB as i64);
    let (_, values) = (one.buffers[0], one.buffers[1]);
    let rows = 6 * MIB as i64;
    let claim = Claim {
        rows,
        nodes: vec![(rows, 0); 3],
        buffers: [(0, 0), values].repeat(3),
        ..one
    };
    let columns = ["a", "b", "c"].map(|name| Field::new(name, DataType::Int8, true));
    let stream = Stream::new(&[schema(columns.to_vec()), claim.message()]);
    refused(&stream, OverLimit, 1, "decompressed length");
}

#[test]
fn claimed_row_counts() {
    let rows = |rows: i64| Claim {
        rows,
        nodes: vec![(rows, 0)],
        ..Claim::default()
    };
    for claimed in [1 << 62, (1 << 32) + 100, 1 << 31] {
        refused(
            &Stream::of(DataType::Null, &[rows(claimed)]),
            OverLimit,
            1,
            "row count",
        );
    }
    refused(
        &Stream::of(DataType::Null, &[rows(-1)]),
        InvalidHeader,
        1,
        "negative",
    );
    // As many as a batch may have cost nothing.
    let most = i64::from(i32::MAX);
    let stream = Stream::of(DataType::Null, &[rows(most), rows(most), rows(most)]);
    assert_eq!(accepted(&stream).progress().num_rows, 3 * most as u64);
    let empty = DataType::FixedSizeBinary(0);
    let claim = Claim::batch(&[most], &[&[], &[]]);
    accepted(&Stream::of(empty, &[claim]));
}

#[test]
fn rows_inside_of_rows_that_take_no_bytes() {
    let most = i64::from(i32::MAX);
    let item = || Field::new("item", DataType::Null, true);
    let list = DataType::FixedSizeList(item().into(), i32::MAX);
    let stream = Stream::of(list, &[Claim::batch(&[1, most], &[&[]])]);
    refused(&stream, OverLimit, 1, "16777216");
    let list = DataType::List(item().into());
    let offsets = [0i32.to_le_bytes(), i32::MAX.to_le_bytes()].concat();
    let stream = Stream::of(list, &[Claim::batch(&[1, most], &[&[], &offsets])]);
    refused(&stream, OverLimit, 1, "16777216");
    let values = DataType::FixedSizeBinary(0);
    let dictionary = DataType::Dictionary(DataType::Int8.into(), values.into());
    let values = Claim::batch(&[most], &[&[], &[]]).dictionary_batch(0, false);
    refused(&Stream::of(dictionary, &[values]), OverLimit, 1, "16777216");
}

#[test]
fn claimed_body_lengths() {
    let claims = [
        (1 << 62, OverLimit, "body length"),
        ((1 << 32) + 800, OverLimit, "body length"),
        (200 << 20, MemoryBudgetExceeded, "memory budget"),
        (-8, InvalidHeader, "negative"),
        (0, InvalidHeader, "buffer length"),
    ];
    for (body_bytes, kind, what) in claims {
        let claim = Claim {
            body_bytes: Some(body_bytes),
            ..Claim::batch(&[2], &[&[], &[1, 2]])
        };
        refused(&Stream::of(DataType::Int8, &[claim]), kind, 1, what);
    }
}

#[test]
fn claimed_metadata_lengths() {
    for length in [i32::MAX, -1, 3, (1 << 20) + 1] {
        let mut message = vec![0xff; 4];
        message.extend_from_slice(&length.to_le_bytes());
        let stream = Stream::new(&[schema(vec![]), message]);
        refused(&stream, NotArrow, 1, "bytes of metadata");
    }
    let mut message = vec![0xff; 4];
    message.extend_from_slice(&(1i32 << 20).to_le_bytes());
    let stream = Stream::new(&[schema(vec![]), message]);
    let error = decode(&stream).1.unwrap_err();
    assert_eq!(
        (error.kind, error.byte),
        (TruncatedMessage, stream.bytes.len() as u64)
    );
}

#[test]
fn counts_that_contradict_the_schema() {
    let honest = || Claim::batch(&[2], &[&[], &[1, 2]]);
    let cases = [
        (
            Claim {
                nodes: vec![],
                ..honest()
            },
            "fewer nodes",
        ),
        (
            Claim {
                nodes: vec![(2, 0), (2, 0)],
                ..honest()
            },
            "2 nodes",
        ),
        (
            Claim {
                nodes: vec![(2, 3)],
                ..honest()
            },
            "null count",
        ),
        (
            Claim {
                nodes: vec![(2, -1)],
                ..honest()
            },
            "null count",
        ),
        (
            Claim {
                rows: 3,
                ..honest()
            },
            "2 rows in a batch of 3",
        ),
        (
            Claim {
                buffers: vec![],
                ..honest()
            },
            "fewer buffers",
        ),
        (
            Claim {
                buffers: vec![(0, 0), (0, 1)],
                ..honest()
            },
            "2 rows need 2",
        ),
        (
            Claim {
                buffers: vec![(0, 0), (i64::MAX, 2)],
                ..honest()
            },
            "buffer offset",
        ),
        (
            Claim {
                buffers: vec![(0, 0), (8, 1)],
                ..honest()
            },
            "buffer length",
        ),
        (
            Claim {
                buffers: vec![(0, 0), (0, -1)],
                ..honest()
            },
            "negative",
        ),
        (
            Claim {
                nodes: vec![(2, 1)],
                ..honest()
            },
            "2 rows need 1",
        ),
    ];
    for (claim, what) in cases {
        refused(
            &Stream::of(DataType::Int8, &[claim]),
            InvalidHeader,
            1,
            what,
        );
    }
    let views = Claim::batch(&[1], &[&[], &[0; 16]]);
    refused(
        &Stream::of(DataType::Utf8View, std::slice::from_ref(&views)),
        InvalidHeader,
        1,
        "variadic",
    );
    let views = Claim {
        variadic_counts: vec![i64::MAX],
        ..views
    };
    refused(
        &Stream::of(DataType::Utf8View, &[views]),
        InvalidHeader,
        1,
        "variadic",
    );
}

fn le<const N: usize>(numbers: &[i32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes().into_iter().take(N))
        .collect()
}

#[test]
fn values_that_their_type_forbids() {
    let item = || Field::new("item", DataType::Int8, true);
    let list = || DataType::List(item().into());
    let text = |offsets: &[i32], bytes: &[u8]| Claim::batch(&[2], &[&[], &le::<4>(offsets), bytes]);
    let list_of =
        |offsets: &[i32]| Claim::batch(&[2, 3], &[&[], &le::<4>(offsets), &[], &[1, 2, 3]]);
    let view = |len: i32, buffer: i32, offset: i32| Claim {
        variadic_counts: vec![1],
        ..Claim::batch(
            &[1],
            &[
                &[],
                &le::<4>(&[len, 0x6161_6161, buffer, offset]),
                &[b'a'; 20],
            ],
        )
    };
    let fields =
        UnionFields::try_new([0, 1], [item(), Field::new("b", DataType::Int8, true)]).unwrap();
    let union = |ids: &[u8], offsets: &[i32]| {
        Claim::batch(&[2, 1, 1], &[ids, &le::<4>(offsets), &[], &[1], &[], &[2]])
    };
    let runs = DataType::RunEndEncoded(
        Field::new("run_ends", DataType::Int32, false).into(),
        Field::new("values", DataType::Int8, true).into(),
    );
    let run = |ends: &[i32]| Claim::batch(&[3, 2, 2], &[&[], &le::<4>(ends), &[], &[1, 2]]);
    let list_view = |offset: i32, size: i32| {
        Claim::batch(
            &[1, 3],
            &[&[], &le::<4>(&[offset]), &le::<4>(&[size]), &[], &[1, 2, 3]],
        )
    };
    let cases = [
        (DataType::Utf8, text(&[0, 1, 2], &[0xc3, 0x28])),
        (DataType::Utf8, text(&[0, 1, 2], "é".as_bytes())),
        (DataType::Utf8, text(&[0, 2, 1], b"ab")),
        (DataType::Utf8, text(&[0, 1, 99], b"ab")),
        (DataType::Utf8, text(&[-1, 1, 2], b"ab")),
        (DataType::Binary, text(&[0, 1, i32::MAX], b"ab")),
        (list(), list_of(&[0, 2, 4])),
        (list(), list_of(&[0, 3, 2])),
        (list(), list_of(&[i32::MIN, 1, 2])),
        (DataType::Utf8View, view(20, 1, 0)),
        (DataType::Utf8View, view(20, 0, 1)),
        (DataType::Utf8View, view(20, 0, i32::MAX)),
        (DataType::Utf8View, view(-1, 0, 0)),
        (DataType::Utf8View, view(20, -1, 0)),
        (
            DataType::Union(fields.clone(), UnionMode::Dense),
            union(&[0, 2], &[0, 0]),
        ),
        (
            DataType::Union(fields.clone(), UnionMode::Dense),
            union(&[0, 255], &[0, 0]),
        ),
        (
            DataType::Union(fields.clone(), UnionMode::Dense),
            union(&[0, 1], &[0, 1]),
        ),
        (
            DataType::Union(fields, UnionMode::Dense),
            union(&[0, 1], &[-1, 0]),
        ),
        (runs.clone(), run(&[2, 1])),
        (runs.clone(), run(&[2, 2])),
        (runs.clone(), run(&[0, 3])),
        (runs.clone(), run(&[-1, 3])),
        (runs, run(&[1, 2])),
        (DataType::ListView(item().into()), list_view(1, 3)),
        (DataType::ListView(item().into()), list_view(-1, 1)),
        (DataType::ListView(item().into()), list_view(0, -1)),
        (
            DataType::ListView(item().into()),
            list_view(i32::MAX, i32::MAX),
        ),
    ];
    for (data_type, claim) in cases {
        let stream = Stream::of(data_type, &[claim]);
        refused(&stream, InvalidData, 1, "column \"c\"");
    }
}

#[test]
fn dictionaries_that_cannot_be() {
    let words = || DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let values = || Claim::batch(&[1], &[&[], &le::<4>(&[0, 1]), b"a"]);
    let keys = |key: u8| Claim::batch(&[1], &[&[], &[key]]);
    let of = |claims: &[Claim]| Stream::of(words(), claims);
    refused(&of(&[keys(0)]), InvalidData, 1, "never came");
    refused(
        &of(&[values().dictionary_batch(5, false)]),
        InvalidHeader,
        1,
        "no field uses dictionary 5",
    );
    for key in [1, 255] {
        refused(
            &of(&[values().dictionary_batch(0, false), keys(key)]),
            InvalidData,
            2,
            "",
        );
    }
    accepted(&of(&[values().dictionary_batch(0, true), keys(0)]));

    // Values that hold the dictionary itself.
    let inner = Field::new("item", words(), true);
    let cycle = DataType::Dictionary(DataType::Int8.into(), DataType::List(inner.into()).into());
    let values = Claim::batch(&[1, 1], &[&[], &le::<4>(&[0, 1]), &[], &[0]]);
    let claims = [values.dictionary_batch(0, false), keys(0)];
    refused(&Stream::of(cycle, &claims), InvalidData, 1, "never came");

    // One id, two types.
    let other = DataType::Dictionary(DataType::Int8.into(), DataType::Int64.into());
    let columns = vec![Field::new("a", words(), true), Field::new("b", other, true)];
    let values = Claim::batch(&[1], &[&[], &le::<4>(&[0, 1]), b"a"]).dictionary_batch(0, false);
    let both = Claim {
        nodes: vec![(1, 0); 2],
        buffers: [(0, 0), (0, 1)].repeat(2),
        ..keys(0)
    };
    let stream = Stream::new(&[schema(columns), values.message(), both.message()]);
    refused(&stream, InvalidData, 2, "column \"b\"");
}

#[test]
fn messages_out_of_order() {
    let empty = schema(vec![]);
    let batch = Claim::default().message();
    refused(
        &Stream::new(std::slice::from_ref(&batch)),
        InvalidHeader,
        0,
        "first message is not a schema",
    );
    refused(
        &Stream::new(&[empty.clone(), empty.clone()]),
        InvalidHeader,
        1,
        "second schema",
    );
    let mut fbb = FlatBufferBuilder::new();
    let table = Null::create(&mut fbb, &NullArgs {});
    let tensor = encapsulated(fbb, MessageHeader::Tensor, table.as_union_value(), 0);
    refused(
        &Stream::new(&[empty, tensor]),
        Unsupported,
        1,
        "message type",
    );
}

/// A field of type struct, or null where it has no children, `levels` deep; each level has the one
/// below it `width` times.
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
    let all = Arc::new(Rows::All(most as u32));
    let key = SortKey {
        column: "c".to_owned(),
        descending: false,
    };
    // The meter gives a thread 2 GiB.
    let sorted = SortJob::try_new(table, Arc::clone(&all), &[key]);
    assert_eq!(sorted.unwrap_err().code, "out_of_memory");
    assert_eq!(
        all.numbers(0, most as usize).unwrap_err().code,
        "out_of_memory"
    );
    let predicate = r#"{"op": "is_null", "column": "c"}"#;
    let mut filter = FilterJob::try_new(table, all, predicate, &FixedOffsets).unwrap();
    let mut summary = SummaryJob::try_new(table, "c").unwrap();
    for _ in 0..10 {
        assert!(!filter.step());
        assert!(!summary.step());
    }
}
