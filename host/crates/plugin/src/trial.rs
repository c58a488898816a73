//! The trial of a component. The component determines how much work it takes: code to link,
//! a schema, checks, golden cases. So one time budget covers all of it except the
//! compilation, which has its own. Few trials run at once. A trial whose owner has disconnected ends
//! together with its current call, because it is a future that is dropped.
//!
//! The memory of a trial is bounded too. In this process it holds the component
//! (`plugins.component_mib`), three times while its bytes are read; its golden cases, at
//! most a mebibyte of JSON, which takes some hundred mebibytes as values; its machine code, twice
//! while it is loaded ([`limits::CODE_PER_COMPONENT_BYTE`]); one instance (`memory_mib`)
//! with its answer (`output_mib`), and the answer to a golden case as values, some 500 MiB
//! ([`limits::GOLDEN_ANSWER_VALUES`], [`limits::GOLDEN_ANSWER_TEXT_BYTES`]). By default
//! that is 1.5 GiB. A child process runs its compilation (`compile_memory_mib`). All of
//! this counts once for each trial that runs at the same time ([`limits::TRIALS_AT_ONCE`]).

use std::ops::Deref;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::bounded_queue::Turn;
use super::schedule::drop_in_background;
use crate::prelude::*;

/// A value that may be so large that freeing it takes a while. It is dropped on a thread of
/// its own, also if a trial is cancelled by the thread that serves its client.
pub struct BackgroundDrop<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> BackgroundDrop<T> {
    /// Wraps a value, to be dropped on a thread of its own.
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send + 'static> Deref for BackgroundDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only drop takes the value")
    }
}

impl<T: Send + 'static> Drop for BackgroundDrop<T> {
    fn drop(&mut self) {
        drop_in_background(self.0.take());
    }
}

/// A trial that has its turn, and the time that it has left.
pub struct Trial {
    pub(super) plugins: Plugins,
    budget: Duration,
    left: Duration,
    /// When the preparation began, until it succeeds.
    unpassed: Option<Instant>,
    turn: Option<Turn>,
}

/// A failed trial pays for the time that it used: its slot rests before the next trial gets
/// it, so that a series of bad components takes only a small part of a processor.
impl Drop for Trial {
    fn drop(&mut self) {
        let turn = self.turn.take();
        let Some(begun) = self.unpassed else {
            return;
        };
        let rest = (begun.elapsed() * limits::TRIAL_REST_TIMES).min(limits::TRIAL_REST);
        // Outside of a runtime no trial waits for a slot.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(rest).await;
                drop(turn);
            });
        }
    }
}

impl Plugins {
    /// Waits until a trial may begin.
    pub async fn trial(&self) -> Result<Trial, LoadError> {
        let turn = self.0.trials.turn().await?;
        Ok(Trial {
            plugins: self.clone(),
            budget: self.0.trial_time,
            left: self.0.trial_time,
            unpassed: None,
            turn: Some(turn),
        })
    }
}

impl Trial {
    /// Notes that a preparation begins. If the trial ends before [`Trial::pass`], it has
    /// failed.
    pub(super) fn begin(&mut self) {
        self.unpassed = Some(Instant::now());
    }

    pub(super) fn pass(&mut self) {
        self.unpassed = None;
    }

    /// Runs `work` in the time that the trial has left.
    pub async fn within<T>(&mut self, work: impl Future<Output = T>) -> Result<T, LoadError> {
        let begun = Instant::now();
        let done = tokio::time::timeout(self.left, work).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        done.map_err(|_| LoadError::TrialTimeout {
            budget: self.budget,
        })
    }

    /// Runs `work` that the trial can do without, in at most half of the time that it has left. `None`:
    /// that was too little.
    pub(super) async fn with_spare_time<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let begun = Instant::now();
        let done = tokio::time::timeout(self.left / 2, work).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        done.ok()
    }
}
