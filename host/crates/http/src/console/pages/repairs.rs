use super::super::table::{RowButton, RowForm};
use crate::console::pages::prelude::*;
use leadhost_admin_api::connections::ConnectionView;
use leadhost_admin_api::repairs::{
    FAILED, RepairChangeView, RepairChanges, RepairFacts, RepairList, RepairRequest, RepairView,
};
use leadhost_domain::repair::RepairState;

pub static ROUTES: &[Route] = pages! {
    GET "/repairs" => page list();
    POST "/repairs" => form (origin) start(form);
    GET "/repairs/{repair}" => page show(repair);
    POST "/repairs/{repair}/cancel" => form "/repairs/{}" cancel(repair);
    POST "/repairs/{repair}/undo" => form "/repairs/{}" undo(repair, form);
};

#[derive(Template)]
#[template(path = "console/repairs.html")]
pub struct RepairsPage {
    frame: Frame,
    repairs: Vec<RepairFacts>,
    next: Option<String>,
}

impl RepairsPage {
    /// Returns the repairs. An operator may undo the ones that have ended.
    fn table(&self) -> Table {
        Table::with_forms(&self.repairs, "No repair.", |repair| {
            let may = self.frame.may_operate() && repair.apply && has_ended(repair);
            may.then(|| RowForm {
                action: format!("/repairs/{}/undo", repair.id),
                buttons: vec![RowButton {
                    words: "Undo",
                    label: format!("Undo {}", repair.id),
                    ..RowButton::default()
                }],
            })
        })
    }
}

fn origin(form: &Form) -> String {
    match form.filled("plugin") {
        Some(plugin) => format!("/plugins/{}", encoded(&plugin)),
        None => "/repairs".to_owned(),
    }
}

async fn list(visit: &Visit<'_>) -> PageResult<RepairsPage> {
    let filters = Filters::read(visit, &["before"]);
    let list: RepairList = visit
        .api()
        .get(&format!("/repairs{}", filters.query()))
        .await?;
    Ok(RepairsPage {
        frame: visit.frame("repairs", "Repairs"),
        next: filters.next_page("/repairs", list.next),
        repairs: list.repairs,
    })
}

#[derive(Template)]
#[template(path = "console/repair.html")]
pub struct RepairPage {
    frame: Frame,
    repair: RepairView,
    /// The connection to which it is restricted, as operators name it.
    connection: Option<String>,
    changes: Vec<RepairChangeView>,
    /// The address of the next page of the receipt, below `/console`.
    next: Option<String>,
    /// Whether it asks if the changes are to be undone.
    asks: bool,
}

async fn show(visit: &Visit<'_>, id: &str) -> PageResult<RepairPage> {
    let api = visit.api();
    let filters = Filters::read(visit, &["after"]);
    let path = format!("/repairs/{}", encoded(id));
    let repair: RepairView = api.get(&path).await?;
    let receipt: RepairChanges = api
        .get(&format!("{path}/changes{}", filters.query()))
        .await?;
    let connection = match &repair.facts.connection_id {
        None => None,
        Some(wanted) => {
            let list: Connections = api.get("/connections").await?;
            let mut all = list.connections.into_iter();
            let found = all.find(|one| one.id == *wanted);
            Some(found.map_or_else(|| wanted.to_string(), named))
        }
    };
    let next = receipt
        .next
        .map(|after| format!("/repairs/{}?after={after}", repair.facts.id));
    Ok(RepairPage {
        frame: visit.frame("repairs", format!("Repair of {}", repair.facts.plugin)),
        repair,
        connection,
        changes: receipt.changes,
        next,
        asks: false,
    })
}

fn named(connection: ConnectionView) -> String {
    name_in_workspace(&connection.workspace, &connection.name)
}

impl RepairPage {
    fn receipt(&self) -> Table {
        Table::of(
            &self.changes,
            if self.is_open() {
                "No change yet."
            } else {
                "It changed nothing."
            },
        )
    }

    fn is_open(&self) -> bool {
        self.repair.facts.state.is_open()
    }

    fn is_any(&self) -> bool {
        let repair = &self.repair;
        repair.deals.rows + repair.contacts.rows + repair.created > 0
    }

    fn has_ended(&self) -> bool {
        has_ended(&self.repair.facts)
    }

    fn may_be_undone(&self) -> bool {
        self.repair.facts.apply && self.has_ended() && self.is_any()
    }

    fn may_be_written(&self) -> bool {
        !self.repair.facts.apply && self.has_ended() && self.is_any()
    }

    /// Returns the deliveries that were not replayed, by their outcomes.
    fn others(&self) -> Vec<(u64, &'static str, Tone)> {
        let others = self.repair.facts.deliveries.others();
        let tone = |what| match what {
            FAILED => Tone::Bad,
            _ => Tone::Warn,
        };
        others
            .map(|(count, what)| (count, what, tone(what)))
            .collect()
    }

    /// Returns what came of it, or of its undo, once that has ended. `None` if it wrote nothing.
    fn outcome(&self) -> Option<Notice> {
        let facts = &self.repair.facts;
        if self.is_open() || !facts.apply || facts.found == Some(0) {
            return None;
        }
        if let Some(undo) = &self.repair.undo {
            let parts = [
                (undo.undone, "undone", Tone::Good),
                (undo.changed_since, "changed since", Tone::Warn),
                (undo.stays, "cannot be undone", Tone::Warn),
                (undo.in_use, "of match keys that are in use", Tone::Warn),
                (undo.left, "left", Tone::Warn),
            ];
            return Some(Notice::of_many(("change", "undone"), undo.undone, &parts));
        }
        let done = facts.deliveries.replayed;
        let mut parts = self.others();
        parts.insert(0, (done, "converted again", Tone::Good));
        let left = facts.found.unwrap_or_default();
        let left = left.saturating_sub(facts.deliveries.sum());
        parts.push((left, "left", Tone::Warn));
        let mut notice = Notice::of_many(("delivery", "converted again"), done, &parts);
        if facts.state != RepairState::Done {
            notice.tone = notice.tone.max(Tone::Warn);
        }
        Some(notice)
    }
}

fn has_ended(repair: &RepairFacts) -> bool {
    repair.state.stands()
}

/// Starts a repair. Without `apply` it only counts.
async fn start(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    let field = form.filled("field").map(|word| word.parse()).transpose();
    let request = RepairRequest {
        converted_by: form.get("converted-by").to_owned(),
        plugin: form.filled("plugin"),
        connection: form.filled("connection"),
        since: form.filled("since"),
        until: form.filled("until"),
        field: field.map_err(|_| wrong("Choose the field of leads that is repaired, or none."))?,
        apply: form.has("apply"),
    };
    let begun: RepairView = visit.api().post("/repairs", &request).await?;
    let notice = if request.apply {
        "The repair has begun. It runs in the background; its receipt can be undone."
    } else {
        "The changes of a repair are being counted. Nothing is written."
    };
    Ok(FormOutcome::done(
        format!("/repairs/{}", begun.facts.id),
        notice,
    ))
}

async fn cancel(visit: &Visit<'_>, id: &str) -> PageResult<FormOutcome> {
    let path = format!("/repairs/{}/cancel", encoded(id));
    let _: Value = visit.api().post(&path, &json!({})).await?;
    Ok(FormOutcome::done(
        format!("/repairs/{id}"),
        "The repair has ended. Its changes are kept.",
    ))
}

/// Undoes an ended repair. Without `confirmed`, the page asks first.
async fn undo(visit: &Visit<'_>, id: &str, form: &Form) -> PageResult<FormOutcome> {
    if !form.has("confirmed") {
        let mut shown = show(visit, id).await?;
        shown.asks = true;
        return Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?));
    }
    let path = format!("/repairs/{}/undo", encoded(id));
    let _: Value = visit.api().post(&path, &json!({})).await?;
    Ok(FormOutcome::done(
        format!("/repairs/{id}"),
        "The changes are being undone.",
    ))
}

fn wrong(what: &str) -> ApiRefusal {
    ApiRefusal::new(StatusCode::BAD_REQUEST, what)
}
