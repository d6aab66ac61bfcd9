//! The program `colonnade`.

use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use colonnade_server::allocator::LimitedAllocator;
use colonnade_server::args::{Cli, Command, LogFormat, ServeArgs};
#[cfg(unix)]
use colonnade_server::backend::engine_process;
use colonnade_server::byte_pool::ledger;
use colonnade_server::error::StartError;
use colonnade_server::http::{GuardConfig, answer_while_starting};
use colonnade_server::log::JsonLines;
use colonnade_server::machine_memory::default_memory_bytes;
use colonnade_server::{App, AppConfig, allocator, backend, demo, source};
use futures::FutureExt;
use tokio::net::{TcpListener, TcpSocket};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

/// File descriptors for connections, sources and spill files.
const MAX_OPEN_FILES: u64 = 65_536;

/// Connections that wait until they are accepted. When the queue is full, a client's system tries again after
/// a second.
const MAX_UNACCEPTED: u32 = 4096;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            // Only clap's first line, because a refusal is one line; `--help` has the rest.
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("error: ").unwrap_or(line);
            if line.is_empty() {
                eprintln!("colonnade: a command is missing; write colonnade serve [SOURCE...]");
            } else {
                eprintln!("colonnade: {line}; see colonnade serve --help");
            }
            return ExitCode::from(2);
        }
        Err(error) => {
            // `--help` and `--version`.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    let filter = EnvFilter::try_from_env("COLONNADE_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,colonnade=info,colonnade_server=info"));
    let args = match cli.command {
        Command::Serve(args) => args,
        #[cfg(unix)]
        Command::Engine {
            spill_folder,
            num_threads,
        } => return engine(&spill_folder, num_threads),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    match args.log_format {
        LogFormat::Text => log.with_ansi(false).without_time().init(),
        LogFormat::Json => log.event_format(JsonLines).init(),
    }
    match serve(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("colonnade: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

#[cfg(unix)]
fn engine(spill_folder: &Path, num_threads: usize) -> ExitCode {
    match engine_process::run(spill_folder, num_threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("colonnade: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: &ServeArgs) -> Result<(), StartError> {
    let address = resolve(&args.listen)?;
    let config = AppConfig {
        memory_bytes: args.memory.unwrap_or_else(default_memory_bytes),
        stream_memory_bytes: args.stream_memory,
        query_timeout: Some(Duration::from_secs(args.query_timeout)),
        max_streams: args.max_streams as usize,
        data_dir: args.data_dir.clone(),
        spool_bytes: args.spool,
        writable: args.writable,
        max_upload_bytes: args.max_upload,
        upload_quota_bytes: args.upload_quota,
        engine_program: engine_program(),
        guard: guard(args, address)?,
        ..AppConfig::default()
    };
    allocator::return_free_memory(config.memory_bytes);
    ledger::limit(config.memory_bytes);
    source::limit_footers(config.memory_bytes);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.num_threads.clamp(1, 4))
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(|error| StartError::Failed(format!("cannot start the HTTP threads: {error}")))?;
    // Each connection takes a descriptor. If the limit cannot be raised, fewer are accepted.
    let _ = rlimit::increase_nofile_limit(MAX_OPEN_FILES);
    // Bind first, so that an address in use is refused before any work is done.
    let listener = runtime.block_on(async { listen(address) }).map_err(|error| {
        StartError::Failed(match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("{address} is in use; stop the program that listens there, or give another --listen (port 0 picks a free one)")
            }
            _ => format!("cannot listen on {address}: {error}; give --listen an address of this machine"),
        })
    })?;
    let address = listener.local_addr().map_err(|error| {
        StartError::Failed(format!("the listening address is not known: {error}"))
    })?;
    let listener = Arc::new(listener);
    let (started, starting) = tokio::sync::oneshot::channel::<()>();
    let answering = answer_while_starting(Arc::clone(&listener), starting.map(drop));
    let answering = runtime.spawn(answering);
    let engine = runtime.block_on(backend::connect(&args.sources))?;
    let (tables, folders) = if args.sources.is_empty() {
        (demo::open()?, None)
    } else if engine.is_none() {
        let (tables, folders) = source::open_with_schemas(&args.sources, &args.schema)?;
        (tables, Some(folders))
    } else {
        (Vec::new(), None)
    };
    // Handle signals before the app creates a temporary folder, so that a stopped server still removes it.
    let (stop, end_now) = {
        let _context = runtime.enter();
        stop_signals()
            .map_err(|error| StartError::Failed(format!("signals cannot be handled: {error}")))?
    };
    let app = match engine {
        Some(engine) => App::of_backend(&config, engine)?,
        None => App::try_new(&config, tables)?.following(folders),
    };
    drop(started);
    let _ = runtime.block_on(answering);
    // Standard output holds this line and no other.
    let mut out = std::io::stdout();
    let _ = writeln!(out, "listening on http://{address}").and_then(|()| out.flush());
    runtime.block_on(async {
        tokio::select! {
            () = app.run(&listener, stop) => {}
            () = end_now => {}
        }
    });
    drop(app);
    runtime.shutdown_timeout(Duration::from_millis(200));
    Ok(())
}

/// This program, which runs statements in processes of its own.
fn engine_program() -> Option<PathBuf> {
    // On Linux, the link leads to the program even after its file was replaced.
    let link = PathBuf::from("/proc/self/exe");
    let program = if link.exists() {
        Some(link)
    } else {
        std::env::current_exe().ok()
    };
    let program = program.filter(|_| cfg!(unix));
    if program.is_none() {
        tracing::warn!(
            "SQL runs inside the server: a statement that needs too much memory ends it"
        );
    }
    program
}

fn resolve(listen: &str) -> Result<SocketAddr, StartError> {
    let listen = listen.strip_prefix("http://").unwrap_or(listen);
    let refuse = || {
        StartError::BadArgument(format!(
            "--listen {listen:?} is not an address; write HOST:PORT, such as 127.0.0.1:7878"
        ))
    };
    listen
        .to_socket_addrs()
        .map_err(|_| refuse())?
        .next()
        .ok_or_else(refuse)
}

/// Listens with a queue that holds a burst of new connections.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // On Windows, the option would let another program take the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(MAX_UNACCEPTED)
}

fn guard(args: &ServeArgs, address: SocketAddr) -> Result<GuardConfig, StartError> {
    let token = match &args.token_file {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                StartError::BadArgument(format!(
                    "--token-file {}: {error}; give a file that holds the token",
                    path.display()
                ))
            })?;
            let token = text.trim().to_owned();
            if token.len() < 16 || !token.bytes().all(|b| b.is_ascii_graphic()) {
                return Err(StartError::BadArgument(format!(
                    "--token-file {}: a token is 16 or more printable ASCII characters without spaces; create one with openssl rand -hex 32",
                    path.display()
                )));
            }
            Some(token)
        }
    };
    if token.is_none() && !address.ip().is_loopback() {
        return Err(StartError::BadArgument(format!(
            "--listen {address} can be reached from other machines and needs --token-file FILE; or listen on 127.0.0.1"
        )));
    }
    for origin in &args.allow_origin {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        if authority.is_none_or(|authority| authority.is_empty() || authority.contains('/')) {
            return Err(StartError::BadArgument(format!(
                "--allow-origin {origin:?} is not an origin; write scheme and host without a path, such as https://example.org"
            )));
        }
    }
    let listen_host = args
        .listen
        .rsplit_once(':')
        .map_or(args.listen.as_str(), |(host, _)| host);
    let mut hosts: Vec<String> = args
        .allow_host
        .iter()
        .map(|host| host.to_ascii_lowercase())
        .collect();
    hosts.push(address.ip().to_string());
    hosts.push(listen_host.trim_matches(['[', ']']).to_ascii_lowercase());
    Ok(GuardConfig {
        hosts,
        any_address: address.ip().is_unspecified(),
        origins: args.allow_origin.clone(),
        token,
    })
}

/// Two futures: the first is ready at the first stop signal, the second at the second. The handlers are
/// installed when this returns.
fn stop_signals() -> std::io::Result<(
    impl Future<Output = ()> + Send + 'static,
    impl Future<Output = ()> + Send + 'static,
)> {
    let mut signals = Signals::listen()?;
    let (first, stop) = tokio::sync::oneshot::channel();
    let (second, end_now) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        let _ = first.send(());
        signals.next().await;
        let _ = second.send(());
    });
    Ok((stop.map(drop), end_now.map(drop)))
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
