//! Why a rollout cannot be started or changed, with what an operator can do.

use crate::prelude::*;

#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    #[error(
        "no version of `{0}` is active, so there is none to compare with: activate the version with `leadhost plugin publish`"
    )]
    NothingActive(String),
    #[error("{} of `{name}` is active already", digest.short())]
    Active { name: String, digest: Digest },
    #[error("{} of `{name}` is another kind of plugin than the active version", digest.short())]
    AnotherKind { name: String, digest: Digest },
    #[error(
        "a rollout of `{name}` is open ({}, {}), which `{by}` started at {}: see `leadhost plugin rollout {name}`, or end it with `leadhost plugin rollout abort {name}`",
        candidate.short(),
        stage.as_str(),
        at.to_the_second()
    )]
    Open {
        name: String,
        candidate: Digest,
        stage: RolloutStage,
        by: String,
        at: Micros,
    },
    #[error("`{name}` has no open rollout{}", ended(last.as_deref(), name))]
    NotOpen {
        name: String,
        /// The last one, which has ended. `None` if there was none.
        last: Option<Box<Rollout>>,
    },
    #[error(
        "the rollout of `{name}` cannot be {what} in the stage {}: see `leadhost plugin rollout {name}`, or end it with `leadhost plugin rollout abort {name}`",
        stage.as_str()
    )]
    WrongStage {
        name: String,
        what: &'static str,
        stage: RolloutStage,
    },
    #[error("the rollout of `{name}` was changed meanwhile{}", now(last.as_deref(), name))]
    Changed {
        name: String,
        last: Option<Box<Rollout>>,
    },
}

fn ended(last: Option<&Rollout>, name: &str) -> String {
    let Some(last) = last else {
        return ": there was none".to_owned();
    };
    format!(
        ": the last one, of {}, is {}{}; see `leadhost plugin rollout {name}`",
        last.candidate.short(),
        last.stage.as_str(),
        because(last)
    )
}

fn now(last: Option<&Rollout>, name: &str) -> String {
    let stage = last.map(|last| {
        if last.paused {
            " and paused".to_owned()
        } else {
            because(last)
        }
    });
    let is = last.zip(stage);
    let is = is.map(|(last, more)| {
        let stage = if last.stage.is_open() {
            "in the stage "
        } else {
            ""
        };
        format!(", it is {stage}{}{more}", last.stage.as_str())
    });
    format!(
        "{}: see `leadhost plugin rollout {name}`",
        is.unwrap_or_default()
    )
}

fn because(rollout: &Rollout) -> String {
    let why = rollout.why.as_deref().map(|why| format!(" ({why})"));
    why.unwrap_or_default()
}
