//! Loading definitions and looking languages up.

use sandpiper_languages::{Catalog, Language};

use crate::{DEFINITION, catalog, load, minimal, source};

#[test]
fn languages_come_by_their_order_and_then_by_id() {
    let placed = |id: &str, order: &str| {
        let definition = DEFINITION
            .replace(r#""py", "python3""#, "")
            .replace(r#""py""#, "")
            .replace("image", &format!("{order}\nimage"));
        source(id, &definition)
    };
    let catalog = load(vec![
        placed("zig", ""),
        placed("ada", ""),
        placed("cpp", "order = 2"),
        placed("c", "order = 2"),
        placed("python", "order = 1"),
    ]);
    let catalog = catalog.unwrap();
    let ids: Vec<&str> = catalog.languages().map(Language::id).collect();
    assert_eq!(ids, ["python", "c", "cpp", "ada", "zig"]);
}

#[test]
fn finds_by_id_and_alias_in_any_letter_case() {
    let catalog = catalog();
    let check = |value: &str, expected: Option<&str>| {
        let found = catalog.find(value).map(Language::id);
        assert_eq!(found, expected, "{value:?}");
    };
    check("python", Some("python"));
    check("PyThOn", Some("python"));
    check("py", Some("python"));
    check("PYTHON3", Some("python"));
    check("C", Some("c"));
    check("C++", Some("cpp"));
    check("", None);
    check(" python", None);
    check("python ", None);
    check("pyth", None);
    check("\u{ff50}ython", None);
}

#[test]
fn finds_by_extension() {
    let fallback =
        minimal("mongo", "", "\"db.js\"]\nfallback_extensions = [\"JS\"");
    let all = load(vec![
        fallback,
        minimal("cpp", "", r#""cpp", "cc""#),
        minimal("js", "", r#""js""#),
    ]);
    let all = all.unwrap();
    let without = all.only(|language| language.id() != "js");
    let check = |catalog: &Catalog, path: &str, expected: Option<&str>| {
        let found = catalog.by_path(path).map(Language::id);
        assert_eq!(found, expected, "{path:?}");
    };
    check(&all, "a.CC", Some("cpp"));
    check(&all, "x.y/a.b.cpp", Some("cpp"));
    check(&all, "cc", None);
    check(&all, "a.cc/b", None);
    check(&all, "", None);
    // A fallback gives way, and the longest extension counts.
    check(&all, "a.js", Some("js"));
    check(&all, "a.DB.js", Some("mongo"));
    check(&without, "a.js", Some("mongo"));
}

#[test]
fn names_the_nearest() {
    let catalog = catalog();
    let check = |value: &str, expected: &str| {
        let nearest = catalog.nearest(value).map(Language::id);
        assert_eq!(nearest, Some(expected), "{value:?}");
    };
    check("pyhton", "python");
    check("PYTHN", "python");
    check("python4", "python");
    check("c+", "c");
    check("c++11", "cpp");
    check("zog", "zig");
    check(&"python".repeat(1_000_000), "python");
    assert!(load(vec![]).unwrap().nearest("python").is_none());
}

#[test]
fn a_definition_is_read_whole() {
    let catalog = catalog();
    let python = catalog.find("python").unwrap();
    assert_eq!(python.name(), "Python");
    assert_eq!(python.aliases(), ["py", "python3"]);
    assert_eq!(python.extensions(), ["py"]);
    assert_eq!(python.image(), "python");
    assert!(python.takes_stdin());
    assert_eq!(python.title(), "Python");
    let starter = catalog.starter("py").unwrap();
    assert_eq!(starter.submission.entry_file(), "main.py");
    assert_eq!(starter.submission.files().len(), 1);
    assert_eq!(starter.submission.files()[0].content, b"print(1)\n");
    assert!(catalog.starter("perl").is_none());
}

#[test]
fn a_starter_knows_what_it_should_print() {
    let check = |definition: &str, expected: &[u8], stdout: &str, is: bool| {
        let mut source = source("python", definition);
        let path = "starter-expected.txt".to_owned();
        source.files.insert(path, expected.to_vec());
        let catalog = load(vec![source]).unwrap();
        let starter = catalog.starter("python").unwrap();
        assert_eq!(starter.expects(stdout), is, "{stdout:?}");
    };
    check(DEFINITION, b"1\n", "1\n", true);
    check(DEFINITION, b"1\n", "1", false);
    check(DEFINITION, b"1\n", "01\n", false);
    let contains =
        DEFINITION.replace("[starter]", "[starter]\nexpected = \"contains\"");
    check(&contains, b"<h1>\nmain.js\n", "<p><h1>main.js", true);
    check(&contains, b"<h1>\nmain.js\n", "<p><h1>", false);
}

#[test]
fn a_wrong_definition_is_refused() {
    let check = |from: &str, to: &str, reason: &str| {
        let definition = DEFINITION.replace(from, to);
        assert_ne!(definition, DEFINITION, "{from:?} is not there");
        let error = load(vec![source("python", &definition)]).unwrap_err();
        assert_eq!(error.path, "languages/python/language.toml", "{to}");
        assert!(error.reason.contains(reason), "{to}: {error}");
    };
    check("name = \"Python\"", "", "missing field `name`");
    check("name = \"Python\"", "name = \" \"", "name is empty");
    check("name", "label", "unknown field `label`");
    check("image = \"python\"", "image = \"../x\"", "image \"../x\" must");
    check("\"py\", ", "\"\", ", "alias \"\" must");
    check("\"py\", ", "\"p y\", ", "alias \"p y\" must");
    check("name = ", "default = 1\nname = ", "invalid type: integer");
    check("[\"py\"]", "[\"a..b\"]", "extension \"a..b\" must");
    check("[\"py\"]", "[\".py\"]", "extension \".py\" must");
    check("\"py\", ", "\"Python3\", ", "name \"python3\" is there twice");
    check("/opt/python", "python", "[run] command must begin");
    let document = |framework: &str| {
        format!("output = \"document\"\nframework = \"{framework}\"\nimage")
    };
    for path in ["", "a.js", "/", "/a/../b.js", "/a//b.js", "/a\\u0000"] {
        check("image", &document(path), "is no absolute path");
    }
    check("image", "framework = \"/a.js\"\nimage", "a part of documents");
    check("[\"/opt/python\", \"{entry}\"]", "[]", "[run] command must begin");
    check("\"{entry}\"", "\"--run={entry}\"", "must be a whole argument");
    check("\"{entry}\"", "\"a\\u0000b\"", "[run] command holds a NUL");
    check("[run]", "[compile]\ncommand = [\"cc\"]\n[run]", "[compile] command");
    check("[run]", "[limits]\nmemory_mib = 0\n[run]", "memory_mib");
    check("[run]", "[limits]\nmemory_mib = -1\n[run]", "memory_mib");
    check("[run]", "[limits]\nmemory_gib = 1\n[run]", "unknown field");
    check("[run]", "[environment]\n\"A=B\" = \"\"\n[run]", "is not a name");
    check("[run]", "[environment]\nA = \"\\u0000\"\n[run]", "holds a NUL");
    check("[run]", "[editor]\ngrammars = 1\n[run]", "unknown field");
    check("[run]", "[editor.input]\n[run]", "missing field `reads`");
    let other = "[editor]\ngrammar = { js = \"javascript\" }\n[run]";
    check("[run]", other, "[editor] grammar names the extension \"js\"");
    let list = "[editor.members]\nfile = \"a.json\"\n[run]";
    check("[run]", list, "file: there is no file \"a.json\"");
    check("[run]", "[editor.members]\n[run]", "missing field `file`");
    check("[starter]", "[run.shell]\n[starter]", "unknown field `shell`");
    check("[starter]", "[starter]\nexpected = \"a\"", "unknown variant `a`");
}

#[test]
fn a_wrong_folder_is_refused() {
    let check = |remove: &str, add: Option<(&str, &[u8])>, message: &str| {
        let mut source = source("python", DEFINITION);
        source.files.remove(remove);
        if let Some((path, bytes)) = add {
            source.files.insert(path.to_owned(), bytes.to_vec());
        }
        let error = load(vec![source]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    check("language.toml", None, "language.toml: no such file");
    check("starter-expected.txt", None, "expected.txt: no such file");
    check("", Some(("starter-expected.txt", b"\n")), "is empty");
    check("starter/main.py", None, "\"main.py\" is not one of the files");
    check("", Some(("starter/a\\b", b"")), "starter: path \"a\\\\b\" holds");
    check("", Some(("starter/a.py", b"\xff")), "starter/a.py: invalid utf-8");
    check("", Some(("language.toml", b"\xff")), "language.toml: invalid utf-8");

    let error = load(vec![source("Py", DEFINITION)]).unwrap_err();
    assert!(error.to_string().contains("id \"Py\" must be"), "{error}");
}

#[test]
fn two_languages_share_no_name() {
    let check = |aliases: &str, extensions: &str, message: &str| {
        let other = minimal("zig", aliases, extensions);
        let python = source("python", DEFINITION);
        let error = load(vec![other, python]).unwrap_err().to_string();
        assert_eq!(error, format!("languages/zig/language.toml: {message}"));
    };
    let there = "belongs to languages/python/language.toml, too";
    check("\"python\"", "", &format!("name \"python\" {there}"));
    check("\"PY\"", "", &format!("name \"py\" {there}"));
    check("", "\"Py\"", &format!("extension \"py\" {there}"));
    let twice = Catalog::load([minimal("a", "", ""), minimal("a", "", "")]);
    assert!(twice.is_err());
}

#[test]
fn the_editor_gets_its_settings() {
    let check = |lines: &str, path: &str, grammar: Option<&str>| {
        let definition = DEFINITION
            .replace("[run]", &format!("{lines}\n[run]"))
            .replace("[\"py\"]", "[\"py\", \"HTM\"]");
        let catalog = load(vec![source("python", &definition)]).unwrap();
        let editor = catalog.find("python").unwrap().editor();
        assert_eq!(editor.grammar(path), grammar, "{lines} {path}");
    };
    let one = "[editor]\ngrammar = \"python\"";
    check(one, "a/main.py", Some("python"));
    check(one, "MAIN.PY", Some("python"));
    check(one, "x.htm", Some("python"));
    check(one, "main.js", None);
    check(one, "py", None);
    check("", "main.py", None);
    let each = "[editor]\ngrammar = { HTM = \"html\" }";
    check(each, "x.htm", Some("html"));
    check(each, "main.py", None);
}
