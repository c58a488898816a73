use leadhost_admin_api::plugins::{ComparedVersion, SendDifferences, VerifiedCost, VerifiedPlugin};
use leadhost_pipeline::deploy::Verified;
use leadhost_pipeline::verify::Tally;

pub fn to_view(verified: Verified) -> VerifiedPlugin {
    let Verified {
        candidate,
        golden,
        active,
        against,
        report,
        drift,
        concerns,
    } = verified;
    VerifiedPlugin {
        name: candidate.description.name.clone(),
        version: candidate.description.version.clone(),
        digest: candidate.digest.clone(),
        kind: Some(candidate.kind),
        golden,
        against: against.map(|against| ComparedVersion {
            version: against.description.version.clone(),
            digest: against.digest.clone(),
            active: active.as_ref() == Some(&against.digest),
            previous: false,
            discarded: false,
        }),
        coverage: report.coverage,
        altered: report.tally.harm.altered,
        deliveries: report.tally.differences,
        cost: report.costs.summaries().map(|needed| VerifiedCost {
            conversions: report.costs.conversions(),
            other: needed.stable,
            candidate: needed.candidate,
        }),
        drift,
        concerns,
        repairs: Vec::new(),
        took_ms: u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
    }
}

pub fn send_differences(tally: Tally) -> SendDifferences {
    let all = tally.differences;
    view! { SendDifferences from all: compared, same, newly_failing, no_longer_failing, items,
        fields;
        changed: tally.harm.changed
    }
}
