//! Entry points for the targets in `fuzz/`: messages between the server and the
//! init of a box.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::{Reply, Request, decode, encode};

/// Parses bytes as a request, as init does, and writes the request again.
///
/// # Errors
/// The bytes are not a request.
pub fn request(bytes: &[u8]) -> io::Result<Vec<u8>> {
    again::<Request<'_>>(bytes)
}

/// Parses bytes as a reply, as the server does, and writes the reply again.
///
/// # Errors
/// The bytes are not a reply.
pub fn reply(bytes: &[u8]) -> io::Result<Vec<u8>> {
    again::<Reply>(bytes)
}

/// Parses and writes a message, without the length in front.
fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = encode(&decode::<T>(bytes)?)?;
    Ok(frame.split_off(4))
}
