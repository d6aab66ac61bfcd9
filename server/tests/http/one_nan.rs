//! NaN of any sign is greater than every number and equal to NaN, however a question is asked.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch,
    RunArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

/// The NaN of `0.0 / 0.0` on x86.
const NEGATIVE_NAN: f64 = f64::from_bits(0xfff8_0000_0000_0000);
/// A NaN with other digits.
const OTHER_NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0123);

const VALUES: [f64; 10] = [
    1.0,
    f64::NAN,
    NEGATIVE_NAN,
    -5.0,
    -0.0,
    0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    OTHER_NAN,
    7.5,
];
/// The second operand of each row.
const OTHERS: [f64; 10] = [
    1.0,
    NEGATIVE_NAN,
    3.0,
    NEGATIVE_NAN,
    0.0,
    f64::NAN,
    7.0,
    OTHER_NAN,
    OTHER_NAN,
    7.0,
];
const LITERALS: [&str; 7] = ["5", "-5", "0", "0.5", "1e300", "Infinity", "NaN"];
fn holds(value: f64, other: f64, holds: [bool; 3]) -> bool {
    let ordering = match (value.is_nan(), other.is_nan()) {
        (false, false) => value.partial_cmp(&other).unwrap(),
        (value, other) => value.cmp(&other),
    };
    match ordering {
        Ordering::Less => holds[0],
        Ordering::Equal => holds[1],
        Ordering::Greater => holds[2],
    }
}

async fn server(folder: &TempDir) -> Server {
    let floats = |values: [f64; 10]| {
        let values = values.into_iter().map(Some).chain([None]);
        Arc::new(values.collect::<Float64Array>()) as ArrayRef
    };
    let v = floats(VALUES);
    let rows = RecordBatch::try_from_iter_with_nullable([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..11)) as ArrayRef,
            false,
        ),
        ("h", cast(&v, &DataType::Float16).unwrap(), true),
        ("f", cast(&v, &DataType::Float32).unwrap(), true),
        ("w", floats(OTHERS), true),
        ("v", v, true),
    ])
    .unwrap();
    let arrow = write_arrow(folder.path(), "arrow.arrow", &rows);
    let parquet = write_parquet(folder.path(), "parquet.parquet", &rows);
    let dictionary = |column: &ArrayRef| {
        let keys = (0..column.len() as i8).map(Some).collect::<Int8Array>();
        Arc::new(DictionaryArray::new(keys, Arc::clone(column))) as ArrayRef
    };
    let runs = |column: &ArrayRef| {
        let ends = Int32Array::from_iter_values(1..=column.len() as i32);
        Arc::new(RunArray::try_new(&ends, column).unwrap()) as ArrayRef
    };
    let encoded = |name: &str, encode: &dyn Fn(&ArrayRef) -> ArrayRef| {
        let columns = ["n", "h", "f", "w", "v"].map(|name| (name, &rows[name]));
        let columns = columns.map(|(name, column)| match name {
            "n" => (name, Arc::clone(column), false),
            _ => (name, encode(column), true),
        });
        let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        write_arrow(folder.path(), name, &rows)
    };
    let dictionary = encoded("dictionary.arrow", &dictionary);
    let runs = encoded("runs.arrow", &runs);
    Server::of_files(&[arrow, parquet, dictionary, runs]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_know_one_nan() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    let matching = |other: &dyn Fn(usize) -> f64, is: [bool; 3]| -> Vec<i64> {
        let rows = (0..VALUES.len()).filter(|&row| holds(VALUES[row], other(row), is));
        rows.map(|row| row as i64).collect()
    };
    let all = &["v", "f", "h"][..];
    for (table, columns) in [
        ("arrow", &["v"][..]),
        ("parquet", all),
        ("dictionary", all),
        ("runs", all),
    ] {
        for (sql, op, is) in OPERATORS {
            let pairs = format!("select n from {table} where v {sql} w");
            let expected = matching(&|row| OTHERS[row], is);
            assert_eq!(server.sql(&pairs).await.numbers(), expected, "{pairs}");
            for literal in LITERALS {
                let number: f64 = literal.parse().unwrap();
                let expected = matching(&|_| number, is);
                for column in columns {
                    // It would be rounded to infinity.
                    if *column != "v" && literal == "1e300" {
                        continue;
                    }
                    let filter = json!({ "op": op, "column": column, "value": literal });
                    let query = json!({ "table": table, "columns": ["n"], "filter": filter });
                    assert_eq!(server.post(&query).await.numbers(), expected, "{query}");
                    let quoted = match literal.parse::<f64>().unwrap().is_finite() {
                        true => literal.to_owned(),
                        false => format!("'{literal}'"),
                    };
                    for condition in [
                        format!("{column} {sql} {quoted}"),
                        format!("not (not ({column} {sql} {quoted}))"),
                        format!("{column} + 0 {sql} cast({quoted} as double)"),
                    ] {
                        let sql = format!("select n from {table} where {condition}");
                        assert_eq!(server.sql(&sql).await.numbers(), expected, "{sql}");
                    }
                }
            }
        }
        for (condition, expected) in [
            ("v between -5 and 5", vec![0, 3, 4, 5]),
            ("v between 5 and 'NaN'", vec![1, 2, 6, 8, 9]),
            ("v not between -5 and 5", vec![1, 2, 6, 7, 8, 9]),
            ("v in (0, 1)", vec![0, 4, 5]),
            ("v in (-0.0, 1, 2, 3, 4, 7.5)", vec![0, 4, 5, 9]),
            ("v in (1, 2, 3, 4, 7.5)", vec![0, 9]),
            ("v in (0, 'NaN')", vec![1, 2, 4, 5, 8]),
            ("v not in (0, 'NaN')", vec![0, 3, 6, 7, 9]),
            ("v is distinct from 'NaN'", vec![0, 3, 4, 5, 6, 7, 9, 10]),
            ("v is not distinct from 0.0 / (n - n)", vec![1, 2, 8]),
            ("v in (select w from T)", vec![0, 1, 2, 4, 5, 8]),
            (
                "v not in (select w from T where w is not null)",
                vec![3, 6, 7, 9],
            ),
            ("case v when 'NaN' then true else false end", vec![1, 2, 8]),
        ] {
            let condition = condition.replace('T', table);
            let sql = format!("select n from {table} where {condition}");
            let mut found = server.sql(&sql).await.numbers();
            found.sort_unstable();
            assert_eq!(found, expected, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_joins_and_extremes_know_one_nan() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    for (sql, expected) in [
        (
            "select count(*) from T group by v order by 1",
            vec![1, 1, 1, 1, 1, 1, 2, 3],
        ),
        (
            "select max(c) from (select f, count(*) as c from T group by rollup (f)) where f is not null",
            vec![3],
        ),
        ("select count(*) from (select distinct v from T)", vec![8]),
        (
            "select count(*) from (select v from T union select v + 0 from T)",
            vec![8],
        ),
        (
            "select count(*) from (select v from T intersect select w from T)",
            vec![4],
        ),
        ("select count(distinct v) from T", vec![7]),
        (
            "select count(*) from T as a join T as b on a.v = b.v",
            vec![18],
        ),
        (
            "select count(*) from T as a join T as b using (v)",
            vec![18],
        ),
        (
            "select count(*) from T as a left join T as b on a.v = b.w where b.n is null",
            vec![5],
        ),
        (
            "select count(*) from T as a where exists (select 1 from T as b where b.w = a.v)",
            vec![6],
        ),
        (
            "select case when isnan(max(v)) then 1 else 0 end from T",
            vec![1],
        ),
        (
            "select cast(min(v) + 1 = min(v) as bigint) from T where n < 9",
            vec![1],
        ),
        (
            "select cast(min(v) as bigint) from T where n in (1, 2, 3)",
            vec![-5],
        ),
        (
            "select cast(max(v) over () > 1e308 as bigint) from T where n in (0, 2) order by n",
            vec![1, 1],
        ),
        // Two groups: one of -Infinity alone, and one with NaN first.
        (
            "select cast(max(v) < -1e308 as bigint) as x from T where n in (1, 7, 9) group by n = 7 order by x",
            vec![0, 1],
        ),
        (
            "select cast(min(v) > 1e308 as bigint) as x from T where n in (2, 6, 9) group by n = 6 order by x",
            vec![0, 1],
        ),
        (
            "select cast(max(v) = 'NaN' as bigint) as x from T where n <> 6 group by n % 2 order by x",
            vec![1, 1],
        ),
        (
            "select cast(min(v) as bigint) as x from T where n < 7 group by n % 2 order by x",
            vec![-5, 0],
        ),
        (
            "select n % 3 as g from T where n < 6 group by g order by max(v) desc, g limit 2",
            vec![0, 1],
        ),
        (
            "select g from (select n % 3 as g, min(v) as m from T where n in (0, 3, 4, 8) group by g order by m limit 2) order by g",
            vec![0, 1],
        ),
        (
            "select cast(min(v) over (order by n rows between 1 preceding and current row) as bigint) from T where n in (1, 3, 4, 5) and n <> 1 order by n",
            vec![-5, -5, 0],
        ),
        (
            "select count(*) over (partition by v) from T where n in (1, 2, 3) order by n",
            vec![2, 2, 1],
        ),
        (
            "select cast(rank() over (order by v) as bigint) from T where n in (0, 1, 2, 3) order by n",
            vec![2, 3, 3, 1],
        ),
        (
            "select n from T where n < 4 order by v, n",
            vec![3, 0, 1, 2],
        ),
        (
            "select n from T where n < 4 order by v desc, n",
            vec![0, 3, 1, 2],
        ),
        // Values that are only kept stay as they are: −0 too.
        (
            "select cast(1.0 / array_agg(v order by n)[5] < 0 as bigint) from T",
            vec![1],
        ),
        (
            "select cast(1.0 / nth_value(v, 5 order by n) < 0 as bigint) from T group by n < 20",
            vec![1],
        ),
    ] {
        for table in ["arrow", "parquet", "dictionary"] {
            let sql = sql.replace('T', table);
            assert_eq!(server.sql(&sql).await.numbers(), expected, "{sql}");
        }
    }
    let stored = server
        .get("/v1/tables/parquet/rows?columns=v&filter=n%3D2")
        .await
        .rows();
    let stored = stored
        .column(0)
        .as_any()
        .downcast_ref::<Float64Array>()
        .unwrap();
    assert_eq!(
        stored.value(0).to_bits(),
        NEGATIVE_NAN.to_bits(),
        "bytes stay"
    );
}
