//! The operations of each route, with their answers.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::about::About;
use crate::execution::{
    CompileRequest, CompileResponse, InputRequest, RunRequest, RunResponse,
};
use crate::health::{Alive, Report};
use crate::http::size;
use crate::products::{NewProduct, Product, ProductFields};
use crate::routes::{Endpoint, Route};

use super::operation::{Body, Operation, Response};
use super::schema;

const HTML: &str = "text/html; charset=utf-8";
const COMPILE_CHECKS: &str = "Failures are reported in this order: 405, 429, \
415, 413, 408 and 503 for the body, 400 for JSON, 413 for the number of files, \
400 for fields, 503 for answers that nobody reads, 400 for language, paths and \
entry file, 503.";
const RUN_CHECKS: &str = "Failures are reported in this order: 405, 429, 415, \
413, 408 and 503 for the body, 400 for JSON, 413 for the number of files, 400 \
for fields, interactive without events and artifacts that are off, 503 for \
answers that nobody reads, 400 for language, paths, entry file, args, \
interactive and limits, 503.";
const EVENTS: &str = "Server-sent events while the run goes on, for \
Accept: text/event-stream. The data of each is JSON: begin, stage, output, \
framework, artifact, and at last end, or error if the service failed.";

/// The body of every failure.
#[derive(Debug, Serialize, JsonSchema)]
struct Failure {
    /// The cause, for people.
    error: String,
}

/// Returns every method of a route but those that are 405.
pub(super) fn operations(
    route: &Route,
    schemas: &mut SchemaGenerator,
) -> Vec<Operation> {
    match route.endpoint {
        Endpoint::Products => collection(route, schemas),
        Endpoint::Product => single(route, schemas),
        Endpoint::Compile => compile(route, schemas),
        Endpoint::Run => run(route, schemas),
        Endpoint::RunInput => run_input(route, schemas),
        Endpoint::RunStop => run_stop(schemas),
        Endpoint::Embed => read(
            "The editor page, to be framed",
            editor("The page with one language."),
        ),
        Endpoint::Editor => read(
            "The editor page of any language, to be framed",
            editor("The page, with a switcher if languages were asked for."),
        ),
        Endpoint::Preview => read(
            "The frame for documents that programs make",
            vec![html("The frame.")],
        ),
        Endpoint::EmbedScript => read(
            "The script that embeds the editor in a page",
            vec![
                Response::new(200, "The script, to be kept for an hour.")
                    .text("text/javascript; charset=utf-8"),
                not_modified(),
                failure(
                    503,
                    "The server was built without the editor.",
                    schemas,
                ),
            ],
        ),
        Endpoint::EmbedAsset => read(
            "A file of the editor page",
            vec![
                Response::new(200, "The file, to be kept for ever.")
                    .text("text/javascript; charset=utf-8")
                    .text("text/css; charset=utf-8")
                    .text("image/svg+xml")
                    .text("application/json"),
                not_modified(),
                failure(404, "No such file.", schemas),
            ],
        ),
        Endpoint::About => about(schemas),
        Endpoint::Index => read("A page for people", vec![html("The page.")]),
        Endpoint::Description => read(
            "This document",
            vec![
                Response::new(200, "The document.")
                    .json(json!({ "type": "object" })),
            ],
        ),
        Endpoint::Health => read(
            "Whether the server is alive",
            vec![Response::new(200, "It is.").json(schema::<Alive>(schemas))],
        ),
        Endpoint::Readiness => readiness(schemas),
        Endpoint::Unknown => Vec::new(),
    }
}

fn about(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let about = schema::<About<'_>>(schemas);
    read(
        "A language here: versions and limits",
        vec![
            Response::new(200, "The language.").json(about),
            failure(404, "The server has no such language.", schemas),
        ],
    )
}

fn readiness(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let report = schema::<Report<'_>>(schemas);
    read(
        "The languages that can run",
        vec![
            Response::new(200, "At least one.").json(report.clone()),
            Response::new(
                503,
                "None, or the server stops; there is an error too.",
            )
            .json(report),
        ],
    )
}

fn collection(route: &Route, schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let body = product_body(route, schema::<NewProduct>(schemas));
    let list =
        json!({ "type": "array", "items": schema::<Product<'_>>(schemas) });
    let created = Response::new(201, "The product, with its new id.")
        .json(schema::<Product<'_>>(schemas));
    let mut post = vec![created];
    post.extend(product_body_failures(schemas));
    vec![
        Operation {
            method: "get",
            summary: "List all products",
            body: None,
            responses: vec![
                Response::new(200, "All products, in no particular order.")
                    .json(list),
                failed(schemas),
                come_back(503, schemas),
            ],
        },
        Operation {
            method: "post",
            summary: "Create a product under the next id",
            body: Some(body),
            responses: post,
        },
    ]
}

fn single(route: &Route, schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let product = schema::<Product<'_>>(schemas);
    let body = product_body(route, schema::<Option<ProductFields>>(schemas));
    let mut found = |status, description| {
        vec![
            Response::new(status, description),
            failure(400, "The id is no integer.", schemas),
            failure(404, "No product has it.", schemas),
            failed(schemas),
            come_back(503, schemas),
        ]
    };
    let mut get = found(200, "The product.");
    let mut delete = found(204, "The product is gone.");
    delete.push(cross_site(schemas));
    get[0] = Response::new(200, "The product.").json(product.clone());
    let mut put =
        vec![Response::new(200, "The product as it is now.").json(product)];
    put.push(failure(404, "No product has the id.", schemas));
    put.extend(product_body_failures(schemas));
    let operation = |method, summary, responses| Operation {
        method,
        summary,
        body: None,
        responses,
    };
    vec![
        operation("get", "Read a product", get),
        Operation {
            method: "put",
            summary: "Replace all of a product but its id; nothing is checked",
            body: Some(body),
            responses: put,
        },
        operation("delete", "Remove a product", delete),
    ]
}

fn product_body(route: &Route, schema: Value) -> Body {
    let limit = size(route.body_limit);
    let description = format!(
        "Read whatever its Content-Type, up to {limit}. A field that is missing \
         or null is the empty string or 0; others are ignored."
    );
    Body { description, schema }
}

fn product_body_failures(schemas: &mut SchemaGenerator) -> Vec<Response> {
    vec![
        cross_site(schemas),
        failure(400, "The id, the body or a field is wrong.", schemas),
        failure(408, "The body took too long.", schemas),
        failure(413, "The body is too large.", schemas),
        failed(schemas),
        come_back(503, schemas),
        failure(507, "The store is full; nothing was changed.", schemas),
    ]
}

fn failed(schemas: &mut SchemaGenerator) -> Response {
    failure(500, "The service failed.", schemas)
}

fn cross_site(schemas: &mut SchemaGenerator) -> Response {
    failure(403, "A page of another site sent it.", schemas)
}

fn compile(route: &Route, schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let request = schema::<CompileRequest>(schemas);
    let response = schema::<CompileResponse<'_>>(schemas);
    let limit = size(route.body_limit);
    let description = format!("Up to {limit}. {COMPILE_CHECKS}");
    let body = Body { description, schema: request };
    execution("Run a program", body, response, schemas)
}

fn run(route: &Route, schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let request = schema::<RunRequest>(schemas);
    let response = schema::<RunResponse<'_>>(schemas);
    let summary = "Run a program, for the full result";
    let limit = size(route.body_limit);
    let description = format!("Up to {limit}. {RUN_CHECKS}");
    let body = Body { description, schema: request };
    let mut operations = execution(summary, body, response, schemas);
    if let Some(post) = operations.first_mut() {
        post.stream_answers("text/event-stream", EVENTS);
    }
    operations
}

fn run_input(route: &Route, schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let description = format!("Up to {}.", size(route.body_limit));
    let body = Body { description, schema: schema::<InputRequest>(schemas) };
    let responses = vec![
        Response::new(204, "The input is on its way."),
        failure(400, "The request is wrong, and how.", schemas),
        no_such_run(schemas),
        failure(408, "The body took too long.", schemas),
        failure(413, "The body is too large.", schemas),
        failure(415, "The Content-Type is not one of JSON.", schemas),
        failure(429, "The run has had all its input.", schemas),
        come_back(503, schemas),
    ];
    vec![
        Operation {
            method: "post",
            summary: "Send input to a run that goes on",
            body: Some(body),
            responses,
        },
        preflight(),
    ]
}

fn run_stop(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    vec![
        Operation {
            method: "post",
            summary: "End a run; its answer has what it printed",
            body: None,
            responses: vec![
                Response::new(204, "The run ends."),
                no_such_run(schemas),
            ],
        },
        preflight(),
    ]
}

fn no_such_run(schemas: &mut SchemaGenerator) -> Response {
    failure(404, "No run that goes on has this id.", schemas)
}

/// In place of 503, if the operator chose so for proxies.
fn elsewhere(status: u16, schemas: &mut SchemaGenerator) -> Response {
    const DESCRIPTION: &str =
        "Only for a balancer that the operator named: another node may run it.";
    failure(status, DESCRIPTION, schemas)
}

fn preflight() -> Operation {
    Operation {
        method: "options",
        summary: "Lets pages of any origin post",
        body: None,
        responses: vec![Response::new(204, "They may.")],
    }
}

fn execution(
    summary: &'static str,
    body: Body,
    response: Value,
    schemas: &mut SchemaGenerator,
) -> Vec<Operation> {
    let ran = Response::new(200, "A run was started, however it ended.")
        .header("Server-Timing", "Time of each stage in ms.", "string")
        .header("Sandpiper-Exit", "How the run ended.", "string")
        .json(response);
    let mut responses = vec![
        ran,
        failure(400, "The request is wrong, and how.", schemas),
        failure(408, "The body took too long.", schemas),
        failure(413, "The body is too large, or has too many files.", schemas),
        failure(415, "The Content-Type is not one of JSON.", schemas),
        come_back(429, schemas),
        failed(schemas),
        come_back(503, schemas),
        elsewhere(425, schemas),
        elsewhere(502, schemas),
    ];
    for response in &mut responses {
        let own = std::mem::replace(response, Response::new(0, ""));
        *response = own
            .header("X-Request-Id", "Its id in the log.", "string")
            .header(
                "RateLimit",
                "Requests left (r), and seconds until there is one more (t).",
                "string",
            )
            .header(
                "RateLimit-Policy",
                "Requests (q) in a window of seconds (w).",
                "string",
            );
    }
    vec![
        Operation { method: "post", summary, body: Some(body), responses },
        preflight(),
    ]
}

fn html(description: &'static str) -> Response {
    page(200, description)
}

fn page(status: u16, description: &'static str) -> Response {
    Response::new(status, description).text(HTML)
}

fn not_modified() -> Response {
    Response::new(304, "It is the one of If-None-Match.")
}

/// Returns the answers of an address of the editor page.
fn editor(description: &'static str) -> Vec<Response> {
    vec![
        html(description),
        page(400, "A page that names the languages."),
        page(503, "The server was built without the editor."),
    ]
}

/// GET, and the same as HEAD.
fn read(summary: &'static str, responses: Vec<Response>) -> Vec<Operation> {
    let get = Operation { method: "get", summary, body: None, responses };
    vec![get.headless(), get]
}

fn failure(
    status: u16,
    description: &'static str,
    schemas: &mut SchemaGenerator,
) -> Response {
    Response::new(status, description).json(schema::<Failure>(schemas))
}

fn come_back(status: u16, schemas: &mut SchemaGenerator) -> Response {
    let wait = "Seconds to wait, if waiting helps.";
    failure(status, "Not now.", schemas).header("Retry-After", wait, "integer")
}
