//! One attack, as a file of tests/attack: its folder tells what kind it is.

use crate::program::Program;
use crate::request::Request;

/// An attack of any kind.
#[derive(Debug)]
pub(crate) enum Case {
    /// A program that wants what it may not have.
    Program(Program),
    /// A program that wants more than it may have.
    Exhaustion(Program),
    /// A request that does not wait for its program.
    Request(Request),
}

impl Case {
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, String> {
        if !text.starts_with("# ") {
            return Err("the first line does not say what it tries".to_owned());
        }
        let kind = name.split('/').next().unwrap_or_default();
        let case = match kind {
            "request" => toml::from_str(text).map(Self::Request),
            "exhaustion" => toml::from_str(text).map(Self::Exhaustion),
            _ => toml::from_str(text).map(Self::Program),
        };
        case.map_err(|error| error.to_string())
    }

    /// The program, if it is one.
    pub(crate) fn program(&self) -> Option<&Program> {
        match self {
            Self::Program(program) | Self::Exhaustion(program) => Some(program),
            Self::Request(_) => None,
        }
    }
}
