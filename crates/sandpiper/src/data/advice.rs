//! The command that an operator is advised to run for images that are not built.

use std::path::Path;

use crate::config;

/// The unit of the package that builds images, as the user of the service and with
/// its settings.
const UNIT: &str = "/usr/lib/systemd/system/sandpiper-images.service";

/// Returns the command that builds an image in this data folder, or all images.
pub(crate) fn build_command(data_dir: &Path, image: Option<&str>) -> String {
    let usual = config::usual_data_dir();
    let is_usual = usual.is_ok_and(|usual| usual == data_dir);
    match (unit(data_dir), image) {
        (Some(unit), None) => unit,
        // The unit builds the images of served languages alone.
        (Some(_), Some(_)) => {
            format!("sudo -u sandpiper {}", command(data_dir, true, image))
        }
        (None, _) => command(data_dir, is_usual, image),
    }
}

/// Returns the same for clients, to whom no folder of the host is named.
pub(crate) fn build_command_for_clients(
    data_dir: &Path,
    image: &str,
) -> String {
    unit(data_dir).unwrap_or_else(|| command(data_dir, true, Some(image)))
}

/// Returns the command that starts the package's unit, if the folder is its own.
fn unit(data_dir: &Path) -> Option<String> {
    let is_unit =
        data_dir == Path::new(config::SYSTEM_DATA) && Path::new(UNIT).exists();
    is_unit.then(|| "systemctl start sandpiper-images".to_owned())
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
}
