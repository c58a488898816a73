use std::convert::Infallible;

use serde::de::DeserializeOwned;

use crate::cli::client::Answered;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{RunningVerifications, VerificationView};

/// Time between two queries.
const PERIOD: Duration = Duration::from_secs(1);

/// Sends a component, and meanwhile shows `doing`, or the progress of its verification.
pub async fn send<T: DeserializeOwned>(
    client: &AdminClient,
    doing: &str,
    path: &str,
    wasm: Vec<u8>,
) -> CommandResult<Answered<T>> {
    let progress = ProgressLine::start(doing);
    let digest = Digest::compute(&wasm);
    shown(client, &progress, &digest.0, client.post_wasm(path, wasm)).await
}

/// The same for a stored version. `digest` may be its beginning.
pub async fn ask<T: DeserializeOwned>(
    client: &AdminClient,
    doing: &str,
    (path, digest): (&str, &str),
    body: &impl Serialize,
) -> CommandResult<Answered<T>> {
    let progress = ProgressLine::start(doing);
    shown(client, &progress, digest, client.try_post(path, body)).await
}

/// Runs a request, and meanwhile shows the progress of the verification of this version. `digest`: the
/// digest of the candidate, or its beginning.
pub async fn shown<T>(
    client: &AdminClient,
    progress: &ProgressLine,
    digest: &str,
    request: impl Future<Output = T>,
) -> T {
    if !progress.is_shown() {
        return request.await;
    }
    tokio::select! {
        answer = request => answer,
        never = follow(client, progress, digest) => match never {},
    }
}

async fn follow(client: &AdminClient, progress: &ProgressLine, digest: &str) -> Infallible {
    let digest = digest.to_ascii_lowercase();
    loop {
        tokio::time::sleep(PERIOD).await;
        // If it cannot be read, the request says more.
        let running = client
            .get::<RunningVerifications>("/admin/v1/plugins/verify")
            .await;
        let Ok(running) = running else {
            continue;
        };
        let mut running = running.verifications.iter();
        if let Some(own) = running.find(|one| one.digest.0.starts_with(&digest)) {
            progress.update(&line(own));
        }
    }
}

fn line(verification: &VerificationView) -> String {
    let VerificationView { chosen, done, .. } = verification;
    let left = verification.seconds_left;
    match chosen {
        0 => format!("choosing what to compare, at most {left} s left"),
        _ => format!("compared {done} of {chosen}, at most {left} s left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_counts_and_names_the_time_that_is_left() {
        let check = |chosen: u64, done: u64, expect: &str| {
            let verification = VerificationView {
                name: "portal".to_owned(),
                digest: Digest::compute(b"a version"),
                chosen,
                done,
                since: Micros(0),
                seconds_left: 17,
            };
            assert_eq!(line(&verification), expect);
        };
        check(0, 0, "choosing what to compare, at most 17 s left");
        check(1_000, 412, "compared 412 of 1000, at most 17 s left");
    }
}
