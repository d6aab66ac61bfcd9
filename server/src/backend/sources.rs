//! Engines among the sources of the command line.

use std::sync::Arc;

use crate::backend::{Backend, FlightSql, Spark, flight, spark};
use crate::error::StartError;

/// Connects to the engine among the sources; `None` if all of them are files.
///
/// # Errors
/// The engine is not the only source, its address is invalid, or it cannot be reached.
pub async fn connect(sources: &[String]) -> Result<Option<Arc<dyn Backend>>, StartError> {
    let Some((engine, location)) = sources.iter().find_map(|source| engine(source)) else {
        return Ok(None);
    };
    if sources.len() > 1 {
        let shown = match engine {
            Engine::Spark => spark::shown(location).to_owned(),
            Engine::FlightSql => flight::shown(location),
        };
        return Err(StartError::BadArgument(format!(
            "{shown}: an engine must be the only source; serve the others from another server"
        )));
    }
    Ok(Some(match engine {
        Engine::Spark => Arc::new(Spark::connect(location).await?),
        Engine::FlightSql => Arc::new(FlightSql::connect(location).await?),
    }))
}

enum Engine {
    Spark,
    FlightSql,
}

/// The engine and its address, without a `name=` in front; `None` if the source is not an engine.
fn engine(source: &str) -> Option<(Engine, &str)> {
    let location = match source.split_once('=') {
        Some((name, location)) if !name.contains("://") => location,
        _ => source,
    };
    match location.split_once("://")?.0 {
        "sc" => Some((Engine::Spark, location)),
        "flightsql" | "flightsql+tls" => Some((Engine::FlightSql, location)),
        _ => None,
    }
}
