//! The trial of a component as a whole. Whoever hands one in decides how much is
//! to be done for it: code to link, a schema, checks, golden cases. So a trial has
//! one budget of time for all of it beside its compilation, which has its own; few
//! run at once; and one whose owner is gone ends, with the call that it is at,
//! because it is nothing but a future that is dropped.
//!
//! What a trial may hold in memory at once is bounded too. In this process: the
//! component (`plugins.component_mib`), three times while its bytes are read; its
//! golden cases, at most a mebibyte of JSON, which is some hundred as values; its
//! machine code, twice while it is loaded ([`limits::CODE_PER_COMPONENT_BYTE`]); one
//! instance (`memory_mib`) with what it answers (`output_mib`), and the answer to a
//! golden case as values, some 500 MiB ([`limits::GOLDEN_ANSWER_VALUES`],
//! [`limits::GOLDEN_ANSWER_TEXT_BYTES`]). By default that is 1.5 GiB. In processes of
//! their own, one after the other: its compilation (`compile_memory_mib`) and the
//! check of its schema ([`limits::SCHEMA_CHECK_MEMORY_MIB`]). There are as many of
//! each as trials run at once ([`limits::TRIALS_AT_ONCE`]).

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Plugins;
use super::error::LoadError;
use super::load::{self, Prepared};
use super::schedule::drop_aside;
use crate::limits;

/// The lane in which versions are tried, beside those of the connections.
pub const TRIAL_LANE: &str = "(trial)";

pub struct Trials {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    budget: Duration,
}

impl Trials {
    pub fn new(budget: Duration) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(limits::TRIALS_AT_ONCE)),
            waiting: AtomicUsize::new(0),
            budget,
        }
    }
}

/// One of those that wait for a turn, also when it stops waiting.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What may be so large that giving it back takes a while: it is dropped where nobody
/// waits, also when a trial is broken off by the thread that served its client.
pub struct Aside<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Aside<T> {
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send + 'static> Deref for Aside<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is taken by its drop alone")
    }
}

impl<T: Send + 'static> Drop for Aside<T> {
    fn drop(&mut self) {
        drop_aside(self.0.take());
    }
}

/// A turn, and what is left of its time.
pub struct Trial {
    pub(super) plugins: Plugins,
    budget: Duration,
    left: Duration,
    /// When what did not pass was begun.
    unpassed: Option<Instant>,
    turn: Option<OwnedSemaphorePermit>,
}

/// What did not pass pays for what it used: its turn rests before the next one has it,
/// so that whoever hands in bad components one after the other takes a small part of
/// a processor.
impl Drop for Trial {
    fn drop(&mut self) {
        let turn = self.turn.take();
        let Some(begun) = self.unpassed else {
            return;
        };
        let rest = (begun.elapsed() * limits::TRIAL_REST_TIMES).min(limits::TRIAL_REST);
        // Outside of a runtime nobody waits for a turn.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(rest).await;
                drop(turn);
            });
        }
    }
}

impl Plugins {
    /// Waits for a turn.
    pub async fn trial(&self) -> Result<Trial, LoadError> {
        let trials = &self.0.trials;
        let waiting = Waiting(&trials.waiting);
        if trials.waiting.fetch_add(1, Ordering::Relaxed) >= limits::TRIALS_WAITING {
            return Err(LoadError::Busy {
                waiting: limits::TRIALS_WAITING,
            });
        }
        let turn = Arc::clone(&trials.turns).acquire_owned().await;
        drop(waiting);
        Ok(Trial {
            plugins: self.clone(),
            budget: trials.budget,
            left: trials.budget,
            unpassed: None,
            turn: Some(turn.map_err(|error| LoadError::Host(error.to_string()))?),
        })
    }

    /// Checks, compiles, links and tries a component. It is not installed yet.
    pub async fn prepare(&self, wasm: Vec<u8>) -> Result<Prepared, LoadError> {
        self.trial().await?.prepare(wasm).await
    }
}

impl Trial {
    /// As [`Plugins::prepare`], with the turn kept for what comes after.
    pub async fn prepare(&mut self, wasm: Vec<u8>) -> Result<Prepared, LoadError> {
        self.unpassed = Some(Instant::now());
        let prepared = Box::pin(load::prepare(self, wasm)).await?;
        self.unpassed = None;
        Ok(prepared)
    }

    /// Does this for the component in the time that is left.
    pub async fn within<T>(&mut self, work: impl Future<Output = T>) -> Result<T, LoadError> {
        let begun = Instant::now();
        let done = tokio::time::timeout(self.left, work).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        done.map_err(|_| LoadError::TrialTimeout {
            seconds: self.budget.as_secs(),
        })
    }
}
