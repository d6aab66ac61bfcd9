//! Records what the tests ask a server and what it answers, for `scripts/check-openapi.mjs`: one JSON object per
//! line, in the file that `COLONNADE_EXCHANGES` names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{LazyLock, Mutex};

use axum::http::HeaderMap;
use serde_json::{Value, json};

static FILE: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = std::env::var_os("COLONNADE_EXCHANGES")?;
    let file = File::options().create(true).append(true).open(path);
    Some(Mutex::new(file.unwrap()))
});

/// A request and the response to it. Written when it is dropped.
pub(crate) struct Exchange {
    head: Value,
    is_json: bool,
    body: Vec<u8>,
    is_whole: bool,
}

impl Exchange {
    /// `None` where no file is named. Only JSON bodies are recorded.
    pub(crate) fn begin(
        [method, path]: [&str; 2],
        request_headers: &[(&str, &str)],
        request_body: &[u8],
        status: u16,
        headers: &HeaderMap,
    ) -> Option<Self> {
        FILE.as_ref()?;
        let is_json = |headers: &BTreeMap<&str, &str>| {
            let name = headers
                .get("content-type")
                .and_then(|name| name.split(';').next());
            name.is_some_and(|name| {
                ["application/json", "application/problem+json"].contains(&name.trim())
            })
        };
        let request_headers: BTreeMap<_, _> = request_headers.iter().copied().collect();
        let headers = headers.iter();
        let headers: BTreeMap<_, _> = headers
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
            .collect();
        let request_body = is_json(&request_headers).then(|| String::from_utf8_lossy(request_body));
        Some(Self {
            head: json!({
                "method": method,
                "path": path,
                "request_headers": request_headers,
                "request_body": request_body,
                "status": status,
                "headers": headers,
            }),
            is_json: is_json(&headers),
            body: Vec::new(),
            is_whole: false,
        })
    }

    /// Notes the next piece of the response's body, or its proper end.
    pub(crate) fn note(&mut self, piece: Option<&[u8]>) {
        match piece {
            Some(piece) if self.is_json => self.body.extend_from_slice(piece),
            Some(_) => {}
            None => self.is_whole = true,
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // A body that the test has not read to its end is left out.
        let is_read = self.is_json && self.is_whole;
        self.head["body"] = json!(is_read.then(|| String::from_utf8_lossy(&self.body)));
        if let Some(file) = FILE.as_ref()
            && let Ok(mut file) = file.lock()
        {
            let _ = file.write_all(format!("{}\n", self.head).as_bytes());
        }
    }
}
