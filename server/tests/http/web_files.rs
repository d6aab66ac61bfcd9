//! A web server of files that answers `Range` requests and counts what it sends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

#[derive(Default)]
pub(crate) struct Shelf {
    files: Mutex<HashMap<String, (Vec<u8>, u64)>>,
    sent_bytes: AtomicU64,
    requests: AtomicU64,
}

pub(crate) struct WebFiles {
    pub(crate) url: String,
    pub(crate) shelf: Arc<Shelf>,
    serving: JoinHandle<()>,
}

impl WebFiles {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub(crate) async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        Self::of_listener(listener)
    }

    pub(crate) fn of_listener(listener: TcpListener) -> Self {
        let shelf = Arc::new(Shelf::default());
        let routes = Router::new()
            .route("/{*name}", get(answer))
            .with_state(Arc::clone(&shelf));
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            url,
            shelf,
            serving,
        }
    }

    pub(crate) fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        let mut files = self.shelf.files.lock().unwrap();
        let version = files.get(name).map_or(0, |(_, version)| version + 1);
        files.insert(name.to_owned(), (bytes.into(), version));
    }

    pub(crate) fn remove(&self, name: &str) {
        self.shelf.files.lock().unwrap().remove(name);
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.shelf.sent_bytes.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.shelf.requests.load(Ordering::SeqCst)
    }
}

impl Drop for WebFiles {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State(shelf): State<Arc<Shelf>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    shelf.requests.fetch_add(1, Ordering::SeqCst);
    let refused = |status: StatusCode| Response::builder().status(status).body(Body::empty());
    let files = shelf.files.lock().unwrap();
    let Some((bytes, version)) = files.get(&name) else {
        let status = match name.as_str() {
            "secret.csv" => StatusCode::FORBIDDEN,
            // S3 answers so for a bucket of another region.
            "elsewhere/a.csv" => StatusCode::MOVED_PERMANENTLY,
            "broken.csv" => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::NOT_FOUND,
        };
        return refused(status).unwrap();
    };
    let range = headers
        .get(header::RANGE)
        .filter(|_| !name.starts_with("whole/"))
        .and_then(|range| range.to_str().ok()?.strip_prefix("bytes=")?.split_once('-'))
        .map(|(start, end)| (start.parse().unwrap(), end.parse::<usize>().unwrap() + 1));
    let response = Response::builder().header(header::ETAG, format!("\"{version}\""));
    let (start, end): (usize, usize) = range.unwrap_or((0, bytes.len()));
    if start >= bytes.len() && range.is_some() {
        return refused(StatusCode::RANGE_NOT_SATISFIABLE).unwrap();
    }
    let end = end.min(bytes.len());
    shelf
        .sent_bytes
        .fetch_add((end - start) as u64, Ordering::SeqCst);
    let response = match range {
        None => response,
        Some(_) => response.status(StatusCode::PARTIAL_CONTENT).header(
            header::CONTENT_RANGE,
            format!("bytes {start}-{}/{}", end - 1, bytes.len()),
        ),
    };
    // A server that sends more than the range that it declares.
    let sent = match name.starts_with("more/") {
        true => bytes.as_slice(),
        false => &bytes[start..end],
    };
    response.body(Body::from(sent.to_vec())).unwrap()
}
