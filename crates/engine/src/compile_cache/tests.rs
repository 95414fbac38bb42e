//! The bounds of the cache, and the parts of a key.

use std::path::PathBuf;
use std::time::Duration;

use super::*;

fn compile_artifacts(bytes: usize) -> Vec<CompileArtifact> {
    let content = vec![7; bytes].into();
    vec![CompileArtifact {
        path: String::new(),
        mode: 0o755,
        content: Some(content),
    }]
}

fn key(n: u8) -> CompileKey {
    CompileKey([n; 32])
}

#[test]
fn the_entry_not_used_for_longest_goes_first() {
    let entry = cost(&compile_artifacts(1_000));
    let cache = CompileCache::new(3 * entry);
    for n in 0..3 {
        cache.keep(key(n), compile_artifacts(1_000));
    }
    assert_eq!(cache.size(), (3 * entry, 3 * entry));
    assert!(cache.get(key(0)).is_some());
    cache.keep(key(3), compile_artifacts(1_000));
    let found: Vec<bool> =
        (0..4).map(|n| cache.get(key(n)).is_some()).collect();
    assert_eq!(found, [true, false, true, true]);
    // The same key replaces its entry; a larger entry replaces several.
    cache.keep(key(3), compile_artifacts(1_000));
    assert_eq!(cache.size().0, 3 * entry);
    cache.keep(key(4), compile_artifacts(2_000));
    assert!(cache.size().0 <= cache.size().1);
    assert!(cache.get(key(4)).is_some());
    // An entry that is too large replaces none.
    let before = cache.size();
    cache.keep(key(5), compile_artifacts(10_000));
    assert_eq!(cache.size(), before);
    assert!(cache.get(key(5)).is_none());
}

#[test]
fn a_cache_without_capacity_keeps_nothing() {
    let cache = CompileCache::new(0);
    assert_eq!(cache.max_entry_bytes(), None);
    cache.keep(key(0), compile_artifacts(0));
    assert!(cache.get(key(0)).is_none());
}

type Change = fn(&mut BoxSpec, &mut StepSpec, &mut Vec<SourceFile>);

#[test]
fn a_key_differs_if_any_part_differs() {
    let key_after = |change: Change| {
        let mut spec = BoxSpec {
            rootfs: PathBuf::from("/images/c-1/rootfs"),
            memory_bytes: 1,
            processes: 2,
            disk_bytes: 3,
            inodes: 4,
        };
        let mut step = StepSpec {
            command: vec!["/cc".to_owned(), "a b".to_owned()],
            environment: vec![("A".to_owned(), "b".to_owned())],
            gate: Some("main.c".to_owned()),
            stdin: Vec::new(),
            artifacts_writable: true,
            keep_compile_artifacts: Some(5),
            keep_files: None,
            measure_memory: false,
            memory_bytes: Some(11),
            wall_time: Duration::from_secs(6),
            cpu_time: Duration::from_secs(7),
            output_bytes: 8,
            file_bytes: 9,
            open_files: 10,
        };
        let file = |path: &str, content: &str| SourceFile {
            path: path.to_owned(),
            content: content.into(),
        };
        let mut files = vec![file("a", "bc"), file("d", "")];
        change(&mut spec, &mut step, &mut files);
        CompileKey::of(&spec, &step, &files)
    };
    let changes: [Change; 14] = [
        |_, _, _| {},
        |spec, _, _| spec.rootfs = PathBuf::from("/images/c-2/rootfs"),
        |spec, _, _| spec.rootfs = PathBuf::from("/images/c-1r/ootfs"),
        // The same path to std, and to its hash.
        |spec, _, _| spec.rootfs = PathBuf::from("/images//c-1/rootfs"),
        |spec, _, _| spec.memory_bytes = 2,
        |_, step, _| step.command = vec!["/cc a b".to_owned()],
        |_, step, _| step.command.swap(0, 1),
        |_, step, _| step.environment.clear(),
        |_, step, _| step.gate = Some("other.c".to_owned()),
        |_, step, _| step.gate = None,
        |_, _, files| files[0].content.push(b'd'),
        |_, _, files| {
            files[0].path.push('b');
            files[0].content = b"c".to_vec();
        },
        |_, _, files| files.truncate(1),
        |_, _, files| files.swap(0, 1),
    ];
    for (one, change) in changes.iter().enumerate() {
        for (other, other_change) in changes.iter().enumerate() {
            let is_same = key_after(*change) == key_after(*other_change);
            assert_eq!(is_same, one == other, "{one} {other}");
        }
    }
}
