//! Comparisons of versions as the answers show them.

use crate::endpoints::admin::plugins::outcome::concern_view;
use std::collections::BTreeMap;
use std::time::Duration;

use leadhost_admin_api::plugins::{
    ComparedVersion, DifferenceView, ExampleView, FieldDifference, NeededView, SendDifferences,
    VerifiedCost, VerifiedPlugin, VerifiedSends,
};
use leadhost_domain::difference::DifferenceKind;
use leadhost_domain::plugin::PluginKind;
use leadhost_pipeline::deploy::Verified;
use leadhost_pipeline::verify::cost::NeededSummary;
use leadhost_pipeline::verify::{Covered, DifferenceGroup, Example, Subject, Tally, VerifyReport};

/// Returns the answer about a comparison.
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
    let VerifyReport {
        connections,
        connections_not_covered,
        total,
        deliveries,
        sends,
        costs,
        took,
    } = report;
    let Covered {
        chosen,
        emptied,
        not_tried,
        not_reached,
        tally,
        ..
    } = deliveries;
    let sends = (candidate.kind == PluginKind::Adapter).then(|| VerifiedSends {
        chosen: sends.chosen,
        emptied: sends.emptied,
        not_tried: sends.not_tried,
        not_reached: sends.not_reached,
        differences: send_differences(sends.tally),
    });
    VerifiedPlugin {
        name: candidate.description.name.clone(),
        version: candidate.description.version.clone(),
        digest: candidate.digest.clone(),
        golden,
        against: against.map(|against| ComparedVersion {
            version: against.description.version.clone(),
            digest: against.digest.clone(),
            active: active.as_ref() == Some(&against.digest),
            previous: false,
            discarded: false,
        }),
        chosen,
        total: total.deliveries,
        total_is_least: total.is_least,
        connections,
        connections_not_covered,
        emptied,
        not_tried,
        not_reached,
        compared: tally.compared,
        same: tally.same,
        leads: tally.leads,
        candidate_leads: tally.candidate_leads,
        newly_failing: group(tally.newly_failing),
        no_longer_failing: group(tally.no_longer_failing),
        appeared: group(tally.appeared),
        vanished: group(tally.vanished),
        items: group(tally.items),
        fields: fields(tally.fields),
        altered: tally.harm.altered,
        sends,
        cost: costs.summaries().map(|(other, candidate)| VerifiedCost {
            conversions: costs.serving.len() as u64,
            other: needed(other),
            candidate: needed(candidate),
        }),
        drift,
        concerns: concerns.into_iter().map(concern_view).collect(),
        repairs: Vec::new(),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }
}

fn needed(summary: NeededSummary) -> NeededView {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    NeededView {
        mean_us: micros(summary.mean),
        p95_us: micros(summary.p95),
        memory_bytes: summary.memory,
    }
}

/// Returns the differences of sends.
pub fn send_differences(tally: Tally) -> SendDifferences {
    SendDifferences {
        compared: tally.compared,
        same: tally.same,
        changed: tally.harm.changed,
        newly_failing: group(tally.newly_failing),
        no_longer_failing: group(tally.no_longer_failing),
        items: group(tally.items),
        fields: fields(tally.fields),
    }
}

/// Returns the differences of fields.
pub fn fields(fields: BTreeMap<(String, DifferenceKind), DifferenceGroup>) -> Vec<FieldDifference> {
    fields
        .into_iter()
        .map(|((field, change), differences)| FieldDifference {
            field,
            change,
            differences: group(differences),
        })
        .collect()
}

/// Returns differences of one kind.
pub fn group(group: DifferenceGroup) -> DifferenceView {
    DifferenceView {
        count: group.count,
        examples: group.examples.into_iter().map(example_view).collect(),
    }
}

fn example_view(example: Example) -> ExampleView {
    let Example {
        subject,
        connection,
        before,
        after,
    } = example;
    let (delivery_id, message_id) = match subject {
        Subject::Delivery(id) => (Some(id), None),
        Subject::Message(id) => (None, Some(id)),
    };
    ExampleView {
        delivery_id,
        message_id,
        connection_id: connection,
        before,
        after,
    }
}
