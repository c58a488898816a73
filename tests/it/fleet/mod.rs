//! Several hosts on one database, and what they share: the same versions, the same
//! keys, one rate limit, one holder of each job.

mod clock;
mod jobs;
mod keys;
mod outage;
mod plugins;
mod rate;
mod rollout;
mod source_changes;
mod start;

use leadhost_tests::{Host, On, Options, guests};

/// Starts hosts with these names on their own database; `None` if no server is
/// available.
async fn fleet<const N: usize>(names: [&'static str; N]) -> Option<[Host; N]> {
    let on = On::postgres().await?;
    // Built before there is a host: all hosts share a thread, and one without a
    // heartbeat during the build would count as dead.
    guests::misbehave();
    let mut hosts: Vec<Host> = Vec::new();
    for name in names {
        let host = match hosts.first() {
            None => {
                Host::working_with(Options::patient(on.clone()).with("server.name", name)).await
            }
            Some(first) => first.beside(name).await,
        };
        hosts.push(host);
    }
    hosts.try_into().ok()
}
