//! One id and one row number name the same row, whatever happens in between: drawn statements and events.
//! `COLONNADE_CASES` says how many are drawn, `COLONNADE_SEED` repeats a seed.

use std::fmt::Write as _;
use std::path::Path;

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::ipc::reader::StreamReader;
use serde_json::json;

use crate::support::*;

const NUM_ROWS: u64 = 30_000;
const DEFAULT_CASES: u32 = 60;

/// So little disk that the rows of one wide result drop those of another.
const SPOOL_BYTES: u64 = 6 << 20;

/// What may be answered in place of rows. While another run has half of the budgets, a run that is repeated
/// may need more spill files than its share permits.
const REFUSALS: [(u16, &str); 4] = [
    (503, "resources_exhausted"),
    (409, "not_repeatable"),
    (410, "rows_expired"),
    (404, "unknown_query"),
];

fn chosen<'a>(random: &mut Random, choices: &[&'a str]) -> &'a str {
    choices[random.below(choices.len() as u64) as usize]
}

fn statement(random: &mut Random) -> String {
    let columns = [
        "n, m",
        "n, f * 1.1 as g",
        "n, random() as r",
        "uuid() as u, n",
        "n, now() as at",
        "n, repeat('x', 500) as wide",
    ];
    let sources = [
        "t",
        "(select * from t limit 9000) as s",
        "(select * from t union all select * from t) as s",
        "(select * from t order by m limit 5000) as s",
        "(select a.* from t as a join t as b on a.n = b.m) as s",
    ];
    let filters = ["", " where m > 3", " where random() < 0.9"];
    let orders = [
        "",
        "",
        " order by m",
        " order by m desc, n",
        " order by random()",
    ];
    let limits = ["", "", " limit 7000"];
    let [columns, source, filter, order, limit] =
        [columns.as_slice(), &sources, &filters, &orders, &limits]
            .map(|choices| chosen(random, choices));
    if random.below(6) == 0 {
        return format!(
            "select n % 9 as k, sum(n * 0.1) as total from {source} group by k order by k"
        );
    }
    format!("select {columns} from {source}{filter}{order}{limit}")
}

/// The rows of a stream, even if it is truncated; `None` if there are none.
fn prefix(body: &[u8]) -> Option<RecordBatch> {
    let reader = StreamReader::try_new(body, None).ok()?;
    let schema = reader.schema();
    let batches: Vec<_> = reader.map_while(Result::ok).collect();
    concat_batches(&schema, &batches).ok()
}

/// Rows must be those that were first sent, as far as both reach.
fn assert_same(first: &RecordBatch, offset: usize, rows: &RecordBatch, context: &str) {
    let num_rows = first.num_rows().saturating_sub(offset).min(rows.num_rows());
    if num_rows > 0 {
        assert!(
            first.slice(offset, num_rows) == rows.slice(0, num_rows),
            "other rows: {context}"
        );
    }
}

fn write_table(path: &Path) {
    let mut text = "n,m,f\n".to_owned();
    for n in 0..NUM_ROWS {
        writeln!(text, "{n},{},{}.{}", n * 7 % 11, n % 97, n * 31 % 1000).unwrap();
    }
    std::fs::write(path, text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_stay_the_same_under_their_id() {
    let seed = setting("COLONNADE_SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    let num_cases = setting("COLONNADE_CASES").map_or(DEFAULT_CASES, |cases| cases as u32);
    println!("COLONNADE_SEED={seed}");
    let mut random = Random(seed);
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("t.csv");
    write_table(&csv);
    let config = AppConfig {
        data_dir: Some(folder.path().join("data")),
        spool_bytes: SPOOL_BYTES,
        ..config()
    };
    let open = || open_all(&[csv.display().to_string()]).unwrap();
    let mut server = Server::start(&config, open()).await;
    let (mut num_compared, mut num_refused) = (0, 0);
    for case in 1..=num_cases {
        let sql = statement(&mut random);
        let body = json!({ "sql": sql, "id": id(case), "linger_s": random.below(2) }).to_string();
        let json_type = [("content-type", "application/json")];
        let mut response = server
            .ask("POST", "/v1/query", &json_type, body.as_bytes())
            .await;
        let mut events = String::new();
        let mut first = if random.below(3) == 0 {
            events.push_str("cut");
            let mut sent = Vec::new();
            while let (true, Ok(Some(piece))) = (sent.len() < 1 << 16, response.chunk().await) {
                sent.extend_from_slice(&piece);
            }
            drop(response);
            prefix(&sent)
        } else {
            prefix(&read(response).await.body)
        };
        for _ in 0..1 + random.below(4) {
            match random.below(8) {
                0 => {
                    events.push_str(", restart");
                    server.stop_and_wait().await;
                    server = Server::start(&config, open()).await;
                }
                1 => {
                    events.push_str(", evict");
                    let wide = "select n, repeat('y', 700) as wide from t where m >= 0";
                    server.sql(wide).await;
                }
                _ => {}
            }
            let offset = random.below(2) * random.below(NUM_ROWS);
            let limit = 1 + random.below(2 * NUM_ROWS);
            let _ = write!(events, ", read {offset} {limit}");
            let path = format!("/v1/query/{}/rows?offset={offset}&limit={limit}", id(case));
            let outcome = server.get(&path).await;
            let context = format!("COLONNADE_SEED={seed}, case {case}: {sql}: {events}");
            if outcome.status != 200 {
                let code = outcome.code();
                let refusal = (outcome.status, code.as_str());
                // A statement that failed has no rows.
                let is_expected = REFUSALS.contains(&refusal) || first.is_none();
                assert!(is_expected, "{refusal:?}: {context}");
                num_refused += 1;
                continue;
            }
            let Some(rows) = prefix(&outcome.body) else {
                continue;
            };
            if let Some(first) = &first {
                assert_same(first, offset as usize, &rows, &context);
                num_compared += 1;
            }
            if offset == 0
                && first
                    .as_ref()
                    .is_none_or(|first| first.num_rows() < rows.num_rows())
            {
                first = Some(rows);
            }
        }
    }
    println!("{num_cases} cases: {num_compared} compared, {num_refused} refused");
    assert!(num_compared > num_cases / 2);
}
