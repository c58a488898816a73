//! Several hosts on one database, each a whole one, and what they owe to each
//! other: the same versions, the same keys, one rate, one doer of each job.

mod jobs;
mod keys;
mod outage;
mod plugins;
mod rate;
mod start;

use leadhost_tests::{Host, On, Options, guests};

/// Hosts of these names on a database of their own; none where no server can be had.
async fn fleet<const N: usize>(names: [&'static str; N]) -> Option<[Host; N]> {
    let on = On::postgres().await?;
    // Built before there is a host: all share a thread, and one that says nothing
    // while this waits is taken for dead.
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
