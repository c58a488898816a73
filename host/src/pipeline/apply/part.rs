//! Owners and agents of a workspace that is there, without its whole file. They are
//! read as the file's and take the same way into the store: what is named is made or
//! changed, nothing is removed. What an agent's channel is made of stays with the
//! file: an agent that has one keeps it.

use serde_json::{Value, json};

use super::declaration::read_owners;
use super::instance::read_agents;
use super::reader::{Problems, Table};
use super::{ApplyError, carry_out};
use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::text;
use crate::domain::workspace::{Agent, Workspace};
use crate::pipeline::state::Pipeline;
use crate::store::{AppliedChange, Plan, PlannedAgent};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Owners,
    Agents,
}

impl Part {
    /// Its list, as paths of problems and answers call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Owners => "owners",
            Self::Agents => "agents",
        }
    }
}

/// Applies a list of owners or agents, or tells what that would change.
pub async fn apply_part(
    pipeline: &Pipeline,
    workspace: &Workspace,
    part: Part,
    list: &Value,
    dry_run: bool,
) -> Result<Vec<AppliedChange>, ApplyError> {
    let mut plan = Plan {
        slug: workspace.slug.clone(),
        is_part: true,
        name: workspace.name.clone(),
        region: workspace.region.clone(),
        time_zone: workspace.time_zone.clone(),
        rate_limit: workspace.rate_limit,
        partners: Vec::new(),
        agents: Vec::new(),
        owners: Vec::new(),
        connections: Vec::new(),
        products: Vec::new(),
    };
    match part {
        Part::Owners => plan.owners = read(part, list, read_owners)?,
        Part::Agents => {
            let agents = pipeline.core.store.agents(workspace.id).await?;
            let connections = pipeline.core.store.connections(Some(workspace.id)).await?;
            plan.agents = read(part, list, |file| {
                let mut planned = read_agents(file);
                for (at, planned) in planned.iter_mut().enumerate() {
                    keep_channel(file, at, planned, &agents, &connections);
                }
                planned
            })?;
        }
    }
    Ok(carry_out(pipeline, &plan, dry_run).await?.changes)
}

/// What the list holds, or everything that is wrong with it.
fn read<T>(
    part: Part,
    list: &Value,
    of: impl FnOnce(&Table<'_>) -> Vec<T>,
) -> Result<Vec<T>, ApplyError> {
    let file = json!({ part.name(): list });
    let problems = Problems::default();
    if let Some(path) = text::first_zero(&file) {
        problems.add(
            path,
            "holds the character U+0000, which no text here may have",
        );
    }
    if list.is_null() {
        problems.add(part.name(), "expected a list, found nothing");
    }
    let found = Table::of(&file, "", &problems).map_or_else(Vec::new, |file| of(&file));
    let problems = problems.into_vec();
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(ApplyError::Problems(problems))
    }
}

/// The channel knows by itself what it is called and of which kind its agent is.
fn keep_channel(
    file: &Table<'_>,
    at: usize,
    planned: &mut PlannedAgent,
    agents: &[Agent],
    connections: &[Connection],
) {
    let Some(agent) = agents.iter().find(|agent| agent.name == planned.name) else {
        return;
    };
    let mut channels = connections
        .iter()
        .filter(|one| one.kind == ConnectionKind::Channel);
    if !channels.any(|channel| channel.agent == Some(agent.id)) {
        return;
    }
    let changes = [
        ("kind", planned.kind != agent.kind),
        (
            "channel",
            planned.channel.is_some() && planned.channel != agent.channel,
        ),
    ];
    for (field, differs) in changes {
        if differs {
            file.problem(
                &format!("agents[{at}].{field}"),
                format!(
                    "`{}` has a channel: change that in the workspace's file",
                    agent.name
                ),
            );
        }
    }
    planned.channel.clone_from(&agent.channel);
    planned.adapter.clone_from(&agent.adapter);
}
