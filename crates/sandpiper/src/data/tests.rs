//! Languages and images from the program and from a folder.

use std::fs;

use serde_json::json;

use super::*;

/// Loads this program's languages and those in a folder.
fn load(languages: &Path) -> anyhow::Result<Definitions> {
    let languages = Some(languages.to_owned());
    Definitions::load(&Folders { languages, ..Folders::default() })
}

#[test]
fn every_language_has_a_recipe() {
    let definitions = Definitions::load(&Folders::default()).unwrap();
    assert!(definitions.languages.find("python").is_some());
    for language in definitions.languages.languages() {
        let has_image = definitions.has_image(language.image());
        assert!(has_image, "{} has no image", language.id());
    }
}

#[test]
fn without_a_data_folder_every_image_is_broken() {
    let definitions = Definitions::load(&Folders::default()).unwrap();
    let images = EngineImages::open(Path::new("/proc/none"), &definitions);
    let state = images.state("python");
    let ImageState::Broken(why) = &state else { panic!("{state:?}") };
    assert!(why.contains("/proc/none"), "{why}");
    assert!(matches!(images.state("own-b"), ImageState::Broken(_)));
}

#[test]
fn clients_read_one_line_of_an_image() {
    let check = |state: ImageState, expected: &str| {
        let text = describe(&state, || "build c".to_owned());
        assert_eq!(text, expected, "{state:?}");
    };
    check(ImageState::Building("3 of 9".to_owned()), "3 of 9");
    let missing = "its image has not been built; run `build c`";
    check(ImageState::Missing, missing);
    check(ImageState::Broken("no space\n".to_owned()), "no space");
    // No line of a build's log.
    let log = "it failed: 100\nE: http://proxy:3128 said 407\n";
    let short = "it failed: 100 (`sandpiper images list` says more)";
    check(ImageState::Broken(log.to_owned()), short);
}

#[test]
fn languages_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let put = |id: &str, lines: &str| put(folder.path(), id, lines);
    put("own", "extensions = [\"own\"]");
    put("own-b", "default = false\naliases = [\"own\"]");
    put("own-c", "default = false\nextensions = [\"js\", \"py\"]");
    put("own-d", "default = false\nextensions = [\"js\"]");
    let definitions = load(folder.path()).unwrap();
    let check = |choice: Option<&str>, expected: Result<&str, &str>| {
        let choice = choice.map(|names| {
            names.split(',').map(str::to_owned).collect::<Vec<_>>()
        });
        let found = definitions.served(choice.as_deref()).map(|served| {
            let ids = served.languages().map(Language::id);
            ids.collect::<Vec<_>>().join(" ")
        });
        let found = found.map_err(|error| format!("{error:#}"));
        match expected {
            Ok(ids) => assert_eq!(found, Ok(ids.to_owned()), "{choice:?}"),
            Err(part) => assert!(
                found.as_ref().is_err_and(|text| text.contains(part)),
                "{choice:?}: {found:?}"
            ),
        }
    };
    let eleven = "python c cpp java php csharp mysql mongodb web react vue";
    check(None, Ok(&format!("{eleven} own")));
    check(Some("default"), Ok(&format!("{eleven} own")));
    check(Some("C++,py"), Ok("python cpp"));
    check(Some("c,Default,own-d"), Ok(&format!("{eleven} own own-d")));
    // An alias gives way to the id of another language.
    check(Some("own"), Ok("own"));
    check(Some("own-b"), Ok("own-b"));
    check(Some("own-b,own"), Err("name \"own\" belongs to "));
    check(Some("default,own-c"), Err("extension \"py\" belongs to languages/"));
    check(Some("c,own-c"), Ok("c own-c"));
    check(Some("all"), Err("belongs to "));
    check(Some("c,pascal"), Err("no language \"pascal\""));
    check(Some("c,pascal"), Err("are python, c, cpp"));

    // Of two languages with one extension that of the fallback gives way.
    let by = |choice: &str, path: &str| {
        let chosen = [choice.into(), "mongodb".into()];
        let served = definitions.served(Some(&chosen)).unwrap();
        served.by_path(path).map(|it| it.id().to_owned()).unwrap()
    };
    assert_eq!(by("python", "x.js"), "mongodb");
    assert_eq!(by("own-d", "x.js"), "own-d");
    assert_eq!(by("own-d", "a.b/x.mongodb.js"), "mongodb");
    assert_eq!(by("own-d", "x.mongodb"), "mongodb");
}

#[test]
fn the_manual_names_languages_and_aliases_that_there_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedding.md");
    let manual = fs::read_to_string(path).unwrap();
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let catalog = Definitions::load(&Folders::default()).unwrap().languages;
    let row = manual.lines().find(|line| line.starts_with("| `lang` |"));
    let ids = quoted(row.unwrap().split('|').nth(2).unwrap());
    assert!(ids.len() >= 11, "{ids:?}");
    for id in ids {
        let found = catalog.find(&id).map(Language::id);
        assert_eq!(found, Some(id.as_str()));
    }
    let (_, names) = manual.split_once("takes the values of `lang`").unwrap();
    let aliases = quoted(names.split_once(';').unwrap().0);
    assert!(aliases.len() >= 6, "{aliases:?}");
    for alias in aliases {
        assert!(catalog.find(&alias).is_some(), "{alias}");
    }
}

#[test]
fn versions_are_those_of_the_image_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let base = Definitions::load(&Folders::default()).unwrap();
    let php = base.recipes.iter().find(|it| it.name() == "php").unwrap();
    let image = dir.join(format!("images/php-{}", php.hash()));
    fs::create_dir_all(image.join("rootfs")).unwrap();
    let manifest = json!({
        "name": "php", "hash": php.hash(), "versions": {"PHP": "8.4.1"},
        "origin": [], "packages": [], "bytes": 1, "built_at": 1,
    });
    fs::write(image.join("manifest.json"), manifest.to_string()).unwrap();
    fs::create_dir(dir.join("added")).unwrap();
    for text in ["", "packages = [\"jq\"]", "packages = 1"] {
        fs::write(dir.join("added/php.toml"), text).unwrap();
        let additions = Some(dir.join("added")).filter(|_| !text.is_empty());
        let folders = Folders { additions, ..Folders::default() };
        let definitions = Definitions::load(&folders).unwrap();
        let images = EngineImages::open(dir, &definitions);
        let serving = ImageState::Ready(image.join("rootfs"));
        assert_eq!(images.state("php"), serving, "{text}");
        let versions = images.versions("php");
        let php = versions.get("PHP").map(String::as_str);
        assert_eq!(php, Some("8.4.1"), "{text}");
    }
}

/// A language in a folder of `dir`, with these lines in its definition.
fn put(dir: &Path, id: &str, lines: &str) {
    let definition = format!(
        "name = \"The {id}\"\n{lines}\nimage = \"native\"\n\
         [run]\ncommand = [\"/bin/sh\", \"{{entry}}\"]\n\
         [starter]\nentry = \"main.sh\""
    );
    let folder = dir.join(id);
    fs::create_dir_all(folder.join("starter")).unwrap();
    for (path, text) in [
        ("language.toml", definition.as_str()),
        ("starter/main.sh", "echo 1"),
        ("starter-expected.txt", "1\n"),
    ] {
        fs::write(folder.join(path), text).unwrap();
    }
}

#[test]
fn a_folder_adds_languages() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let last_of = |definitions: Definitions| {
        let last = definitions.languages.languages().last();
        last.map(|it| it.name().to_owned()).unwrap_or_default()
    };
    let check = |expected: Result<&str, &str>| {
        let found = load(dir).map(last_of);
        let found = found.map_err(|error| format!("{error:#}"));
        match expected {
            Ok(name) => assert_eq!(found, Ok(name.to_owned())),
            Err(parts) => {
                let parts = parts.replace("DIR", &dir.to_string_lossy());
                let error = found.unwrap_err();
                for part in parts.split('|') {
                    assert!(error.contains(part), "{part}: {error}");
                }
            }
        }
    };
    let missing = load(&dir.join("none")).unwrap_err();
    let error = format!("{missing:#}");
    assert!(error.contains("none: cannot read"), "{error}");

    fs::create_dir(dir.join("notes")).unwrap();
    fs::write(dir.join("notes/README.md"), "not a language").unwrap();
    check(Ok(&last_of(Definitions::load(&Folders::default()).unwrap())));
    put(dir, "zsh", "");
    check(Ok("The zsh"));
    put(dir, "zsh", "order = [");
    check(Err("DIR/zsh/language.toml: |line 3"));
    put(dir, "all", "");
    put(dir, "zsh", "");
    check(Err("DIR/all/language.toml: id \"all\" means several languages"));
    fs::remove_dir_all(dir.join("all")).unwrap();
    put(dir, "c", "");
    check(Err("DIR/c/language.toml: id \"c\" belongs to languages/c/"));
    fs::remove_dir_all(dir.join("c")).unwrap();
    put(dir, "own", "");
    let definition = dir.join("own/language.toml");
    let text = fs::read_to_string(&definition).unwrap();
    let text = text.replace("\"native\"", "\"own\"");
    fs::write(&definition, text).unwrap();
    check(Err("DIR/own/language.toml: there is no image \"own\"|csharp, "));
    let image = dir.join("own/image.toml");
    fs::write(&image, "suite = \"trixie\"\npackages = 1\n").unwrap();
    check(Err("DIR/own/image.toml: |line 2"));
    let recipe = "suite = \"trixie\"\narchitectures = [\"amd64\"]\n\
                  packages = [\"lua5.4\"]\nbuild = \"build.sh\"\n\
                  [files]\n\"/build/gate.h\" = \"images/gate.h\"";
    fs::write(&image, recipe).unwrap();
    check(Err("DIR/own/image.toml: |there is no file build.sh"));
    fs::write(dir.join("own/build.sh"), "true").unwrap();
    check(Ok("The zsh"));
    fs::rename(dir.join("own"), dir.join("php")).unwrap();
    check(Err("DIR/php/image.toml: the image \"php\"|images/php/image.toml"));
    fs::remove_dir_all(dir.join("php")).unwrap();
    let pipe = dir.join("zsh/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    check(Err("DIR/zsh/pipe: |not a file"));
}

#[test]
fn packages_are_added_to_images_or_the_fault_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let check = |name: &str, text: &str, expected: Result<usize, &str>| {
        fs::write(dir.join(name), text).unwrap();
        let additions = Some(dir.to_owned());
        let folders = Folders { additions, ..Folders::default() };
        let definitions = Definitions::load(&folders).unwrap();
        let image = name.split('.').next().unwrap();
        let recipe = definitions.recipes.iter().find(|it| it.name() == image);
        let added = recipe.and_then(Recipe::addition);
        let fault = definitions.faults.get(image);
        match expected {
            Ok(count) => {
                assert_eq!(fault, None, "{text}");
                assert_eq!(added.unwrap().names().len(), count, "{text}");
            }
            Err(part) => {
                assert!(added.is_none(), "{text}");
                let part = part.replace("DIR", &dir.to_string_lossy());
                let fault = fault.unwrap();
                assert!(fault.starts_with(&part), "{part}: {fault}");
            }
        }
    };
    check("php.toml", "packages = [\"jq\", \"bc\"]", Ok(2));
    check("php.toml", "\npackages = [\"--x\"]", Err("DIR/php.toml:2: \"--x\""));
    check("php.toml", "packages = [", Err("DIR/php.toml:1: "));
    let missing = "DIR/python.toml: its packages have no lock yet: run `";
    check("python.toml", "pip = [\"attrs==25.3.0\"]", Err(missing));
    let unknown = "DIR/perl.toml: there is no image \"perl\"";
    check("perl.toml", "packages = [\"jq\"]", Err(unknown));
}
