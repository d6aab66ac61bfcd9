//! Sources in object stores and on web servers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use percent_encoding::percent_decode_str;

use crate::error::StartError;
use crate::source::gather::{self, Found, Opened, WILDCARDS, no_glob, unreadable};
use crate::source::object::{Object, wait};
use crate::source::object_store_error::explained;
use crate::source::parallel::in_parallel;
use crate::source::{MAX_FILES, SourceFile};

/// The table of a file on a web server, which must answer `Range` requests.
///
/// # Errors
/// One line: what is wrong and what would be right.
pub(super) fn find_by_http(url: &str, given_name: Option<&str>) -> Result<Found, StartError> {
    let shown = without_secrets(url);
    let store = HttpBuilder::new()
        .with_url(url)
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_retry(retry())
        .build()
        .map_err(|_| {
            StartError::BadArgument(format!(
                "{shown}: not a valid address; give one such as https://example.org/file.parquet"
            ))
        })?;
    let path = shown.split_once("://").map_or("", |(_, rest)| rest);
    let encoded = match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name,
        _ => "file",
    };
    let label = percent_decode_str(encoded)
        .decode_utf8_lossy()
        .replace('/', "_");
    // The store's URL is the whole address, so that no part of it is encoded again.
    let object = Arc::new(Object::new(Arc::new(store), Path::default(), 1));
    gather::file(
        &shown,
        given_name,
        SourceFile::open_object(object, &label),
        None,
    )
}

/// The address without possible passwords and signatures.
fn without_secrets(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    }
}

/// The tables of `s3://bucket/key` or `gs://bucket/key`: an object, all objects in a folder, or the
/// objects that a glob matches.
///
/// # Errors
/// One line: what is wrong and what would be right.
pub(super) fn find_in_bucket(
    location: &str,
    given_name: Option<&str>,
) -> Result<Vec<Found>, StartError> {
    let (scheme, rest) = location.split_once("://").unwrap_or_default();
    let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{location}: the address has no bucket; give one such as {scheme}://bucket/folder/file.parquet"
        )));
    }
    let store = connect(scheme, name).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        StartError::BadArgument(format!(
            "{location}: {line}; check the environment variables that begin with AWS_ or GOOGLE_"
        ))
    })?;
    let bucket = Bucket {
        location,
        store,
        name,
    };
    if key.contains(WILDCARDS) {
        return bucket.glob(key, given_name).map(|found| vec![found]);
    }
    if key.is_empty() || key.ends_with('/') {
        return bucket.folder(key, given_name);
    }
    let path = bucket.parse(key)?;
    let label = path.filename().unwrap_or(name).to_owned();
    match bucket.open(path, &label, 1) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bucket.folder(key, given_name),
        opened => gather::file(location, given_name, opened, None).map(|found| vec![found]),
    }
}

fn connect(scheme: &str, bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
    Ok(match scheme {
        "s3" => Arc::new(
            AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .build()?,
        ),
        _ => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .build()?,
        ),
    })
}

/// Retries are limited to a short time, because a reader waits for them.
fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 4,
        retry_timeout: Duration::from_secs(15),
    }
}

struct Bucket<'a> {
    /// The source as it was given.
    location: &'a str,
    store: Arc<dyn ObjectStore>,
    name: &'a str,
}

impl Bucket<'_> {
    fn folder(&self, key: &str, given_name: Option<&str>) -> Result<Vec<Found>, StartError> {
        let folder = self.parse(key)?;
        let paths = self.list(&folder)?;
        if paths.is_empty() {
            return Err(StartError::BadArgument(format!(
                "{}: there is no such object, and nothing below it; check the address",
                self.location
            )));
        }
        let name = folder.filename().unwrap_or(self.name);
        gather::folder(
            self.location,
            name,
            given_name,
            self.open_all(&folder, paths),
        )
    }

    fn glob(&self, key: &str, given_name: Option<&str>) -> Result<Found, StartError> {
        let pattern = glob::Pattern::new(key).map_err(|error| no_glob(self.location, &error))?;
        let options = glob::MatchOptions {
            require_literal_separator: true,
            require_literal_leading_dot: true,
            ..glob::MatchOptions::default()
        };
        // The folder before the first wildcard is the table's name.
        let start = key.find(WILDCARDS).unwrap_or(key.len());
        let folder = self.parse(
            key[..start]
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder),
        )?;
        let mut paths = self.list(&folder)?;
        paths.retain(|path| pattern.matches_with(path.as_ref(), options));
        let name = given_name.or(folder.filename()).unwrap_or(self.name);
        gather::glob(self.location, name, self.open_all(&folder, paths))
    }

    fn parse(&self, key: &str) -> Result<Path, StartError> {
        Path::parse(key).map_err(|_| {
            StartError::BadArgument(format!(
                "{}: not a valid key; separate folders by a single /",
                self.location
            ))
        })
    }

    /// All objects in a folder that are neither empty nor hidden, ordered by folder.
    fn list(&self, folder: &Path) -> Result<Vec<Path>, StartError> {
        let (store, below) = (Arc::clone(&self.store), folder.clone());
        let depth = folder.parts_count();
        let listed = wait(async move {
            let mut objects = store.list(Some(&below));
            let mut paths = Vec::new();
            while let Some(object) = objects.try_next().await? {
                let is_hidden = object
                    .location
                    .parts()
                    .skip(depth)
                    .any(|part| part.as_ref().starts_with('.'));
                if object.size > 0 && !is_hidden {
                    paths.push(object.location);
                }
                if paths.len() > MAX_FILES {
                    break;
                }
            }
            Ok::<_, object_store::Error>(paths)
        });
        let mut paths = listed
            .and_then(|listed| listed.map_err(|error| explained(&error)))
            .map_err(|error| unreadable(self.location, &error))?;
        if paths.len() > MAX_FILES {
            return Err(StartError::BadArgument(format!(
                "{}: more than {MAX_FILES} objects; give a folder or a glob with fewer objects",
                self.location
            )));
        }
        paths.sort_by(|a, b| a.as_ref().split('/').cmp(b.as_ref().split('/')));
        Ok(paths)
    }

    fn open_all(&self, folder: &Path, paths: Vec<Path>) -> Vec<Opened> {
        let num_objects = paths.len();
        tracing::info!("{}: {num_objects} objects", self.location);
        let start = folder.as_ref().len();
        in_parallel(paths.into_iter(), |path| {
            let label = path.as_ref()[start..].trim_start_matches('/').to_owned();
            Opened::new(label, |label| self.open(path, label, num_objects))
        })
    }

    /// Opens one of the source's `num_objects` objects.
    fn open(&self, path: Path, label: &str, num_objects: usize) -> io::Result<SourceFile> {
        let object = Object::new(Arc::clone(&self.store), path, num_objects);
        SourceFile::open_object(Arc::new(object), label)
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn addresses_are_shown_without_secrets() {
        for (url, shown) in [
            ("https://a.org/x.csv?sig=s#f", "https://a.org/x.csv"),
            ("https://me:secret@a.org/x@y", "https://a.org/x@y"),
            ("http://a.org", "http://a.org"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
