//! A method of a path, as the document has it.

use serde_json::{Map, Value, json};

/// The description of a method of a path.
#[derive(Debug)]
pub(super) struct Operation {
    /// In small letters.
    pub(super) method: &'static str,
    pub(super) summary: &'static str,
    pub(super) body: Option<Body>,
    pub(super) responses: Vec<Response>,
}

/// The body that a request may have.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) description: String,
    pub(super) schema: Value,
}

/// One status that is answered.
#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    description: &'static str,
    /// By media type.
    content: Map<String, Value>,
    headers: Map<String, Value>,
}

impl Operation {
    pub(super) fn into_json(self) -> Value {
        let mut responses = Map::new();
        for response in self.responses {
            let described = json!({
                "description": response.description,
                "headers": response.headers,
                "content": response.content,
            });
            responses.insert(response.status.to_string(), described);
        }
        let mut operation = json!({
            "summary": self.summary,
            "responses": responses,
        });
        if let Some(Body { description, schema }) = self.body {
            operation["requestBody"] = json!({
                "description": description,
                "required": true,
                "content": { "application/json": { "schema": schema } },
            });
        }
        operation
    }

    /// Adds that the first answer may be a stream of this media type, if the
    /// request accepts that.
    pub(super) fn stream_answers(
        &mut self,
        media_type: &str,
        description: &str,
    ) {
        if let Some(first) = self.responses.first_mut() {
            let schema =
                json!({ "type": "string", "description": description });
            let content = json!({ "schema": schema });
            first.content.insert(media_type.to_owned(), content);
        }
    }

    /// Returns the same without bodies, for HEAD.
    pub(super) fn headless(&self) -> Self {
        let responses = self.responses.iter().map(|response| Response {
            status: response.status,
            description: response.description,
            content: Map::new(),
            headers: response.headers.clone(),
        });
        Self {
            method: "head",
            summary: self.summary,
            body: None,
            responses: responses.collect(),
        }
    }
}

impl Response {
    pub(super) fn new(status: u16, description: &'static str) -> Self {
        let (content, headers) = (Map::new(), Map::new());
        Self { status, description, content, headers }
    }

    pub(super) fn json(self, schema: Value) -> Self {
        self.content("application/json", json!({ "schema": schema }))
    }

    /// Returns a text of this media type.
    pub(super) fn text(self, media_type: &str) -> Self {
        self.content(media_type, json!({ "schema": { "type": "string" } }))
    }

    pub(super) fn header(
        mut self,
        name: &str,
        description: &str,
        kind: &str,
    ) -> Self {
        let header =
            json!({ "description": description, "schema": { "type": kind } });
        self.headers.insert(name.to_owned(), header);
        self
    }

    fn content(mut self, media_type: &str, content: Value) -> Self {
        self.content.insert(media_type.to_owned(), content);
        self
    }
}
