//! Owners and agents of an existing workspace, without its whole file. They are read and stored like the
//! entries of a file: entries are created or changed by name, nothing is removed. The settings of an agent's
//! channel stay in the file: an agent keeps the channel that it has.

use super::declaration::read_owners;
use super::instance::read_agents;
use super::reader::{FileTable, Problems};
use super::{outcome::ApplyError, plan::carry_out};
use crate::prelude::*;
use leadhost_domain::text;
use leadhost_domain::workspace::{Agent, Workspace};
use leadhost_store::{AppliedChange, Plan, PlannedAgent};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclarationPart {
    Owners,
    Agents,
}

impl DeclarationPart {
    /// The name of its list, as paths of problems and answers contain it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Owners => "owners",
            Self::Agents => "agents",
        }
    }
}

#[leadhost_boxed::boxed]
pub async fn apply_part(
    pipeline: &Pipeline,
    workspace: &Workspace,
    part: DeclarationPart,
    list: &Value,
    dry_run: bool,
) -> Result<Vec<AppliedChange>, ApplyError> {
    let mut plan = Plan {
        workspace: workspace.id,
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
        DeclarationPart::Owners => plan.owners = read(part, list, read_owners)?,
        DeclarationPart::Agents => {
            let agents = pipeline.store.agents(workspace.id).await?;
            let connections = pipeline.store.connections(Some(workspace.id)).await?;
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

fn read<T>(
    part: DeclarationPart,
    list: &Value,
    of: impl FnOnce(&FileTable<'_>) -> Vec<T>,
) -> Result<Vec<T>, ApplyError> {
    let file = json!({ part.name(): list });
    let problems = Problems::default();
    if let Some(path) = text::first_zero(&file) {
        problems.add(path, "contains the character U+0000, which is not allowed");
    }
    if list.is_null() {
        problems.add(part.name(), "expected a list, found nothing");
    }
    let found = FileTable::new(&file, "", &problems).map_or_else(Vec::new, |file| of(&file));
    let problems = problems.into_vec();
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(ApplyError::Problems(problems))
    }
}

/// An agent with a channel keeps the kind and the channel name that the channel has.
fn keep_channel(
    file: &FileTable<'_>,
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
                    "`{}` has a channel: change it in the workspace file",
                    agent.name
                ),
            );
        }
    }
    planned.channel.clone_from(&agent.channel);
    planned.adapter.clone_from(&agent.adapter);
}
