//! Sources in object stores and on web servers.

use std::collections::BTreeMap;
use std::io;
use std::iter;
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
use crate::source::gather::{
    self, Contents, Discovered, Found, Opened, WILDCARDS, no_glob, unreadable,
};
use crate::source::lake::Lake;
use crate::source::object::{Object, wait};
use crate::source::object_store_error::explained;
use crate::source::parallel::{in_parallel, try_in_parallel};
use crate::source::skipped::SkippedNames;
use crate::source::{MAX_FILES, SourceFile};

/// The maximum number of listed objects, of which many can be those of a log.
const MAX_LISTED: usize = 10 * MAX_FILES;

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
) -> Result<Discovered, StartError> {
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
        return bucket.glob(key, given_name).map(Discovered::from);
    }
    if key.is_empty() || key.ends_with('/') {
        return bucket.folder(key, given_name);
    }
    let path = bucket.parse(key)?;
    let label = path.filename().unwrap_or(name).to_owned();
    match SourceFile::open_object(bucket.object(path, 1), &label) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bucket.folder(key, given_name),
        opened => gather::file(location, given_name, opened, None).map(Discovered::from),
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
    fn folder(&self, key: &str, given_name: Option<&str>) -> Result<Discovered, StartError> {
        let folder = self.parse(key)?;
        let name = folder.filename().unwrap_or(self.name);
        let lake_at = |label: &str, lake| gather::lake(name, given_name, label, lake);
        if let Some((_, lake)) = self.lake_above(&folder)? {
            return Ok(lake_at("", lake).into());
        }
        let Listed { paths, lakes } = self.list(&folder, &SkippedNames::default())?;
        let is_outside = |label: &str| lake_of(&lakes, label).is_none();
        let paths = paths.into_iter();
        let paths = paths.filter(|path| is_outside(label(&folder, path)));
        let paths = self.limited(paths.collect(), MAX_FILES)?;
        let outer = lakes.iter().filter(|(label, _)| is_outside(label));
        let found: Vec<_> = outer.map(|(label, lake)| lake_at(label, *lake)).collect();
        if paths.is_empty() && found.is_empty() {
            return Err(StartError::BadArgument(format!(
                "{}: there is no such object, and nothing below it; check the address",
                self.location
            )));
        }
        let opened = self.open_all(&folder, paths);
        gather::folder(self.location, name, given_name, opened, found)
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
        let name = given_name.or(folder.filename()).unwrap_or(self.name);
        let lake_at = |label, lake| Ok(Found::named(name, Contents::Lake(lake, label)));
        if let Some((label, lake)) = self.lake_above(&folder)? {
            return lake_at(label, lake);
        }
        let Listed { mut paths, lakes } = self.list(&folder, &SkippedNames::of_glob(key))?;
        paths.retain(|path| pattern.matches_with(path.as_ref(), options));
        let mut labels = paths.iter().map(|path| label(&folder, path));
        if let Some((label, lake)) = labels.find_map(|label| data_lake(&lakes, label)) {
            return lake_at(label.to_owned(), lake);
        }
        let paths = self.limited(paths, MAX_FILES)?;
        gather::glob(self.location, name, self.open_all(&folder, paths))
    }

    /// The table in a table format whose folder is `folder` or above it, unless `folder` is in the folder of the
    /// log: the name of the table's folder, and the format.
    fn lake_above(&self, folder: &Path) -> Result<Option<(String, Lake)>, StartError> {
        let parts: Vec<_> = folder.parts().collect();
        let depths = (0..=parts.len()).rev();
        let lakes = depths.flat_map(|depth| Lake::ALL.map(|lake| (depth, lake)));
        let lakes = lakes.filter(|(depth, lake)| {
            let child = parts.get(*depth);
            child.is_none_or(|child| child.as_ref() != lake.log_folder())
        });
        let lakes: Vec<_> = lakes.collect();
        let found = try_in_parallel(lakes.into_iter(), |(depth, lake)| {
            let folder: Path = parts[..depth].iter().cloned().collect();
            let name = folder.filename().unwrap_or(self.name).to_owned();
            let has_log = self.has_log(folder.join(lake.log_folder()), lake);
            has_log.map(|has_log| has_log.then_some((name, lake)))
        });
        let found = found.map_err(|error| unreadable(self.location, &error))?;
        Ok(found.into_iter().flatten().next())
    }

    /// Whether a folder is the log of a table in that format. A log that may not be read is none.
    fn has_log(&self, log: Path, lake: Lake) -> io::Result<bool> {
        let store = Arc::clone(&self.store);
        wait(async move {
            let mut objects = store.list(Some(&log));
            loop {
                match objects.try_next().await {
                    Ok(Some(object)) => {
                        let below: Vec<_> = label(&log, &object.location).split('/').collect();
                        if lake.has_log_object(&below) {
                            return Ok(true);
                        }
                    }
                    Ok(None) | Err(object_store::Error::PermissionDenied { .. }) => {
                        return Ok(false);
                    }
                    Err(error) => return Err(explained(&error)),
                }
            }
        })?
    }

    fn parse(&self, key: &str) -> Result<Path, StartError> {
        Path::parse(key).map_err(|_| {
            StartError::BadArgument(format!(
                "{}: not a valid key; separate folders by a single /",
                self.location
            ))
        })
    }

    /// The objects in a folder, ordered by folder, and its folders in table formats.
    fn list(&self, folder: &Path, skipped: &SkippedNames) -> Result<Listed, StartError> {
        let (store, below) = (Arc::clone(&self.store), folder.clone());
        let listed = wait(async move {
            let mut listed = Vec::new();
            let mut objects = store.list(Some(&below));
            while let Some(object) = objects.try_next().await? {
                listed.push((object.location, object.size));
                if listed.len() > MAX_LISTED {
                    break;
                }
            }
            Ok::<_, object_store::Error>(listed)
        });
        let objects = listed
            .and_then(|listed| listed.map_err(|error| explained(&error)))
            .map_err(|error| unreadable(self.location, &error))?;
        let mut objects = self.limited(objects, MAX_LISTED)?;
        objects.sort_by(|(a, _), (b, _)| a.as_ref().split('/').cmp(b.as_ref().split('/')));
        let mut listed = Listed::default();
        for (path, size_bytes) in objects {
            let label = label(folder, &path);
            let parts: Vec<&str> = label.split('/').collect();
            if let Some((depth, lake)) = Lake::of_object(&parts)
                && !skipped.has_folder(parts[..depth].iter().copied())
            {
                let known = listed.lakes.entry(parts[..depth].join("/"));
                let known = known.or_insert(lake);
                // A table can have the logs of several formats. As on disk, the first of them counts.
                *known = lake.min(*known);
            }
            if size_bytes > 0 && !skipped.has(label.as_ref()) {
                listed.paths.push(path);
            }
        }
        Ok(listed)
    }

    /// The same objects, if they are not more than `max`.
    fn limited<T>(&self, objects: Vec<T>, max: usize) -> Result<Vec<T>, StartError> {
        if objects.len() > max {
            return Err(StartError::BadArgument(format!(
                "{}: more than {max} objects; give a folder or a glob with fewer objects",
                self.location
            )));
        }
        Ok(objects)
    }

    fn open_all(&self, folder: &Path, paths: Vec<Path>) -> Vec<Opened> {
        let num_objects = paths.len();
        tracing::info!("{}: {num_objects} objects", self.location);
        in_parallel(paths.into_iter(), |path| {
            let label = label(folder, &path).to_owned();
            let object = self.object(path, num_objects);
            Opened::new(SourceFile::opened_object(object, &label), None)
        })
    }

    /// One of the source's `num_objects` objects.
    fn object(&self, path: Path, num_objects: usize) -> Arc<Object> {
        Arc::new(Object::new(Arc::clone(&self.store), path, num_objects))
    }
}

/// The path of an object below a folder.
fn label<'a>(folder: &Path, path: &'a Path) -> &'a str {
    path.as_ref()[folder.as_ref().len()..].trim_start_matches('/')
}

/// What is in a folder of a bucket.
#[derive(Default)]
struct Listed {
    /// Objects that are neither empty nor skipped.
    paths: Vec<Path>,
    lakes: Lakes,
}

/// Folders in table formats, by their paths below the source.
type Lakes = BTreeMap<String, Lake>;

/// The folder in a table format in which a path is, and the format.
fn lake_of<'a>(lakes: &'a Lakes, label: &str) -> Option<(&'a str, Lake)> {
    let ends = label.match_indices('/').map(|(end, _)| end);
    let mut folders = iter::once(0).chain(ends).filter(|end| *end < label.len());
    let found = folders.find_map(|end| lakes.get_key_value(&label[..end]));
    found.map(|(folder, lake)| (folder.as_str(), *lake))
}

/// As [`lake_of`], unless the path is in the folder of the log.
fn data_lake<'a>(lakes: &'a Lakes, label: &str) -> Option<(&'a str, Lake)> {
    lake_of(lakes, label).filter(|(folder, lake)| {
        let mut below = label[folder.len()..].trim_start_matches('/').split('/');
        below.next() != Some(lake.log_folder())
    })
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt, PutPayload};

    use super::*;

    /// A bucket with objects of one byte at these keys.
    fn bucket(keys: &[&str]) -> Bucket<'static> {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for key in keys {
            let (store, key) = (Arc::clone(&store), Path::from(*key));
            let put = wait(async move { store.put(&key, PutPayload::from("x")).await });
            put.unwrap().unwrap();
        }
        Bucket {
            location: "s3://b",
            store,
            name: "b",
        }
    }

    #[test]
    fn lakes_of_a_bucket_are_those_of_a_disk() {
        let bucket = bucket(&[
            "both/.hoodie/hoodie.properties",
            "both/_delta_log/0.json",
            "both/metadata/v1.metadata.json",
            "_staged/lake/_delta_log/0.json",
            "_year=2024/lake/_delta_log/_sidecars/x.parquet",
            "outer/_delta_log/0.json",
            "outer/inner/_delta_log/0.json",
            "none/_delta_log",
            "none/_versions/readme.txt",
            "none/metadata/deep/v1.metadata.json",
            "none/metadata/a.json",
        ]);
        let listed = bucket.list(&Path::default(), &SkippedNames::default());
        let lakes = listed.unwrap().lakes;
        let expected = ["_year=2024/lake", "both", "outer", "outer/inner"];
        assert!(lakes.keys().eq(expected), "{lakes:?}");
        assert!(lakes.values().all(|lake| *lake == Lake::Delta));
        let above = |folder: &str| bucket.lake_above(&Path::from(folder)).unwrap();
        let name = |folder| above(folder).map(|(name, _)| name);
        assert_eq!(name("outer/x").as_deref(), Some("outer"));
        assert_eq!(name("outer/inner/x").as_deref(), Some("inner"));
        assert_eq!(name("outer/_delta_log"), None);
        assert_eq!(name("none/x"), None);
    }

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
