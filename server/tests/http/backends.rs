//! What every engine has to hold to, asked of each in the same words; prints a table of it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use colonnade_server::App;
use colonnade_server::backend::connect;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::ipc::reader::StreamReader;
use serde_json::json;

use crate::client;
use crate::fake_flight::{FakeFlight, Script, Sent};
use crate::fake_spark::{Answer, FakeSpark};
use crate::support::*;

/// An engine under test. Spark is what `COLONNADE_SPARK` says: the address of a Connect server, a
/// space, and the address of its driver's own page.
#[derive(Debug, Clone, PartialEq)]
enum Engine {
    DataFusion,
    PlayedFlight,
    /// Sail, where `COLONNADE_SAIL` says its address.
    Sail(String),
    PlayedSpark,
    Spark {
        address: String,
        page: String,
    },
}

/// What an engine is to do.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scene {
    /// So many parts of 1000 rows each, numbered through; the first takes its time.
    Parts(i64),
    /// No rows.
    Empty,
    /// Rows, then a failure.
    Failing,
    /// Rows without end.
    Endless,
    /// Rows, then an end of which the engine says nothing.
    Cut,
}

/// An engine in its scene, with a server in front.
struct Stage {
    server: Server,
    sql: String,
    is_idle: Idle,
    _played: Option<Played>,
}

/// A server in this process, which ends with the scene.
enum Played {
    Flight { _server: FakeFlight },
    Spark { _server: FakeSpark },
}

enum Idle {
    Scripted(std::sync::Arc<Counts>),
    Flight(std::sync::Arc<crate::fake_flight::Seen>),
    Unknown,
    Played(std::sync::Arc<crate::fake_spark::Seen>),
    Page(String),
}

impl Engine {
    fn name(&self) -> &'static str {
        match self {
            Self::DataFusion => "DataFusion",
            Self::PlayedFlight => "Flight SQL, played",
            Self::Sail(_) => "Sail, Flight SQL",
            Self::PlayedSpark => "Spark, played",
            Self::Spark { .. } => "Spark",
        }
    }

    /// `None` where the engine cannot be made to do that.
    async fn stage(&self, scene: Scene) -> Option<Stage> {
        match self {
            Self::DataFusion => {
                let slow = Step::Delay(Duration::from_millis(300));
                let scripts = match scene {
                    Scene::Parts(parts) => {
                        let mut scripts = numbered(parts, 1000);
                        scripts[0].insert(0, slow);
                        scripts
                    }
                    Scene::Empty => vec![vec![]],
                    Scene::Failing => vec![
                        vec![Step::rows(0, 1000), slow, Step::Fail],
                        vec![Step::rows(1000, 1000)],
                    ],
                    Scene::Endless => vec![vec![Step::Forever]],
                    Scene::Cut => return None,
                };
                let (server, counts) = Server::of_scripts(scripts).await;
                Some(Stage {
                    server,
                    sql: "select * from t".to_owned(),
                    is_idle: Idle::Scripted(counts),
                    _played: None,
                })
            }
            Self::PlayedFlight => {
                let rows = |part: i64| Sent::Rows {
                    start: part * 1000,
                    num_rows: 1000,
                };
                let slow = Sent::Delay(Duration::from_millis(300));
                let endpoints = match scene {
                    Scene::Parts(parts) => {
                        let mut endpoints: Vec<_> =
                            (0..parts).map(|part| vec![rows(part)]).collect();
                        endpoints[0].insert(0, slow);
                        endpoints
                    }
                    Scene::Empty => vec![vec![]],
                    Scene::Failing => {
                        vec![vec![rows(0), slow, Sent::Fail("boom")], vec![rows(1)]]
                    }
                    Scene::Endless => vec![vec![Sent::Endless]],
                    Scene::Cut => vec![vec![rows(0)]],
                };
                let flight = FakeFlight::start(Script {
                    endpoints,
                    ordered: true,
                    is_silent: scene == Scene::Cut,
                    ..Script::default()
                })
                .await;
                let seen = std::sync::Arc::clone(&flight.seen);
                Some(Stage {
                    server: in_front_of(&flight.url).await,
                    sql: "select n, t from t".to_owned(),
                    is_idle: Idle::Flight(seen),
                    _played: Some(Played::Flight { _server: flight }),
                })
            }
            Self::Sail(address) => {
                let columns = "select id as n, concat('row ', id) as t from";
                let sql = match scene {
                    Scene::Parts(parts) => {
                        format!(
                            "{columns} range(0, {}, 1, {parts}) order by id",
                            parts * 1000
                        )
                    }
                    Scene::Empty => format!("{columns} range(0, 1000) where id < 0"),
                    Scene::Failing => format!(
                        "{columns} range(0, 1000000) where id < 500000 or 1 / (id - 999999) < 2"
                    ),
                    Scene::Endless => format!("{columns} range(0, 100000000000)"),
                    Scene::Cut => return None,
                };
                Some(Stage {
                    server: in_front_of(address).await,
                    sql,
                    is_idle: Idle::Unknown,
                    _played: None,
                })
            }
            Self::PlayedSpark => {
                let rows = |part: i64| Answer::Rows {
                    start: part * 1000,
                    num_rows: 1000,
                };
                let answers = match scene {
                    Scene::Parts(parts) => {
                        let mut answers = vec![Answer::Delay(Duration::from_millis(300))];
                        answers.extend((0..parts).flat_map(|part| [rows(part), Answer::EndCall]));
                        answers.push(Answer::Complete);
                        answers
                    }
                    Scene::Empty => vec![
                        Answer::Rows {
                            start: 0,
                            num_rows: 0,
                        },
                        Answer::Complete,
                    ],
                    Scene::Failing => vec![
                        rows(0),
                        Answer::Delay(Duration::from_millis(300)),
                        Answer::Fail("USER_RAISED_EXCEPTION", "boom SQLSTATE: P0001"),
                    ],
                    Scene::Endless => vec![Answer::Endless],
                    Scene::Cut => [vec![rows(0)], vec![Answer::EndCall; 20]].concat(),
                };
                let spark = FakeSpark::start(answers).await;
                let idle = Idle::Played(std::sync::Arc::clone(&spark.seen));
                Some(Stage {
                    server: in_front_of(&spark.url).await,
                    sql: "select n, t from t".to_owned(),
                    is_idle: idle,
                    _played: Some(Played::Spark { _server: spark }),
                })
            }
            Self::Spark { address, page } => {
                let columns = "select id as n, concat('row ', id) as t from";
                let sleep = |ms: u32| {
                    format!(
                        "reflect('java.lang.Thread', 'sleep', cast({ms} as bigint)) is not null"
                    )
                };
                let sql = match scene {
                    Scene::Parts(parts) => format!(
                        "{columns} range(0, {}, 1, {parts}) where id > 0 or {}",
                        parts * 1000,
                        sleep(1000)
                    ),
                    Scene::Empty => format!("{columns} range(0, 1000, 1, 4) where id < 0"),
                    Scene::Failing => format!(
                        "{columns} range(0, 8000, 1, 8) where id < 4000 or if(id = 4000 and {}, raise_error('boom'), true)",
                        sleep(1000)
                    ),
                    Scene::Endless => format!(
                        "{columns} range(0, 100000000, 1, 10000) where id % 10000 > 0 or {}",
                        sleep(100)
                    ),
                    Scene::Cut => return None,
                };
                Some(Stage {
                    server: in_front_of(address).await,
                    sql,
                    is_idle: Idle::Page(page.clone()),
                    _played: None,
                })
            }
        }
    }
}

async fn in_front_of(address: &str) -> Server {
    let engine = connect(&[address.to_owned()]).await.unwrap().unwrap();
    Server::of_app(App::of_backend(&config(), engine).unwrap()).await
}

impl Stage {
    async fn run(&self) -> Outcome {
        self.server
            .post(&json!({"sql": self.sql, "id": id(1)}))
            .await
    }

    async fn open(&self) -> client::Response {
        let body = json!({"sql": self.sql, "id": id(1)}).to_string();
        let headers = [("content-type", "application/json")];
        let asked = self
            .server
            .ask("POST", "/v1/query", &headers, body.as_bytes());
        asked.await
    }

    async fn rows_ready(&self) -> u64 {
        let record = self.server.json(&format!("/v1/query/{}", id(1))).await;
        record["rows_ready"].as_u64().unwrap()
    }

    async fn until_ready(&self, num_rows: u64) {
        let deadline = Instant::now() + PATIENCE;
        while self.rows_ready().await < num_rows {
            assert!(Instant::now() < deadline, "no rows come");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Polls until rows come, and the engine itself says that it works.
    async fn until_busy(&self) {
        self.until_ready(1000).await;
        if let Idle::Page(page) = &self.is_idle {
            assert_eq!(running_jobs(page).await.len(), 1);
        }
    }

    /// Polls until the engine itself does nothing any more.
    async fn until_idle(&self) {
        match &self.is_idle {
            Idle::Scripted(counts) => counts.until_idle().await,
            Idle::Flight(seen) => {
                seen.until_idle().await;
                seen.until_cancelled().await;
            }
            // It has no page of its own that would say.
            Idle::Unknown => {}
            Idle::Played(seen) => seen.until_released().await,
            Idle::Page(page) => {
                let deadline = Instant::now() + PATIENCE;
                while !running_jobs(page).await.is_empty() {
                    assert!(Instant::now() < deadline, "Spark still works");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }
}

/// The jobs that run in a Spark driver, as its own page says.
async fn running_jobs(page: &str) -> Vec<serde_json::Value> {
    let list = async |path: String| {
        let response = client::ask(page, "GET", &path, &[], b"").await.unwrap();
        let body = read(response).await.body;
        serde_json::from_slice::<Vec<serde_json::Value>>(&body).unwrap()
    };
    let applications = list("/api/v1/applications".to_owned()).await;
    let application = applications[0]["id"].as_str().unwrap().to_owned();
    list(format!(
        "/api/v1/applications/{application}/jobs?status=running"
    ))
    .await
}

/// A property: what the table says where it holds, or panics where it does not.
async fn hold(property: &str, stage: Stage) -> String {
    match property {
        "order" => {
            let outcome = stage.run().await;
            assert!(outcome.has_numbers(0..4000));
            assert_ne!(outcome.header("x-result-order"), "none");
            format!("yes, {}", outcome.header("x-result-order"))
        }
        "many partitions" => {
            assert!(stage.run().await.has_numbers(0..64_000));
            "yes, 64".to_owned()
        }
        "schema" => {
            let schema = schema_in(&stage.run().await.body);
            let fields = schema.fields().iter();
            let fields: Vec<_> = fields.map(|f| (f.name().as_str(), f.data_type())).collect();
            assert_eq!(fields, [("n", &DataType::Int64), ("t", &DataType::Utf8)]);
            "yes".to_owned()
        }
        "empty result" => {
            let outcome = stage.run().await;
            assert_eq!(outcome.rows().num_rows(), 0);
            assert_eq!(schema_in(&outcome.body).fields().len(), 2);
            "yes".to_owned()
        }
        "failure mid-stream" => {
            let outcome = stage.run().await;
            assert!(!outcome.is_complete());
            let numbers = readable(&outcome.body);
            assert!(numbers.iter().copied().eq(0..numbers.len() as i64));
            let record = stage.server.until_state(&id(1), "failed").await;
            assert!(!record["error"]["message"].as_str().unwrap().is_empty());
            format!("yes, after {} rows", numbers.len())
        }
        "cancel" => {
            let mut response = stage.open().await;
            response.chunk().await.unwrap();
            stage.until_busy().await;
            let began = Instant::now();
            let path = format!("/v1/query/{}", id(1));
            let deleted = stage.server.ask("DELETE", &path, &[], b"");
            assert_eq!(deleted.await.status, 204);
            stage.until_idle().await;
            format!("yes, in {} ms", began.elapsed().as_millis())
        }
        "a reader that leaves" => {
            let mut response = stage.open().await;
            response.chunk().await.unwrap();
            stage.until_busy().await;
            drop(response);
            stage.until_idle().await;
            "yes".to_owned()
        }
        "slow reader" => {
            let mut response = stage.open().await;
            let mut num_bytes = response.chunk().await.unwrap().unwrap().len();
            // Whatever the connection and the budget hold, and nothing more.
            let deadline = Instant::now() + PATIENCE;
            let (mut seen, mut since) = (0, Instant::now());
            while since.elapsed() < Duration::from_secs(1) {
                let now = stage.rows_ready().await;
                if now != seen {
                    (seen, since) = (now, Instant::now());
                }
                assert!(Instant::now() < deadline, "it runs ahead without end");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            while num_bytes < 32 << 20 {
                num_bytes += response.chunk().await.unwrap().unwrap().len();
            }
            assert!(stage.rows_ready().await > seen, "it does not go on");
            format!("yes, waits at {seen} rows")
        }
        _ => {
            let outcome = stage.run().await;
            assert!(!outcome.is_complete());
            stage.server.until_state(&id(1), "failed").await;
            "yes, an error".to_owned()
        }
    }
}

fn schema_in(body: &[u8]) -> Schema {
    let reader = StreamReader::try_new(body, None).unwrap();
    reader.schema().as_ref().clone()
}

const PROPERTIES: [(&str, Scene); 9] = [
    ("order", Scene::Parts(4)),
    ("many partitions", Scene::Parts(64)),
    ("schema", Scene::Parts(2)),
    ("empty result", Scene::Empty),
    ("failure mid-stream", Scene::Failing),
    ("cancel", Scene::Endless),
    ("a reader that leaves", Scene::Endless),
    ("slow reader", Scene::Endless),
    ("end without its word", Scene::Cut),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_engine_holds_to_the_same() {
    let mut engines = vec![
        Engine::DataFusion,
        Engine::PlayedFlight,
        Engine::PlayedSpark,
    ];
    let mut table = String::new();
    match std::env::var("COLONNADE_SAIL") {
        Ok(address) => engines.push(Engine::Sail(address)),
        Err(_) => table += "COLONNADE_SAIL is not set: the real Sail is left out\n",
    }
    match std::env::var("COLONNADE_SPARK") {
        Ok(spark) => {
            let (address, page) = spark.split_once(' ').unwrap();
            engines.push(Engine::Spark {
                address: address.to_owned(),
                page: page.to_owned(),
            });
        }
        Err(_) => table += "COLONNADE_SPARK is not set: the real Spark is left out\n",
    }
    let mut failures = Vec::new();
    for (property, scene) in PROPERTIES {
        write!(table, "{property:22}").unwrap();
        for engine in &engines {
            // A real cluster takes too long to fill what the connections hold.
            let is_too_slow = property == "slow reader" && matches!(engine, Engine::Spark { .. });
            let stage = if is_too_slow {
                None
            } else {
                engine.stage(scene).await
            };
            let held = match stage {
                None => "–".to_owned(),
                Some(stage) => match tokio::spawn(hold(property, stage)).await {
                    Ok(held) => held,
                    Err(_) => {
                        failures.push(format!("{}: {property}", engine.name()));
                        "NO".to_owned()
                    }
                },
            };
            write!(table, " │ {held:24}").unwrap();
        }
        table += "\n";
    }
    let names: Vec<String> = engines
        .iter()
        .map(|engine| format!(" │ {:24}", engine.name()))
        .collect();
    // Straight to the terminal: the table is for people, whether or not a test fails.
    writeln!(std::io::stderr(), "\n{:22}{}\n{table}", "", names.concat()).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
}
