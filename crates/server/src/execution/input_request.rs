//! The request that sends input to a run.

use schemars::JsonSchema;

use super::request::{RequestError, last, string, wrong_type};
use crate::http::json_fields;

/// Input for a run that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub(crate) struct InputRequest {
    /// Added to the standard input of the program.
    #[schemars(default, example = &"Ann\n")]
    pub(crate) text: String,
    /// Whether the input ends here.
    #[schemars(default)]
    pub(crate) end: bool,
}

impl InputRequest {
    /// Reads a body.
    pub(crate) fn parse(body: &str) -> Result<Self, RequestError> {
        let [text, end] = json_fields(body, ["text", "end"])
            .ok_or(RequestError::NotAnObject)?;
        let text = last("text", &text, string)?;
        let end = last("end", &end, |field, raw| {
            serde_json::from_str(raw.get())
                .map_err(|_| wrong_type(field, "true or false"))
        })?;
        Ok(Self {
            text: text.unwrap_or_default(),
            end: end.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_text_and_perhaps_its_end() {
        let check = |body: &str, text: &str, end| {
            let expected = InputRequest { text: text.to_owned(), end };
            assert_eq!(InputRequest::parse(body), Ok(expected), "{body}");
        };
        check("{}", "", false);
        check(r#"{"text":"Ann\n"}"#, "Ann\n", false);
        check(r#"{"text":"\u0000","end":true,"x":1}"#, "\0", true);
        let check = |body: &str, message: &str| {
            let error = InputRequest::parse(body).unwrap_err();
            assert_eq!(error.to_string(), message, "{body}");
        };
        check("[]", "invalid JSON body");
        check(r#"{"text":1}"#, "text must be a string");
        check(r#"{"end":null}"#, "end must be true or false");
    }
}
