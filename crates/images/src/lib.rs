//! Toolchain root filesystems: recipe to content-addressed read-only folder.
#![forbid(unsafe_code)]
