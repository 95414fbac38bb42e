//! The store through its public interface. Its recipes cannot be built on any
//! machine: the tests are about states, locks and files around a build. `make
//! images` runs real builds.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use sandpiper_images::{
    Addition, BuildOptions, BuildState, Downloads, ImageError, ImageProgress,
    ImageStore, Phase, Recipe,
};

fn recipe(name: &str) -> Recipe {
    let text = "suite = \"trixie\"\narchitectures = [\"pdp11\"]\npackages = []";
    Recipe::parse(name, text, |_| None).unwrap()
}

fn options() -> BuildOptions<'static> {
    BuildOptions { downloads: Downloads::default(), check: &|_, _| Ok(()) }
}

fn path(data: &Path, recipe: &Recipe, ending: &str) -> PathBuf {
    let folder = format!("{}-{}", recipe.name(), recipe.hash());
    data.join("images").join(folder + ending)
}

/// Creates a complete image, as a builder leaves it.
fn complete(data: &Path, recipe: &Recipe, built_at: u64) {
    let image = path(data, recipe, "");
    fs::create_dir_all(image.join("rootfs/bin")).unwrap();
    let manifest = format!(
        r#"{{"name": "{}", "hash": "{}", "origin": ["http://a trixie"],
            "packages": [{{"name": "gcc", "version": "4:14"}}],
            "bytes": 4096, "built_at": {built_at}}}"#,
        recipe.name(),
        recipe.hash()
    );
    fs::write(image.join("manifest.json"), manifest).unwrap();
}

fn build(
    store: &ImageStore,
    recipe: &Recipe,
    progress: &mut dyn FnMut(ImageProgress),
) -> Result<PathBuf, ImageError> {
    store.queue(recipe)?.build(&options(), progress)
}

fn no_progress(progress: ImageProgress) {
    panic!("unexpected: {progress}");
}

#[test]
fn an_image_is_missing_then_broken_then_ready_then_missing() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let recipe = recipe("one");
    assert_eq!(store.state(&recipe), BuildState::Missing);

    let error = build(&store, &recipe, &mut no_progress).unwrap_err();
    assert!(matches!(error, ImageError::Architecture { .. }), "{error}");
    let why = error.to_string();
    assert_eq!(store.state(&recipe), BuildState::Broken { why });

    complete(data.path(), &recipe, 1);
    let rootfs = path(data.path(), &recipe, "/rootfs");
    assert_eq!(
        store.state(&recipe),
        BuildState::Ready { rootfs: rootfs.clone() }
    );
    let built = build(&store, &recipe, &mut no_progress).unwrap();
    assert_eq!(built, rootfs);

    let removed = store.remove("one").unwrap();
    assert_eq!(removed[0].hash, recipe.hash());
    assert_eq!(store.state(&recipe), BuildState::Missing);
    let error = store.remove("one").unwrap_err();
    assert_eq!(error.to_string(), "there is no image one");
}

#[test]
fn a_builder_is_seen_and_waited_for() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let recipe = recipe("two");
    let lock_path = path(data.path(), &recipe, ".lock");
    fs::write(&lock_path, "installing packages, 40 %").unwrap();
    assert_eq!(
        store.state(&recipe),
        BuildState::Missing,
        "nobody holds the lock"
    );

    let lock = File::open(&lock_path).unwrap();
    lock.lock().unwrap();
    let progress = "installing packages, 40 %".to_owned();
    assert_eq!(store.state(&recipe), BuildState::Building { progress });

    let mut phases = Vec::new();
    let mut other_builder = Some(lock);
    let built = build(&store, &recipe, &mut |now| {
        phases.push(now.phase);
        // The first builder ends while the second one waits.
        complete(data.path(), &recipe, 1);
        let lock = other_builder.take();
        thread::spawn(move || drop(lock)).join().unwrap();
    });
    assert_eq!(built.unwrap(), path(data.path(), &recipe, "/rootfs"));
    assert_eq!(phases, [Phase::Waiting]);
}

#[test]
fn a_queued_build_is_seen_and_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let (first, second) = (recipe("a"), recipe("b"));
    let queued = store.queue(&second).unwrap();
    assert_eq!(store.state(&first), BuildState::Missing);
    let progress = "queued".to_owned();
    assert_eq!(store.state(&second), BuildState::Building { progress });

    queued.build(&options(), &mut no_progress).unwrap_err();
    assert!(matches!(store.state(&second), BuildState::Broken { .. }));

    drop(store.queue(&first).unwrap());
    assert_eq!(store.state(&first), BuildState::Missing, "cancelled");
}

#[test]
fn leftovers_of_killed_builds_are_removed() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let recipe = recipe("three");
    let images = data.path().join("images");
    let folder = format!("{}-{}", recipe.name(), recipe.hash());
    let left = images.join(format!(".build-{folder}-abc"));
    let older = images.join(".build-other-0-abc");
    let other = images.join(".build-other-1-abc");
    // A folder without a manifest is no image.
    let half = path(data.path(), &recipe, "");
    for folder in [&left, &older, &other, &half] {
        fs::create_dir_all(folder.join("image/rootfs/usr")).unwrap();
    }
    let builder = File::create(images.join("other-1.lock")).unwrap();
    builder.lock().unwrap();
    // Not even root opens such a lock, or removes such a folder.
    let locked = images.join(".build-of-root-2-abc");
    fs::create_dir_all(&locked).unwrap();
    fs::create_dir(images.join("of-root-2.lock")).unwrap();
    let kept = images.join(".build-of-root-3-abc");
    fs::write(&kept, "").unwrap();
    assert_eq!(store.state(&recipe), BuildState::Missing);
    assert!(store.list().unwrap().is_empty());

    let error = build(&store, &recipe, &mut no_progress).unwrap_err();

    assert!(matches!(error, ImageError::Architecture { .. }), "{error}");
    assert!(locked.exists() && kept.exists());
    assert!(!left.exists() && !half.exists());
    assert!(!older.exists(), "of a recipe that no longer exists");
    assert!(other.exists(), "belongs to another build");
}

/// That an ordinary user runs. Root can write to any file.
#[test]
fn a_lock_that_root_made_is_taken() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let recipe = recipe("four");
    let lock = path(data.path(), &recipe, ".lock");
    fs::write(&lock, "").unwrap();
    fs::set_permissions(&lock, Permissions::from_mode(0o444)).unwrap();
    let queued = store.queue(&recipe).unwrap();
    assert!(matches!(store.state(&recipe), BuildState::Building { .. }));
    let error = queued.build(&options(), &mut no_progress).unwrap_err();
    assert!(matches!(error, ImageError::Architecture { .. }), "{error}");
}

#[test]
fn an_unreadable_image_is_broken_not_missing() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let recipe = recipe("five");
    // Root can read a file of any mode, but not a link to itself.
    let image = path(data.path(), &recipe, "");
    std::os::unix::fs::symlink(&image, &image).unwrap();
    let state = store.state(&recipe);
    let BuildState::Broken { why } = &state else { panic!("{state:?}") };
    assert!(why.contains("cannot look into"), "{why}");
    assert!(why.contains(&*image.to_string_lossy()), "{why}");
}

#[test]
fn lists_by_name_and_removes_by_hash_but_never_a_build() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let (a, b) = (recipe("a"), recipe("b"));
    complete(data.path(), &b, 2);
    complete(data.path(), &a, 1);
    let names = |store: &ImageStore| -> Vec<String> {
        store.list().unwrap().into_iter().map(|image| image.name).collect()
    };
    assert_eq!(names(&store), ["a", "b"]);
    let first = &store.list().unwrap()[0];
    assert_eq!((first.bytes, first.built_at), (4096, 1));
    assert_eq!(first.packages[0].name, "gcc");
    assert_eq!(first.origin, ["http://a trixie"]);

    let lock = File::create(path(data.path(), &b, ".lock")).unwrap();
    lock.lock().unwrap();
    let error = store.remove(b.hash()).unwrap_err();
    assert!(error.to_string().contains("is being built"), "{error}");
    drop(lock);
    store.remove(b.hash()).unwrap();
    assert_eq!(names(&store), ["a"]);
}

#[test]
fn the_output_of_failed_builds_goes_with_the_last_image() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let recipe = recipe("a");
    complete(data.path(), &recipe, 1);
    let beside = |name: &str| data.path().join("images").join(name);
    // With other additions; the other image's name begins with the same word.
    let failed = ["a-0123456789ab.log", "a-0123456789ab.failed"];
    let others = ["a-b-0123456789ab.failed", "a-123456789abc.log"];
    for name in failed.iter().chain(&others) {
        fs::write(beside(name), "").unwrap();
    }
    let building = File::create(beside("a-123456789abc.lock")).unwrap();
    building.lock().unwrap();
    store.remove("a").unwrap();
    assert!(failed.iter().all(|name| !beside(name).exists()));
    assert!(others.iter().all(|name| beside(name).exists()));
}

#[test]
fn a_mirror_must_be_a_url() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let text = format!(
        "suite = \"trixie\"\npackages = []\narchitectures = [{}]",
        "\"amd64\", \"arm64\", \"i386\", \"ppc64el\", \"riscv64\", \"s390x\""
    );
    let recipe = Recipe::parse("four", &text, |_| None).unwrap();
    for mirror in ["deb http://a b main", "mirror", "http://a b"] {
        let mut options = options();
        options.downloads.mirror = Some(mirror.to_owned());
        let built =
            store.queue(&recipe).unwrap().build(&options, &mut no_progress);
        let message = built.unwrap_err().to_string();
        assert!(message.contains("not the URL of a mirror"), "{message}");
    }
}

#[test]
fn the_image_of_before_stands_in_for_one_with_more_packages() {
    let data = tempfile::tempdir().unwrap();
    let store = ImageStore::open(data.path()).unwrap();
    let base = recipe("one");
    let with = |package: &str| {
        let text = format!("packages = [\"{package}\"]");
        let addition = Addition::parse("one", "one.toml", &text).unwrap();
        base.with(addition, |_| None).unwrap()
    };
    let stands_in = |recipe: &Recipe| {
        store.stand_in(recipe).unwrap().map(|image| image.hash)
    };
    let (first, second) = (with("a"), with("b"));
    assert_eq!(stands_in(&first), None);
    complete(data.path(), &base, 1);
    complete(data.path(), &recipe("two"), 3);
    assert_eq!(stands_in(&first).as_deref(), Some(base.hash()));

    complete(data.path(), &first, 2);
    let manifest = path(data.path(), &first, "/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let base_hash = format!("\"base\": \"{}\", \"origin\"", base.hash());
    let text = text.replace("\"origin\"", &base_hash);
    fs::write(&manifest, text).unwrap();
    assert_eq!(stands_in(&second).as_deref(), Some(first.hash()));
}
