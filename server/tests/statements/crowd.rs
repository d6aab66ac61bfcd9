//! A crowd of clients that read, pause, leave and come back, at a server that has room for few of them.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::client::{self, Response};
use crate::process::children;
use crate::program::{Program, alone};
use crate::random::Random;
use crate::tables;

/// The end-of-stream marker.
const MARKER: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Within this time every client has its rows.
const PATIENCE: Duration = Duration::from_secs(120);

/// Processes that wait for a statement.
const MAX_READY: usize = 2;

/// The number and the sum of some keys.
type Sums = (u64, i64);

fn sums(batches: impl Iterator<Item = RecordBatch>, wanted: impl Fn(i64) -> bool) -> Sums {
    let mut sums = (0, 0);
    for batch in batches {
        let keys = batch.column(0).as_primitive::<Int64Type>().values();
        for key in keys.iter().filter(|key| wanted(**key)) {
            sums.0 += 1;
            sums.1 += key;
        }
    }
    sums
}

/// The column of keys, as it is in the file.
fn keys(folder: &Path) -> Vec<RecordBatch> {
    let file = File::open(folder.join("lineitem.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mask = ProjectionMask::columns(reader.parquet_schema(), ["l_orderkey"]);
    let reader = reader.with_projection(mask).build().unwrap();
    reader.map(Result::unwrap).collect()
}

struct Crowd {
    program: Program,
    keys: Vec<RecordBatch>,
}

impl Crowd {
    /// What one client does. Returns how it ended.
    ///
    /// # Errors
    /// It got wrong rows, or an error that it must not get.
    async fn visit(&self, mut random: Random) -> Result<&'static str, String> {
        tokio::time::sleep(Duration::from_millis(random.below(3000) as u64)).await;
        let (modulus, rest) = (1 + random.below(3) as i64, random.below(2) as i64);
        let columns = *random.pick(&[
            "l_orderkey, l_comment",
            "l_orderkey, l_comment",
            "l_orderkey, l_comment, random() as r",
        ]);
        let is_volatile = columns.contains("random");
        let id = random.uuid();
        let mut query = match random.below(5) {
            0 => json!({ "table": "lineitem", "columns": ["l_orderkey", "l_comment"] }),
            1 => return self.compute(&id, &mut random).await,
            2 if random.chance(50) => return self.upload(&id, &mut random).await,
            _ => json!({ "sql": format!(
                "select {columns} from lineitem where l_orderkey % {modulus} = {rest}"
            ) }),
        };
        let is_wanted = |key: i64| query["table"].is_string() || key % modulus == rest;
        let truth = sums(self.keys.iter().cloned(), is_wanted);
        query["id"] = json!(id);
        query["linger_s"] = json!(60);
        let mut response = self.ask("POST", "/v1/query", &query.to_string()).await?;
        let mut bytes = Vec::new();
        for _ in 0..random.below(6) {
            match response.chunk().await {
                Ok(Some(piece)) => bytes.extend(piece),
                _ => break,
            }
        }
        let mut how = "read";
        if random.chance(50) {
            tokio::time::sleep(Duration::from_millis(random.below(4000) as u64)).await;
            how = "paused";
        }
        if response.status == 200 && random.chance(40) {
            drop(response);
            bytes.clear();
            tokio::time::sleep(Duration::from_millis(random.below(3000) as u64)).await;
            response = self.ask("GET", &format!("/v1/query/{id}/rows"), "").await?;
            how = "came back";
        }
        while let Ok(Some(piece)) = response.chunk().await {
            bytes.extend(piece);
        }
        if response.status != 200 || !bytes.ends_with(&MARKER) {
            return self.refused(&id, &response, &bytes, is_volatile).await;
        }
        let reader = StreamReader::try_new(bytes.as_slice(), None).map_err(|e| e.to_string())?;
        let read = sums(reader.map(Result::unwrap), |_| true);
        if read != truth {
            return Err(format!("{query}: {read:?}, not {truth:?}"));
        }
        if random.chance(30) {
            self.export(&id, truth.0, is_volatile, &mut random).await?;
            how = "exported";
        }
        Ok(how)
    }

    /// Runs a statement that takes long, and leaves it.
    async fn compute(&self, id: &str, random: &mut Random) -> Result<&'static str, String> {
        let sql = "select count(*) from generate_series(1, 100000000) a(x), \
                   generate_series(1, 1000000) b(y) where (x + y) % 7 = 3";
        let query = json!({ "sql": sql, "id": id }).to_string();
        let running = async {
            let mut response = self.ask("POST", "/v1/query", &query).await?;
            let mut bytes = Vec::new();
            while let Ok(Some(piece)) = response.chunk().await {
                bytes.extend(piece);
            }
            self.refused(id, &response, &bytes, false).await
        };
        let patience = Duration::from_millis(500 + random.below(5000) as u64);
        tokio::time::timeout(patience, running)
            .await
            .unwrap_or(Ok("computed"))
    }

    /// Uploads a table, counts its rows, and deletes it; or leaves in the middle of the upload.
    async fn upload(&self, id: &str, random: &mut Random) -> Result<&'static str, String> {
        let name = format!("upload_{}", id.replace('-', "_"));
        let num_rows = 1 + random.below(300_000);
        let lines: String = (0..num_rows).map(|n| format!("{n},row {n}\n")).collect();
        let (path, body) = (format!("/v1/tables/{name}"), format!("n,t\n{lines}"));
        if random.chance(40) {
            let patience = Duration::from_millis(random.below(60) as u64);
            let uploading = self.put(&path, &body);
            if tokio::time::timeout(patience, uploading).await.is_err() {
                // It may have been complete.
                self.ask("DELETE", &path, "").await?;
                return Ok("left an upload");
            }
        } else {
            let response = self.put(&path, &body).await?;
            if response.status != 201 {
                return Err(format!("an upload ends with {}", response.status));
            }
        }
        let sql = format!("select count(*) as c, sum(n) as s from {name}");
        let query = json!({ "sql": sql, "id": id }).to_string();
        let mut response = self.ask("POST", "/v1/query", &query).await?;
        let mut bytes = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            bytes.extend(piece);
        }
        let how = if response.status == 200 && bytes.ends_with(&MARKER) {
            let reader = StreamReader::try_new(bytes.as_slice(), None);
            let batches = reader.map_err(|e| e.to_string())?.map(Result::unwrap);
            let counted = sums(batches, |_| true);
            if counted != (1, num_rows as i64) {
                return Err(format!("{name}: {counted:?}, not {num_rows} rows"));
            }
            "uploaded"
        } else {
            self.refused(id, &response, &bytes, false).await?
        };
        self.ask("DELETE", &path, "").await?;
        Ok(how)
    }

    async fn put(&self, path: &str, body: &str) -> Result<Response, String> {
        let url = &self.program.url;
        let response = client::ask(
            url,
            "PUT",
            path,
            &[("content-type", "text/csv")],
            body.as_bytes(),
        );
        response
            .await
            .map_err(|error| format!("no response to an upload: {error}"))
    }

    async fn export(
        &self,
        id: &str,
        num_rows: u64,
        is_volatile: bool,
        random: &mut Random,
    ) -> Result<(), String> {
        let path = format!("/v1/query/{id}/export?format=csv");
        let mut response = self.ask("GET", &path, "").await?;
        let mut bytes = Vec::new();
        let mut num_chunks = 0;
        while let Ok(Some(piece)) = response.chunk().await {
            bytes.extend(piece);
            num_chunks += 1;
            if num_chunks == 3 {
                tokio::time::sleep(Duration::from_millis(random.below(2000) as u64)).await;
            }
        }
        if response.status != 200 {
            return self
                .refused(id, &response, &bytes, is_volatile)
                .await
                .map(drop);
        }
        let num_lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if num_lines != num_rows + 1 {
            return Err(format!(
                "an export has {num_lines} lines, not {}",
                num_rows + 1
            ));
        }
        Ok(())
    }

    /// Whether a client may be refused like this.
    async fn refused(
        &self,
        id: &str,
        response: &Response,
        body: &[u8],
        is_volatile: bool,
    ) -> Result<&'static str, String> {
        let (error, text) = if response.status == 200 {
            let (_, record) = self.program.get(&format!("/v1/query/{id}")).await?;
            (record["error"].clone(), record.to_string())
        } else {
            let problem: Value = serde_json::from_slice(body).unwrap_or_default();
            (problem, String::from_utf8_lossy(body).into_owned())
        };
        match error["code"].as_str() {
            Some("busy")
                if response.status != 503 || response.headers.contains_key("retry-after") =>
            {
                Ok("busy")
            }
            Some("not_repeatable") if is_volatile => Ok("not repeatable"),
            _ => Err(format!("{}: {text}", response.status)),
        }
    }

    /// Asks for little, again and again, until the others are done. Returns how often it was `busy`, and how often not.
    async fn newcomer(&self, mut done: watch::Receiver<bool>) -> Result<(usize, usize), String> {
        let (mut num_busy, mut num_answered) = (0, 0);
        let mut random = Random::new(7, 7);
        while !*done.borrow_and_update() {
            let (status, _) = self.program.get("/v1/tables/lineitem/rows?limit=5").await?;
            if status != 200 {
                return Err(format!("the rows of a table are refused: {status}"));
            }
            let id = random.uuid();
            let query = json!({ "sql": "select 1 as one", "id": id }).to_string();
            let mut response = self.ask("POST", "/v1/query", &query).await?;
            let mut bytes = Vec::new();
            while let Ok(Some(piece)) = response.chunk().await {
                bytes.extend(piece);
            }
            if response.status == 200 && bytes.ends_with(&MARKER) {
                num_answered += 1;
            } else {
                self.refused(&id, &response, &bytes, false).await?;
                num_busy += 1;
            }
        }
        Ok((num_busy, num_answered))
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Result<Response, String> {
        self.program.ask(method, path, body.as_bytes()).await
    }

    fn num_descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.program.pid());
        fs::read_dir(folder).unwrap().count()
    }

    /// Deletes all results, and waits until the program holds no more than `num_descriptors`.
    async fn until_quiet(&self, num_descriptors: usize) {
        let (_, list) = self.program.get("/v1/query").await.unwrap();
        for query in list["queries"].as_array().unwrap() {
            let path = format!("/v1/query/{}", query["id"].as_str().unwrap());
            self.ask("DELETE", &path, "").await.unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let processes = children(self.program.pid()).len();
            let descriptors = self.num_descriptors();
            if processes <= MAX_READY && descriptors <= num_descriptors {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{processes} processes and {descriptors} descriptors are left, which were {num_descriptors}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_in_a_crowd_gets_rows() {
    let _alone = alone().await;
    let setting = |name, value| std::env::var(name).map_or(value, |text| text.parse().unwrap());
    let seed = setting("COLONNADE_SEED", 1);
    let num_rounds = if std::env::var("COLONNADE_FULL").is_ok() {
        60
    } else {
        1
    };
    let folder = tables::kept(0.1, &["lineitem"]);
    let file = folder.join("lineitem.parquet");
    let source = file.to_str().unwrap();
    let program = Program::start(&folder, &[source, "--memory", "512MiB", "--writable"]);
    let keys = keys(&folder);
    let crowd = Crowd { program, keys };
    let warm = crowd.visit(Random::new(seed, 0)).await.unwrap();
    let num_descriptors = crowd.num_descriptors() + 2 * MAX_READY + 4;
    println!("COLONNADE_SEED={seed} ({warm})");
    for round in 0..num_rounds {
        let (end, done) = watch::channel(false);
        let visits = (0..24).map(|k| crowd.visit(Random::new(seed, 100 * round + k + 1)));
        let visits = async {
            let ends = tokio::time::timeout(PATIENCE, join_all(visits)).await;
            end.send_replace(true);
            ends.expect("somebody waits for ever")
        };
        let (ends, newcomer) = tokio::join!(visits, crowd.newcomer(done));
        let (num_busy, num_answered) = newcomer.unwrap();
        let ends: Result<Vec<_>, _> = ends.into_iter().collect();
        let mut ends = ends.unwrap();
        ends.sort_unstable();
        println!("{ends:?}; newcomers: {num_answered} answered, {num_busy} busy");
        assert!(num_answered > num_busy, "newcomers are locked out");
        crowd.until_quiet(num_descriptors).await;
    }
}
