//! Headless clauses in comments and pages, such as *What was full.* or *Who
//! comes late waits.*: plain English gives such a clause a noun.

use crate::{files, refuse};

/// Lines with such a clause, in 1,000 lines of comments and pages.
const MAX_HEADLESS: usize = 1;
/// The files that a failure names.
const SHOWN: usize = 20;

/// How a kind of file marks prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prose {
    /// `// …` and `/* … */`.
    Slashes,
    /// `# …`.
    Hash,
    /// Everything but code and headings.
    Page,
}

#[test]
fn clauses_have_a_head() {
    let mut lines = 0;
    let mut found: Vec<(String, Vec<usize>)> = Vec::new();
    for (path, text) in files() {
        let Some(kind) = kind(&path, &text) else { continue };
        let prose = prose(kind, &text);
        lines += prose.len();
        let headless = headless(&prose);
        if !headless.is_empty() {
            found.push((path, headless));
        }
    }
    assert!(lines > 5_000, "{lines} lines: the rest was not seen");
    let count: usize = found.iter().map(|(_, lines)| lines.len()).sum();
    if count * 1_000 <= MAX_HEADLESS * lines {
        return;
    }
    found.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.len()));
    let worst = found.iter().take(SHOWN).map(|(path, lines)| {
        format!("{:4} in {path}: lines {lines:?}", lines.len())
    });
    let mut faults = vec![format!(
        "{count} headless clauses in {lines} lines; {} are allowed. The \
         files with the most:",
        MAX_HEADLESS * lines / 1_000
    )];
    faults.extend(worst);
    refuse(&faults);
}

/// The kind of a file; `None` if it has no comments that are known here.
fn kind(path: &str, text: &str) -> Option<Prose> {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => Some(Prose::Page),
        Some(
            "rs" | "c" | "h" | "cc" | "cpp" | "java" | "cs" | "js" | "mjs"
            | "cjs" | "ts" | "css" | "php" | "go",
        ) => Some(Prose::Slashes),
        Some(
            "toml" | "yaml" | "yml" | "py" | "sh" | "rb" | "conf" | "cfg"
            | "nft" | "service",
        ) => Some(Prose::Hash),
        _ if text.starts_with("#!") || name == "Makefile" => Some(Prose::Hash),
        _ => None,
    }
}

/// The lines of prose, each with its number.
fn prose(kind: Prose, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = match kind {
            Prose::Slashes => slashes(line.trim(), &mut is_inside),
            Prose::Hash => hash(line),
            Prose::Page => page(line, &mut is_inside),
        };
        if let Some(line) = line {
            found.push((number, line.to_owned()));
        }
    }
    found
}

/// The text of a line that is a comment; `is_inside` holds in `/* … */`.
fn slashes<'a>(line: &'a str, is_inside: &mut bool) -> Option<&'a str> {
    let comment = if *is_inside {
        Some(line)
    } else if let Some(rest) = line.strip_prefix("/*") {
        *is_inside = true;
        Some(rest)
    } else {
        line.strip_prefix("//")
    };
    if comment.is_some_and(|text| text.contains("*/")) {
        *is_inside = false;
    }
    Some(comment?.trim_start_matches(['/', '!', '*']).trim())
}

/// The text of a line that is a comment; the first line of a script is none.
fn hash(line: &str) -> Option<&str> {
    let comment = line.trim().strip_prefix('#')?;
    (!comment.starts_with('!')).then(|| comment.trim())
}

/// The text of a line of a page; `is_inside` holds in a fenced block.
fn page<'a>(line: &'a str, is_inside: &mut bool) -> Option<&'a str> {
    if line.starts_with("```") {
        *is_inside = !*is_inside;
        return None;
    }
    let is_prose = !*is_inside
        && !line.trim().is_empty()
        && !line.starts_with('#')
        && !line.starts_with("    ");
    is_prose.then(|| line.trim())
}

/// The numbers of the lines with a headless clause.
fn headless(prose: &[(usize, String)]) -> Vec<usize> {
    let mut found = Vec::new();
    for (index, (number, line)) in prose.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| prose.get(index));
        let before = before.filter(|(before, _)| before + 1 == *number);
        let before = before.map_or("", |(_, text)| text.as_str());
        let next = prose.get(index + 1).filter(|(next, _)| *next == number + 1);
        let next = next.map_or("", |(_, text)| text.as_str());
        if is_headless(before, line, next) {
            found.push(*number);
        }
    }
    found
}

/// Whether a clause that begins in `line` has *what* or *who* in place of a
/// noun. A question may begin so.
fn is_headless(before: &str, line: &str, next: &str) -> bool {
    let text = line.trim_start_matches(['-', '*', '|', ' ']);
    let starts = text.char_indices().filter(|(start, _)| {
        let led = text[..*start].trim_end();
        if led.is_empty() && line.starts_with(['-', '*', '|']) {
            return true;
        }
        let led = if led.is_empty() { before.trim_end() } else { led };
        let led = led.trim_end_matches(['*', '_', '"', ')', '`']);
        led.is_empty() || led.ends_with(['.', ':', ';', '!', '?', '|'])
    });
    let mut clauses = starts.map(|(start, _)| &text[start..]);
    clauses.any(|clause| {
        let clause = clause.trim_start_matches(['*', '_', '"', '(']);
        let word = clause.split(' ').next().unwrap_or_default();
        let is_named = ["What", "what", "Who", "who"].contains(&word);
        is_named && !is_question(&format!("{clause} {next}"))
    })
}

/// Whether the first sentence of a text ends in a question mark.
fn is_question(text: &str) -> bool {
    let end = text.find(['.', '?', '!', ';', '|']);
    end.is_some_and(|end| text[end..].starts_with('?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Prose, text: &str, expected: &[usize]) {
        assert_eq!(headless(&prose(kind, text)), expected, "{text}");
    }

    #[test]
    fn headless_clauses_are_found() {
        let check = |text: &str, expected: &[usize]| {
            check(Prose::Slashes, text, expected);
        };
        check("/// What was full.", &[1]);
        check("//! Who comes late waits.", &[1]);
        check("/* What the host offers. */", &[1]);
        check("/*\n * What the host\n * offers.\n */", &[2]);
        check("// It is full. What waits is refused.", &[1]);
        check("// One thing counts: what the kernel says.", &[1]);
        check("// It ends; who waits is told.", &[1]);
        check("// It ends.\n// What is left goes.", &[2]);
        check("// It ends;\n// what is left goes.", &[2]);
        check("let a = 1;\n// What b is for.\nlet b = 2;", &[2]);
        check("// *What was full*: a queue.", &[1]);
    }

    #[test]
    fn other_clauses_are_not() {
        let check = |text: &str| check(Prose::Slashes, text, &[]);
        check("/// The reason why it is full.");
        check("// It says what is full, and who waits.");
        check("// It says\n// what is full.");
        check("// What is full?");
        check("// It asks: what is\n// full? Nobody knows.");
        check("// Whatever a client sends is read.");
        check("// The box, what is in it, and its limits.");
        check("What = \"what\";");
        check("let text = \"// What was full.\";");
    }

    #[test]
    fn every_kind_of_file_has_its_prose() {
        check(Prose::Hash, "#!/bin/sh\n# What it does.\necho What", &[2]);
        check(Prose::Hash, "name = \"x\"\n# Who.\n", &[]);
        check(Prose::Hash, "# Who reads it.", &[1]);
        let page = "# What a heading is\n\nWhat runs.\n\n    What code is\n\
                    \n- What an item is\n- An item: what\n  it is\n\
                    ```\nWhat code is\n```\n| a | what it is |\n";
        check(Prose::Page, page, &[3, 7, 8, 13]);
        let check = |path: &str, expected: Option<Prose>| {
            assert_eq!(kind(path, ""), expected, "{path}");
        };
        check("docs/api.md", Some(Prose::Page));
        check("a/b.ts", Some(Prose::Slashes));
        check("a/image.toml", Some(Prose::Hash));
        check("Makefile", Some(Prose::Hash));
        check("a.png", None);
        assert_eq!(kind("scripts/x", "#!/bin/sh"), Some(Prose::Hash));
    }
}
