//! The engines that a test puts behind a server, all of which play the same scenes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use colonnade_server::App;
use colonnade_server::backend::connect;
use serde_json::json;

use crate::client;
use crate::fake_flight::{self, FakeFlight, Script, Sent};
use crate::fake_spark::{self, Answer, FakeSpark};
use crate::support::*;

/// An engine under test. A real Spark is given by `COLONNADE_SPARK`: the address of a Connect server, a
/// space, and the address of its driver's web page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Engine {
    DataFusion,
    PlayedFlight,
    /// Sail, at its address.
    SailFlight(String),
    SailSpark(String),
    PlayedSpark,
    Spark {
        address: String,
        page: String,
    },
}

/// The behaviour that a test wants of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scene {
    /// This many partitions of 1000 rows each, numbered consecutively; the first one is slow.
    Parts(i64),
    /// No rows.
    Empty,
    /// Rows, then a failure.
    Failing,
    /// Rows without end.
    Endless,
    /// Rows, then an end without the engine's completion message.
    Cut,
}

/// An engine in its scene, behind a server.
pub(crate) struct Stage {
    pub(crate) server: Server,
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
    Scripted(Arc<Counts>),
    Flight(Arc<fake_flight::Seen>),
    Unknown,
    Played(Arc<fake_spark::Seen>),
    Page(String),
}

impl Engine {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::DataFusion => "DataFusion",
            Self::PlayedFlight => "Flight SQL, played",
            Self::SailFlight(_) => "Sail, Flight SQL",
            Self::SailSpark(_) => "Sail, Spark Connect",
            Self::PlayedSpark => "Spark, played",
            Self::Spark { .. } => "Spark",
        }
    }

    /// Whether it is Sail, which neither reports its running work nor orders rows.
    pub(crate) fn is_sail(&self) -> bool {
        matches!(self, Self::SailFlight(_) | Self::SailSpark(_))
    }

    /// Starts a scene; `None` if the engine cannot play it.
    pub(crate) async fn stage(&self, scene: Scene) -> Option<Stage> {
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
                let seen = Arc::clone(&flight.seen);
                Some(Stage {
                    server: in_front_of(&flight.url).await,
                    sql: "select n, t from t".to_owned(),
                    is_idle: Idle::Flight(seen),
                    _played: Some(Played::Flight { _server: flight }),
                })
            }
            Self::SailFlight(address) | Self::SailSpark(address) => {
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
                let idle = Idle::Played(Arc::clone(&spark.seen));
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

pub(crate) async fn in_front_of(address: &str) -> Server {
    let engine = connect(&[address.to_owned()]).await.unwrap().unwrap();
    Server::of_app(App::of_backend(&config(), engine).unwrap()).await
}

impl Stage {
    pub(crate) async fn run(&self) -> Outcome {
        self.server
            .post(&json!({"sql": self.sql, "id": id(1)}))
            .await
    }

    pub(crate) async fn open(&self) -> client::Response {
        let body = json!({"sql": self.sql, "id": id(1)}).to_string();
        let headers = [("content-type", "application/json")];
        let asked = self
            .server
            .ask("POST", "/v1/query", &headers, body.as_bytes());
        asked.await
    }

    pub(crate) async fn rows_ready(&self) -> u64 {
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

    /// Polls until the server has as much as the connection and the budget hold, and returns how many rows.
    pub(crate) async fn until_still(&self) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        let (mut seen, mut since) = (0, Instant::now());
        while since.elapsed() < Duration::from_secs(1) {
            let now = self.rows_ready().await;
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            assert!(Instant::now() < deadline, "it runs ahead without limit");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        seen
    }

    /// Deletes the result, and polls until the engine is idle.
    pub(crate) async fn cancel(&self) {
        let path = format!("/v1/query/{}", id(1));
        let deleted = self.server.ask("DELETE", &path, &[], b"").await;
        assert_eq!(deleted.status, 204);
        self.until_idle().await;
    }

    /// Polls until rows arrive and the engine itself reports that it is busy.
    pub(crate) async fn until_busy(&self) {
        self.until_ready(1000).await;
        if let Idle::Page(page) = &self.is_idle {
            assert_eq!(running_jobs(page).await.len(), 1);
        }
    }

    /// Polls until the engine itself reports that it is idle.
    pub(crate) async fn until_idle(&self) {
        match &self.is_idle {
            Idle::Scripted(counts) => counts.until_idle().await,
            Idle::Flight(seen) => {
                seen.until_idle().await;
                seen.until_cancelled().await;
            }
            // It has no page that reports its work.
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

/// The jobs that run in a Spark driver, from its web page.
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
