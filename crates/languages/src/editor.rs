//! `[editor]` of `language.toml`: how the editor page colours, completes and
//! reads a language. The page gets it as it is, as `editor` of its settings
//! (web/src/config.ts).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `[editor]`. Names of grammars, formats and modules are those of web/src; a
/// name that is unknown there has no effect.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditorDefinition {
    /// The grammar that colours the files with the language's extensions
    /// (web/src/editor/languages); plain text without one.
    grammar: Option<Grammar>,
    /// The characters that the bar of symbols on touch screens starts with.
    symbols: Option<String>,
    #[serde(default)]
    completion: Completion,
    /// Code that is offered under a name while a person types: a template of
    /// CodeMirror. `${}` is the place of the cursor in the end, and `${name}`
    /// one that is filled before; a tab indents.
    #[serde(default)]
    snippets: BTreeMap<String, String>,
    members: Option<MembersDefinition>,
    #[serde(default)]
    messages: Messages,
    input: Option<Input>,
    /// Source code that makes pictures, as a regular expression of JavaScript
    /// (flag `m`). The page offers to show them.
    draws: Option<String>,
    /// A program of the language that formats a file: it reads a path on
    /// standard input, and prints what the file of that path should be. The
    /// page runs it, with the file, if a person asks for it.
    formatter: Option<String>,
}

/// One grammar for all extensions, or one for each.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Grammar {
    One(String),
    ByExtension(BTreeMap<String, String>),
}

/// The settings of the editor page for a language, checked.
#[derive(Clone, Debug, Serialize)]
pub struct Editor {
    /// The name of the grammar for each extension that has one.
    grammars: BTreeMap<String, String>,
    /// Every extension of the language.
    extensions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols: Option<String>,
    completion: Completion,
    #[serde(skip)]
    snippets: BTreeMap<String, String>,
    #[serde(skip)]
    members: Option<Members>,
    messages: Messages,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Input>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draws: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    formatter: Option<String>,
}

/// `[editor.completion]`: words that are offered while a person types. Each
/// value is a list of words, separated by white space.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Completion {
    /// A module that offers more than words (web/src/editor/support), if it is
    /// not the one that has the name of the grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    keywords: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    functions: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    types: String,
    /// The words that the module offers, by the names that it has for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    words: BTreeMap<String, String>,
}

/// `[editor.members]`: the names that are offered after a dot. All patterns are
/// regular expressions of JavaScript (flag `u`), and all types are named as in
/// the file. web/src/editor/members reads them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MembersDefinition {
    /// The modules and types with their members: an absolute path in the
    /// language's image, whose build writes the file, or the path of a file in
    /// the language's folder. web/src/editor/members/library.ts describes it.
    file: String,
    /// The beginnings of values, each with the type of the value. In the type,
    /// `$<name>` is replaced by the type of the group of that name.
    #[serde(default)]
    values: Vec<(String, String)>,
    /// The places of a line that give a name its type. The groups are: `name`,
    /// and `type`, `value` (an expression), `each` (one that is iterated) or
    /// `module` (perhaps with a `member` of it). Without these, the name has
    /// the type that stands beside the pattern or, if that is empty, one that
    /// is not known.
    #[serde(default)]
    declares: Vec<(String, String)>,
}

/// The names that the editor page offers after a dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// The modules and types, as JSON.
    pub file: MembersFile,
    /// The beginnings of values, each with its type.
    pub values: Vec<(String, String)>,
    /// The places of a line that give a name its type.
    pub declares: Vec<(String, String)>,
}

/// The file that lists members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersFile {
    /// The absolute path of a file in the language's image.
    InImage(String),
    /// The contents of a file in the language's folder.
    InFolder(Vec<u8>),
}

impl MembersDefinition {
    fn check(
        &self,
        folder: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Members, String> {
        let path = &self.file;
        let file = if path.starts_with('/') {
            MembersFile::InImage(path.clone())
        } else if let Some(content) = folder.get(path) {
            MembersFile::InFolder(content.clone())
        } else {
            return Err(format!(
                "[editor.members] file: there is no file {path:?}"
            ));
        };
        let (values, declares) = (self.values.clone(), self.declares.clone());
        Ok(Members { file, values, declares })
    }
}

/// `[editor.messages]`: how errors are found in standard error.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Messages {
    /// The reader of messages that patterns do not describe (web/src/errors),
    /// in place of the patterns below.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    /// Regular expressions of JavaScript (flags `gm`) for the places that
    /// messages name. `PATH` is replaced by a pattern of the submitted paths,
    /// `NAME` by one of their last segments. The groups are:
    ///
    /// - `at`: the part that becomes a link
    /// - `path`, or `name` with `class`, a qualified name that selects among
    ///   files with one name
    /// - `line`: the first one without it
    /// - `quoted`: if `line` is the end of a statement, a part of the line with
    ///   the error; the nearest one above that end has the mark
    /// - `column` (from 1), `column0` (from 0), `cell` (from 1, as a terminal
    ///   shows the line: a tab goes to the next multiple of eight), or `caret`,
    ///   all of a line up to the caret below the column. With `caret`, `shown`
    ///   is the part of the file's line that stands above it, if it may be
    ///   indented in another way
    /// - `message`: the place has a mark with these words. Each line of a
    ///   `detail` follows them after a colon, a `hint` as a sentence of its own
    /// - `kind`: the mark is a warning if this does not contain `error`
    ///
    /// Places without a `message` are links, and frames of `heads` and `feet`.
    #[serde(default)]
    places: Vec<String>,
    /// Such expressions for messages above their trace: the first place below
    /// one has its mark. The groups are `message` and `detail`. A match without
    /// a message ends the trace of the last one; the places below it are again
    /// those of the message before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    heads: Vec<String>,
    /// Such expressions for messages below their trace: the last place above
    /// one has its mark. A match without a message ends a trace that has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feet: Vec<String>,
    /// Messages in plain words, for beginners: regular expressions of
    /// JavaScript (flag `m`), each with its sentences. `$<name>` in these is
    /// replaced by the group of that name. The page compares them with the
    /// messages of marks or, if it made none, with the lines of standard error;
    /// the first that matches counts. It loads them after a run that has
    /// printed to standard error.
    #[serde(default, skip_serializing)]
    explanations: Vec<(String, String)>,
}

/// `[editor.input]`: how the page notices that a program wanted input and had
/// none. The patterns are regular expressions of JavaScript (flag `m`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
struct Input {
    /// Source code that reads standard input and uses the result.
    reads: String,
    /// The part of `reads` that reports no error at the end of the input; all
    /// of it by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads_silently: Option<String>,
    /// Standard error of a program that read past the end of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Standard error that is such an error if the source reads input.
    #[serde(skip_serializing_if = "Option::is_none")]
    likely_error: Option<String>,
    /// Whether reading past the end can make a program crash later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    crashes: bool,
    /// The characters that begin a comment, which ends with its line; `//` by
    /// default, and then there are comments between `/*` and `*/` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

impl Editor {
    /// Checks a definition; the error is the reason why it is wrong. `folder`
    /// has the files of the language's folder.
    pub(crate) fn check(
        definition: &EditorDefinition,
        extensions: &[String],
        folder: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, String> {
        let grammars = match &definition.grammar {
            None => BTreeMap::new(),
            Some(Grammar::One(name)) => extensions
                .iter()
                .map(|extension| (extension.as_str(), name))
                .collect(),
            Some(Grammar::ByExtension(grammars)) => grammars
                .iter()
                .map(|(extension, name)| (extension.as_str(), name))
                .collect::<BTreeMap<_, _>>(),
        };
        let stranger = |own: &&&str| !extensions.iter().any(|one| one == **own);
        if let Some(extension) = grammars.keys().find(stranger) {
            return Err(format!(
                "[editor] grammar names the extension {extension:?}, which is \
                 not one of the language's"
            ));
        }
        let lower_case = |text: &str| text.to_ascii_lowercase();
        Ok(Self {
            grammars: grammars
                .into_iter()
                .map(|(extension, name)| (lower_case(extension), name.clone()))
                .collect(),
            extensions: extensions
                .iter()
                .map(|extension| lower_case(extension))
                .collect(),
            symbols: definition.symbols.clone(),
            completion: definition.completion.clone(),
            snippets: definition.snippets.clone(),
            members: definition
                .members
                .as_ref()
                .map(|members| members.check(folder))
                .transpose()?,
            messages: definition.messages.clone(),
            input: definition.input.clone(),
            draws: definition.draws.clone(),
            formatter: definition.formatter.clone(),
        })
    }

    /// Templates of code, by their names.
    pub fn snippets(&self) -> &BTreeMap<String, String> {
        &self.snippets
    }

    /// Returns the names that may follow a dot, if the language lists any.
    pub fn members(&self) -> Option<&Members> {
        self.members.as_ref()
    }

    /// Patterns of messages, each with its meaning in plain words.
    pub fn explanations(&self) -> &[(String, String)] {
        &self.messages.explanations
    }

    /// Returns the name of the grammar of the file at `path`; `None` for plain
    /// text.
    pub fn grammar(&self, path: &str) -> Option<&str> {
        let (_, extension) = path.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        self.grammars.get(&extension).map(String::as_str)
    }
}
