//! Doors for the targets in `fuzz/`: what the server and a box's init say.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::{Reply, Request, decode, encode};

/// What init makes of bytes of the server, written again.
///
/// # Errors
/// The bytes are no request.
pub fn request(bytes: &[u8]) -> io::Result<Vec<u8>> {
    again::<Request<'_>>(bytes)
}

/// What the server makes of bytes of a box, written again.
///
/// # Errors
/// The bytes are no reply.
pub fn reply(bytes: &[u8]) -> io::Result<Vec<u8>> {
    again::<Reply>(bytes)
}

/// Without the length in front.
fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = encode(&decode::<T>(bytes)?)?;
    Ok(frame.split_off(4))
}
