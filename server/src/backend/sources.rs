//! Sources on the command line that are engines.

use std::sync::Arc;

use crate::backend::{Backend, Spark};
use crate::error::StartError;

/// Connects to the engine among the sources; `None` where all of them are files.
///
/// # Errors
/// It does not stand alone, is written wrongly, or cannot be reached.
pub async fn connect(sources: &[String]) -> Result<Option<Arc<dyn Backend>>, StartError> {
    let Some(location) = sources.iter().find_map(|source| engine(source)) else {
        return Ok(None);
    };
    if sources.len() > 1 {
        let shown = location.split("/;").next().unwrap_or_default();
        return Err(StartError::BadArgument(format!(
            "{shown}: an engine is served alone; give the other sources to a server of their own"
        )));
    }
    Ok(Some(Arc::new(Spark::connect(location).await?)))
}

/// The address of an engine in a source, which may have a name in front.
fn engine(source: &str) -> Option<&str> {
    let location = match source.split_once('=') {
        Some((name, location)) if !name.contains("://") => location,
        _ => source,
    };
    location.starts_with("sc://").then_some(location)
}
