//! A server that uses only hyper, and sends fixed bytes: the lowest cost of HTTP
//! with hyper.

use std::convert::Infallible;
use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The files with its answers: to a product, to the list, and to a creation.
pub(crate) const ANSWERS: [&str; 3] = ["one", "list", "created"];

/// Serves until it is killed. Its first line of output is its address.
pub(crate) fn serve(folder: &Path) {
    let answers = ANSWERS
        .map(|name| Bytes::from(std::fs::read(folder.join(name)).unwrap()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let answers = answers.clone();
            tokio::spawn(async move {
                let service =
                    service_fn(|request| answer(answers.clone(), request));
                let io = TokioIo::new(stream);
                http1::Builder::new().serve_connection(io, service).await
            });
        }
    });
}

async fn answer(
    [one, list, created]: [Bytes; 3],
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_list = request.uri().path() == "/products";
    let (status, body) = if request.method() == Method::POST {
        request.into_body().collect().await.unwrap();
        (StatusCode::CREATED, created)
    } else {
        (StatusCode::OK, if is_list { list } else { one })
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
