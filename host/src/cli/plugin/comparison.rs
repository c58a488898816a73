//! How a comparison of two versions is shown.

use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{SendDifferences, VerifiedPlugin};
use leadhost_domain::accept::Concern;
use leadhost_domain::difference::{DifferenceGroup, Differences, FieldDifference};

pub const COMPARING: &str = "converting stored deliveries with both versions";

const NOT_COVERED: &str =
    "Connections without a chosen delivery, because there are too many or the time was up";

/// The rule that chose the deliveries.
#[derive(Clone, Copy, Default)]
pub struct GivenOptions<'a> {
    /// The `--since` of the command, if it was given.
    pub since: Option<&'a str>,
    /// Whether `--failed` was given.
    pub failed: bool,
    /// Whether the command can choose more of them.
    pub more: bool,
    /// Whether the configuration says how many are chosen.
    pub by_policy: bool,
}

/// Prints how far both versions agree, and a table of the differences, for a comparison that the
/// configuration bounds.
pub fn show(verified: &VerifiedPlugin) {
    let asked = GivenOptions {
        by_policy: true,
        ..GivenOptions::default()
    };
    show_part(verified, "stored deliveries", &asked);
}

/// Prints the same of another comparison. `what`: the deliveries that could be chosen, if some were not.
pub fn show_part(verified: &VerifiedPlugin, what: &str, asked: &GivenOptions<'_>) {
    let candidate = format!(
        "{} {} ({})",
        verified.name,
        verified.version,
        verified.digest.short()
    );
    let Some(other) = &verified.against else {
        return say_line!(
            "No version of {} is active, so there is nothing to compare {candidate} with; {} passed.",
            verified.name,
            golden(verified)
        );
    };
    if other.digest == verified.digest {
        return say_line!(
            "{candidate} is {}, so there is nothing to compare; {} passed.",
            if other.active {
                "the active version"
            } else {
                "compared with itself"
            },
            golden(verified)
        );
    }
    let other_name = format!(
        "{} ({}{})",
        other.version,
        other.digest.short(),
        if other.active { ", active" } else { "" }
    );
    if verified.coverage.chosen == 0 {
        say_line!(
            "No delivery was converted with both {candidate} and {other_name}: {}.",
            why_none(&verified.name, verified.coverage.connections, asked)
        );
        say_line!(
            "So nothing shows how it treats real deliveries; {} passed.",
            golden(verified)
        );
        if verified.coverage.connections_not_covered > 0 {
            say!(
                "{NOT_COVERED}: {}",
                verified.coverage.connections_not_covered
            );
        }
        // The activation or the rollout that the configuration bounds has been decided already.
        if !asked.by_policy {
            say(&again(asked));
        }
        return;
    }
    let (other_version, own_version) = distinguished(
        (&other.version, other.digest.short()),
        (&verified.version, verified.digest.short()),
    );
    // The deliveries of an adapter give no leads.
    let leads = (verified.deliveries.leads + verified.deliveries.candidate_leads > 0).then(|| {
        format!(
            "; {} with {other_version}, {} with {own_version}",
            count(verified.deliveries.leads, "lead", "leads"),
            verified.deliveries.candidate_leads,
        )
    });
    say_line!(
        "{candidate} compared with {other_name} on {}{}: {} the same{}.",
        verified.coverage(what),
        more_of(verified)
            .filter(|_| asked.more)
            .map(|last| format!(" (more: --last {last})"))
            .unwrap_or_default(),
        verified.deliveries.same,
        leads.unwrap_or_default(),
    );
    if verified.is_part() {
        say("The other deliveries were not compared; the numbers below cover only these.");
    }
    for (what, many) in [
        (
            "Not compared, because the time was over (more time: --seconds)",
            verified.coverage.not_reached,
        ),
        (
            "Not compared, because an erasure or the sweep removed the body",
            verified.coverage.emptied,
        ),
        (
            "Not compared, because the host was busy or a connection changed meanwhile (try again)",
            verified.coverage.not_tried,
        ),
        (
            NOT_COVERED,
            verified.coverage.connections_not_covered as u64,
        ),
    ] {
        if many > 0 {
            say!("{what}: {many}");
        }
    }
    if let Some(cost) = &verified.cost {
        say_line!(
            "A conversion takes {} of memory with {own_version}; {} with {other_version}.",
            cost.candidate.text(),
            cost.other.text(),
        );
    }
    show_differences(&verified.deliveries, (&other_version, &own_version));
}

/// Prints the concerns that an activation would raise, each with the word that accepts it.
pub fn show_concerns(concerns: &[Concern]) {
    for concern in concerns {
        let what = &concern.what;
        say(&safe(&match concern.accept {
            None => format!("it cannot be activated: {what}"),
            Some(word) => format!("activating it needs --accept {word}: {what}"),
        }));
    }
}

/// Returns the number of deliveries to ask for, if there are more than were chosen.
fn more_of(verified: &VerifiedPlugin) -> Option<u64> {
    let most = u64::from(limits::VERIFY_DELIVERIES_MOST);
    let more = if verified.coverage.total_is_least {
        most
    } else {
        verified.coverage.total.min(most)
    };
    (verified.is_part() && verified.coverage.chosen < more).then_some(more)
}

fn why_none(name: &str, connections: usize, asked: &GivenOptions<'_>) -> String {
    if connections == 0 {
        return "no connection uses the plugin".to_owned();
    }
    let which = if asked.failed {
        "failed or parked delivery"
    } else {
        "stored delivery to compare"
    };
    let since = asked.since.map(|since| format!(" (--since {since})"));
    let since = since.unwrap_or_default();
    let policy = if asked.by_policy {
        ", or the configuration has `verify.deliveries = 0`"
    } else {
        ""
    };
    format!("there is no {which} of the connections that use {name}{since}{policy}")
}

/// Returns what to do if there is nothing to compare. It names only options that were given:
/// those can be changed or left out.
fn again(asked: &GivenOptions<'_>) -> String {
    let options = match (asked.failed, asked.since) {
        (true, Some(_)) => " (or without --failed, or with an earlier --since)",
        (true, None) => " (or without --failed)",
        (false, Some(_)) => " (or with an earlier --since)",
        (false, None) => "",
    };
    format!(
        "Compare it again when there are new deliveries{options}, or let it run beside the active version first: `leadhost plugin rollout start WHAT --shadow`."
    )
}

/// Returns the names of two versions in a table: the numbers that they give themselves, with their
/// digests if these are equal.
fn distinguished(other: (&str, &str), candidate: (&str, &str)) -> (String, String) {
    let is_ambiguous = other.0 == candidate.0;
    let name = |(version, digest): (&str, &str)| {
        if is_ambiguous {
            format!("{version} ({digest})")
        } else {
            version.to_owned()
        }
    };
    (name(other), name(candidate))
}

pub fn agreement(sends: &SendDifferences) -> String {
    format!(
        "Compared on {}: {} the same, {} with another request.",
        count(sends.compared, "send", "sends"),
        sends.same,
        sends.changed,
    )
}

pub fn show_send_differences(sends: &SendDifferences, other: &str, candidate: &str) {
    let groups = [
        ("send fails", &sends.newly_failing),
        ("send no longer fails", &sends.no_longer_failing),
        ("request appears or vanishes", &sends.items),
    ];
    print(&groups, &sends.fields, (other, candidate), "MESSAGE");
}

/// Prints a table of the differences of deliveries, if there are any. `versions`: the names of the other
/// version and of the candidate.
pub fn show_differences(found: &Differences, versions: (&str, &str)) {
    let groups = [
        ("delivery fails", &found.newly_failing),
        ("delivery no longer fails", &found.no_longer_failing),
        ("lead vanishes", &found.vanished),
        ("lead appears", &found.appeared),
        ("other item differs", &found.items),
    ];
    print(&groups, &found.fields, versions, "DELIVERY");
}

/// Prints a table of differences, if there are any. `subject`: the heading of the last column.
pub fn print(
    groups: &[(&str, &DifferenceGroup)],
    fields: &[FieldDifference],
    (other, candidate): (&str, &str),
    subject: &str,
) {
    let groups = groups
        .iter()
        .filter(|(_, group)| group.count > 0)
        .map(|(name, group)| row((*name).to_owned(), group));
    let rows: Vec<Vec<String>> = groups.chain(fields.iter().map(field_row)).collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "DIFFERENCE",
                "COUNT",
                &format!("WITH {other}"),
                &format!("WITH {candidate}"),
                subject,
            ],
            &rows,
        ));
    }
}

fn golden(verified: &VerifiedPlugin) -> String {
    count(verified.golden, "golden case", "golden cases")
}

fn field_row(field: &FieldDifference) -> Vec<String> {
    let name = format!("{}: {}", field.field, field.change.as_str());
    row(name, &field.differences)
}

/// Returns a row with the first example. Values are masked by the service.
fn row(name: String, differences: &DifferenceGroup) -> Vec<String> {
    let example = differences.examples.first();
    vec![
        name,
        differences.count.to_string(),
        optional(example.and_then(|one| one.before.as_ref())),
        optional(example.and_then(|one| one.after.as_ref())),
        optional(example.and_then(|one| {
            let delivery = one.delivery_id.map(|id| id.to_string());
            delivery.or_else(|| one.message_id.map(|id| id.to_string()))
        })),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_the_same_number_have_their_digests_beside_it() {
        let (old, new) = ("1c2d3e4f5a6b", "9b0f7a3c5d2e");
        let check = |version: &str, expect: [&str; 2]| {
            let (one, other) = distinguished(("1.0.0", old), (version, new));
            assert_eq!([one, other], expect);
        };
        check("1.1.0", ["1.0.0", "1.1.0"]);
        check("1.0.0", ["1.0.0 (1c2d3e4f5a6b)", "1.0.0 (9b0f7a3c5d2e)"]);
    }

    #[test]
    fn without_deliveries_only_options_that_were_given_are_named() {
        let none = |connections, since, failed, by_policy| {
            let asked = GivenOptions {
                since,
                failed,
                by_policy,
                ..GivenOptions::default()
            };
            (why_none("portal", connections, &asked), again(&asked))
        };
        let (why, advice) = none(2, None, true, false);
        assert_eq!(
            why,
            "there is no failed or parked delivery of the connections that use portal"
        );
        assert!(advice.contains("(or without --failed), or"), "{advice}");
        assert!(!advice.contains("--since"), "{advice}");

        let (why, advice) = none(2, Some("24h"), false, false);
        assert!(why.ends_with("that use portal (--since 24h)"), "{why}");
        assert!(advice.contains("an earlier --since"), "{advice}");
        assert!(!advice.contains("--failed"), "{advice}");

        let (why, advice) = none(2, None, false, true);
        assert!(why.contains("`verify.deliveries = 0`"), "{why}");
        assert!(!advice.contains("without"), "{advice}");
        assert!(!advice.contains("--since"), "{advice}");

        let (why, _) = none(0, None, true, false);
        assert_eq!(why, "no connection uses the plugin");
    }
}
