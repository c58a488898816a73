//! The fleet operations for the only host of a file. Its reports are kept in memory,
//! since they end with the process.

use std::sync::{MutexGuard, PoisonError};

use tokio::sync::broadcast;

use crate::prelude::*;
use crate::{Announcement, Beat, Debt, Fence, Price, Proposal, SeenHost};

pub struct SingleHost {
    state: Mutex<CoordinationState>,
    /// There is no other host: announcements are received by this process itself.
    announced: broadcast::Sender<Announcement>,
}

impl Default for SingleHost {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            announced: broadcast::Sender::new(limits::ANNOUNCEMENTS_WAITING),
        }
    }
}

#[derive(Default)]
struct CoordinationState {
    hosts: Vec<SeenHost>,
    proposals: HashMap<String, Leased<Proposal>>,
    jobs: HashMap<String, Leased<Fence>>,
    /// The time at which a workspace has paid off its requests.
    rates: HashMap<WorkspaceId, Micros>,
    last_number: i64,
}

struct Leased<T> {
    what: T,
    by: HostId,
    until: Micros,
}

impl CoordinationState {
    fn number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    fn lives(&self, host: HostId, now: Micros) -> bool {
        let mut hosts = self.hosts.iter();
        hosts.any(|one| one.id == host && is_alive(one, now))
    }
}

fn is_alive(host: &SeenHost, now: Micros) -> bool {
    now.since(host.seen_at) < limits::HOST_DEAD
}

impl SingleHost {
    fn state(&self) -> MutexGuard<'_, CoordinationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announced.subscribe()
    }

    pub fn announce(&self, what: Announcement) {
        // There may be no receiver.
        let _ = self.announced.send(what);
    }

    /// Records a heartbeat. Forgets other hosts without a heartbeat for `limits::DEAD_HOST_RETENTION`.
    pub fn beat(&self, beat: &Beat, now: Micros) {
        let mut state = self.state();
        state.hosts.retain(|host| {
            host.id == beat.host || now.since(host.seen_at) < limits::DEAD_HOST_RETENTION
        });
        let found = state.hosts.iter().position(|host| host.id == beat.host);
        let seen = SeenHost {
            id: beat.host,
            name: beat.name.clone(),
            version: beat.version.clone(),
            started_at: found.map_or(now, |at| state.hosts[at].started_at),
            seen_at: now,
            alive: true,
            report: beat.report.clone(),
        };
        match found {
            Some(at) => state.hosts[at] = seen,
            None => state.hosts.push(seen),
        }
    }

    pub fn leave(&self, host: HostId) {
        let mut state = self.state();
        state.hosts.retain(|one| one.id != host);
        state.jobs.retain(|_, held| held.by != host);
        state.proposals.retain(|_, held| held.by != host);
    }

    pub fn hosts(&self, now: Micros) -> Vec<SeenHost> {
        let mut hosts = self.state().hosts.clone();
        for host in &mut hosts {
            host.alive = is_alive(host, now);
        }
        hosts.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        hosts
    }

    /// Proposes a version for at most `within`. Returns `None` while the proposal of another
    /// live host for the same name is valid.
    pub fn propose(
        &self,
        by: HostId,
        name: &str,
        digest: &Digest,
        within: Duration,
        now: Micros,
    ) -> Option<Proposal> {
        let mut state = self.state();
        if let Some(held) = state.proposals.get(name)
            && now < held.until
            && held.by != by
            && state.lives(held.by, now)
        {
            return None;
        }
        let proposal = Proposal {
            name: name.to_owned(),
            digest: digest.clone(),
            number: state.number(),
        };
        let held = Leased {
            what: proposal.clone(),
            by,
            until: now.plus(within),
        };
        state.proposals.insert(name.to_owned(), held);
        Some(proposal)
    }

    pub fn proposals(&self, now: Micros) -> Vec<Proposal> {
        let state = self.state();
        let mut proposals: Vec<Proposal> = state
            .proposals
            .values()
            .filter(|held| now < held.until)
            .map(|held| held.what.clone())
            .collect();
        proposals.sort_by(|a, b| a.name.cmp(&b.name));
        proposals
    }

    /// Withdraws the proposal. Returns whether it was still valid.
    pub fn withdraw(&self, proposal: &Proposal, now: Micros) -> bool {
        let mut state = self.state();
        let stands = state
            .proposals
            .get(&proposal.name)
            .is_some_and(|held| held.what.number == proposal.number);
        let held = stands
            .then(|| state.proposals.remove(&proposal.name))
            .flatten();
        held.is_some_and(|held| now < held.until)
    }

    /// Claims a job or renews its lease, until `within` has passed. Returns `None` while
    /// another host holds it. A renewal keeps the fencing token.
    pub fn hold_job(&self, job: &str, by: HostId, within: Duration, now: Micros) -> Option<Fence> {
        let mut state = self.state();
        let until = now.plus(within);
        let fence = match state.jobs.get(job) {
            Some(held) if now < held.until && held.by != by => return None,
            Some(held) if now < held.until => held.what,
            _ => Fence(state.number()),
        };
        let held = Leased {
            what: fence,
            by,
            until,
        };
        state.jobs.insert(job.to_owned(), held);
        Some(fence)
    }

    pub fn leave_job(&self, job: &str, by: HostId) {
        let mut state = self.state();
        if state.jobs.get(job).is_some_and(|held| held.by == by) {
            state.jobs.remove(job);
        }
    }

    /// Charges a request to a workspace, and returns the debt after it. A refused request
    /// costs nothing.
    pub fn pay(&self, workspace: WorkspaceId, price: Price, now: Micros) -> Debt {
        let mut state = self.state();
        let due = state.rates.entry(workspace).or_insert(now);
        let debt = price.pay(due.since(now));
        *due = now.plus(debt.owed);
        debt
    }
}
