//! The parameters of each route: parts of the path, queries and headers.

use sandpiper_engine::languages::Catalog;
use serde_json::{Value, json};

use crate::embed::{self, Address};
use crate::routes::Endpoint;

/// Returns the parameters that all operations of a path have.
pub(super) fn parameters(endpoint: Endpoint, catalog: &Catalog) -> Value {
    match endpoint {
        Endpoint::Product => json!([{
            "name": "id",
            "in": "path",
            "required": true,
            "description": "An optional sign and digits.",
            "schema": { "type": "integer", "format": "int64" },
        }]),
        Endpoint::Compile | Endpoint::Run => json!([{
            "name": "Sandpiper-Run",
            "in": "header",
            "description": "An id for the run, by which it can be stopped: 32 \
                hexadecimal digits in lower case, at random. Ignored if it is of \
                another form or in use, and by OPTIONS.",
            "schema": { "type": "string" },
            "example": "5f1d4b8c0a9e4c1f8e7d6c5b4a392817",
        }]),
        Endpoint::RunInput | Endpoint::RunStop => json!([{
            "name": "run",
            "in": "path",
            "required": true,
            "description": "The id that the run's first event has, or that its \
                request gave it.",
            "schema": {
                "type": "string",
                "pattern": "^([a-z0-9]{1,16}-)?[0-9a-f]{32}$",
            },
        }]),
        Endpoint::EmbedAsset => json!([{
            "name": "asset",
            "in": "path",
            "required": true,
            "description": "A name that the editor page refers to.",
            "schema": { "type": "string" },
        }]),
        Endpoint::About => json!([{
            "name": "language",
            "in": "path",
            "required": true,
            "description": "The id of a language.",
            "schema": { "type": "string" },
        }]),
        Endpoint::Embed => json!([lang(&Address::Embed.catalog(catalog))]),
        Endpoint::Editor => json!([lang(catalog), {
            "name": "languages",
            "in": "query",
            "description": "Values of lang, separated by commas, among which \
                the reader can switch.",
            "style": "form",
            "explode": false,
            "schema": {
                "type": "array",
                "items": { "enum": embed::languages_of(catalog) },
            },
        }]),
        _ => json!([]),
    }
}

/// Returns the parameter of the editor page that names its language.
fn lang(catalog: &Catalog) -> Value {
    json!({
        "name": "lang",
        "in": "query",
        "schema": {
            "type": "string",
            "default": embed::default_language(catalog),
            "enum": embed::languages_of(catalog),
        },
    })
}
