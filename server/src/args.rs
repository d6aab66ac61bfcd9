//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::size::parse_size_bytes;

/// Streams tables of any size to a browser, in order, as Arrow IPC over HTTP.
#[derive(Debug, Parser)]
#[command(name = "colonnade", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves tables over HTTP, with a page to look at them.
    Serve(Box<ServeArgs>),
}

/// What to serve, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeArgs {
    /// A file, a directory or a quoted glob, perhaps as name=SOURCE. Without any: the demo tables.
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,

    /// The address to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7878")]
    pub listen: String,

    /// Require the token that this file holds; compulsory when listening on other than loopback.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// A web page's origin that may read from this server, such as https://example.org. Repeatable.
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,

    /// A host name by which this server may be addressed. Repeatable.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,

    /// Memory of all queries together [default: half of the machine's].
    #[arg(long, value_name = "BYTES", value_parser = parse_size_bytes)]
    pub memory: Option<u64>,

    /// Memory that one stream may hold while its reader is slow.
    #[arg(long, value_name = "BYTES", value_parser = parse_size_bytes, default_value = "64MiB")]
    pub stream_memory: u64,

    /// The longest a query may run; the time in which it waits for its reader is not counted.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub query_timeout: u64,

    /// How many streams may run at the same time.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_streams: u32,
}
