//! Many deliveries at once: the deliveries of a filtered list are converted again, or released from
//! quarantine. The first form shows what it would do, and the next one does it.

use super::super::outcome::alike;
use crate::console::pages::prelude::*;
use leadhost_admin_api::replays::{ReplayManyRequest, ReplayedMany};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::text::counted;

pub static ROUTES: &[Route] =
    pages! { POST "/deliveries/replay" => form "/deliveries" submit(form); };

/// The filters that the deliveries of a replay may have; the list of deliveries has them too.
pub const FILTERS: [&str; 6] = [
    "status",
    "connection",
    "instance",
    "version",
    "since",
    "until",
];

#[derive(Template)]
#[template(path = "console/replays.html")]
pub struct ReplaysPage {
    frame: Frame,
    filters: Filters,
    release: bool,
    applied: bool,
    replayed: ReplayedMany,
}

impl ReplaysPage {
    fn which(&self) -> String {
        let number = counted(self.replayed.found(), "delivery", "deliveries");
        match self.replayed.connections.as_slice() {
            [] => number,
            [one] => format!("{number} of {}", one.connection),
            many => {
                let parts = many
                    .iter()
                    .map(|one| format!("{} of {}", one.deliveries, one.connection));
                format!("{number}: {}", parts.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn outcome(&self) -> Notice {
        let (statuses, refused) = (&self.replayed.statuses, self.replayed.refused);
        let mut parts: Vec<(u64, &str, Tone)> = statuses
            .iter()
            .map(|(word, count)| {
                let status = DeliveryStatus::from_text(word);
                (*count, word.as_str(), status.map_or(Tone::Warn, Tone::of))
            })
            .collect();
        let released = statuses.values().sum();
        let good = parts.iter().filter(|(_, _, tone)| *tone == Tone::Good);
        let (act, done) = if self.release {
            ("released", released)
        } else {
            ("converted again", good.map(|(count, _, _)| count).sum())
        };
        let stay = text::noun(&refused, "stays as it is", "stay as they are");
        parts.push((refused, stay, Tone::of_counts(released, refused)));
        Notice::of_many(("delivery", act), done, &parts)
    }

    /// Returns why deliveries stay as they are: each reason with how many have it, and the first of them.
    fn reasons(&self) -> Vec<(String, u64, DeliveryId)> {
        let refusals = self.replayed.refusals.iter().map(|one| {
            let reason = one.reason.replace(&format!("delivery {}", one.id), "it");
            (reason, one.id)
        });
        let reasons = alike(refusals, |(reason, _)| Some(reason.clone())).into_iter();
        reasons
            .map(|((reason, first), count)| (reason, count, first))
            .collect()
    }

    fn more_refused(&self) -> u64 {
        self.replayed.refused - self.replayed.refusals.len() as u64
    }

    fn next(&self) -> Option<String> {
        let (replayed, left) = (&self.replayed, self.replayed.left);
        match (self.release, self.applied) {
            (true, false) if left > 0 => Some(format!("Release these {left}")),
            (true, true) if left > 0 => Some(format!("Release the next of {left}")),
            (false, false) if !replayed.changes.is_empty() || replayed.unconverted > 0 => {
                Some("Apply these changes".to_owned())
            }
            (false, true) if left > 0 => Some(format!("Convert the next of {left}")),
            _ => None,
        }
    }

    /// Returns the first delivery of the next request, if it is not the first one of all.
    fn after(&self) -> Option<String> {
        let from_here = self.applied.then_some(self.replayed.after).flatten();
        from_here.map(|id| id.to_string())
    }

    fn fields(&self) -> Vec<(&'static str, &str, u64)> {
        let changes = &self.replayed.changes;
        let rows = [("deal", &changes.deals), ("contact", &changes.contacts)];
        let fields = rows.into_iter().flat_map(|(of, rows)| {
            let fields = rows.fields.iter();
            fields.map(move |(name, count)| (of, name.as_str(), *count))
        });
        fields.collect()
    }
}

/// Converts the deliveries of the filters again, or releases them: first only to show what would
/// change, then with `apply`.
async fn submit(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    let mut filters = Filters::from_form(form, &FILTERS);
    let after = form.filled("after").map(|id| id.parse()).transpose();
    let after = after.map_err(|_| ApiRefusal::new(StatusCode::BAD_REQUEST, "No such delivery."))?;
    let request = ReplayManyRequest {
        apply: form.has("apply"),
        release: form.has("release"),
        after,
    };
    let path = format!("/deliveries/replay{}", filters.query());
    let replayed: ReplayedMany = visit.api().post(&path, &request).await?;
    // The time of the preview bounds the next request, so it applies exactly the deliveries that
    // were shown.
    filters.put("until", replayed.until.text());
    let title = if request.release {
        "Release from quarantine"
    } else {
        "Convert deliveries again"
    };
    let shown = ReplaysPage {
        frame: visit.frame("deliveries", title),
        filters,
        release: request.release,
        applied: request.apply,
        replayed,
    };
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}
