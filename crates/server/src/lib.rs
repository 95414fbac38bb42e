//! HTTP only. The modules:
//!
//! ```text
//! http/        connections, bodies, answers, addresses of clients
//! products/    the catalogue in memory
//! execution/   /api/compile and /api/run, from wire shape to answer
//! rate_limit   how often one client may compile, at this server or at several
//! embed/       the editor page
//! about        a language: versions and limits
//! health       /healthz and /readyz
//! metrics      the metrics of the admin listener
//! openapi/     the description of the interface
//! routes       the table of paths
//! app          the service: passes each route to its module
//! server       listeners, and the end
//! ```
//!
//! `products/` and `execution/` never import each other. No framework stands
//! between hyper and the routes, so that every answer, failures included, is
//! one that is written here.

#![forbid(unsafe_code)]

mod about;
mod app;
mod embed;
mod execution;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod http;
pub mod limits;
mod metrics;
mod openapi;
mod products;
mod rate_limit;
mod routes;
mod server;
mod settings;
#[cfg(test)]
mod tests;

pub use self::http::{InvalidTrustedProxy, TrustedProxy};
pub use ::http::{HeaderName, StatusCode};
pub use server::Server;
pub use settings::{
    FrameAncestors, InvalidFrameAncestors, InvalidNodeTag,
    InvalidPreviewOrigin, NodeTag, PreviewOrigin, ServerSettings,
};
