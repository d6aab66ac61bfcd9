//! Comparisons of numbers with literals: as SQL, as a text filter and as JSON they find the same rows, which are those
//! whose digits compare so.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Decimal64Array, Decimal128Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::Condition::{Between, Compare, Distinct, In, NotBetween, NotIn, NotLess};
use crate::support::*;

const NUM_CASES: usize = 250;
/// With `COLONNADE_FULL`.
const FULL_CASES: usize = 10_000;

/// The columns: their types and the texts of their values; the last value of each is null.
fn columns() -> Vec<(&'static str, DataType, Vec<&'static str>)> {
    vec![
        (
            "cents",
            DataType::Decimal128(15, 2),
            vec![
                "826926.25",
                "-826926.25",
                "9999999999999.99",
                "0.00",
                "0.01",
                "1.00",
                "1.01",
                "-0.01",
                "8421.37",
                "12345678901.17",
                "1000000.07",
            ],
        ),
        (
            "long",
            DataType::Decimal128(38, 10),
            vec![
                "1234567890123456789012345678.0123456789",
                "-1234567890123456789012345678.0123456789",
                "0.0000000001",
                "0.1000000000",
                "12345678901234567.8900000000",
            ],
        ),
        (
            "widest",
            DataType::Decimal256(60, 20),
            vec![
                "1234567890123456789012345678901234567890.12345678901234567890",
                "0.00000000000000000001",
                "1.30000000000000000000",
                "5.00000000000000000000",
            ],
        ),
        (
            "small",
            DataType::Decimal32(9, 4),
            vec!["12345.6789", "-0.0001", "1.3000"],
        ),
        (
            "int",
            DataType::Int64,
            vec![
                "9223372036854775807",
                "-9223372036854775808",
                "9007199254740993",
                "9007199254740992",
                "0",
                "1",
                "2",
            ],
        ),
        (
            "unsigned",
            DataType::UInt64,
            vec!["18446744073709551615", "0", "9007199254740993"],
        ),
        ("byte", DataType::Int8, vec!["127", "-128", "1", "2"]),
        (
            "single",
            DataType::Float32,
            vec!["1.3", "0.1", "16777216", "-2.5", "3.4028235e38"],
        ),
        (
            "double",
            DataType::Float64,
            vec![
                "1.5",
                "1e20",
                "0.1",
                "0.3333333333333333",
                "9007199254740992",
                "1e300",
            ],
        ),
    ]
}

fn rows() -> RecordBatch {
    let columns = columns();
    let num_rows = columns
        .iter()
        .map(|(_, _, texts)| texts.len())
        .max()
        .unwrap()
        + 1;
    let mut fields = vec![Field::new("n", DataType::Int64, false)];
    let mut arrays: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from_iter_values(0..num_rows as i64))];
    for (name, data_type, texts) in columns {
        let texts: StringArray = (0..num_rows).map(|row| texts.get(row).copied()).collect();
        arrays.push(cast(&texts, &data_type).unwrap());
        fields.push(Field::new(name, data_type, true));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// A plain number as a sign and digits that compare as texts.
fn digits(text: &str) -> (bool, String) {
    let unsigned = text.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole:0>400}.{fraction:0<400}");
    let is_zero = digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    (text.starts_with('-') && !is_zero, digits)
}

fn compare(data_type: &DataType, value: &str, literal: &str) -> Ordering {
    match data_type {
        DataType::Float32 => {
            let [value, literal] = [value, literal].map(|text| text.parse::<f32>().unwrap());
            value.total_cmp(&literal)
        }
        DataType::Float64 => {
            let [value, literal] = [value, literal].map(|text| text.parse::<f64>().unwrap());
            value.total_cmp(&literal)
        }
        _ => {
            // Literals with an exponent are doubles, whose texts have all digits.
            let literal = match literal.contains('e') {
                true => literal.parse::<f64>().unwrap().to_string(),
                false => literal.to_owned(),
            };
            let ((below, value), (literal_below, literal)) = (digits(value), digits(&literal));
            match (below, literal_below) {
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => value.cmp(&literal),
                (true, true) => literal.cmp(&value),
            }
        }
    }
}

/// A literal near a value of the column.
fn draw_literal(random: &mut Random, texts: &[&str]) -> String {
    let text = texts[random.below(texts.len() as u64) as usize];
    if text.contains('e') {
        return text.to_owned();
    }
    let fraction = if text.contains('.') { "" } else { "." };
    match random.below(8) {
        0 => format!("{text}{fraction}0"),
        1 => format!("{text}{fraction}5"),
        2 => format!("{text}{fraction}00000000000001"),
        3 => text.split('.').next().unwrap().to_owned(),
        4 => ["1e6", "5", "-7.5", "300", "0.5", "18446744073709551616"][random.below(6) as usize]
            .to_owned(),
        _ => text.to_owned(),
    }
}

struct Case {
    sql: String,
    json: Option<Value>,
    expected: Vec<i64>,
}

/// A condition on a column, and what it says of a value.
enum Condition {
    /// SQL's operator, JSON's, and whether it holds for a value that is less, equal, greater.
    Compare(&'static str, &'static str, [bool; 3]),
    In,
    NotIn,
    Between,
    NotBetween,
    Distinct,
    NotLess,
}

const CONDITIONS: [Condition; 12] = [
    Compare("=", "eq", [false, true, false]),
    Compare("<>", "ne", [true, false, true]),
    Compare("<", "lt", [true, false, false]),
    Compare("<=", "le", [true, true, false]),
    Compare(">", "gt", [false, false, true]),
    Compare(">=", "ge", [false, true, true]),
    In,
    NotIn,
    Between,
    NotBetween,
    Distinct,
    NotLess,
];

impl Condition {
    fn sql(&self, name: &str, [first, second]: &[String; 2], is_swapped: bool) -> String {
        match self {
            Compare(sql, ..) if is_swapped => {
                let swapped = match *sql {
                    "<" => ">",
                    "<=" => ">=",
                    ">" => "<",
                    ">=" => "<=",
                    same => same,
                };
                format!("({first}) {swapped} {name}")
            }
            Compare(sql, ..) => format!("{name} {sql} {first}"),
            In => format!("{name} in ({first}, {second})"),
            NotIn => format!("{name} not in ({first}, {second})"),
            Between => format!("{name} between {first} and {second}"),
            NotBetween => format!("{name} not between {first} and {second}"),
            Distinct => format!("{name} is not null and {name} is distinct from {first}"),
            NotLess => format!("not ({name} < {first} or {name} is null)"),
        }
    }

    fn json(&self, name: &str, [first, second]: &[String; 2]) -> Option<Value> {
        match self {
            Compare(_, op, _) => Some(json!({ "op": op, "column": name, "value": first })),
            In => Some(json!({ "op": "in", "column": name, "value": [first, second] })),
            _ => None,
        }
    }

    /// `first` and `second` are the value's positions relative to the literals.
    fn holds(&self, [first, second]: [Ordering; 2]) -> bool {
        let is_within = first.is_ge() && second.is_le();
        match self {
            Compare(_, _, holds) => holds[(first as i8 + 1) as usize],
            In => first.is_eq() || second.is_eq(),
            NotIn => first.is_ne() && second.is_ne(),
            Between => is_within,
            NotBetween => !is_within,
            Distinct => first.is_ne(),
            NotLess => first.is_ge(),
        }
    }
}

/// Whether JSON's text `text` is a value of the type, or one between its decimals.
fn is_json_value(text: &str, data_type: &DataType) -> bool {
    match data_type {
        DataType::Int64 => text.parse::<i64>().is_ok(),
        DataType::UInt64 => text.parse::<u64>().is_ok(),
        DataType::Int8 => text.parse::<i8>().is_ok(),
        DataType::Float32 | DataType::Float64 => true,
        _ => !text.contains('e'),
    }
}

fn draw(random: &mut Random) -> Case {
    let columns = columns();
    let (name, data_type, texts) = &columns[random.below(columns.len() as u64) as usize];
    let literals = [(); 2].map(|()| draw_literal(random, texts));
    let condition = &CONDITIONS[random.below(CONDITIONS.len() as u64) as usize];
    let holds = |text: &str| {
        condition.holds(
            literals
                .each_ref()
                .map(|literal| compare(data_type, text, literal)),
        )
    };
    let matching = texts.iter().enumerate().filter(|(_, text)| holds(text));
    let has_json = literals
        .iter()
        .all(|literal| is_json_value(literal, data_type));
    Case {
        sql: condition.sql(name, &literals, random.below(4) == 0),
        json: condition.json(name, &literals).filter(|_| has_json),
        expected: matching.map(|(row, _)| row as i64).collect(),
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_compare_by_their_digits_however_they_are_asked_for() {
    let folder = TempDir::new().unwrap();
    let rows = rows();
    let arrow = write_arrow(folder.path(), "arrow.arrow", &rows);
    let parquet = write_parquet(folder.path(), "parquet.parquet", &rows);
    let server = Server::of_files(&[arrow, parquet]).await;

    let seed = setting("COLONNADE_SEED").unwrap_or(1);
    println!("COLONNADE_SEED={seed}");
    let mut random = Random(seed | 1 << 40);
    let mut wrong = Vec::new();
    let mut num_answers = 0;
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    for _ in 0..if is_full { FULL_CASES } else { NUM_CASES } {
        let case = draw(&mut random);
        let table = ["arrow", "parquet"][random.below(2) as usize];
        let route = format!("/v1/tables/{table}/rows?columns=n");
        let mut answers = vec![
            server
                .get(&format!("{route}&filter={}", encoded(&case.sql)))
                .await,
            server
                .sql(&format!("select n from {table} where {}", case.sql))
                .await,
        ];
        if let Some(json) = &case.json {
            let query = json!({ "table": table, "columns": ["n"], "filter": json });
            answers.push(server.post(&query).await);
        }
        for answer in answers {
            num_answers += 1;
            let found = match answer.status {
                200 => Ok(answer.numbers()),
                _ => Err(answer.problem().to_string()),
            };
            if found.as_ref() != Ok(&case.expected) {
                wrong.push(format!(
                    "{} of {table}: {found:?}, not {:?}",
                    case.sql, case.expected
                ));
            }
        }
    }
    println!("{num_answers} answers");
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn decimals_of_thousands_compare_exactly() {
    let folder = TempDir::new().unwrap();
    let thousands = Decimal128Array::from(vec![Some(12), Some(-5), Some(0), None]);
    let thousands = thousands.with_precision_and_scale(10, -3).unwrap();
    let n = Arc::new(Int64Array::from_iter_values(0..4)) as ArrayRef;
    let rows = RecordBatch::try_from_iter([("n", n), ("neg", Arc::new(thousands) as ArrayRef)]);
    let rows = rows.unwrap();
    let arrow = write_arrow(folder.path(), "t.arrow", &rows);
    let server = Server::of_files(&[arrow]).await;
    for (condition, expected) in [
        ("neg > 5", vec![0]),
        ("neg >= 0", vec![0, 2]),
        ("neg = 12000", vec![0]),
        ("neg = 12000.5", vec![]),
        ("neg in (-5000, 1, 12000.0)", vec![0, 1]),
        ("neg between -5000.5 and 11999", vec![1, 2]),
        ("neg < 1e300", vec![0, 1, 2]),
        ("neg < 1e-300", vec![1, 2]),
        ("neg is distinct from 12000", vec![1, 2, 3]),
        ("cast(neg as bigint) > 5", vec![0]),
        ("cast(neg as decimal(20, 2)) > 5.5", vec![0]),
        ("try_cast(neg as int) = -5000", vec![1]),
        (
            "arrow_cast(12000, 'Decimal128(10, -3)') > 5",
            vec![0, 1, 2, 3],
        ),
        (
            "arrow_cast(n * 1000, 'Decimal64(5, -3)') > 1500",
            vec![2, 3],
        ),
        (
            "arrow_cast(n * 1000, 'Decimal256(5, -3)') in (1000, 3000)",
            vec![1, 3],
        ),
        ("neg + neg < n", vec![1, 2]),
        ("-neg = 5000", vec![1]),
    ] {
        let sql = format!("select n from t where {condition}");
        assert_eq!(server.sql(&sql).await.numbers(), expected, "{sql}");
        let filter = format!("/v1/tables/t/rows?columns=n&filter={}", encoded(condition));
        assert_eq!(server.get(&filter).await.numbers(), expected, "{condition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_keep_their_meaning_elsewhere() {
    let server = Server::of(Vec::new()).await;
    for (sql, expected) in [
        ("select cast(1.0 / 3.0 = 1.0 / 3.0 as bigint)", 1),
        (
            "select count(*) from (select cast('826926.25' as decimal(15, 2)) as x) where 826926.25 between x and x",
            1,
        ),
        (
            "select count(*) from (select arrow_cast(1.3, 'Float32') as x) where 1.3 not between x and x",
            0,
        ),
        (
            "select cast('1.50' = cast('1.50' as decimal(3, 2)) as bigint)",
            1,
        ),
        ("select cast(1.0 / 3.0 > 0.3333333333333333 as bigint)", 0),
        ("select cast(arrow_typeof(1.5) = 'Float64' as bigint)", 1),
        ("select cast(arrow_typeof(1e6) = 'Float64' as bigint)", 1),
        (
            "select cast(cast('1.239' as decimal(3, 2)) = 1.24 as bigint)",
            1,
        ),
        (
            "select cast(1.24 = cast('1.239' as decimal(3, 2)) as bigint)",
            1,
        ),
        ("select cast('1.5' = 1.5 as bigint)", 1),
        (
            "select case cast(2.5 as decimal(10, 2)) when 2.50 then 1 else 0 end",
            1,
        ),
        (
            "select count(*) from (values (1.5), (2.5)) as t(x) where x in (1.5, 7.25)",
            1,
        ),
        (
            "select count(*) from (values (1), (2)) as t(x) where x not in (1.5, 2.5)",
            2,
        ),
        (
            "select cast(123456789012345678901234567890.5 > 1 as bigint)",
            1,
        ),
        (
            "select count(*) from (values (-5.273288334261015e-295)) as t(x) where x > -5.273288334261015e-295 or x not in (-5.273288334261015e-295, 2.5)",
            0,
        ),
        (
            "select count(*) from (select arrow_cast('Infinity', 'Float16') as x) where x = 1e300",
            1,
        ),
    ] {
        assert_eq!(server.sql(sql).await.numbers(), [expected], "{sql}");
    }
    // A chain of comparisons nests as deep as it is long.
    let chain = vec!["x = 1.5"; 500].join(" or ");
    let sql = format!("select count(*) from (values (1.5)) as t(x) where {chain}");
    assert_eq!(server.sql(&sql).await.numbers(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_which_json_loses_digits_are_refused() {
    let folder = TempDir::new().unwrap();
    let values = Int64Array::from_iter_values([1 << 53, (1 << 53) + 1, 0]);
    let rows = RecordBatch::try_from_iter([("n", Arc::new(values) as ArrayRef)]).unwrap();
    let file = write_arrow(folder.path(), "t.arrow", &rows);
    let server = Server::of_files(&[file]).await;
    let body = |value: &str| {
        let filter = format!(r#"{{"op": "in", "column": "n", "value": [{value}]}}"#);
        format!(r#"{{"table": "t", "filter": {filter}}}"#)
    };
    for lost in [
        "9007199254740993",
        "10000000000000000000001",
        "0.1000000000000000000001",
        "1e999",
    ] {
        let outcome = server.post_text(&body(lost)).await;
        outcome.assert_refused(400, "bad_filter");
    }
    for (kept, expected) in [
        ("9007199254740992", vec![1 << 53]),
        (r#""9007199254740993""#, vec![(1 << 53) + 1]),
        ("0, 1", vec![0]),
    ] {
        let outcome = server.post_text(&body(kept)).await;
        assert_eq!(outcome.numbers(), expected, "{kept}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decimals_of_64_bits_keep_their_digits_beside_other_types() {
    let amounts = Decimal64Array::from(vec![1500, -562_949_953_421_000, 3]);
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(Int64Array::from(vec![0, 1, 2]))),
        ("u", Arc::new(UInt64Array::from(vec![1, u64::MAX, 3]))),
        (
            "d",
            Arc::new(amounts.with_precision_and_scale(17, 3).unwrap()),
        ),
    ];
    let folder = TempDir::new().unwrap();
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let file = write_parquet(folder.path(), "t.parquet", &rows);
    let server = Server::of_files(&[file]).await;
    for (sql, expected) in [
        ("select n from t where d < u", vec![1, 2]),
        ("select n from t where d > u", vec![0]),
        ("select n from t where d in (u, n)", vec![]),
        ("select n from t where d between n and n + 2", vec![0]),
        (
            "select n from t where case d when u then true else false end",
            vec![],
        ),
        ("select n from t where nullif(d, n) * 1000 = 1500", vec![0]),
        ("select n from t where (d + u) * 1000 = 2500", vec![0]),
        ("select a.n from t as a join t as b on a.d = b.u", vec![]),
        (
            "select count(*) from (select d from t union all select n from t) where d * 1000 in (3, 1500)",
            vec![2],
        ),
        (
            "select count(*) from (select d from t union all select u from t) where d > 1",
            vec![3],
        ),
        ("select n from t where d = 0.003", vec![2]),
    ] {
        assert_eq!(server.sql(sql).await.numbers(), expected, "{sql}");
    }
}
