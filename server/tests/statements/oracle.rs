//! A plain DataFusion that answers the same statements.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::reader::FileReader;
use datafusion::datasource::MemTable;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::StreamExt;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Answers with more rows are not compared.
const MAX_ROWS: usize = 300_000;

/// As the threads of the engine have.
const STACK_BYTES: usize = 64 << 20;

/// A context with the engine's options for names, nulls and text.
pub(crate) fn context(target_partitions: usize, memory_bytes: usize) -> SessionContext {
    let mut session = SessionConfig::new()
        .with_information_schema(true)
        .with_target_partitions(target_partitions);
    for (key, value) in [
        (
            "datafusion.execution.parquet.schema_force_view_types",
            "false",
        ),
        (
            "datafusion.sql_parser.map_string_types_to_utf8view",
            "false",
        ),
        ("datafusion.sql_parser.enable_ident_normalization", "false"),
        ("datafusion.sql_parser.default_null_ordering", "nulls_last"),
    ] {
        session.options_mut().set(key, value).unwrap();
    }
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(memory_bytes)))
        .build_arc()
        .unwrap();
    SessionContext::new_with_config_rt(session, runtime)
}

/// Registers the tables of this folder with all their rows in memory: `*.arrow` and `*.parquet`.
pub(crate) fn register_in_memory(context: &SessionContext, folder: &Path, table: &str) {
    let open = |extension: &str| std::fs::File::open(folder.join(format!("{table}.{extension}")));
    let (schema, batches): (_, Vec<RecordBatch>) = if let Ok(file) = open("arrow") {
        let reader = FileReader::try_new(file, None).unwrap();
        (reader.schema(), reader.map(Result::unwrap).collect())
    } else {
        let builder = ParquetRecordBatchReaderBuilder::try_new(open("parquet").unwrap()).unwrap();
        let schema = Arc::clone(builder.schema());
        let reader = builder.build().unwrap();
        (schema, reader.map(Result::unwrap).collect())
    };
    let provider = MemTable::try_new(schema, vec![batches]).unwrap();
    context.register_table(table, Arc::new(provider)).unwrap();
}

pub(crate) async fn register_parquet(context: &SessionContext, folder: &Path, table: &str) {
    let path = folder
        .join(format!("{table}.parquet"))
        .display()
        .to_string();
    let options = ParquetReadOptions::default();
    context
        .register_parquet(table, path, options)
        .await
        .unwrap();
}

/// The rows of a statement that only reads, or the text of its error. `None` if it has no end in time, crashes
/// or has too many rows.
pub(crate) async fn answer(
    context: &SessionContext,
    sql: &str,
    patience: Duration,
) -> Option<Result<Vec<RecordBatch>, String>> {
    let (context, sql) = (context.clone(), sql.to_owned());
    let (sender, receiver) = oneshot::channel();
    // A thread of its own, because an operator that does not yield cannot be stopped.
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let answering = async { timeout(patience, rows(&context, &sql)).await };
        let answered = runtime.unwrap().block_on(answering);
        let _ = sender.send(answered);
    };
    thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(run)
        .unwrap();
    timeout(patience, receiver).await.ok()?.ok()?.ok()?
}

async fn rows(context: &SessionContext, sql: &str) -> Option<Result<Vec<RecordBatch>, String>> {
    let reading = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let stream = match context.sql_with_options(sql, reading).await {
        Ok(frame) => frame.execute_stream().await,
        Err(error) => Err(error),
    };
    let mut stream = match stream {
        Ok(stream) => stream,
        Err(error) => return Some(Err(error.to_string())),
    };
    // At least one batch, which has the schema.
    let mut batches = vec![RecordBatch::new_empty(stream.schema())];
    let mut num_rows = 0;
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => {
                num_rows += batch.num_rows();
                batches.push(batch);
            }
            Err(error) => return Some(Err(error.to_string())),
        }
        if num_rows > MAX_ROWS {
            return None;
        }
    }
    Some(Ok(batches))
}
