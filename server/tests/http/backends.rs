//! Properties that every engine must have, tested with the same requests; prints a table of them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::ipc::reader::StreamReader;

use crate::engines::{Engine, Scene, Stage, in_front_of};
use crate::sail::{FLIGHT_SQL, RealSail, SPARK_CONNECT};
use crate::support::*;

/// Tests a property. Returns the table's text if it holds, and panics if not.
async fn hold(property: &str, stage: Stage) -> String {
    match property {
        "order" => {
            let outcome = stage.run().await;
            let mut numbers = outcome.numbers();
            let order = outcome.header("x-result-order");
            if order == "none" {
                numbers.sort_unstable();
            }
            assert!(numbers.into_iter().eq(0..4000));
            match order {
                "none" => NO_ORDER.to_owned(),
                order => format!("yes, {order}"),
            }
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
            let is_front = numbers.iter().copied().eq(0..numbers.len() as i64);
            assert!(is_front || outcome.header("x-result-order") == "none");
            let record = stage.server.until_state(&id(1), "failed").await;
            assert!(!record["error"]["message"].as_str().unwrap().is_empty());
            format!("yes, after {} rows", numbers.len())
        }
        "cancel" => {
            let mut response = stage.open().await;
            response.chunk().await.unwrap();
            stage.until_busy().await;
            let began = Instant::now();
            stage.cancel().await;
            format!("yes, in {} ms", began.elapsed().as_millis())
        }
        "reader disconnects" => {
            let mut response = stage.open().await;
            response.chunk().await.unwrap();
            stage.until_busy().await;
            drop(response);
            stage.until_idle().await;
            "yes".to_owned()
        }
        "cancel, unread" => {
            let mut response = stage.open().await;
            response.chunk().await.unwrap();
            stage.until_still().await;
            stage.cancel().await;
            "yes".to_owned()
        }
        "slow reader" => {
            let mut response = stage.open().await;
            let mut num_bytes = response.chunk().await.unwrap().unwrap().len();
            let seen = stage.until_still().await;
            while num_bytes < 32 << 20 {
                num_bytes += response.chunk().await.unwrap().unwrap().len();
            }
            assert!(stage.rows_ready().await > seen, "it does not continue");
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

/// The text for an engine whose rows have no order, as it reports.
const NO_ORDER: &str = "no, as reported";

const PROPERTIES: [(&str, Scene); 10] = [
    ("order", Scene::Parts(4)),
    ("many partitions", Scene::Parts(64)),
    ("schema", Scene::Parts(2)),
    ("empty result", Scene::Empty),
    ("failure mid-stream", Scene::Failing),
    ("cancel", Scene::Endless),
    ("cancel, unread", Scene::Endless),
    ("reader disconnects", Scene::Endless),
    ("slow reader", Scene::Endless),
    ("truncated stream", Scene::Cut),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_engine_holds_to_the_same() {
    let mut engines = vec![
        Engine::DataFusion,
        Engine::PlayedFlight,
        Engine::PlayedSpark,
    ];
    let mut table = String::new();
    let sails = [
        RealSail::start(FLIGHT_SQL).await,
        RealSail::start(SPARK_CONNECT).await,
    ];
    match &sails {
        [Some(flight), Some(spark)] => engines.extend([
            Engine::SailFlight(flight.address.clone()),
            Engine::SailSpark(spark.address.clone()),
        ]),
        _ => {
            table +=
                "COLONNADE_SAIL is not set, and sail is not installed: the real Sail is skipped\n";
        }
    }
    match std::env::var("COLONNADE_SPARK") {
        Ok(spark) => {
            let (address, page) = spark.split_once(' ').unwrap();
            engines.push(Engine::Spark {
                address: address.to_owned(),
                page: page.to_owned(),
            });
        }
        Err(_) => table += "COLONNADE_SPARK is not set: the real Spark is skipped\n",
    }
    let mut failures = Vec::new();
    for (property, scene) in PROPERTIES {
        write!(table, "{property:22}").unwrap();
        for engine in &engines {
            // A real cluster takes too long to fill the connections' buffers.
            let is_too_slow = matches!(property, "cancel, unread" | "slow reader")
                && matches!(engine, Engine::Spark { .. });
            let is_unseen = matches!(property, "cancel" | "cancel, unread" | "reader disconnects")
                && engine.is_sail();
            let stage = if is_too_slow || is_unseen {
                None
            } else {
                engine.stage(scene).await
            };
            let held = match stage {
                None => "–".to_owned(),
                Some(stage) => match tokio::spawn(hold(property, stage)).await {
                    Ok(held) if held == NO_ORDER && !engine.is_sail() => {
                        failures.push(format!("{}: {property}", engine.name()));
                        held
                    }
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
    // Written to the terminal, because the table is for people, even if no test fails.
    writeln!(std::io::stderr(), "\n{:22}{}\n{table}", "", names.concat()).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
}

/// Statements whose columns have no nulls by only one of Sail's two plans.
#[tokio::test(flavor = "multi_thread")]
async fn sail_over_spark_connect() {
    let Some(sail) = RealSail::start(SPARK_CONNECT).await else {
        return;
    };
    let server = in_front_of(&sail.address).await;
    for (sql, num_rows) in [
        ("select upper('x') as t", 1),
        ("select current_timestamp() as t", 1),
        (
            "select id % 7 as k, count(*) as n from range(100) group by 1 order by 1",
            7,
        ),
        (
            "select struct(id, upper('y')) as s, array(id) as l, map('k', id) as m from range(5)",
            5,
        ),
        ("select cast(null as int) as x union all select 2", 2),
    ] {
        let rows = server.sql(sql).await;
        assert_eq!(rows.status, 200, "{sql}: {}", rows.code());
        assert_eq!(rows.rows().num_rows(), num_rows, "{sql}");
    }
    let list = server.json("/v1/tables").await;
    assert_eq!(list["tables"], serde_json::json!([]));
    let note = list["note"].as_str().unwrap();
    assert!(
        note.starts_with("the engine cannot list its tables"),
        "{note}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_stands_still_is_noticed() {
    let sails = [
        RealSail::start(FLIGHT_SQL).await,
        RealSail::start(SPARK_CONNECT).await,
    ];
    let noticed = sails.iter().flatten().map(async |sail| {
        let server = in_front_of(&sail.address).await;
        assert_eq!(server.sql("select 1 as n").await.status, 200);
        sail.signal("-STOP");
        let began = Instant::now();
        let refused = server.sql("select 2 as n").await;
        sail.signal("-CONT");
        refused.assert_refused(502, "engine_unavailable");
        assert!(began.elapsed() < Duration::from_secs(30));
    });
    futures::future::join_all(noticed).await;
}
