//! The HTTP interface: routes, access control, requests and responses.

pub mod arrow_body;
mod assets;
mod column_list;
pub mod connections;
mod exchange;
mod extract;
mod guard;
mod headers;
mod outgoing;
mod pace;
mod problem;
mod routes;
mod rows_response;
mod session;
mod starting;

use std::sync::Arc;
use std::time::Duration;

pub use guard::GuardConfig;
pub use routes::router;
pub use session::Sessions;
pub use starting::answer_while_starting;

use crate::backend::Backend;
use crate::backend::embedded::Engine;
use crate::data_dir::DataDir;
use crate::http::pace::Pace;
use crate::metrics::Metrics;
use crate::results::Results;
use crate::slots::{Slot, Slots};
use crate::uploads::Uploads;

/// The largest JSON body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// The state that handlers share.
#[derive(Clone)]
pub struct AppState {
    /// The embedded engine, for tables of files and kept rows.
    pub engine: Arc<Engine>,
    /// The engine that plans SQL and lists tables.
    pub backend: Arc<dyn Backend>,
    /// The results by id.
    pub results: Arc<Results>,
    /// One slot for each stream, export, search or summary that works.
    pub streams: Slots,
    /// How long a client may read nothing before its stream gives back its slot.
    pub stall_timeout: Duration,
    /// Which hosts, origins and tokens are accepted.
    pub guard: Arc<GuardConfig>,
    /// The uploaded tables.
    pub uploads: Arc<Uploads>,
    /// The sessions that are accepted in place of the token.
    pub sessions: Arc<Sessions>,
    /// The counters of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// How long a small body may take, or an upload may pause.
    pub body_timeout: Duration,
    /// The folder for uploads, results and spilled sorts.
    pub data_dir: Arc<DataDir>,
}

impl AppState {
    /// The pace of a body that has a slot of [`AppState::streams`].
    fn pace(&self, slot: Slot) -> Pace {
        Pace::new(self.streams.clone(), slot, self.stall_timeout)
    }
}
