//! Extractors of ids, names and parameters, with this server's errors.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use uuid::Uuid;

use crate::backend::request::parse_id;
use crate::error::{ErrorKind, QueryError};

/// The segment of the path that is a table's name.
pub(super) struct Name(pub(super) String);

/// The segment of the path that is a result's id.
pub(super) struct Id(pub(super) Uuid);

/// The parameters of the URL; each may be given once.
pub(super) struct Parameters(pub(super) Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = QueryError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, QueryError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = path.map_err(|error| {
            bad(
                format!("the path cannot be read: {error}"),
                "write names as UTF-8, percent-encoded",
            )
        })?;
        Ok(Self(name))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = QueryError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, QueryError> {
        let Name(text) = Name::from_request_parts(parts, state).await?;
        Ok(Self(parse_id(&text)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = QueryError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, QueryError> {
        let query = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(parameters) = query.map_err(|error| {
            bad(
                format!("the parameters cannot be read: {error}"),
                "write name=value, separated by &",
            )
        })?;
        for (index, (key, _)) in parameters.iter().enumerate() {
            if parameters[..index].iter().any(|(before, _)| before == key) {
                return Err(bad(
                    format!("{key} is given twice"),
                    "give each parameter once",
                ));
            }
        }
        Ok(Self(parameters))
    }
}

/// Whether checksums are requested, from the value of `checksum=`: only `xxh3` is known.
///
/// # Errors
/// `bad_parameter`.
pub(super) fn checksum(value: &str) -> Result<bool, QueryError> {
    match value {
        "xxh3" => Ok(true),
        _ => Err(bad(
            format!("checksum={value:?} is not known"),
            "write checksum=xxh3, or leave it out",
        )),
    }
}

/// The value of a numeric parameter.
///
/// # Errors
/// `bad_parameter`.
pub(super) fn number(key: &str, value: &str) -> Result<u64, QueryError> {
    let parsed = value
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| value.parse().ok())
        .flatten();
    parsed.ok_or_else(|| {
        bad(
            format!("{key}={value:?} is not a whole number of 0 or more"),
            format!("give {key} as digits, such as {key}=1000"),
        )
    })
}

/// The error `bad_parameter` for an unknown parameter; `known` lists the known ones.
pub(super) fn unknown(key: &str, known: &str) -> QueryError {
    bad(
        format!("there is no parameter {key:?}"),
        format!("use {known}"),
    )
}

/// An error `bad_parameter`.
pub(super) fn bad(message: impl AsRef<str>, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::BadParameter, message, hint)
}
