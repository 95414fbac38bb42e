//! The addresses of the editor page.

use sandpiper_engine::languages::LanguageFolder;

use super::*;

/// A language of the page, with these lines in its definition.
pub(super) fn source(id: &str, lines: &str) -> LanguageFolder {
    let definition = format!(
        "name = \"The {id}\"\nimage = \"x\"\n{lines}\n\
         [run]\ncommand = [\"/x\"]\n[starter]\nentry = \"m.{id}\""
    );
    let starter = format!("starter/m.{id}");
    let files = [
        ("language.toml", definition.as_str()),
        (&starter, "int b;\n"),
        ("starter-expected.txt", "1\n"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.into()));
    let (id, path) = (id.to_owned(), format!("languages/{id}"));
    LanguageFolder { id, path, files: files.into() }
}

pub(super) fn catalog() -> Catalog {
    Catalog::load([
        source("c", "order = 2"),
        source("java", "order = 3\ntitle = \"J & J\""),
        source("python", "order = 1\naliases = [\"py\", \"python3\"]"),
    ])
    .unwrap()
}

fn page_of(catalog: Catalog) -> Embed {
    let abilities = Abilities::default();
    Embed::new(FrameAncestors::default(), None, catalog, abilities)
}

fn check(
    catalog: &Catalog,
    address: Address,
    query: &str,
    expected: Result<&str, &str>,
) {
    let embed = page_of(catalog.clone());
    let (status, text) =
        embed.page(address, query, &HeaderMap::new(), "0", |_, _| None);
    match expected {
        Ok(title) => {
            assert_eq!(status, StatusCode::OK, "{query}");
            let title = format!("<title>{title} editor</title>");
            assert!(text.contains(&title), "{query}: {text}");
        }
        Err(value) => {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
            assert!(text.contains(value), "{query}: {text}");
            for id in languages_of(catalog) {
                let link = format!("<a href=\"{}\">", address_of(id));
                let is_there = address.catalog(catalog).find(id).is_some();
                assert_eq!(text.contains(&link), is_there, "{query}: {id}");
            }
        }
    }
}

#[test]
fn a_program_without_the_page_says_how_to_build_it() {
    let mut embed = page_of(catalog());
    embed.assets = Assets::default();
    let (status, text) =
        embed.page(Address::Embed, "lang=c", &HeaderMap::new(), "0", |_, _| {
            None
        });
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(text.contains("make web"), "{text}");
    let script = embed.script(&HeaderMap::new());
    assert_eq!(script.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn lang_is_the_exact_id_of_a_language() {
    let all = catalog();
    let check = |query, expected| check(&all, Address::Embed, query, expected);
    check("lang=python", Ok("The python"));
    check("lang=java", Ok("J &amp; J"));
    check("", Ok("J &amp; J"));
    check("lang=", Ok("J &amp; J"));
    check("lang", Ok("J &amp; J"));
    check("other=c", Ok("J &amp; J"));
    check("a=b&lang=c", Ok("The c"));
    check("lang=%63", Ok("The c"));
    check("lang=c&lang=vue", Ok("The c"));
    check("lang=Python", Err("Python"));
    check("lang=py", Err("py"));
    check("lang=c++", Err("c  "));
    check("lang=%20c", Err(" c"));
    check("lang=rust", Err("rust"));
    check("lang=%3Cscript%3E", Err("&lt;script&gt;"));
    check("lang=%ff", Err("\u{fffd}"));
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn without_java_the_first_language_is_the_default() {
    let some = Catalog::load([
        source("lua", "order = 0"),
        source("c", "order = 9"),
        source("python", "order = 1"),
    ]);
    let some = some.unwrap();
    check(&some, Address::Embed, "", Ok("The python"));
    check(&some, Address::Editor, "", Ok("The lua"));
    let none = Catalog::load([]).unwrap();
    check(&none, Address::Embed, "", Err("Unknown language"));
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn the_editor_has_every_language_and_a_switcher_if_one_is_asked_for() {
    let all = [
        source("c", "order = 2"),
        source("lua", ""),
        source("go", "aliases = [\"golang\"]"),
    ];
    let all = Catalog::load(all).unwrap();
    let embed = page_of(all.clone());
    let options = |query: &str| {
        let (status, text) = embed.page(
            Address::Editor,
            query,
            &HeaderMap::new(),
            "0",
            |_, _| None,
        );
        assert_eq!(status, StatusCode::OK, "{query}");
        let options = text.split("<option value=\"").skip(1);
        let options = options.map(|rest| {
            let (id, rest) = rest.split_once('"').unwrap();
            let (attribute, _) = rest.split_once('>').unwrap();
            format!("{id}{attribute}")
        });
        options.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(options("lang=lua"), "");
    assert_eq!(options("lang=lua&languages="), "");
    let query = "lang=lua&languages=go,lua,go";
    assert_eq!(options(query), "go, lua selected");
    assert_eq!(options("lang=c&languages=go"), "c selected, go");
    assert_eq!(options("languages=go,c"), "go selected, c");
    let check = |address, query, expected| {
        check(&all, address, query, expected);
    };
    check(Address::Editor, "lang=golang", Err("golang"));
    check(Address::Editor, "lang=c&languages=go,x", Err("&quot;x&quot;"));
    check(Address::Embed, "lang=lua", Err("lua"));
    // It has no switcher.
    check(Address::Embed, "lang=c&languages=x", Ok("The c"));
}
