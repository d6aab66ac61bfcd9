//! Extractors of ids, names and parameters, with this server's errors.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use colonnade_text::{OPTION_KEYS, TextOptions};
use uuid::Uuid;

use crate::backend::request::parse_id;
use crate::error::{ErrorKind, QueryError};

/// The segment of the path that is a table's name.
pub(super) struct Name(pub(super) String);

/// The segment of the path that is a result's id.
pub(super) struct Id(pub(super) Uuid);

/// The parameters of the URL; each may be given once.
pub(super) struct Parameters {
    given: Vec<(String, String)>,
    /// The names of those that were taken out.
    taken: &'static [&'static str],
}

impl Parameters {
    /// The values of the parameters with these names, in this order.
    ///
    /// # Errors
    /// `bad_parameter`: the URL has a parameter of another name.
    pub(super) fn named<const N: usize>(
        self,
        names: [&str; N],
    ) -> Result<[Option<String>; N], QueryError> {
        let mut values = [const { None }; N];
        for (key, value) in self.given {
            let index = names.iter().position(|name| *name == key);
            let index = index.ok_or_else(|| unknown(&key, &[&names, self.taken].concat()))?;
            values[index] = Some(value);
        }
        Ok(values)
    }

    /// Takes out the options of text files, as keys and values of `TextOptions::set`.
    ///
    /// # Errors
    /// `bad_parameter`: an option is not valid.
    pub(super) fn text_options(self) -> Result<(Vec<(String, String)>, Self), QueryError> {
        let is_option = |(key, _): &(String, String)| OPTION_KEYS.contains(&key.as_str());
        let (pairs, others): (Vec<_>, Vec<_>) = self.given.into_iter().partition(is_option);
        let mut options = TextOptions::default();
        for (key, value) in &pairs {
            let set = options.set(key, value);
            set.map_err(|error| bad(error, "correct the option, or leave it out"))?;
        }
        let others = Self {
            given: others,
            taken: &OPTION_KEYS,
        };
        Ok((pairs, others))
    }
}

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
        let Query(given) = query.map_err(|error| {
            bad(
                format!("the parameters cannot be read: {error}"),
                "write name=value, separated by &",
            )
        })?;
        for (index, (key, _)) in given.iter().enumerate() {
            if given[..index].iter().any(|(before, _)| before == key) {
                return Err(bad(
                    format!("{key} is given twice"),
                    "give each parameter once",
                ));
            }
        }
        Ok(Self { given, taken: &[] })
    }
}

/// Whether checksums are requested, from the value of `checksum=`: only `xxh3` is known.
///
/// # Errors
/// `bad_parameter`: another checksum is given.
pub(super) fn checksum(value: Option<&str>) -> Result<bool, QueryError> {
    match value {
        None => Ok(false),
        Some("xxh3") => Ok(true),
        Some(value) => Err(bad(
            format!("checksum={value:?} is not known"),
            "write checksum=xxh3, or leave it out",
        )),
    }
}

/// The value of a numeric parameter, where it is given.
///
/// # Errors
/// `bad_parameter`.
pub(super) fn number(key: &str, value: Option<&str>) -> Result<Option<u64>, QueryError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let parsed = value
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| value.parse().ok())
        .flatten();
    parsed.map(Some).ok_or_else(|| {
        bad(
            format!("{key}={value:?} is not a whole number of 0 or more"),
            format!("give {key} as digits, such as {key}=1000"),
        )
    })
}

/// The error `bad_parameter` for an unknown parameter; `known` lists the known ones.
fn unknown(key: &str, known: &[&str]) -> QueryError {
    let known = match known {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => known.concat(),
    };
    bad(
        format!("there is no parameter {key:?}"),
        format!("use {known}"),
    )
}

/// An error `bad_parameter`.
pub(super) fn bad(message: impl AsRef<str>, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::BadParameter, message, hint)
}
