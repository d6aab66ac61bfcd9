//! Describes errors of object stores in one line, without addresses and secrets.

use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::iter::successors;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

/// Why a request failed, and what would be right. The kind is `Other` if a retry may help.
pub(super) fn explained(error: &Error) -> io::Error {
    let (kind, text) = explain(error);
    io::Error::new(kind, text)
}

fn explain(error: &Error) -> (ErrorKind, String) {
    let wrong = |text: &str| (ErrorKind::InvalidInput, text.to_owned());
    let passing = |text: &str| (ErrorKind::Other, text.to_owned());
    let text = error.to_string();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["NoSuchBucket", "bucket does not exist"]) {
        return wrong("there is no such bucket; check its name and the endpoint");
    }
    // Addresses of the services from which a cloud machine gets credentials.
    if says(&[
        "/latest/api/token",
        "/latest/meta-data",
        "metadata.google.internal",
        "169.254.169.254",
    ]) {
        return wrong(NO_CREDENTIALS);
    }
    if says(&[
        "without LOCATION",
        "AuthorizationHeaderMalformed",
        "PermanentRedirect",
    ]) {
        return wrong("the bucket is in another region; set AWS_REGION to that region");
    }
    if says(&["non-partial response", "Content-Range header"]) {
        return wrong(NO_RANGES);
    }
    match error {
        Error::NotFound { .. } => {
            let text = "not found (404); check the address";
            return (ErrorKind::NotFound, text.to_owned());
        }
        Error::NotSupported { .. } => return wrong(NO_RANGES),
        Error::PermissionDenied { .. } => {
            let text = "access is denied (403); check the credentials and what they may read";
            return (ErrorKind::PermissionDenied, text.to_owned());
        }
        Error::Unauthenticated { .. } => {
            return wrong("the credentials are not accepted (401); check them");
        }
        _ => {}
    }
    let chain = || successors(error.source(), |&cause| cause.source());
    let kind = chain()
        .find_map(|cause| cause.downcast_ref::<HttpError>())
        .map(HttpError::kind);
    match kind {
        _ if chain().any(|cause| is_about_names(&cause.to_string())) => {
            passing("there is no such host; check its name")
        }
        _ if format!("{error:?}").contains("BadScheme") => {
            wrong("the endpoint is http://; set AWS_ALLOW_HTTP=true to permit that")
        }
        Some(HttpErrorKind::Connect) => {
            passing("the host cannot be reached; check the address, and that it is running")
        }
        Some(HttpErrorKind::Timeout) => passing("the store did not answer in time; try again"),
        Some(HttpErrorKind::Interrupted) => passing("the connection was interrupted; try again"),
        _ => match status(&text) {
            Some(status) => passing(&format!(
                "the store answered with status {status}; try again"
            )),
            None => passing("the store's answer is invalid; check the address"),
        },
    }
}

const NO_RANGES: &str =
    "the server does not answer Range requests; copy the file and give its path";

const NO_CREDENTIALS: &str = "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or GOOGLE_APPLICATION_CREDENTIALS; for public objects set AWS_SKIP_SIGNATURE=true or GOOGLE_SKIP_SIGNATURE=true";

fn is_about_names(text: &str) -> bool {
    text.contains("dns error") || text.contains("failed to lookup address")
}

fn status(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)
        .filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()))
}
