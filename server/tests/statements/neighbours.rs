//! Statements beside each other: what happens to one does not harm the others.

use std::process::Command;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::process::{children, cpu_ticks};
use crate::program::{Ending, Program, Reader, alone};
use crate::random::Random;
use crate::tables;

/// Within this time a statement ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that has worked for so many ticks (of 10 ms) runs a statement.
const BUSY_TICKS: u64 = 50;

fn query(sql: &str, number: u64) -> Value {
    json!({ "sql": sql, "id": Random::new(1, number).uuid() })
}

/// A child of the program that works, as soon as there is one.
async fn working_child(program: &Program) -> u32 {
    loop {
        let mut children = children(program.pid()).into_iter();
        if let Some(child) = children.find(|child| cpu_ticks(*child) > BUSY_TICKS) {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_fails_only_its_own_statement() {
    let _alone = alone().await;
    let folder = tables::kept(1.0, &["lineitem"]);
    let mut program = Program::start(&folder, &["--memory", "1GiB"]);
    let long = query(
        "select count(*) from lineitem a join lineitem b on a.l_orderkey * b.l_partkey = 7",
        0,
    );
    let running = program.run(&long, Reader::Discards, PATIENCE);
    let killing = async {
        let child = working_child(&program).await.to_string();
        let killed = Command::new("kill").args(["-KILL", &child]).status();
        assert!(killed.unwrap().success());
    };
    let (ended, ()) = tokio::join!(running, killing);
    match ended.unwrap() {
        Ending::Failed { code, message } => {
            assert_eq!(code, "engine_died", "{message}");
            assert!(message.contains("executed"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let short = query("select count(*) from lineitem", 1);
    let ended = program.run(&short, Reader::Whole, PATIENCE).await.unwrap();
    assert!(matches!(ended, Ending::Rows(_)), "{ended:?}");
    assert_eq!(program.death().await, None);
}

/// Each of these needs some 200 MB, and all of them together half of what statements may take.
#[tokio::test(flavor = "multi_thread")]
async fn equal_statements_get_equal_memory() {
    let _alone = alone().await;
    let folder = tables::kept(1.0, &["lineitem"]);
    let program = Program::start(&folder, &["--memory", "6GiB"]);
    let sql = "select l_shipmode, median(l_extendedprice) from lineitem group by l_shipmode";
    let queries: Vec<Value> = (0..4).map(|number| query(sql, number)).collect();
    let running = queries
        .iter()
        .map(|query| program.run(query, Reader::Whole, PATIENCE));
    for ended in join_all(running).await {
        let ended = ended.unwrap();
        assert!(matches!(ended, Ending::Rows(_)), "{ended:?}");
    }
}
