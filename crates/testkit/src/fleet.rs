//! Parts of a fleet: nodes, and the balancers in front of them.

pub mod balancer;
pub mod node;
pub mod process;
