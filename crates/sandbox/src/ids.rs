//! User and group ids of the calling thread. A process that changes them here
//! has only one thread.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The id of programs inside a box, of user and group.
pub(crate) const PROGRAM_ID: u32 = 1000;
/// The id of init inside a box that has a range of ids.
pub(crate) const INIT_ID: u32 = 0;
/// Host ids of one server: its own, then those of its boxes.
pub(crate) const IDS_PER_SERVER: u32 = 1024;

/// Removes every supplementary group.
pub(crate) fn clear_groups() -> io::Result<()> {
    Ok(set_thread_groups(&[])?)
}

/// Sets real, effective and saved user id.
pub(crate) fn set_user(uid: u32) -> io::Result<()> {
    let uid = Uid::from_raw(uid);
    Ok(set_thread_res_uid(uid, uid, uid)?)
}

/// Sets real, effective and saved group id.
pub(crate) fn set_group(gid: u32) -> io::Result<()> {
    let gid = Gid::from_raw(gid);
    Ok(set_thread_res_gid(gid, gid, gid)?)
}

/// Sets only the effective ids, so that the process can take its old ones back.
pub(crate) fn set_effective(uid: u32, gid: u32) -> io::Result<()> {
    // The group first: an unprivileged effective user may not change it. On the
    // way back the saved user id allows it.
    set_thread_res_gid(None, Gid::from_raw(gid), None)?;
    Ok(set_thread_res_uid(None, Uid::from_raw(uid), None)?)
}
