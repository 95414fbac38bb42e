//! One language: its definition, checked.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::definition::{Command, Compile, Crash, LanguageDefinition};
use crate::editor::Editor;
use crate::names::check_names;
use crate::{OutputKind, Plan, SourceFile, Stage, Step};

/// The argument that is replaced by the entry file's path.
const ENTRY: &str = "{entry}";

/// The variables that every step has, unless the definition replaces them.
const BASE_ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/box"),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
];

/// The variable with the time that compilers are to write into programs in place
/// of the present one (<https://reproducible-builds.org/specs/source-date-epoch>).
const FIXED_TIME: (&str, &str) = ("SOURCE_DATE_EPOCH", "0");

/// One language.
#[derive(Debug)]
pub struct Language {
    id: String,
    name: String,
    title: String,
    order: u32,
    is_default: bool,
    aliases: Vec<String>,
    /// Its own extensions, then the fallbacks.
    extensions: Vec<String>,
    own_extensions: usize,
    image: String,
    takes_stdin: bool,
    takes_args: bool,
    output: OutputKind,
    framework: Option<String>,
    editor: Editor,
    memory_bytes: Option<u64>,
    output_bytes: Option<u64>,
    processes: Option<u32>,
    /// Whether compile artifacts may be kept.
    repeatable: bool,
    /// Words in files whose compile artifacts may not be kept. If there are any,
    /// all other files are compiled with [`FIXED_TIME`].
    unless: Vec<String>,
    /// The steps of every plan, with [`ENTRY`] in their commands.
    steps: Vec<Step>,
    /// The step after a crash, likewise.
    crash: Option<Step>,
}

impl Language {
    /// Returns the value of `language` in a request, such as `cpp`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name that people read, such as `C++`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the title of the editor page, such as `HTML, CSS, JavaScript`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns whether the language is served unless the operator chooses
    /// languages.
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// Returns other values of `language` that mean this one.
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// Extensions of this language's files, without the first dot.
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }

    /// Extensions that no other language beside this one may have.
    pub(crate) fn own_extensions(&self) -> &[String] {
        &self.extensions[..self.own_extensions]
    }

    /// Returns the name of the image with the toolchain.
    pub fn image(&self) -> &str {
        &self.image
    }

    /// Returns whether the program gets the submission's standard input.
    pub fn takes_stdin(&self) -> bool {
        self.takes_stdin
    }

    /// Returns whether the program gets the submission's arguments.
    pub fn takes_args(&self) -> bool {
        self.takes_args
    }

    /// Returns the kind of its standard output.
    pub fn output(&self) -> OutputKind {
        self.output
    }

    /// Returns the absolute path in the image of the script that its documents
    /// contain, if they have one in common.
    pub fn framework(&self) -> Option<&str> {
        self.framework.as_deref()
    }

    /// Returns the settings of the editor page.
    pub fn editor(&self) -> &Editor {
        &self.editor
    }

    /// Sorts the languages: by the definition's `order`, then by id.
    pub(crate) fn rank(&self) -> (u32, &str) {
        (self.order, &self.id)
    }

    /// Returns whether a request's `language` means this one, in any letter
    /// case.
    pub(crate) fn is_called(&self, value: &str) -> bool {
        self.names().any(|name| name.eq_ignore_ascii_case(value))
    }

    /// Returns the id, then the aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id).chain(&self.aliases).map(String::as_str)
    }

    /// Checks a definition; the error is the reason why it is wrong. `folder`
    /// has the files of the language's folder.
    pub(crate) fn check(
        id: &str,
        definition: &LanguageDefinition,
        folder: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, String> {
        check_names(id, definition)?;
        let own = definition.extensions.iter();
        let extensions: Vec<String> =
            own.chain(&definition.fallback_extensions).cloned().collect();
        let environment = environment(definition)?;
        let mut steps = Vec::new();
        let compile = definition.compile.as_ref();
        if let Some(Compile { command, prepare, warnings, .. }) = compile {
            let (command, prepare) = (command.clone(), *prepare);
            let command = Command { command, prepare, results: false };
            let compile =
                step("compile", Stage::Compile, &command, &environment)?;
            steps.push(Step { takes_warnings: *warnings, ..compile });
        }
        let unless = compile.map_or(&[][..], |compile| &compile.unless);
        if unless.iter().any(String::is_empty) {
            return Err("[compile] unless holds an empty word".to_owned());
        }
        steps.push(run_step(definition, &environment)?);
        let crash = definition.crash.as_ref().map(|Crash { command }| {
            let command = Command {
                command: command.clone(),
                prepare: false,
                results: false,
            };
            let crash = step("crash", Stage::Compile, &command, &environment)?;
            let takes_warnings = compile.is_some_and(|it| it.warnings);
            Ok::<_, String>(Step { takes_warnings, ..crash })
        });
        Ok(Self {
            id: id.to_owned(),
            name: definition.name.clone(),
            title: definition
                .title
                .as_ref()
                .unwrap_or(&definition.name)
                .clone(),
            order: definition.order.unwrap_or(u32::MAX),
            is_default: definition.default,
            aliases: definition.aliases.clone(),
            own_extensions: definition.extensions.len(),
            image: definition.image.clone(),
            takes_stdin: definition.stdin,
            takes_args: definition.arguments,
            output: definition.output,
            editor: Editor::check(&definition.editor, &extensions, folder)?,
            framework: definition.framework.clone(),
            extensions,
            memory_bytes: definition.limits.memory_mib.map(bytes),
            output_bytes: definition.limits.output_mib.map(bytes),
            processes: definition.limits.processes.map(NonZeroU32::get),
            repeatable: compile.is_some_and(|compile| compile.repeatable),
            unless: unless.to_vec(),
            steps,
            crash: crash.transpose()?,
        })
    }

    /// Returns the plan that runs these files, without input and arguments.
    pub(crate) fn plan(&self, entry_file: &str, files: &[SourceFile]) -> Plan {
        let mut plan = self.plan_ahead();
        let steps = plan.steps.iter_mut().chain(&mut plan.crash);
        let arguments = steps.flat_map(|step| &mut step.command);
        for argument in arguments.filter(|argument| *argument == ENTRY) {
            entry_file.clone_into(argument);
        }
        entry_file.clone_into(&mut plan.entry_file);
        plan.files = files.to_vec();
        plan.is_repeatable = self.repeatable
            && !files.iter().any(|file| {
                let mut words = self.unless.iter();
                words.any(|word| contains(&file.content, word))
            });
        if plan.is_repeatable && !self.unless.is_empty() {
            let steps = plan.steps.iter_mut().chain(&mut plan.crash);
            let compile = steps.filter(|step| step.stage == Stage::Compile);
            let (name, value) = FIXED_TIME;
            for step in compile {
                step.environment.push((name.to_owned(), value.to_owned()));
            }
        }
        plan
    }

    /// Returns the part that all plans of this language have in common, before
    /// there is a submission. The commands of steps that prepare are complete.
    pub fn plan_ahead(&self) -> Plan {
        Plan {
            language: self.id.clone(),
            image: self.image.clone(),
            entry_file: String::new(),
            files: Vec::new(),
            stdin: String::new(),
            args: Vec::new(),
            shows_warnings: false,
            leaves_results: false,
            is_repeatable: false,
            steps: self.steps.clone(),
            crash: self.crash.clone(),
            memory_bytes: self.memory_bytes,
            output_bytes: self.output_bytes,
            processes: self.processes,
        }
    }
}

fn contains(text: &[u8], word: &str) -> bool {
    memchr::memmem::find(text, word.as_bytes()).is_some()
}

fn bytes(mebibytes: NonZeroU32) -> u64 {
    u64::from(mebibytes.get()) << 20
}

fn environment(
    definition: &LanguageDefinition,
) -> Result<Vec<(String, String)>, String> {
    let mut environment: Vec<(String, String)> = BASE_ENVIRONMENT
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
    for (key, value) in &definition.environment {
        if key.is_empty() || key.contains(['=', '\0']) {
            return Err(format!("{key:?} is not a name of a variable"));
        }
        if value.contains('\0') {
            return Err(format!("the value of {key} holds a NUL"));
        }
        match environment.iter_mut().find(|(base, _)| base == key) {
            Some((_, base)) => base.clone_from(value),
            None => environment.push((key.clone(), value.clone())),
        }
    }
    Ok(environment)
}

fn run_step(
    definition: &LanguageDefinition,
    environment: &[(String, String)],
) -> Result<Step, String> {
    if definition.run.results && definition.arguments {
        let reason = "[run] results needs a language without arguments";
        return Err(reason.to_owned());
    }
    step("run", Stage::Run, &definition.run, environment)
}

/// Returns the step of a table of the definition.
fn step(
    table: &str,
    stage: Stage,
    Command { command, prepare, results }: &Command,
    environment: &[(String, String)],
) -> Result<Step, String> {
    if !command.first().is_some_and(|program| program.starts_with('/')) {
        return Err(format!(
            "[{table}] command must begin with an absolute path"
        ));
    }
    for argument in command {
        if argument.contains('\0') {
            return Err(format!("[{table}] command holds a NUL"));
        }
        if argument.contains(ENTRY) && *prepare {
            return Err(format!(
                "[{table}] a command that prepares reads the entry file's \
                 path at its gate, and has no {ENTRY}"
            ));
        }
        if argument.contains(ENTRY) && argument != ENTRY {
            return Err(format!(
                "[{table}] {ENTRY} must be a whole argument, not a part of \
                 {argument:?}"
            ));
        }
    }
    Ok(Step {
        stage,
        command: command.clone(),
        environment: environment.to_vec(),
        prepares: *prepare,
        takes_warnings: false,
        takes_results: *results,
    })
}
