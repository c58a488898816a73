//! `leadhost audit`: the acts of operators. With `--export` it reads all rows, checks that none was changed,
//! or removed but after its retention, and prints those that were asked for.

use crate::cli::output::is_closed;
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::prelude::*;
use leadhost_admin_api::audit::Audit as Listed;
use leadhost_domain::audit::{AuditCheckpoint, AuditRow};
use leadhost_domain::clock::Clock as _;
use leadhost_domain::time::parse_moment;

#[derive(Args, Serialize)]
pub struct ShowAudit {
    /// Only acts of admin keys with this label
    #[arg(long, value_name = "LABEL")]
    actor: Option<String>,
    /// Only this operation, such as activate-plugin
    #[arg(long, value_name = "ACT")]
    #[serde(rename = "act")]
    what: Option<String>,
    /// Only acts since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    page: PageFlags,
    /// Check that no row was changed, or removed before its time, and print every row, or the rows that
    /// --actor, --what and --since select, as lines of JSON, the oldest first
    #[arg(long, conflicts_with_all = ["before", "limit"])]
    #[serde(skip)]
    export: bool,
}

impl ServiceCommand for ShowAudit {
    async fn run(mut self, client: AdminClient) -> CommandResult {
        if self.export {
            self.page.limit = 1;
        }
        let path = format!("/admin/v1/audit{}", query_of(&self));
        if self.export {
            // The service refuses an act and a time that it does not know.
            client.get::<Listed>(&path).await?;
            return export(&client, &self).await;
        }
        let show = |answer: &Listed| {
            say_rows(&answer.rows);
            show_next_page(answer.next);
        };
        client.show(&path, show).await
    }
}

impl ShowAudit {
    fn has(&self, row: &AuditRow, since: Option<Micros>) -> bool {
        let is_equal = |asked: &Option<String>, value: &str| {
            asked.as_ref().is_none_or(|asked| asked.as_str() == value)
        };
        is_equal(&self.actor, &row.label)
            && is_equal(&self.what, &row.act)
            && since.is_none_or(|since| row.at >= since)
    }
}

/// Breaks of the chain that an export names.
const BREAKS: usize = 10;

/// Prints the rows of an export, oldest first. Reads all rows unless the reader of its output is gone, and
/// fails at the end if one does not follow the row before it.
async fn export(client: &AdminClient, exported: &ShowAudit) -> CommandResult {
    let since = exported.since.as_ref();
    let since = since.and_then(|since| parse_moment(since, SystemClock.now()));
    let mut last = AuditCheckpoint::default();
    // Where the chain begins, and the same by the newest row about a removal.
    let [mut begins, mut recorded] = [AuditCheckpoint::default(), AuditCheckpoint::default()];
    let (mut rows, mut printed, mut breaks) = (0_u64, 0_u64, Vec::new());
    loop {
        let fields = [
            ("after", Some(last.number.to_string())),
            ("limit", Some(limits::DELIVERIES_PER_PAGE.to_string())),
        ];
        let path = format!("/admin/v1/audit{}", query(&fields));
        let answer = client.get::<Listed>(&path).await?;
        if answer.rows.is_empty() {
            break;
        }
        // Rows may be removed during the export, too.
        begins = answer.checkpoint.clone();
        if begins.number > last.number {
            last = begins.clone();
        }
        for row in &answer.rows {
            if !row.continues(&last) && breaks.len() < BREAKS {
                breaks.push(named_break(last.number, row));
            }
            recorded = row.removed().unwrap_or(recorded);
            if exported.has(row, since) {
                let line = serde_json::to_string(row)
                    .map_err(|error| failed!("cannot write a row: {error}"))?;
                say(&line);
                printed += 1;
            }
            rows += 1;
            last = row.place();
        }
        if is_closed() {
            break;
        }
    }
    if begins != recorded && !is_closed() {
        breaks.push(format!(
            "no row records that the rows up to {} were removed",
            begins.number
        ));
    }
    if breaks.is_empty() {
        let begins = match begins.number {
            0 => String::new(),
            number => format!(
                " The chain begins at row {}: the rows up to {number} were removed after retention.audit_days.",
                number + 1
            ),
        };
        let counted = count(rows, "row", "rows");
        complain(&match (is_closed(), printed == rows) {
            (true, _) => format!("The output was closed: only the first {counted} were checked."),
            (false, true) => format!("{counted}. Each row follows the one before it.{begins}"),
            (false, false) => {
                format!("{printed} of {counted}. Each row follows the one before it.{begins}")
            }
        });
        return Ok(());
    }
    Err(failed!("the audit was changed: {}", breaks.join("; "))
        .hint("compare it with an earlier export"))
}

fn named_break(last: i64, row: &AuditRow) -> String {
    if row.number > last + 1 {
        format!("rows {} to {} are missing", last + 1, row.number - 1)
    } else {
        format!(
            "row {} does not match its hash, or the row before it was changed",
            row.number
        )
    }
}
