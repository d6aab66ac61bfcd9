//! Statements beside each other: what happens to one does not harm the others.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use futures::future::{join_all, select_all};
use serde_json::{Value, json};

use crate::compare::decode;
use crate::process::{MemorySampler, children, cpu_ticks};
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

/// Whoever starts the server may have left files open to it, such as the sockets of a supervisor.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_process_has_no_file_that_the_server_was_started_with() {
    let _alone = alone().await;
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    let file = File::create(&secret).unwrap();
    // SAFETY: the descriptor is open. The duplicate is one that processes inherit.
    let inherited = unsafe { OwnedFd::from_raw_fd(libc::dup(file.as_raw_fd())) };
    let tables = tables::kept(0.01, &["lineitem"]);
    let program = Program::start(&tables, &["--memory", "1GiB"]);
    drop(inherited);
    let query = json!({ "sql": "select 1", "id": Random::new(1, 1).uuid() });
    program.run(&query, Reader::Whole, PATIENCE).await.unwrap();
    let has_secret = |pid: u32| {
        // Only root may look into these processes.
        let files = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        links.any(|link| link == secret)
    };
    assert!(has_secret(program.pid()));
    let processes = children(program.pid());
    assert!(!processes.is_empty() && !processes.into_iter().any(has_secret));
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

/// Waits until these many children have worked.
async fn until_working(program: &Program, count: usize) {
    let works = |child: &u32| cpu_ticks(*child) > BUSY_TICKS;
    while children(program.pid())
        .iter()
        .filter(|child| works(child))
        .count()
        < count
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The join takes 200 MiB, which do not go to disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_alone_has_the_memory_that_nobody_needs() {
    let _alone = alone().await;
    let folder = tables::kept(0.01, &["lineitem"]);
    let program = Program::start(&folder, &["--memory", "512MiB"]);
    let join = "select count(*) from generate_series(1, 6000000) a(x) \
                join generate_series(1, 6000000) b(y) on x = y";
    let ended = program.run(&query(join, 1), Reader::Whole, PATIENCE).await;
    assert!(matches!(ended, Ok(Ending::Rows(_))), "{ended:?}");
}

/// At this memory two statements work at the same time, and four have a process.
#[tokio::test(flavor = "multi_thread")]
async fn long_statements_take_turns_and_lock_out_no_short_one() {
    let _alone = alone().await;
    let folder = tables::kept(0.01, &["lineitem"]);
    let program = Program::start(&folder, &["--memory", "512MiB"]);
    let long = |number| {
        let sql = "select count(*) from generate_series(1, 100000000) a(x), \
                   generate_series(1, 1000000) b(y) where (x + y) % 7 = 3";
        query(sql, number)
    };
    let all = (0..3).map(|number| {
        let (long, program) = (long(number), &program);
        async move { program.run(&long, Reader::Whole, PATIENCE).await }
    });
    let short = async {
        until_working(&program, 3).await;
        for number in 10..15 {
            let short = query("select 1 as one", number);
            let ended = program.run(&short, Reader::Whole, PATIENCE).await.unwrap();
            assert!(matches!(ended, Ending::Rows(_)), "{ended:?}");
        }
        // One that takes long, too, has to leave its process to others.
        let next = long(20);
        let newcomers = async {
            for number in 21.. {
                let short = query("select 2 as two", number);
                let ended = program.run(&short, Reader::Whole, PATIENCE).await.unwrap();
                assert!(matches!(ended, Ending::Rows(_)), "{ended:?}");
            }
        };
        let refused = tokio::select! {
            refused = program.run(&next, Reader::Whole, PATIENCE) => refused,
            () = newcomers => unreachable!(),
        };
        match refused.unwrap() {
            Ending::Failed { code, message } => assert_eq!(code, "busy", "{message}"),
            other => panic!("{other:?}"),
        }
    };
    tokio::select! {
        ended = select_all(all.map(Box::pin)) => panic!("{:?}", ended.0),
        () = short => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_are_planned_for_long_lock_out_no_short_one() {
    let _alone = alone().await;
    let folder = tables::kept(0.01, &["lineitem"]);
    let program = Program::start(&folder, &["--memory", "512MiB"]);
    // Its planning takes longer than the server permits.
    let tables: Vec<String> = (0..240).map(|k| format!("lineitem t{k}")).collect();
    let equal: Vec<String> = (1..240)
        .map(|k| format!("t{}.l_orderkey = t{k}.l_orderkey", k - 1))
        .collect();
    let (tables, equal) = (tables.join(", "), equal.join(" and "));
    let sql = format!("select count(*) from {tables} where {equal}");
    let queries = [query(&sql, 0), query(&sql, 1)];
    let planned = queries
        .iter()
        .map(|query| program.run(query, Reader::Whole, PATIENCE));
    let short = async {
        until_working(&program, 2).await;
        let short = query("select 1 as one", 10);
        program.run(&short, Reader::Whole, PATIENCE).await.unwrap()
    };
    let ended = tokio::select! {
        ended = join_all(planned) => panic!("they are no longer planned: {ended:?}"),
        ended = short => ended,
    };
    assert!(matches!(ended, Ending::Rows(_)), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_were_left_or_are_not_read_lock_out_nobody() {
    let _alone = alone().await;
    let folder = tables::kept(1.0, &["lineitem"]);
    let mut program = Program::start(&folder, &["--memory", "1GiB"]);
    let mut unread = Vec::new();
    for number in 0..12 {
        let sql = format!("select * from lineitem where l_orderkey > {number}");
        let mut query = query(&sql, number);
        query["linger_s"] = json!(600);
        let response = program.begin(&query).await.unwrap();
        // Half of them are closed, as those of a tab that is left.
        if number % 2 == 0 {
            unread.push(response);
        }
    }
    let short = query("select 1 as one", 30);
    let ended = program.run(&short, Reader::Whole, PATIENCE).await.unwrap();
    assert!(matches!(ended, Ending::Rows(_)), "{ended:?}");
    drop(unread);
    for number in 0..12 {
        let path = format!(
            "/v1/query/{}/rows?offset=100000&limit=10",
            query("", number)["id"].as_str().unwrap()
        );
        let (status, _) = program.get(&path).await.unwrap();
        assert_eq!(status, 200);
    }
    assert_eq!(program.death().await, None);
}

/// Clients that ask for the largest messages and read no more than the first bytes. Some of them read on.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_not_read_keep_within_the_memory() {
    const NUM_CLIENTS: usize = 72;
    let _alone = alone().await;
    let folder = tables::kept(1.0, &["lineitem"]);
    let mut program = Program::start(&folder, &["--memory", "256MiB"]);
    let query = |number: usize, id: u64| {
        json!({
            "table": "lineitem",
            "offset": number * 50_000,
            "limit": 100_000,
            "batch_bytes": 16 << 20,
            "id": Random::new(id, number as u64).uuid(),
        })
    };
    let sampler = MemorySampler::start(program.pid(), 4 << 30);
    let mut begun = Vec::new();
    for number in 0..NUM_CLIENTS {
        let body = query(number, 4).to_string();
        let response = program.ask("POST", "/v1/query", body.as_bytes()).await;
        let mut response = response.unwrap();
        let first = response.chunk().await.unwrap().unwrap();
        begun.push((response, first.to_vec()));
    }
    let peak_bytes = sampler.peak_bytes();
    assert!(peak_bytes <= (256 + 128) << 20, "{peak_bytes}");
    for (number, (mut response, mut found)) in begun.into_iter().enumerate().step_by(50) {
        while let Some(chunk) = response.chunk().await.unwrap() {
            found.extend_from_slice(&chunk);
        }
        let again = query(number, 5);
        let whole = program.run(&again, Reader::Whole, PATIENCE);
        let Ok(Ending::Rows(whole)) = whole.await else {
            panic!("no rows");
        };
        let rows = |stream: &[u8]| {
            let batches = decode(stream).unwrap();
            concat_batches(&batches[0].schema(), &batches).unwrap()
        };
        assert!(
            rows(&found) == rows(&whole),
            "the rows of client {number} differ"
        );
    }
    assert_eq!(program.death().await, None);
}

/// What a column takes besides its values exceeds them here. Few of them are read at a time.
#[tokio::test(flavor = "multi_thread")]
async fn many_columns_of_few_values_take_little_memory() {
    const NUM_COLUMNS: usize = 4900;
    const NUM_ROWS: usize = 2500;
    let _alone = alone().await;
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1, 1);
    let columns: Vec<(String, ArrayRef)> = (0..NUM_COLUMNS)
        .map(|column| {
            let values = (0..NUM_ROWS).map(|_| random.next() as i64);
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
            (format!("c{column}"), values)
        })
        .collect();
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path().join("t.parquet");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(500))
        .set_compression(Compression::SNAPPY)
        .build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    let arguments = ["--memory", "512MiB", path.to_str().unwrap()];
    let mut program = Program::start(folder.path(), &arguments);
    let sampler = MemorySampler::start(program.pid(), 4 << 30);
    let query = json!({ "table": "t", "id": random.uuid() });
    let ended = program.run(&query, Reader::Discards, PATIENCE).await;
    assert!(matches!(ended, Ok(Ending::Rows(_))), "{ended:?}");
    let peak_bytes = sampler.peak_bytes();
    assert!(peak_bytes <= 256 << 20, "{peak_bytes}");
    assert_eq!(program.death().await, None);
}

/// Readers of tables of many columns: each column one page, or all of them one compressed batch.
#[tokio::test(flavor = "multi_thread")]
async fn wide_tables_and_large_batches_keep_within_the_memory() {
    const NUM_COLUMNS: usize = 500;
    const NUM_ROWS: usize = 14_000;
    let _alone = alone().await;
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1, 1);
    let value = |random: &mut Random| random.next() as i64;
    let columns: Vec<(String, ArrayRef)> = (0..NUM_COLUMNS)
        .map(|column| {
            let values = (0..NUM_ROWS).map(|_| value(&mut random));
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
            (format!("c{column}"), values)
        })
        .collect();
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(NUM_ROWS)
        .build();
    let paths = ["wide.parquet", "large.arrow"].map(|name| folder.path().join(name));
    let [parquet, arrow] = paths.each_ref().map(|path| File::create(path).unwrap());
    let mut writer = ArrowWriter::try_new(parquet, table.schema(), Some(properties)).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    let zstd = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD));
    let schema = table.schema();
    let mut writer = FileWriter::try_new_with_options(arrow, &schema, zstd.unwrap()).unwrap();
    writer.write(&table).unwrap();
    writer.finish().unwrap();
    let paths = paths.each_ref().map(|path| path.to_str().unwrap());
    let arguments = ["--memory", "256MiB", paths[0], paths[1]];
    let mut program = Program::start(folder.path(), &arguments);
    let sampler = MemorySampler::start(program.pid(), 4 << 30);
    let reads = (0..12).map(|offset| {
        let id = Random::new(6, offset as u64).uuid();
        let name = ["wide", "large"][offset / 6];
        let query = json!({ "table": name, "offset": offset, "id": id });
        let program = &program;
        async move { program.run(&query, Reader::Whole, PATIENCE).await }
    });
    let ended = join_all(reads).await;
    let peak_bytes = sampler.peak_bytes();
    for (offset, ending) in ended.into_iter().enumerate() {
        let stream = match ending.unwrap() {
            Ending::Rows(stream) => stream,
            other => panic!("{other:?}"),
        };
        let batches = decode(&stream).unwrap();
        let found = concat_batches(&batches[0].schema(), &batches).unwrap();
        let expected = table.slice(offset, NUM_ROWS - offset);
        assert!(found.columns() == expected.columns(), "{offset}");
    }
    assert!(peak_bytes <= (256 + 128) << 20, "{peak_bytes}");
    assert_eq!(program.death().await, None);
}

/// Eight readers of cells of 100 KB, and a statement that repeats a column. `COLONNADE_FULL` takes more of both than the
/// memory could hold.
#[tokio::test(flavor = "multi_thread")]
async fn large_cells_and_repeated_columns_keep_within_the_memory() {
    const CELL_BYTES: usize = 100_000;
    const BATCH_ROWS: usize = 100;
    let _alone = alone().await;
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    let (num_batches, num_columns) = if is_full { (50, 3000) } else { (5, 300) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cells.parquet");
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(zstd);
    let schema = Schema::new(vec![Field::new("c", DataType::Utf8, false)]);
    let file = File::create(&path).unwrap();
    let mut writer =
        ArrowWriter::try_new(file, Arc::new(schema), Some(properties.build())).unwrap();
    for batch in 0..num_batches {
        let cell = |row| format!("{} {}", batch * BATCH_ROWS + row, "x".repeat(CELL_BYTES));
        let cells = StringArray::from_iter_values((0..BATCH_ROWS).map(cell));
        let cells = Arc::new(cells) as ArrayRef;
        writer
            .write(&RecordBatch::try_from_iter([("c", cells)]).unwrap())
            .unwrap();
    }
    writer.close().unwrap();
    let lineitem = tables::kept(0.01, &["lineitem"]).join("lineitem.parquet");
    let tables = [&path, &lineitem].map(|path| path.to_str().unwrap());
    let arguments = ["--memory", "512MiB", tables[0], tables[1]];
    let mut program = Program::start(folder.path(), &arguments);
    let sampler = MemorySampler::start(program.pid(), 4 << 30);
    let reads = (0..8).map(|offset| {
        let id = Random::new(8, offset as u64).uuid();
        let query = json!({ "table": "cells", "offset": offset, "id": id });
        let program = &program;
        async move { program.run(&query, Reader::Discards, PATIENCE).await }
    });
    for ended in join_all(reads).await {
        assert!(matches!(ended, Ok(Ending::Rows(_))), "{ended:?}");
    }
    let columns: Vec<_> = (0..num_columns)
        .map(|k| format!("l_comment c{k}"))
        .collect();
    let sql = format!("select {} from lineitem", columns.join(", "));
    let ended = program
        .run(&query(&sql, 9), Reader::Discards, PATIENCE)
        .await;
    assert!(matches!(ended, Ok(Ending::Rows(_))), "{ended:?}");
    let peak_bytes = sampler.peak_bytes();
    assert!(peak_bytes <= (512 + 128) << 20, "{peak_bytes}");
    assert_eq!(program.death().await, None);
}
