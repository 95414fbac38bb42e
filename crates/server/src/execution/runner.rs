//! The seam between the wire and the engine.

use std::net::IpAddr;

use sandpiper_engine::languages::{Catalog, SubmissionError};
use sandpiper_engine::{
    Engine, LanguageState, Load, Outcome, Refusal, RunOptions, Supply,
};

use super::RunRequest;
use super::request::RequestError;

/// Runs requests. The engine does; tests have their own.
pub(crate) trait Runner: Send + Sync + 'static {
    /// Checks and runs a request. Dropping the future kills the run.
    fn run(
        &self,
        request: RunRequest,
        options: RunOptions,
        client: IpAddr,
    ) -> impl Future<Output = Result<Finished, Refused>> + Send;

    /// The languages that there are.
    fn catalog(&self) -> &Catalog;

    /// Each language, and whether it can run.
    fn languages(&self) -> Vec<LanguageState>;

    /// How busy it is now.
    fn load(&self) -> Load;

    /// The boxes that are ready.
    fn supply(&self) -> Supply;

    /// Artifacts that are kept, in bytes, and the most that may be.
    fn artifacts(&self) -> (u64, u64);
}

/// A run that ended, in whatever way.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The language's id.
    pub(crate) language: String,
    pub(crate) outcome: Outcome,
}

/// A request that was not run.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The submission is wrong.
    Submission(SubmissionError),
    /// A limit is above the server's.
    Limits(RequestError),
    /// The engine cannot run it now.
    Engine(Refusal),
}

impl Runner for Engine {
    async fn run(
        &self,
        request: RunRequest,
        options: RunOptions,
        client: IpAddr,
    ) -> Result<Finished, Refused> {
        let submission = self
            .catalog()
            .submission(
                &request.language,
                request.entry_file,
                request.files,
                request.stdin,
                request.args,
            )
            .map_err(Refused::Submission)?;
        let language = submission.language();
        let limits = request.limits.check(&self.limits(language));
        limits.map_err(Refused::Limits)?;
        let language = language.id().to_owned();
        let run = self.execute(submission, options, client);
        let outcome = run.await.map_err(Refused::Engine)?;
        Ok(Finished { language, outcome })
    }

    fn catalog(&self) -> &Catalog {
        Self::catalog(self)
    }

    fn languages(&self) -> Vec<LanguageState> {
        Self::languages(self)
    }

    fn load(&self) -> Load {
        Self::load(self)
    }

    fn supply(&self) -> Supply {
        Self::supply(self)
    }

    fn artifacts(&self) -> (u64, u64) {
        Self::artifacts(self)
    }
}
