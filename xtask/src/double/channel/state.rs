//! The state of a double, and the outcome of a send: refused by the checks,
//! handled as planned, or accepted.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use super::gate::Gate;
use super::misbehaviour::Plan;
use super::{Accepted, Callback, Event, Misbehaviour, Outgoing, Provider};
use crate::double::http::{Answer, Request};
use crate::double::server::{Endpoint, Reaction, locked};

pub(super) struct State<P> {
    pub provider: P,
    pub plan: Plan,
    pub now: Mutex<Option<u64>>,
    pub seen: Mutex<Vec<Request>>,
    pub accepted: Mutex<Vec<Accepted>>,
    pub outbox: Mutex<VecDeque<Event>>,
    pub callback: Mutex<Option<Callback>>,
    pub gate: Gate,
}

impl<P: Provider> State<P> {
    /// Returns the state of a double that has received nothing. Time stands at `now`, in
    /// seconds since 1970; without it, the machine's time is used.
    pub fn new(provider: P, now: Option<u64>) -> Self {
        Self {
            provider,
            plan: Plan::default(),
            now: Mutex::new(now),
            seen: Mutex::default(),
            accepted: Mutex::default(),
            outbox: Mutex::default(),
            callback: Mutex::default(),
            gate: Gate::default(),
        }
    }

    pub fn now(&self) -> u64 {
        locked(&self.now).unwrap_or_else(machine_time)
    }

    fn take(&self, send: Outgoing) -> Accepted {
        let at = self.now();
        let mut accepted = locked(&self.accepted);
        let message = Accepted {
            id: self.provider.message_id(accepted.len() as u64 + 1),
            send,
            at,
        };
        accepted.push(message.clone());
        message
    }

    fn send(&self, request: &Request) -> Reaction {
        let send = match self.provider.read_send(request) {
            Ok(send) => send,
            Err(refusal) => return Reaction::Answer(refusal),
        };
        let Some(misbehaviour) = self.plan.next() else {
            let message = self.take(send);
            return Reaction::Answer(self.provider.accepted(&message));
        };
        let taken = misbehaviour.is_taken().then(|| self.take(send));
        let answer = |message: Accepted| Reaction::Answer(self.provider.accepted(&message));
        Reaction::Answer(match misbehaviour {
            Misbehaviour::Code(code) => self.provider.error(code, None),
            Misbehaviour::Throttled { code, retry_after } => {
                let error = self.provider.error(code, Some(429));
                error.header("Retry-After", &retry_after.to_string())
            }
            Misbehaviour::Hang(_) => {
                let released = self.gate.wait();
                return taken.filter(|_| released).map_or(Reaction::Close, answer);
            }
            Misbehaviour::ResetUnread | Misbehaviour::Reset(_) => return Reaction::Reset,
            Misbehaviour::Close(_) => return Reaction::Close,
            Misbehaviour::Html(status, _) => Answer::html(status, PAGE),
            Misbehaviour::NoId => self.provider.accepted_without_id(),
        })
    }
}

const PAGE: &str = "<!DOCTYPE html><html><head><title>Error</title></head><body><p>The server made a mistake.</p></body></html>";

impl<P: Provider> Endpoint for State<P> {
    const NAME: &'static str = P::NAME;

    fn react(&self, request: Request) -> Reaction {
        locked(&self.seen).push(request.clone());
        if self.provider.is_send(&request) {
            return self.send(&request);
        }
        Reaction::Answer(self.provider.other(&request))
    }

    fn rejects(&self, start: &[u8]) -> bool {
        start.starts_with(b"POST ") && self.plan.next_unread()
    }

    fn stop(&self) {
        self.gate.open();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a double that is started by hand stands for a remote server, which has the time of its own"
)]
fn machine_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_secs())
}
