//! What SQL statements are compared with: DataFusion with its default settings, and the server with its engine in
//! the same process.

use std::io::{BufRead, Write};
use std::time::Instant;

use colonnade_server::{App, AppConfig, source};
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use futures::StreamExt;

use crate::Result;

/// Runs the statements of standard input, one a line, over the Parquet files of a folder, and discards their rows.
/// Answers each with its time in milliseconds, or with `error:` and a text.
pub(crate) fn run_plain(folder: &str) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let context = SessionContext::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let (Some(name), Some(address)) = (path.file_stem(), path.to_str()) else {
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        runtime.block_on(context.register_parquet(name, address, ParquetReadOptions::default()))?;
    }
    for statement in std::io::stdin().lock().lines() {
        let statement = statement?;
        let context = context.clone();
        let begun = Instant::now();
        let ran = runtime.block_on(async move {
            let mut rows = context.sql(&statement).await?.execute_stream().await?;
            while rows.next().await.transpose()?.is_some() {}
            Ok::<_, datafusion::error::DataFusionError>(())
        });
        match ran {
            Ok(()) => println!("{}", begun.elapsed().as_secs_f64() * 1e3),
            Err(error) => println!("error: {}", error.strip_backtrace().replace('\n', " ")),
        }
    }
    Ok(())
}

/// Serves a folder as `colonnade serve` does, but runs SQL in this process. Ends when it is killed.
pub(crate) fn serve_in_process(folder: &str) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let app = App::try_new(
        &AppConfig::default(),
        source::open_all(&[folder.to_owned()])?,
    )?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on http://{address}")?;
    out.flush()?;
    runtime.block_on(app.run(&listener, std::future::pending()));
    Ok(())
}
