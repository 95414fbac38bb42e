//! Black-box tests of the HTTP interface: they start the real program and
//! speak HTTP to it. No image is needed, and no root.

mod alone;
mod balancer;
mod compile;
mod concurrency;
mod embed;
mod hosts;
mod json;
mod log;
mod metrics;
mod odd;
mod other;
mod preview;
mod products;
mod wire;
