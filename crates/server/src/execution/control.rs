//! Requests to a run that goes on: more input, or its stop.

use http::Method;

use crate::http::{
    Answer, RequestContext, json_text, method_not_allowed, no_content,
};

use super::Execution;
use super::answer;
use super::error::ExecutionError;
use super::input_request::InputRequest;
use super::negotiation::is_json;
use super::sessions::SessionError;

impl<R> Execution<R> {
    /// Returns the answer to any request that sends input to a run. `run` is
    /// the id in its path.
    pub(crate) async fn input(
        &self,
        run: &[u8],
        request: RequestContext<'_>,
    ) -> Answer {
        let RequestContext { head, route, body, .. } = request;
        let sent = async {
            if !is_json(&head.headers) {
                return Err(ExecutionError::NotJsonType);
            }
            let body = body.read().await?;
            let text = json_text(&body).ok_or(ExecutionError::NotJson)?;
            let InputRequest { text, end } = InputRequest::parse(&text)?;
            let id = self.sessions.id(run).ok_or(SessionError::NoSuchRun)?;
            Ok(self.sessions.input(id, text, end)?)
        };
        let answer = match head.method {
            Method::OPTIONS => return answer::preflight(),
            Method::POST => {
                sent.await.map_or_else(Answer::from, |()| no_content())
            }
            _ => method_not_allowed(route.path, "POST, OPTIONS"),
        };
        answer::for_any_origin(answer)
    }

    /// Returns the answer to any request that stops a run. `run` is the id in
    /// its path.
    pub(crate) fn stop(
        &self,
        run: &[u8],
        request: &RequestContext<'_>,
    ) -> Answer {
        let answer = match request.head.method {
            Method::OPTIONS => return answer::preflight(),
            Method::POST => {
                let id = self.sessions.id(run);
                if id.is_some_and(|id| self.sessions.stop(id)) {
                    no_content()
                } else {
                    SessionError::NoSuchRun.into()
                }
            }
            _ => method_not_allowed(request.route.path, "POST, OPTIONS"),
        };
        answer::for_any_origin(answer)
    }
}
