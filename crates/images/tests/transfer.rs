//! Exports and imports of images: complete, damaged, hostile and foreign files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use sandpiper_images::{BuildState, ImageStore, Imported, Recipe};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

const FOLDERS: &[&str] =
    &["dev", "proc", "tmp", "box", "artifacts", "opt/sandpiper"];

fn recipe(name: &str, packages: &str) -> Recipe {
    let text = format!(
        "suite = \"trixie\"\narchitectures = []\npackages = [{packages}]"
    );
    Recipe::parse(name, &text, |_| None).unwrap()
}

fn manifest(recipe: &Recipe) -> String {
    format!(
        r#"{{"name": "{}", "hash": "{}", "origin": [], "packages": [],
            "versions": {{"GCC": "14.2.0"}}, "bytes": 4096, "built_at": 7}}"#,
        recipe.name(),
        recipe.hash()
    )
}

/// Returns a store with the image of `recipe`, and its root filesystem.
fn store_with(data: &Path, recipe: &Recipe) -> (ImageStore, PathBuf) {
    let store = ImageStore::open(data).unwrap();
    let folder = format!("{}-{}", recipe.name(), recipe.hash());
    let image = data.join("images").join(folder);
    let root = image.join("rootfs");
    for folder in FOLDERS {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::create_dir(root.join("bin")).unwrap();
    fs::write(root.join("bin/tool"), "#!/bin/sh\n").unwrap();
    let mode = Permissions::from_mode(0o755);
    fs::set_permissions(root.join("bin/tool"), mode).unwrap();
    fs::hard_link(root.join("bin/tool"), root.join("bin/other")).unwrap();
    symlink("/bin/tool", root.join("tool")).unwrap();
    let long = "a-long-name/".repeat(20);
    fs::create_dir_all(root.join(&long)).unwrap();
    fs::write(root.join(&long).join("file"), vec![b'x'; 100_000]).unwrap();
    fs::write(image.join("manifest.json"), manifest(recipe)).unwrap();
    (store, root)
}

fn export(store: &ImageStore, recipe: &Recipe) -> Vec<u8> {
    let mut file = Vec::new();
    let recipes = [recipe.clone()];
    store.export(&recipes, &mut file, &mut |_, _| {}).unwrap();
    file
}

/// Returns the result of an import: `ready`, or why it was refused.
fn import(data: &Path, recipes: &[Recipe], file: &[u8]) -> String {
    import_checked(data, recipes, file, Ok(()))
}

fn import_checked(
    data: &Path,
    recipes: &[Recipe],
    file: &[u8],
    check: Result<(), String>,
) -> String {
    let store = ImageStore::open(data).unwrap();
    let mut said = Vec::new();
    let check = |_: &Recipe, rootfs: &Path| {
        assert!(rootfs.join("box").is_dir(), "it is whole when it is checked");
        check.clone()
    };
    let ended = store.import(recipes, &check, file, &mut |_, now| match now {
        Imported::Underway(_) => {}
        Imported::Installed(_) => said.push("ready".to_owned()),
        Imported::Failed(error) => said.push(error.to_string()),
    });
    said.extend(ended.err().map(|error| error.to_string()));
    said.join("; ")
}

#[test]
fn an_image_comes_back_as_it_was() {
    let (here, there) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = recipe("one-two", "");
    let (store, root) = store_with(here.path(), &recipe);
    let file = export(&store, &recipe);
    assert_eq!(file, export(&store, &recipe), "the same again");

    let recipes = [recipe.clone()];
    assert_eq!(import(there.path(), &recipes, &file), "ready");
    let store = ImageStore::open(there.path()).unwrap();
    let BuildState::Ready { rootfs } = store.state(&recipe) else {
        unreachable!()
    };
    let tool = rootfs.join("bin/tool").metadata().unwrap();
    assert_eq!(tool.mode() & 0o7777, 0o755);
    assert_eq!(tool.mtime(), root.join("bin/tool").metadata().unwrap().mtime());
    assert_eq!(tool.nlink(), 2, "hard links stay links");
    let link = fs::read_link(rootfs.join("tool")).unwrap();
    assert_eq!(link, Path::new("/bin/tool"));
    let long = rootfs.join("a-long-name/".repeat(20)).join("file");
    assert_eq!(fs::read(long).unwrap().len(), 100_000);
    let listing = &store.list().unwrap()[0];
    assert_eq!(listing.versions["GCC"], "14.2.0");

    // An image that is installed is skipped.
    fs::write(rootfs.join("mark"), "").unwrap();
    assert_eq!(import(there.path(), &recipes, &file), "ready");
    assert!(rootfs.join("mark").exists());
}

#[test]
fn damage_is_found_and_nothing_is_installed() {
    let here = tempfile::tempdir().unwrap();
    let recipe = recipe("one", "");
    let (store, _) = store_with(here.path(), &recipe);
    let file = export(&store, &recipe);
    let check = |file: &[u8], expected: &str| {
        let there = tempfile::tempdir().unwrap();
        let said = import(there.path(), std::slice::from_ref(&recipe), file);
        assert!(said.contains(expected), "{said:?} lacks {expected:?}");
        let store = ImageStore::open(there.path()).unwrap();
        assert!(store.list().unwrap().is_empty(), "{said}");
        let left = fs::read_dir(there.path().join("images")).unwrap();
        let names = left.map(|it| it.unwrap().file_name());
        let half = names.filter(|it| it.to_string_lossy().starts_with('.'));
        assert_eq!(half.count(), 0, "{said}");
    };
    // Each header takes 512 bytes, and so do the checksums.
    let start = 3 * 512;
    for at in [start, start + 40, start + 200] {
        let mut flipped = file.clone();
        flipped[at] ^= 1;
        check(&flipped, "damaged: its checksum does not match");
    }
    check(&file[..start + 100], "damaged: ");
    check(&file[..start], "cannot be read");
    check(&file[..1024], "it ends before one-");
    check(&[], "it is empty");
    check(&[7; 2048], "cannot be read");
    let mut no_sums = file.clone();
    no_sums.drain(..1024);
    check(&no_sums, "no SHA256SUMS in front");
}

#[test]
fn only_what_this_program_would_build_is_installed() {
    let here = tempfile::tempdir().unwrap();
    let (one, other) = (recipe("one", ""), recipe("one", "\"gcc\""));
    let (store, _) = store_with(here.path(), &one);
    let file = export(&store, &one);
    let there = tempfile::tempdir().unwrap();
    let check = |recipes: &[Recipe], file: &[u8], expected: &str| {
        let said = import(there.path(), recipes, file);
        assert!(said.contains(expected), "{said:?} lacks {expected:?}");
    };
    check(&[other], &file, "another recipe");
    check(&[recipe("two", "")], &file, "no recipe of this name");
    let recipes = [one.clone()];
    let name = format!("one-{}-pdp11.tar.zst", one.hash());
    check(&recipes, &wrap(&name, b"x"), "built for pdp11 machines");
    check(&recipes, &wrap("notes.txt", b"x"), "no archive of an image");

    let failed = Err("python: it printed \"\"".to_owned());
    let said = import_checked(there.path(), &recipes, &file, failed);
    assert_eq!(said, "image one was not installed: python: it printed \"\"");
    let store = ImageStore::open(there.path()).unwrap();
    assert!(matches!(store.state(&one), BuildState::Broken { .. }));
}

/// Returns an export with one archive.
fn wrap(name: &str, content: &[u8]) -> Vec<u8> {
    let sum = Sha256::digest(content);
    let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    let sums = format!("{sum}  {name}\n");
    let mut tar = Builder::new(Vec::new());
    for (name, content) in [("SHA256SUMS", sums.as_bytes()), (name, content)] {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, content).unwrap();
    }
    tar.into_inner().unwrap()
}

/// A harmful entry of an archive.
struct Hostile {
    path: &'static str,
    kind: EntryType,
    target: &'static str,
    mode: u32,
}

/// Returns an archive of an image with further entries, which are not checked.
fn archive(recipe: &Recipe, more: &[Hostile]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    let mut add = |entry: &Hostile, content: &[u8]| {
        let mut header = Header::new_gnu();
        let name = &mut header.as_old_mut().name;
        name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        let link = &mut header.as_old_mut().linkname;
        link[..entry.target.len()].copy_from_slice(entry.target.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content).unwrap();
    };
    let folder = |path| Hostile {
        path,
        kind: EntryType::Directory,
        target: "",
        mode: 0o777,
    };
    for path in ["rootfs", "rootfs/opt", "rootfs/opt/sandpiper"] {
        add(&folder(path), b"");
    }
    for path in ["rootfs/dev", "rootfs/proc", "rootfs/box", "rootfs/artifacts"]
    {
        add(&folder(path), b"");
    }
    for entry in more {
        add(entry, b"");
    }
    if !more.iter().any(|entry| entry.path == "rootfs/tmp") {
        add(&folder("rootfs/tmp"), b"");
    }
    let file = Hostile {
        path: "manifest.json",
        kind: EntryType::Regular,
        target: "",
        mode: 0o600,
    };
    add(&file, manifest(recipe).as_bytes());
    let tar = tar.into_inner().unwrap();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(&tar).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn hostile_archives_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    let recipe = recipe("one", "");
    let arch = {
        let (store, _) = store_with(outside.path(), &recipe);
        let text = export(&store, &recipe);
        let text = String::from_utf8_lossy(&text[512..1024]).into_owned();
        let name = text.trim_matches('\0').trim().rsplit('-').next().unwrap();
        name.trim_end_matches(".tar.zst").to_owned()
    };
    let name = format!("one-{}-{arch}.tar.zst", recipe.hash());
    let check = |entries: &[Hostile], expected: &str| {
        let there = tempfile::tempdir().unwrap();
        let file = wrap(&name, &archive(&recipe, entries));
        let said = import(there.path(), std::slice::from_ref(&recipe), &file);
        assert!(said.contains(expected), "{said:?} lacks {expected:?}");
    };
    let entry = |path, kind, target, mode| Hostile { path, kind, target, mode };
    use EntryType::{Block, Char, Directory, Fifo, Link, Regular, Symlink};
    check(&[], "ready");
    check(&[entry("rootfs/up", Symlink, "/etc/passwd", 0o777)], "ready");
    check(&[entry("rootfs/../x", Regular, "", 0o644)], "leaves its folder");
    check(&[entry("/etc/x", Regular, "", 0o644)], "leaves its folder");
    check(&[entry("etc", Directory, "", 0o755)], "no part of an image");
    check(&[entry("rootfs/su", Regular, "", 0o4755)], "set-id bit");
    check(&[entry("rootfs/sg", Directory, "", 0o2755)], "set-id bit");
    for kind in [Char, Block, Fifo] {
        let device = entry("rootfs/node", kind, "", 0o666);
        check(&[device], "neither a file, a folder nor a link");
    }
    let link = entry("rootfs/out", Link, "../../../etc/passwd", 0o644);
    check(&[link], "leaves its folder");
    let link = entry("rootfs/out", Link, "/etc/passwd", 0o644);
    check(&[link], "leaves its folder");
    let through = || entry("rootfs/etc", Symlink, "/tmp", 0o777);
    check(
        &[through(), entry("rootfs/etc/x", Regular, "", 0o644)],
        "rootfs/etc/x: ",
    );
    check(
        &[through(), entry("rootfs/y", Link, "rootfs/etc/passwd", 0o644)],
        "rootfs/y: ",
    );
    check(&[through(), entry("rootfs/etc", Regular, "", 0o644)], "rootfs/etc");
    check(&[entry("rootfs/tmp", Symlink, "/tmp", 0o777)], "no folder");
    for kind in [Symlink, Link, Directory] {
        let manifest = entry("manifest.json", kind, "rootfs/tmp", 0o644);
        check(&[manifest], "manifest.json: it is no file");
    }
}

#[test]
fn an_archive_that_grows_beyond_measure_is_refused() {
    let (here, there) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = recipe("one", "");
    let (store, root) = store_with(here.path(), &recipe);
    let file = fs::File::create(root.join("zeros")).unwrap();
    file.set_len(128 << 20).unwrap();
    let file = export(&store, &recipe);
    assert!(file.len() < 1 << 20, "it is small as long as it is packed");
    let said = import(there.path(), std::slice::from_ref(&recipe), &file);
    assert!(said.contains("a hundred times its size"), "{said:?}");
    let images = fs::read_dir(there.path().join("images")).unwrap();
    let mut names = images.map(|it| it.unwrap().file_name());
    assert!(names.all(|it| !it.to_string_lossy().starts_with('.')));
}
