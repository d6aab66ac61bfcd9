//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::size::parse_size_bytes;

/// Streams tables of any size to a browser, in order, as Arrow IPC over HTTP.
#[derive(Debug, Parser)]
#[command(name = "colonnade", version, about)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves tables over HTTP, with a dashboard to view them.
    Serve(Box<ServeArgs>),
    /// Runs statements for a server, which starts this program.
    #[cfg(unix)]
    #[command(hide = true)]
    Engine {
        /// The folder for spill files.
        spill_folder: PathBuf,
        /// Threads of a statement.
        num_threads: usize,
    },
}

/// What to serve, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeArgs {
    /// A file, a directory, a quoted glob, an https://, s3:// or gs:// URL, or an engine (sc://HOST:PORT, flightsql://HOST:PORT). name=SOURCE names it. Without a source, the demo tables are served.
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,

    /// How a table of text files is read, and its types, as a JSON file. Repeatable.
    #[arg(long, value_name = "NAME=FILE")]
    pub schema: Vec<String>,

    /// The address to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7878")]
    pub listen: String,

    /// Require the token in this file; compulsory unless the server listens on a loopback address.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// A web page's origin that may read from this server, such as https://example.org. Repeatable.
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,

    /// A host name by which this server may be addressed. Repeatable.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,

    /// Memory of all queries together [default: half of the machine's, or of the container's limit].
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = parse_budget_bytes)]
    pub memory: Option<u64>,

    /// Memory that one stream may hold while its reader is slow.
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = parse_budget_bytes, default_value = "64MiB")]
    pub stream_memory: u64,

    /// The longest a query may run, not counting the time that it waits for its reader.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, allow_hyphen_values = true, value_parser = parse_seconds)]
    pub query_timeout: u64,

    /// How many streams may run at the same time.
    #[arg(long, value_name = "N", default_value_t = 64, allow_hyphen_values = true, value_parser = parse_streams)]
    pub max_streams: u32,

    /// Where results, spilled sorts and uploads are kept [default: a temporary folder].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Disk for results that wait for a reader; sorts that exceed the memory may use the same amount again.
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = parse_budget_bytes, default_value = "16GiB")]
    pub spool: u64,

    /// How the log on standard error is written.
    #[arg(
        long,
        value_enum,
        value_name = "text|json",
        default_value = "text",
        hide_possible_values = true
    )]
    pub log_format: LogFormat,

    /// Accept uploads by PUT /v1/tables/NAME.
    #[arg(long)]
    pub writable: bool,

    /// The largest upload.
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = parse_budget_bytes, default_value = "10GiB")]
    pub max_upload: u64,

    /// Disk for all uploaded tables.
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = parse_budget_bytes, default_value = "64GiB")]
    pub upload_quota: u64,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Plain text, one line per event.
    Text,
    /// One JSON object per line, with the time.
    Json,
}

fn parse_budget_bytes(text: &str) -> Result<u64, String> {
    match parse_size_bytes(text)? {
        0 => Err("the budget cannot be 0: write a size such as 64MiB".to_owned()),
        bytes => Ok(bytes),
    }
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    whole_number(text, 1..=u64::MAX).ok_or_else(|| {
        format!("{text:?} is not a time: write whole seconds, 1 or more, such as 60")
    })
}

fn parse_streams(text: &str) -> Result<u32, String> {
    whole_number(text, 1..=10_000)
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| {
            format!("{text:?} is not a number of streams: write a number from 1 to 10000")
        })
}

fn whole_number(text: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    text.parse().ok().filter(|number| range.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(option: &str, value: &str) -> String {
        Cli::try_parse_from(["colonnade", "serve", option, value])
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_bad_option_says_what_would_be_right() {
        for (option, value, right) in [
            ("--memory", "-1", "64MiB"),
            ("--stream-memory", "0", "64MiB"),
            ("--spool", "0", "64MiB"),
            ("--max-upload", "many", "64MiB"),
            ("--query-timeout", "abc", "whole seconds"),
            ("--query-timeout", "0", "whole seconds"),
            ("--max-streams", "-5", "1 to 10000"),
            ("--max-streams", "99999999999", "1 to 10000"),
        ] {
            let text = refusal(option, value);
            assert!(text.contains(right), "{option} {value}: {text}");
        }
    }
}
