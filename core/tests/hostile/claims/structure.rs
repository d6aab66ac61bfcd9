use arrow_ipc::{MessageHeader, Null, NullArgs};
use arrow_schema::{DataType, Field, UnionFields, UnionMode};
use colonnade_core::wire::DecodeErrorKind::{InvalidData, InvalidHeader, NotArrow, Unsupported};
use flatbuffers::FlatBufferBuilder;

use crate::crafted::{Claim, Stream, encapsulated, schema};

use super::{accepted, le, refused};

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
    refused(&of(&[keys(0)]), InvalidData, 1, "is missing");
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

    // The values of the dictionary use the dictionary itself.
    let inner = Field::new("item", words(), true);
    let cycle = DataType::Dictionary(DataType::Int8.into(), DataType::List(inner.into()).into());
    let values = Claim::batch(&[1, 1], &[&[], &le::<4>(&[0, 1]), &[], &[0]]);
    let claims = [values.dictionary_batch(0, false), keys(0)];
    refused(&Stream::of(cycle, &claims), InvalidData, 1, "is missing");

    // One id with two types.
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
    for marker in [[0; 4].as_slice(), &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]] {
        let mut stream = Stream::new(&[]);
        stream.bytes = marker.to_vec();
        refused(&stream, NotArrow, 0, "before its schema");
        // Before Arrow 0.15, the marker was four zero bytes.
        stream.bytes = [&empty, marker].concat();
        accepted(&stream);
    }
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
