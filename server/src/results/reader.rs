//! A reader of a result.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::error::ArrowError;
use futures::Stream;
use tokio_util::task::AbortOnDropHandle;

use crate::backend::request::Request;
use crate::encode::{Codec, Recoder, cut_message};
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, LiveDictionaries, MessageKind};
use crate::order::RowRange;
use crate::results::record::{Paused, ResultRecord, rows_gone};
use crate::results::run::{RunHead, RunLease, cancelled};
use crate::results::{Results, cannot_plan};
use crate::slots::Slot;
use crate::spool::{Fetched, Position};

/// Who reads, which decides how a run that is started for it gets its slot.
#[derive(Debug, Clone, Default)]
pub enum ReaderKind {
    /// A request that has no rows yet: the run waits for a slot for a while.
    #[default]
    Newcomer,
    /// A reader that has begun: the run waits as long as it takes.
    Begun,
    /// A run that holds this slot. Both runs hold it together, because one would wait for the other.
    Run(Arc<Slot>),
}

/// The rows that a reader wants, and their form.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The rows of the result that are still wanted.
    pub range: RowRange,
    /// The compression that the reader accepts.
    pub codec: Option<Codec>,
    /// How long the run waits for the next reader after this one has left; `None`: as long as the
    /// request says.
    pub linger: Option<Duration>,
    /// Who reads.
    pub reader: ReaderKind,
}

impl ReadOptions {
    /// How long a run waits after a reader with these options.
    pub(super) fn linger(&self, request: &Request) -> Duration {
        self.linger.unwrap_or(request.linger)
    }
}

/// A joined run, and where to start reading in it.
pub(super) type Joined = (RunLease, Position);

/// Reads the rows of a result from some row on. Dropping it leaves the run.
pub struct Reader {
    results: Arc<Results>,
    record: Arc<ResultRecord>,
    /// What the response begins with; that of the latest run.
    head: Arc<RunHead>,
    /// `None` after a pause.
    lease: Option<RunLease>,
    paused: Option<Paused>,
    /// A run that is being joined.
    joining: Option<AbortOnDropHandle<Result<Joined, QueryError>>>,
    index: u64,
    options: ReadOptions,
    /// The dictionaries that this reader has received.
    dictionaries: LiveDictionaries,
    has_begun: bool,
    has_rows: bool,
    recoder: Option<Recoder>,
    ready: VecDeque<IpcMessage>,
}

impl Reader {
    pub(super) async fn open(
        results: Arc<Results>,
        record: Arc<ResultRecord>,
        joined: Joined,
        options: ReadOptions,
    ) -> Result<Self, QueryError> {
        let options = match options.reader {
            ReaderKind::Newcomer => ReadOptions {
                reader: ReaderKind::Begun,
                ..options
            },
            _ => options,
        };
        let mut reader = Self {
            results,
            record,
            head: Arc::clone(&joined.0.run().head),
            lease: None,
            paused: None,
            joining: None,
            index: 0,
            options,
            dictionaries: LiveDictionaries::default(),
            has_begun: false,
            has_rows: false,
            recoder: None,
            ready: VecDeque::new(),
        };
        reader.begin(joined).await?;
        Ok(reader)
    }

    /// Begins to read a run.
    async fn begin(&mut self, (lease, position): Joined) -> Result<(), QueryError> {
        self.head = Arc::clone(&lease.run().head);
        self.index = position.index;
        self.dictionaries = position.dictionaries().await?;
        // The dictionaries of this run are sent first.
        self.has_begun = false;
        let codec = self.head.codec;
        let must_recode = codec.is_some() && codec != self.options.codec;
        self.recoder = must_recode
            .then(|| Recoder::try_new(&self.head.schema))
            .transpose()
            .map_err(|error| broken(&error))?;
        self.lease = Some(lease);
        self.paused = None;
        Ok(())
    }

    /// The results of the server.
    pub fn results(&self) -> &Arc<Results> {
        &self.results
    }

    /// The result that it reads.
    pub fn record(&self) -> &Arc<ResultRecord> {
        &self.record
    }

    /// What the response begins with.
    pub fn head(&self) -> &Arc<RunHead> {
        &self.head
    }

    /// The compression that its messages may have.
    pub fn codec(&self) -> Option<Codec> {
        self.head
            .codec
            .filter(|codec| self.options.codec == Some(*codec))
    }

    /// The number of the next row.
    pub fn next_row(&self) -> u64 {
        self.options.range.first_row
    }

    /// Gives back what a reader that waits long must not hold: the run, if its rows can be read from their source
    /// again. The next call of [`Reader::next`] joins another run.
    pub fn pause(&mut self) {
        if self.record.is_seekable() {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.paused.get_or_insert_with(|| Paused::new(&self.record));
        self.lease = None;
        self.joining = None;
    }

    /// The next message; `None` after the last row. Safe to cancel.
    ///
    /// # Errors
    /// The query failed or was cancelled, or the rows are no longer kept.
    pub async fn next(&mut self) -> Option<Result<IpcMessage, QueryError>> {
        let deleted = self.record.deleted.clone();
        tokio::select! {
            biased;
            () = deleted.cancelled() => Some(Err(cancelled())),
            next = self.next_of_runs() => next.transpose(),
        }
    }

    async fn next_of_runs(&mut self) -> Result<Option<IpcMessage>, QueryError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                self.has_rows |= message.num_rows > 0;
                let next_row = self.next_row() + message.num_rows;
                self.options.range = self.options.range.from_row(next_row);
                return Ok(Some(message));
            }
            let Some(lease) = &self.lease else {
                self.join().await?;
                continue;
            };
            let (first_row, end) = (self.next_row(), self.options.range.end());
            // A range that ends with the run waits for the run's end, which confirms that the sources are
            // unchanged.
            let ends_before_run = lease.run().range.end() != end;
            if let Some(end) = end.filter(|end| ends_before_run && first_row >= *end) {
                if self.record.request.range.end() == Some(end) {
                    self.results.compare_sources(&self.record).await?;
                    self.record.done(self.has_rows.then_some(end));
                }
                return Ok(None);
            }
            // Demands this reader's next row, which may be far ahead of the last row produced.
            let spool = &lease.run().spool;
            let fetched = spool.wait(self.index, || lease.want(Some(first_row))).await;
            lease.want(None);
            match fetched {
                Fetched::Entry(entry) => {
                    let first_row = entry.first_row();
                    let message = entry.read().await?;
                    self.index += 1;
                    self.take(message, first_row)?;
                }
                Fetched::End(_) if lease.run().gave_way() => self.leave(),
                Fetched::End(end) => return end.map(|()| None),
                Fetched::Gone => {
                    if !self.record.is_repeatable() {
                        return Err(rows_gone(first_row));
                    }
                    self.lease = None;
                }
                Fetched::NotYet => {}
            }
        }
    }

    /// The remaining messages.
    pub fn into_messages(self) -> impl Stream<Item = Result<IpcMessage, QueryError>> + Send {
        futures::stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            let message = reader.next().await?;
            let goes_on = message.is_ok();
            Some((message, goes_on.then_some(reader)))
        })
    }

    /// Queues the wanted rows of a message.
    fn take(&mut self, message: IpcMessage, first_row: u64) -> Result<(), QueryError> {
        if message.kind != MessageKind::Batch {
            // Before the first row, dictionaries are only collected, because only their last state is sent.
            if self.dictionaries.note(&message) && self.has_begun {
                self.put(message)?;
            }
            return Ok(());
        }
        let num_rows = message.num_rows;
        let start = self.next_row().saturating_sub(first_row).min(num_rows);
        let wanted = self.options.range.limit.unwrap_or(u64::MAX);
        let rows = wanted.min(num_rows - start);
        if rows == 0 {
            return Ok(());
        }
        if rows < num_rows {
            let cut = cut_message(&self.head.schema, &self.dictionaries, &message, start, rows);
            for message in cut.map_err(|error| broken(&error))? {
                self.put(message)?;
            }
        } else {
            if !self.has_begun {
                let dictionaries: Vec<_> = self.dictionaries.messages().cloned().collect();
                for dictionary in dictionaries {
                    self.put(dictionary)?;
                }
            }
            self.put(message)?;
        }
        self.has_begun = true;
        Ok(())
    }

    fn put(&mut self, message: IpcMessage) -> Result<(), QueryError> {
        match &mut self.recoder {
            Some(recoder) => self
                .ready
                .extend(recoder.recode(&message).map_err(|error| broken(&error))?),
            None => self.ready.push_back(message),
        }
        Ok(())
    }

    /// Joins a run that has the next row. A task does this, so that a cancelled call does not begin anew.
    async fn join(&mut self) -> Result<(), QueryError> {
        let (results, record, options) = (&self.results, &self.record, &self.options);
        let joining = self.joining.get_or_insert_with(|| {
            let (results, record, options) =
                (Arc::clone(results), Arc::clone(record), options.clone());
            let joining = async move { results.find_or_start_run(&record, &options).await };
            AbortOnDropHandle::new(tokio::spawn(joining))
        });
        let joined = joining.await.unwrap_or_else(|_| Err(cannot_plan()));
        self.joining = None;
        if let (Err(error), Some(paused)) = (&joined, &mut self.paused) {
            paused.fail(error);
        }
        self.begin(joined?).await
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.record.touch();
    }
}

pub(super) fn broken(error: &ArrowError) -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        format!("a message of the result cannot be decoded: {error}"),
        "run the query again",
    )
}
