//! The files of a table as a read-only object store of the engine. Files are only read in the state
//! that they had when the table was loaded.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::source::SourceFile;

/// A file that is read sequentially is read in chunks of this size, on disk and in an object store.
const DISK_PIECE_BYTES: u64 = 1 << 20;
const STORE_PIECE_BYTES: u64 = 4 << 20;

/// Reads bytes of `file` without blocking.
///
/// # Errors
/// As [`SourceFile::read`].
pub(super) async fn read_range(file: &SourceFile, range: Range<u64>) -> io::Result<Bytes> {
    let mut read = file.read_ranges(vec![range]).await?;
    Ok(read.pop().unwrap_or_default())
}

/// The files of one table, by location.
#[derive(Debug)]
pub(super) struct FileObjectStore {
    files: HashMap<Path, SourceFile>,
}

impl FileObjectStore {
    /// A store of these files. [`FileObjectStore::meta`] gives their locations.
    pub(super) fn new(files: &[SourceFile]) -> Arc<Self> {
        let files = files.iter().enumerate();
        Arc::new(Self {
            files: files
                .map(|(index, file)| (location(index, file), file.clone()))
                .collect(),
        })
    }

    /// The metadata of file `index` for the engine. The index makes equal names different.
    pub(super) fn meta(index: usize, file: &SourceFile) -> ObjectMeta {
        ObjectMeta {
            location: location(index, file),
            last_modified: file.identity.modified.map(Into::into).unwrap_or_default(),
            size: file.size_bytes(),
            e_tag: file.identity.e_tag.clone(),
            version: None,
        }
    }

    fn file(&self, location: &Path) -> Result<&SourceFile> {
        self.files.get(location).ok_or_else(|| Error::NotFound {
            path: location.to_string(),
            source: "the table has no such file".into(),
        })
    }
}

fn location(index: usize, file: &SourceFile) -> Path {
    Path::from(format!("{index}/{}", file.label))
}

/// The index of the file at a location.
pub(super) fn index_of(location: &Path) -> Option<usize> {
    location.parts().next()?.as_ref().parse().ok()
}

impl fmt::Display for FileObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files of a table", self.files.len())
    }
}

#[async_trait]
impl ObjectStore for FileObjectStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let file = self.file(location)?.clone();
        let meta = ObjectMeta {
            location: location.clone(),
            ..Self::meta(0, &file)
        };
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            Some(range) => range.as_range(meta.size).map_err(unreadable)?,
            None => 0..meta.size,
        };
        let wanted = if options.head { 0..0 } else { range.clone() };
        let piece_bytes = if file.is_remote() {
            STORE_PIECE_BYTES
        } else {
            DISK_PIECE_BYTES
        };
        let chunks = futures::stream::unfold((file, wanted), move |(file, left)| async move {
            if left.is_empty() {
                return None;
            }
            let middle = left.end.min(left.start + piece_bytes);
            match read_range(&file, left.start..middle).await {
                Ok(chunk) => Some((Ok(chunk), (file, middle..left.end))),
                Err(error) => Some((Err(unreadable(error)), (file, 0..0))),
            }
        });
        Ok(GetResult {
            payload: GetResultPayload::Stream(chunks.boxed()),
            meta,
            range,
            attributes: Attributes::default(),
        })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.file(location)?
            .read_ranges(ranges.to_vec())
            .await
            .map_err(unreadable)
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(not_supported())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(not_supported())
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::iter([Err(not_supported())]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::iter([Err(not_supported())]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(not_supported())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(not_supported())
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Generic {
        store: "table",
        source: Box::new(error),
    }
}

fn not_supported() -> Error {
    Error::NotSupported {
        source: "the files of a table are read-only".into(),
    }
}
