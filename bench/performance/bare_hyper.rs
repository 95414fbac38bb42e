//! A server that is hyper and nothing else: it sends the bytes that it was
//! given. What HTTP costs whoever uses hyper.

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

/// What it answers, as files of these names in the folder that it is given.
pub(crate) const ONE: &str = "one";
pub(crate) const LIST: &str = "list";
pub(crate) const CREATED: &str = "created";

#[derive(Clone)]
struct Answers {
    one: Bytes,
    list: Bytes,
    created: Bytes,
}

/// Serves until it is killed; its first line of output is its address.
pub(crate) fn serve(folder: &Path) {
    let read = |name| Bytes::from(std::fs::read(folder.join(name)).unwrap());
    let answers =
        Answers { one: read(ONE), list: read(LIST), created: read(CREATED) };
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
    answers: Answers,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut status = StatusCode::OK;
    let body = if request.method() == Method::POST {
        status = StatusCode::CREATED;
        request.into_body().collect().await.unwrap();
        answers.created
    } else if request.uri().path() == "/products" {
        answers.list
    } else {
        answers.one
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
