//! The reasons why a request for products was not answered with one.

use http::StatusCode;
use http::header::RETRY_AFTER;

use crate::http::{
    ANSWERS_OVER_LIMIT, Answer, BodyError, answer_memory_full, failure,
    method_not_allowed,
};

/// A result of a part of a request for products.
pub(super) type Result<T> = std::result::Result<T, ProductError>;

/// Why a request for products failed. If a shared catalogue reports it, an earlier
/// try of the request may have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProductError {
    #[error("invalid product id")]
    InvalidId,
    /// The path, and its methods.
    #[error("method not allowed on {0}")]
    Method(&'static str, &'static str),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("name is required and price must be non-negative")]
    NotAcceptable,
    /// No page of another site may change products. A browser sends a preflight
    /// only for requests that no form could send.
    #[error("cross-site requests are not accepted")]
    CrossSite,
    #[error("product not found")]
    NotFound,
    #[error("product store is full")]
    Full,
    #[error("{ANSWERS_OVER_LIMIT}")]
    AnswerMemoryFull,
    /// A shared catalogue did not answer in time.
    #[error("the catalogue cannot be reached; try again")]
    Unreachable,
    /// A shared catalogue has texts that no Sandpiper of this version wrote.
    #[error("internal error")]
    Foreign,
}

impl From<ProductError> for Answer {
    fn from(error: ProductError) -> Self {
        let status = match error {
            ProductError::Method(path, allow) => {
                return method_not_allowed(path, allow);
            }
            ProductError::Body(error) => return error.into(),
            ProductError::AnswerMemoryFull => return answer_memory_full(),
            ProductError::InvalidId | ProductError::NotAcceptable => {
                StatusCode::BAD_REQUEST
            }
            ProductError::CrossSite => StatusCode::FORBIDDEN,
            ProductError::NotFound => StatusCode::NOT_FOUND,
            ProductError::Full => StatusCode::INSUFFICIENT_STORAGE,
            ProductError::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
            ProductError::Foreign => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut answer = failure(status, &error.to_string());
        if error == ProductError::Unreachable {
            answer.headers_mut().insert(RETRY_AFTER, 1.into());
        }
        answer
    }
}
