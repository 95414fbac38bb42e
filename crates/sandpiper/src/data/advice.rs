//! The commands that an operator is advised to run for images that are not built,
//! and for packages that are not locked.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::config;

/// The unit of the package that builds images, as the user of the service and with
/// its settings.
const UNIT: &str = "/usr/lib/systemd/system/sandpiper-images.service";

/// The command that gives another one the user and the settings of that unit, and
/// control groups for the boxes of sample programs.
const AS_UNIT: &str = "sudo systemd-run --pipe --wait --uid=sandpiper \
     -p Delegate=yes -p EnvironmentFile=-/etc/default/sandpiper \
     -p EnvironmentFile=-/etc/default/sandpiper-images ";

/// Returns the command that builds an image in this data folder, or all images.
pub(crate) fn build_command(data_dir: &Path, image: Option<&str>) -> String {
    if is_of_package(data_dir) {
        return build_by_unit(data_dir, image);
    }
    let usual = config::usual_data_dir();
    let is_usual = usual.is_ok_and(|usual| usual == data_dir);
    command(data_dir, is_usual, image)
}

/// Returns the same for the image of a language that is served.
pub(crate) fn build_command_of_served(data_dir: &Path, image: &str) -> String {
    // The unit builds the images of all of them.
    let image = (!has_unit(data_dir)).then_some(image);
    build_command(data_dir, image)
}

/// Returns the same for clients, to whom no folder of the host is named.
pub(crate) fn build_command_for_clients(
    data_dir: &Path,
    image: &str,
) -> String {
    if has_unit(data_dir) {
        return build_by_unit(data_dir, None);
    }
    command(data_dir, true, Some(image))
}

/// Returns the command that locks the packages that this folder adds to an image.
pub(crate) fn lock_command(additions: &Path, image: &str) -> String {
    // Root writes into it, with the settings of the package's unit.
    let is_of_root = additions.metadata().is_ok_and(|it| it.uid() == 0);
    if Path::new(UNIT).exists() && is_of_root {
        return lock_by_unit(image);
    }
    lock(image)
}

/// Returns whether the package's unit builds images in this folder.
fn has_unit(data_dir: &Path) -> bool {
    is_system(data_dir) && is_of_package(data_dir)
}

fn is_system(data_dir: &Path) -> bool {
    data_dir == Path::new(config::SYSTEM_DATA)
}

/// Returns whether the package's user has this folder.
fn is_of_package(data_dir: &Path) -> bool {
    let owner = |folder: &Path| folder.metadata().map(|it| it.uid()).ok();
    let system = owner(Path::new(config::SYSTEM_DATA));
    // A folder that is not there yet is nobody's.
    let has_its_owner = || system.is_some() && owner(data_dir) == system;
    Path::new(UNIT).exists() && (is_system(data_dir) || has_its_owner())
}

fn build_by_unit(data_dir: &Path, image: Option<&str>) -> String {
    let is_system = is_system(data_dir);
    if is_system && image.is_none() {
        return "systemctl start sandpiper-images".to_owned();
    }
    AS_UNIT.to_owned() + &command(data_dir, is_system, image)
}

fn lock_by_unit(image: &str) -> String {
    AS_UNIT.replace("--uid=sandpiper", "--uid=root") + &lock(image)
}

fn lock(image: &str) -> String {
    format!("sandpiper images lock {image}")
}

fn command(data_dir: &Path, is_usual: bool, image: Option<&str>) -> String {
    let mut command = "sandpiper images build".to_owned();
    if let Some(image) = image {
        command = format!("{command} {image}");
    }
    if !is_usual {
        command = format!("{command} --data-dir {}", data_dir.display());
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_built_where_they_are_missing() {
        let check = |is_usual, image, expected: &str| {
            assert_eq!(command(Path::new("/a"), is_usual, image), expected);
        };
        check(true, None, "sandpiper images build");
        check(true, Some("c"), "sandpiper images build c");
        check(false, Some("c"), "sandpiper images build c --data-dir /a");
        check(false, None, "sandpiper images build --data-dir /a");
    }

    #[test]
    fn the_package_builds_with_its_own_settings() {
        let check = |data_dir: &str, image, expected: &str| {
            let found = build_by_unit(Path::new(data_dir), image);
            let found = found.replace(AS_UNIT, "as unit: ");
            assert_eq!(found, expected, "{data_dir} {image:?}");
        };
        let unit = "systemctl start sandpiper-images";
        check("/var/lib/sandpiper", None, unit);
        let one = "as unit: sandpiper images build c";
        check("/var/lib/sandpiper", Some("c"), one);
        check("/srv/a", Some("c"), &format!("{one} --data-dir /srv/a"));
        let all = "as unit: sandpiper images build --data-dir /srv/a";
        check("/srv/a", None, all);
        let locks = lock_by_unit("python");
        assert!(locks.contains(" --uid=root "), "{locks}");
        assert!(!locks.contains("--uid=sandpiper"), "{locks}");
        assert!(locks.ends_with(" sandpiper images lock python"), "{locks}");
    }
}
