//! What every route shares: connections, paths, bodies and answers.

mod address;
mod again;
mod answer;
mod body;
mod compression;
mod connection;
mod failure;
mod heads;
mod host;
mod json;
mod memory;
mod path;
mod places;
mod socket;

pub(crate) use address::ClientAddresses;
pub(crate) use answer::{
    Answer, Body, Page, crowded, failure, json, method_not_allowed, no_content,
    page,
};
pub(crate) use body::{BodyError, BodyMemory, RequestBody};
pub(crate) use compression::compressed;
pub(crate) use connection::{ClientGone, Exchange, Routes, serve, stopped};
#[cfg(feature = "fuzzing")]
pub(crate) use heads::Heads;
pub(crate) use host::{AllowedHosts, is_cross_site, misdirected};
pub(crate) use json::{fields as json_fields, text as json_text};
pub(crate) use memory::AnswerMemory;
pub(crate) use path::decoded as decoded_path;
pub(crate) use places::{Places, Seat};
