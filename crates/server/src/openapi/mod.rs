//! `/openapi.json`: the interface, described for programs.
//!
//! The schemas are made of the types that requests are read into and answers
//! written from. The paths are those of the routes; tests compare every answer
//! with what is described here.

mod operation;
mod parameters;
mod paths;

use bytes::Bytes;
use sandpiper_engine::languages::Catalog;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::routes;

use operation::Operation;
use parameters::parameters;

const DESCRIPTION: &str = "A product catalogue in memory, and a service that \
runs submitted programs in sandboxes. Neither needs credentials. The compile \
endpoint is unversioned: its shape may change before a stable release. A \
request that cannot be read as HTTP is 400, 414 if its target is too long, \
or 431 if its head is too large, and the connection is closed. A method that \
a path does not have is 405. HEAD works where GET does, but for the \
products. A request for a host that the operator did not name, if hosts are \
named, is 421.";

/// Returns the document for a server of these languages, as JSON text.
pub(crate) fn document(catalog: &Catalog) -> Bytes {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let paths: Map<String, Value> = routes::all()
        .filter_map(|route| {
            let operations = paths::operations(route, &mut schemas);
            let path = path(operations, parameters(route.endpoint, catalog))?;
            Some((route.path.to_owned(), path))
        })
        .collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sandpiper",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
        },
        "servers": [{ "url": "." }],
        "paths": paths,
        "components": { "schemas": schemas.take_definitions(true) },
    });
    document.to_string().into()
}

fn path(operations: Vec<Operation>, parameters: Value) -> Option<Value> {
    if operations.is_empty() {
        return None;
    }
    let mut path = Map::new();
    path.insert("parameters".to_owned(), parameters);
    for operation in operations {
        path.insert(operation.method.to_owned(), operation.into_json());
    }
    Some(path.into())
}

/// Returns a reference to the schema of `T`, which the document then holds.
fn schema<T: schemars::JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

/// Returns whether the document has this answer; one to an unknown path, to a
/// wrong host or with a method that a path does not have needs none.
#[cfg(test)]
pub(crate) fn describes(
    route: &routes::Route,
    method: &http::Method,
    status: http::StatusCode,
) -> bool {
    use std::sync::LazyLock;

    use crate::routes::Endpoint;

    static DOCUMENT: LazyLock<Value> = LazyLock::new(tests::document);
    if status == http::StatusCode::MISDIRECTED_REQUEST {
        return true;
    }
    let path = &DOCUMENT["paths"][route.path];
    // Methods differ by case, and here they are all in small letters.
    let name = match method.as_str() {
        name if name.bytes().any(|byte| byte.is_ascii_lowercase()) => "",
        name => &name.to_ascii_lowercase(),
    };
    let described = &path[name];
    if described.is_null() {
        // The id is looked at before the method.
        let wrong_id = route.endpoint == Endpoint::Product
            && status == http::StatusCode::BAD_REQUEST;
        return wrong_id
            || status == http::StatusCode::METHOD_NOT_ALLOWED
            || route.endpoint == Endpoint::Unknown;
    }
    !described["responses"][status.as_str()].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn document() -> Value {
        let catalog = Catalog::load([]).unwrap();
        serde_json::from_slice(&super::document(&catalog)).unwrap()
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn check(document: &Value, value: &Value) -> usize {
            let own = value.get("$ref").and_then(Value::as_str);
            if let Some(pointer) = own {
                let target = document.pointer(&pointer[1..]);
                assert!(target.is_some(), "{pointer}");
            }
            let inner: usize = match value {
                Value::Array(items) => {
                    items.iter().map(|item| check(document, item)).sum()
                }
                Value::Object(fields) => {
                    fields.values().map(|item| check(document, item)).sum()
                }
                _ => 0,
            };
            inner + usize::from(own.is_some())
        }
        let document = document();
        assert!(check(&document, &document) > 20);
    }

    /// The server answers 400 to a field that is null.
    #[test]
    fn no_field_of_a_run_is_null() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        for name in ["RunRequest", "RequestedLimits", "Artifacts"] {
            let fields = schemas[name].to_string();
            assert!(fields.contains("\"type\""), "{name}: {fields}");
            assert!(!fields.contains("null"), "{name}: {fields}");
        }
    }

    #[test]
    fn every_route_is_described() {
        let document = document();
        let described = document["paths"].as_object().unwrap();
        for route in routes::all() {
            let found = described.contains_key(route.path);
            let is_known = route.endpoint != routes::Endpoint::Unknown;
            assert_eq!(found, is_known, "{}", route.path);
        }
        assert_eq!(described.len() + 1, routes::all().count());
    }
}
