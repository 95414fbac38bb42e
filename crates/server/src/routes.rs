//! The one table of paths.

use crate::limits::{
    COMPILE_BODY_BYTES, LIVE_INPUT_BODY_BYTES, PRODUCT_BODY_BYTES,
};

/// The handler of a route's requests. The number of each is its place in
/// the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Products,
    Product,
    Compile,
    Run,
    RunInput,
    RunStop,
    Embed,
    Editor,
    Preview,
    EmbedScript,
    EmbedAsset,
    About,
    Index,
    Description,
    Health,
    Readiness,
    Unknown,
}

/// A path, and what holds for all requests to it.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) endpoint: Endpoint,
    /// As messages, metrics and the description show it. A name in braces stands
    /// for any text, or for one without `/` if something follows it.
    pub(crate) path: &'static str,
    /// Maximum bytes of a request's body.
    pub(crate) body_limit: u64,
    /// Whether answers are compressed if the client accepts that.
    pub(crate) is_compressed: bool,
}

static ROUTES: [Route; 16] = [
    product_route(Endpoint::Products, "/products"),
    product_route(Endpoint::Product, "/products/{id}"),
    route(Endpoint::Compile, "/api/compile"),
    route(Endpoint::Run, "/api/run"),
    Route {
        body_limit: LIVE_INPUT_BODY_BYTES,
        ..route(Endpoint::RunInput, "/api/run/{run}/input")
    },
    route(Endpoint::RunStop, "/api/run/{run}/stop"),
    route(Endpoint::Embed, "/embed"),
    route(Endpoint::Editor, "/editor"),
    route(Endpoint::Preview, "/embed/preview"),
    route(Endpoint::EmbedScript, "/embed.js"),
    route(Endpoint::EmbedAsset, "/embed/assets/{asset}"),
    route(Endpoint::About, "/embed/about/{language}"),
    route(Endpoint::Index, "/"),
    route(Endpoint::Description, "/openapi.json"),
    route(Endpoint::Health, "/healthz"),
    route(Endpoint::Readiness, "/readyz"),
];
/// The route of every other path.
static UNKNOWN: Route = route(Endpoint::Unknown, "unknown");

/// Returns the route of a path, which is percent-decoded.
pub(crate) fn find(path: &[u8]) -> &'static Route {
    let mut routes = ROUTES.iter();
    let found = routes.find(|route| route.parameter(path).is_some());
    found.unwrap_or(&UNKNOWN)
}

/// Returns every route, in the order of their endpoints.
pub(crate) fn all() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().chain([&UNKNOWN])
}

impl Route {
    /// Returns the text that the name in braces stands for, which is empty if
    /// the route has none. Returns `None` if the path is another route's.
    pub(crate) fn parameter<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let Some((prefix, rest)) = self.path.split_once('{') else {
            return (path == self.path.as_bytes()).then_some(&[]);
        };
        let found = path.strip_prefix(prefix.as_bytes())?;
        match rest.split_once('}') {
            Some((_, suffix)) if !suffix.is_empty() => found
                .strip_suffix(suffix.as_bytes())
                .filter(|found| !found.contains(&b'/')),
            _ => Some(found),
        }
    }
}

const fn route(endpoint: Endpoint, path: &'static str) -> Route {
    let body_limit = COMPILE_BODY_BYTES;
    Route { endpoint, path, body_limit, is_compressed: true }
}

/// Products are read by programs: compressing them takes longer than sending.
const fn product_route(endpoint: Endpoint, path: &'static str) -> Route {
    let body_limit = PRODUCT_BODY_BYTES;
    Route { endpoint, path, body_limit, is_compressed: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_numbered_as_in_the_table() {
        for (number, route) in all().enumerate() {
            assert_eq!(route.endpoint as usize, number, "{route:?}");
        }
    }

    #[test]
    fn paths_lead_to_their_routes() {
        let check = |path: &str, endpoint: Endpoint, parameter: &str| {
            let route = find(path.as_bytes());
            let found = route.parameter(path.as_bytes()).unwrap_or_default();
            let expected = (endpoint, parameter.as_bytes());
            assert_eq!((route.endpoint, found), expected, "{path}");
        };
        for route in all().filter(|route| !route.path.contains('{')) {
            check(route.path, route.endpoint, "");
        }
        check("/products/", Endpoint::Product, "");
        check("/products/1/2", Endpoint::Product, "1/2");
        check("/api/run/1f/input", Endpoint::RunInput, "1f");
        check("/api/run//stop", Endpoint::RunStop, "");
        for path in ["/api/run/", "/api/run/a/b/stop", "/api/run/a/stop/"] {
            check(path, Endpoint::Unknown, "");
        }
        check("/embed/assets/a.js", Endpoint::EmbedAsset, "a.js");
        for path in ["", "*", "//", "/product", "/products1", "/embed/"] {
            check(path, Endpoint::Unknown, "");
        }
    }
}
