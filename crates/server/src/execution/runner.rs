//! The seam between the wire and the engine.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;

use sandpiper_engine::languages::{Catalog, Language};
use sandpiper_engine::{
    Engine, LanguageState, Limits, Load, LowerLimits, Outcome, PoolState,
    RunAttachment, RunOptions,
};

use super::RunRequest;
use super::error::ExecutionError;
use super::request::RequestError;
use super::run_request::RequestedLimits;

/// Runs requests. The engine does; tests have their own.
pub(crate) trait Runner: Send + Sync + 'static {
    /// Checks and runs a request. Dropping the future kills the run.
    fn run(
        &self,
        request: RunRequest,
        options: RunOptions,
        attachment: RunAttachment,
        client: IpAddr,
    ) -> impl Future<Output = Result<FinishedRun, ExecutionError>> + Send;

    /// Returns the languages that there are.
    fn catalog(&self) -> &Catalog;

    /// Returns each language, and whether it can run.
    fn languages(&self) -> Vec<LanguageState>;

    /// Returns the limits of a run in this language, by id or alias, whose
    /// client asks for these lower ones.
    fn limits(
        &self,
        language: &str,
        is_interactive: bool,
        lower: &LowerLimits,
    ) -> Limits;

    /// Opens a file of a language's image by its absolute path there. Returns
    /// `None` if it cannot be opened now.
    fn open_file(&self, language: &Language, path: &str) -> Option<File>;

    /// Returns the versions of the tools and libraries of this language, by
    /// their names.
    fn versions(&self, language: &str) -> BTreeMap<String, String>;

    /// Returns how busy it is now.
    fn load(&self) -> Load;

    /// Returns how many live runs there are.
    fn live_load(&self) -> Load;

    /// Returns the boxes that are ready.
    fn pool_state(&self) -> PoolState;

    /// Compile artifacts that are kept, in bytes, and the most that may be.
    fn compile_cache(&self) -> (u64, u64);
}

/// A run that ended, in whatever way.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    /// The language's id.
    pub(crate) language: String,
    pub(crate) outcome: Outcome,
}

impl Runner for Engine {
    async fn run(
        &self,
        request: RunRequest,
        options: RunOptions,
        attachment: RunAttachment,
        client: IpAddr,
    ) -> Result<FinishedRun, ExecutionError> {
        let RunRequest { limits, interactive: is_interactive, .. } = request;
        let submission = self.catalog().submission(
            &request.language,
            request.entry_file,
            request.files,
            request.stdin,
            request.args,
        )?;
        let language = submission.language();
        check(self, limits, is_interactive, language)?;
        let language = language.id().to_owned();
        let run = self.execute(submission, options, attachment, client);
        let outcome = run.await?;
        Ok(FinishedRun { language, outcome })
    }

    fn catalog(&self) -> &Catalog {
        Self::catalog(self)
    }

    fn languages(&self) -> Vec<LanguageState> {
        Self::languages(self)
    }

    fn limits(
        &self,
        language: &str,
        is_interactive: bool,
        lower: &LowerLimits,
    ) -> Limits {
        let language = Self::catalog(self).find(language);
        language.map_or_else(Limits::default, |language| {
            Self::limits(self, language, is_interactive, lower)
        })
    }

    fn open_file(&self, language: &Language, path: &str) -> Option<File> {
        Self::open_file(self, language, path)
    }

    fn versions(&self, language: &str) -> BTreeMap<String, String> {
        let language = Self::catalog(self).find(language);
        language.map_or_else(BTreeMap::new, |it| Self::versions(self, it))
    }

    fn load(&self) -> Load {
        Self::load(self)
    }

    fn live_load(&self) -> Load {
        Self::live_load(self)
    }

    fn pool_state(&self) -> PoolState {
        Self::pool_state(self)
    }

    fn compile_cache(&self) -> (u64, u64) {
        Self::compile_cache(self)
    }
}

/// Checks a request against the limits of the server.
fn check(
    engine: &Engine,
    limits: RequestedLimits,
    is_interactive: bool,
    language: &Language,
) -> Result<(), RequestError> {
    if is_interactive && !language.takes_stdin() {
        let language = language.id().to_owned();
        return Err(RequestError::TakesNoInput { language });
    }
    if is_interactive && engine.live_load().boxes == 0 {
        return Err(RequestError::LiveOff);
    }
    let none = LowerLimits::default();
    limits.check(&engine.limits(language, is_interactive, &none))
}
