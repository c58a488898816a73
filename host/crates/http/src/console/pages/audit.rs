use crate::console::pages::prelude::*;
use leadhost_admin_api::audit::Audit;
use leadhost_admin_api::columns::{Cell, plain};
use leadhost_domain::audit::{AuditRow, OperatorAct};
use leadhost_domain::audit_sentence::SAID;

pub static ROUTES: &[Route] = pages! { GET "/audit" => answer list(); };

#[derive(Template)]
#[template(path = "console/audit.html")]
pub struct AuditPage {
    frame: Frame,
    filters: Filters,
    acts: Vec<ShownAct>,
    next: Option<String>,
    problem: Option<ApiRefusal>,
}

/// An act: the row with its outcome, or the one with which it began, if there is no other.
pub struct ShownAct {
    pub row: AuditRow,
    pub said: String,
    pub more: String,
    /// Who, what and where, and what else its detail has, by name.
    pub facts: Facts,
}

/// Values of a detail that are shown, and characters of one.
const FACTS: usize = 30;
const FACT_CHARACTERS: usize = 400;

impl ShownAct {
    pub fn new(row: AuditRow) -> Self {
        let mut detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
        if let Some(detail) = detail.as_object_mut() {
            detail.retain(|name, _| !SAID.contains(&name.as_str()));
        }
        let mut more = Vec::new();
        collect("", &detail, &mut more);
        if more.len() > FACTS {
            more.truncate(FACTS);
            more.push(("more".to_owned(), "leadhost audit --json".into()));
        }
        let mut facts = Vec::new();
        let mut add = |name: &str, value: String| facts.push((name.to_owned(), value.into()));
        if let Some(role) = row.role {
            add("role", format!("{role}, from {}", row.address));
        }
        add("act", row.act.clone());
        let begun = row.begun.map(|begun| format!(", begun with row {begun}"));
        add(
            "row",
            format!("{}{}", row.number, begun.unwrap_or_default()),
        );
        facts.extend(more);
        let facts = Facts(facts);
        let (said, more) = row.sentence();
        Self {
            row,
            said,
            more,
            facts,
        }
    }
}

/// Adds the values of a detail with their names in words: `changed connections 1 name`.
fn collect(name: &str, value: &Value, facts: &mut Vec<(String, Cell)>) {
    let inner = |key: &str| {
        let mut words = format!("{name} ");
        for c in key.chars() {
            words.extend(c.is_ascii_uppercase().then_some(' '));
            words.push(c.to_ascii_lowercase());
        }
        words.trim().to_owned()
    };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(&inner(key), value, facts);
            }
        }
        Value::Array(all) if all.iter().any(|one| one.is_object() || one.is_array()) => {
            for (index, one) in all.iter().enumerate() {
                collect(&inner(&(index + 1).to_string()), one, facts);
            }
        }
        Value::Null => {}
        value => {
            let text: String = plain(value).chars().take(FACT_CHARACTERS).collect();
            if !text.is_empty() {
                facts.push((name.to_owned(), text.into()));
            }
        }
    }
}

async fn list(visit: &Visit<'_>) -> PageResult {
    let filters = Filters::read(visit, &["actor", "act", "since", "before"]);
    let path = format!("/audit{}", filters.query_with(&[("folded", "true")]));
    let Filtered { found, problem } = Filtered::<Audit>::list(visit, &path).await?;
    let shown = AuditPage {
        frame: visit.frame("audit", "Audit"),
        next: filters.next_page("/audit", found.next),
        filters,
        acts: found.rows.into_iter().map(ShownAct::new).collect(),
        problem,
    };
    page(status_of(shown.problem.as_ref()), &shown)
}
