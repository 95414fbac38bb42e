//! The catalogue of languages: loads definitions, looks languages up.

/// The languages this service knows.
#[derive(Clone, Debug)]
pub struct Catalog {}

/// One language.
#[derive(Clone, Debug)]
pub struct Language {}

/// Why a definition could not be loaded; for the one who wrote it.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LoadError {
    /// The definition's path.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}
