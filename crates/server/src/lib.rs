//! HTTP: products, compile, embed, health.
#![forbid(unsafe_code)]
