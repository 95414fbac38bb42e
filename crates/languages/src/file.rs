//! Submitted files, and the rules for their paths.

use std::collections::HashSet;

/// Maximum bytes of a path. Far below the kernel's 4,096, which includes the
/// folder.
pub const MAX_PATH_BYTES: usize = 1_024;
/// Maximum bytes of a segment: the kernel's `NAME_MAX`.
pub const MAX_SEGMENT_BYTES: usize = 255;

/// One submitted file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceFile {
    /// Relative path, with `/` between its segments.
    pub path: String,
    /// All bytes. Programs are text; data files may be anything.
    pub content: Vec<u8>,
}

/// A path that no submitted file may have.
#[derive(Debug)]
pub(crate) struct BadPath<'a> {
    pub(crate) path: &'a str,
    /// The end of a sentence that begins with the path.
    pub(crate) fault: &'static str,
}

/// Checks every path, alone and against the others.
pub(crate) fn check_paths(files: &[SourceFile]) -> Result<(), BadPath<'_>> {
    let mut paths = HashSet::new();
    for SourceFile { path, .. } in files {
        check(path).map_err(|fault| BadPath { path, fault })?;
        if !paths.insert(path.as_str()) {
            return Err(BadPath { path, fault: "is given twice" });
        }
    }
    for SourceFile { path, .. } in files {
        let ends = path.match_indices('/').map(|(end, _)| end);
        for folder in ends.map(|end| &path[..end]) {
            if paths.contains(folder) {
                let fault = "is a file, and also the folder of another file";
                return Err(BadPath { path: folder, fault });
            }
        }
    }
    Ok(())
}

fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("is empty");
    }
    if path.contains('\0') {
        return Err("holds a NUL character");
    }
    if path.contains(char::is_control) {
        return Err("holds a control character");
    }
    if path.contains('\\') {
        return Err("holds a backslash: put / between folders");
    }
    if path.starts_with('/') {
        return Err("is absolute: drop the leading slash");
    }
    for segment in path.split('/') {
        match segment {
            "" => return Err("has an empty segment"),
            "." => return Err("has a \".\" segment"),
            ".." => return Err("has a \"..\" segment"),
            _ if segment.len() > MAX_SEGMENT_BYTES => {
                return Err("has a segment of more than 255 bytes");
            }
            _ => {}
        }
    }
    if path.len() > MAX_PATH_BYTES {
        return Err("has more than 1024 bytes");
    }
    Ok(())
}
