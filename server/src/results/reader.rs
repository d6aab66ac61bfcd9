//! A reader of a result.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::error::ArrowError;
use futures::Stream;

use crate::backend::request::Request;
use crate::encode::{Codec, Recoder, cut_message};
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, LiveDictionaries, MessageKind};
use crate::order::RowRange;
use crate::results::Results;
use crate::results::record::ResultRecord;
use crate::results::run::Run;
use crate::spool::{Fetched, Position};

/// The rows that a reader wants, and their form.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// The rows of the result that are still wanted.
    pub range: RowRange,
    /// The compression that the reader accepts.
    pub codec: Option<Codec>,
    /// How long the run waits for the next reader after this one has left; `None`: as long as the
    /// request says.
    pub linger: Option<Duration>,
}

impl ReadOptions {
    /// How long a run waits after a reader with these options.
    pub(super) fn linger(&self, request: &Request) -> Duration {
        self.linger.unwrap_or(request.linger)
    }
}

/// Reads the rows of a result from some row on. Dropping it leaves the run.
pub struct Reader {
    results: Arc<Results>,
    record: Arc<ResultRecord>,
    run: Arc<Run>,
    id: u64,
    index: u64,
    options: ReadOptions,
    /// The dictionaries that this reader has received.
    dictionaries: LiveDictionaries,
    has_begun: bool,
    recoder: Option<Recoder>,
    ready: VecDeque<IpcMessage>,
}

impl Reader {
    pub(super) async fn open(
        results: Arc<Results>,
        record: Arc<ResultRecord>,
        run: Arc<Run>,
        id: u64,
        position: Position,
        options: ReadOptions,
    ) -> Result<Self, QueryError> {
        let mut reader = Self {
            results,
            record,
            run,
            id,
            index: position.index,
            options,
            dictionaries: LiveDictionaries::default(),
            has_begun: false,
            recoder: None,
            ready: VecDeque::new(),
        };
        reader.dictionaries = position.dictionaries().await?;
        reader.set_recoder()?;
        Ok(reader)
    }

    fn set_recoder(&mut self) -> Result<(), QueryError> {
        let must_recode = self.run.codec.is_some() && self.run.codec != self.options.codec;
        self.recoder = must_recode
            .then(|| Recoder::try_new(&self.run.schema))
            .transpose()
            .map_err(|error| broken(&error))?;
        Ok(())
    }

    /// The result that it reads.
    pub fn record(&self) -> &Arc<ResultRecord> {
        &self.record
    }

    /// The run that it currently reads.
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The compression that its messages may have.
    pub fn codec(&self) -> Option<Codec> {
        self.run
            .codec
            .filter(|codec| self.options.codec == Some(*codec))
    }

    /// The number of the next row.
    pub fn next_row(&self) -> u64 {
        self.options.range.first_row
    }

    /// The next message; `None` after the last row. Safe to cancel.
    ///
    /// # Errors
    /// The query failed or was cancelled, or the rows are no longer kept.
    pub async fn next(&mut self) -> Option<Result<IpcMessage, QueryError>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                let next_row = self.next_row() + message.num_rows;
                self.options.range = self.options.range.from_row(next_row);
                return Some(Ok(message));
            }
            let (first_row, end) = (self.next_row(), self.options.range.end());
            // A range that ends with the run waits for the run's end, which confirms that the sources are
            // unchanged.
            let ends_before_run = self.run.range.end() != end;
            if ends_before_run && end.is_some_and(|end| first_row >= end) {
                return None;
            }
            let (run, id) = (&self.run, self.id);
            // Demands this reader's next row, which may be far ahead of the last row produced.
            let fetched = run
                .spool
                .wait(self.index, || run.want(id, Some(first_row)))
                .await;
            run.want(id, None);
            let outcome = match fetched {
                Fetched::Entry(entry) => {
                    let first_row = entry.first_row();
                    match entry.read().await {
                        Ok(message) => {
                            self.index += 1;
                            self.take(message, first_row)
                        }
                        Err(error) => Err(error),
                    }
                }
                Fetched::End(Ok(())) => return None,
                Fetched::End(Err(error)) => Err(error),
                Fetched::Gone => self.reopen().await,
                Fetched::NotYet => Ok(()),
            };
            if let Err(error) = outcome {
                return Some(Err(error));
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
            let cut = cut_message(&self.run.schema, &self.dictionaries, &message, start, rows);
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

    /// Joins another run, if the rows can be read from their source again.
    async fn reopen(&mut self) -> Result<(), QueryError> {
        if !self.record.is_seekable() {
            let first_row = self.run.spool.rows().start;
            return Err(self.record.rows_expired(self.next_row(), first_row));
        }
        let (run, id, position) = self.results.join(&self.record, self.options).await?;
        self.run.leave(self.id);
        (self.run, self.id, self.index) = (run, id, position.index);
        self.dictionaries = position.dictionaries().await?;
        // As for a new reader, the dictionaries of this run are sent first.
        self.has_begun = false;
        self.set_recoder()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.run.leave(self.id);
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
