//! The audit of the admin surface: every operation that changes something is recorded before it is
//! done, and another row has its outcome.

pub mod list;

use serde_json::{Map, Value, json};

use crate::domain::audit::{Act, ActOutcome, AuditActor};
use crate::domain::key::KeyKind;
use crate::http::auth::AdminCaller;
use crate::http::call::{Audited, Call};
use crate::http::error::{ApiError, ConflictDetails};
use crate::http::reply::ApiResponse;
use crate::http::route::AdminRoute;

/// The acts of the rows: every operation of [`AdminRoute::changes`], and, at the end, what the service
/// itself does with a rollout.
pub const ACTS: [&str; 40] = [
    "apply",
    "create-key",
    "revoke-key",
    "upload-plugin",
    "activate-plugin",
    "roll-back-plugin",
    "remove-plugin",
    "start-rollout",
    "change-rollout",
    "replay-delivery",
    "replay-deliveries",
    "capture-deliveries",
    "export-golden",
    "start-repair",
    "cancel-repair",
    "undo-repair",
    "change-connection",
    "pause-connection",
    "resume-connection",
    "test-connection",
    "change-instance",
    "pause-instance",
    "resume-instance",
    "sync-templates",
    "play-reply",
    "play-status",
    "resolve-message",
    "resolve-messages",
    "remove-deal",
    "erase-contact",
    "import-products",
    "remove-product",
    "run-etl",
    "rebuild-etl",
    "put-owners",
    "put-agents",
    "next-rollout-step",
    "promote-rollout",
    "roll-back-rollout",
    "end-rollout",
];

/// Runs an operation. If it changes something, its rows are stored before and after it.
///
/// # Errors
///
/// The errors of the operation, and [`ApiError::Store`] if its first row cannot be stored: then
/// nothing is done.
pub async fn recorded(
    call: &Call<'_>,
    caller: &AdminCaller,
    route: AdminRoute<'_>,
    operation: impl Future<Output = Result<ApiResponse, ApiError>>,
) -> Result<ApiResponse, ApiError> {
    if !route.changes() {
        return operation.await;
    }
    let core = &call.http.core;
    // A stop waits for the row with the outcome.
    let _hold = core.shutdown.hold();
    let activates = call.query().get("activate") == Some("true");
    let name = match route {
        AdminRoute::UploadPlugin if activates => "activate-plugin",
        _ => route.act(),
    };
    debug_assert!(ACTS.contains(&name), "`{name}` is not in ACTS");
    let actor = actor(call, caller);
    let act = Act {
        at: core.clock.now(),
        key_id: actor.key,
        label: actor.label,
        role: actor.role,
        address: actor.address,
        act: name.to_owned(),
        target: named(&super::decoded(&route.target())),
        outcome: ActOutcome::Begun,
        begun: None,
        detail: "{}".to_owned(),
    };
    let begun = core.store.add_audit(act.clone()).await?;
    let result = operation.await;
    let Audited {
        mut detail,
        is_partly_done,
    } = call.audited();
    let outcome = match &result {
        Ok(_) => ActOutcome::Done,
        Err(error) => match refused(error, route, &mut detail) {
            ActOutcome::Refused if is_partly_done => ActOutcome::PartlyDone,
            outcome => outcome,
        },
    };
    // An upload has no name before it is read.
    let plugin = detail.get("plugin").and_then(Value::as_str);
    let target = plugin.map_or_else(|| act.target.clone(), str::to_owned);
    let end = Act {
        at: core.clock.now(),
        target,
        outcome,
        begun: Some(begun.number),
        detail: Value::Object(detail).to_string(),
        ..act
    };
    if let Err(error) = core.store.add_audit(end).await {
        tracing::error!(act = name, begun = begun.number, %error, "end of an operator's act not stored in the audit");
    }
    result
}

/// Returns the caller as rows name it.
pub fn actor(call: &Call<'_>, caller: &AdminCaller) -> AuditActor {
    AuditActor {
        key: Some(caller.key()),
        label: caller.label().chars().take(LABEL_CHARACTERS).collect(),
        role: Some(caller.role()),
        address: call.peer.to_string(),
    }
}

/// Characters of a key's label, and of a target, that a row has.
const LABEL_CHARACTERS: usize = 100;

/// Returns a target as a row shows it. A caller may put anything into a path, also by mistake: the
/// text of a key, a phone number, a person's name. So only what can be an id or a short name is
/// shown.
fn named(target: &str) -> String {
    if is_name(target) {
        target.to_owned()
    } else {
        "(not a name or id)".to_owned()
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-/".contains(one);
    let is_number = text.len() > 7 && text.chars().all(|one| one.is_ascii_digit());
    let is_key = KeyKind::ALL
        .into_iter()
        .any(|kind| text.starts_with(kind.prefix()));
    text.len() <= LABEL_CHARACTERS && text.chars().all(is_plain) && !is_number && !is_key
}

/// Bytes of a text of a configuration that a row has.
const VALUE_BYTES: usize = 60;

/// Returns a value of a configuration as a row shows it. An operator may put a token or a person into it
/// by mistake: only numbers that are no phone, truth values and texts that can be a name, a path or an
/// address of a host stay.
pub fn value(value: Option<&Value>) -> Value {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    let is_shown = |text: &str| {
        let plain = text.replace([':', '*', '$', '[', ']'], "");
        text.len() <= VALUE_BYTES && is_name(&plain) && digits(text) <= 6
    };
    match value {
        None => Value::Null,
        Some(Value::Bool(_) | Value::Null) => json!(value),
        Some(Value::Number(number)) if digits(&number.to_string()) <= 6 => json!(number),
        Some(Value::String(text)) if is_shown(text) => json!(text),
        Some(_) => json!("…"),
    }
}

/// Returns the place of a value in a configuration as a row shows it.
pub fn place(path: &str) -> String {
    let parts = path.split('.').take(PLACE_PARTS);
    let shown = parts.map(|part| if is_name(part) { part } else { "…" });
    shown.collect::<Vec<_>>().join(".")
}

/// Parts of the place of a value that a row has.
const PLACE_PARTS: usize = 10;

/// Returns the outcome of a failed operation, and adds its status and the reason to the detail.
fn refused(error: &ApiError, route: AdminRoute<'_>, detail: &mut Map<String, Value>) -> ActOutcome {
    let (status, message) = error.outside();
    detail.insert("status".to_owned(), json!(status.as_u16()));
    if !is_about_persons(route) {
        detail.insert("reason".to_owned(), json!(reason(&message)));
    }
    if let ApiError::Conflict {
        details: Some(details),
        ..
    } = error
    {
        match details {
            ConflictDetails::Activation(activation) => {
                detail.insert("needsAccept".to_owned(), json!(activation.accept));
            }
            ConflictDetails::SecondKey(waits) => {
                detail.insert("needsSecondKey".to_owned(), json!(waits.second_key.accept));
            }
            ConflictDetails::Ambiguous(_) => {}
        }
    }
    match status.is_server_error() {
        true => ActOutcome::Failed,
        false => ActOutcome::Refused,
    }
}

/// Returns whether the requests of an operation name persons or have secrets. The messages about them
/// may repeat these, so their rows have only the status.
fn is_about_persons(route: AdminRoute<'_>) -> bool {
    matches!(
        route,
        AdminRoute::EraseContact
            | AdminRoute::Apply
            | AdminRoute::ChangeConnection { .. }
            | AdminRoute::ChangeInstance { .. }
            | AdminRoute::ImportProducts { .. }
            | AdminRoute::PlayReply
            | AdminRoute::PlayStatus { .. }
            | AdminRoute::PutPart { .. }
    )
}

/// Characters of a reason that a row has.
const REASON_CHARACTERS: usize = 400;

/// Returns a message as a row shows it: without what the caller typed and what may be a value. In
/// backticks or quotes, only names, ids and commands of the program stay; addresses, numbers like
/// phones, and keys go.
pub fn reason(message: &str) -> String {
    let mut shown = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(['`', '"']) {
        let (before, quoted) = rest.split_at(start);
        let mark = &quoted[..1];
        let Some(length) = quoted[1..].find(mark) else {
            break;
        };
        let inside = &quoted[1..=length];
        let is_command = mark == "`" && inside.starts_with("leadhost ");
        let is_shown = is_command || named(inside) == inside;
        let inside = if is_shown { inside } else { "…" };
        shown.extend([before, mark, inside, mark]);
        rest = &quoted[length + 2..];
    }
    shown.push_str(rest);
    let words: Vec<&str> = shown.split_whitespace().map(harmless).collect();
    words.join(" ").chars().take(REASON_CHARACTERS).collect()
}

/// Returns the word, or a mark in the place of an address, a number like a phone, or a key.
fn harmless(word: &str) -> &str {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_number = digits > 6 && !word.chars().any(|one| one.is_ascii_alphabetic());
    let bare = word.trim_matches(|one: char| !one.is_ascii_alphanumeric());
    let is_key = KeyKind::ALL
        .into_iter()
        .any(|kind| bare.starts_with(kind.prefix()));
    match is_number
        || is_key
        || word.contains('@') && !word.contains("@sha256:") && is_address(bare)
    {
        true => "…",
        false => word,
    }
}

/// Returns whether a word with an `@` may be an e-mail address, and no version: `portal@9b0f7a3c5d2e`.
fn is_address(word: &str) -> bool {
    let after = word.rsplit('@').next().unwrap_or_default();
    after.contains('.') || !after.chars().all(|one| one.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_names_and_commands_and_drops_what_may_be_a_value() {
        let check = |message: &str, expect: &str| assert_eq!(reason(message), expect);
        check(
            "a rollout of `portal` is open: see `leadhost plugin rollout portal`",
            "a rollout of `portal` is open: see `leadhost plugin rollout portal`",
        );
        check(
            "portal is not activated: 3 of 415 leads lose a phone, for example in delivery 019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
            "portal is not activated: 3 of 415 leads lose a phone, for example in delivery 019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
        );
        check(
            "run `leadhost plugin activate portal@9b0f7a3c5d2e`",
            "run `leadhost plugin activate portal@9b0f7a3c5d2e`",
        );
        check("`Rita Silva` is no name", "`…` is no name");
        check(
            "the value \"Rita Silva\" is none",
            "the value \"…\" is none",
        );
        check("rita@example.com is unknown", "… is unknown");
        check("+5511987654321 is unknown", "… is unknown");
        check("the key ak_abcdef is revoked", "the key … is revoked");
        check("an unclosed `name", "an unclosed `name");
        assert_eq!(
            reason(&"word ".repeat(1_000)).chars().count(),
            REASON_CHARACTERS
        );
    }

    #[test]
    fn a_value_is_a_short_name_or_number_and_no_person_nor_token() {
        for shown in [
            json!("telefone_contato"),
            json!("$.lead.phones[0]"),
            json!("https://graph.example:8443"),
            json!("America/Sao_Paulo"),
            json!(24),
            json!(true),
        ] {
            assert_eq!(value(Some(&shown)), shown);
        }
        let long = "x".repeat(VALUE_BYTES + 1);
        for hidden in [
            json!("Rita Prado"),
            json!("rita@acme.example"),
            json!("+5511900010031"),
            json!("11-90001-0031"),
            json!(5_511_900_010_031_u64),
            json!("ak_a-pasted-key"),
            json!("e3b0c44298fc1c149afbf4c8"),
            json!(long),
            json!({"a": 1}),
        ] {
            assert_eq!(value(Some(&hidden)), "…", "{hidden}");
        }
        assert_eq!(value(None), Value::Null);
        assert_eq!(place("config.fields.phone"), "config.fields.phone");
        assert_eq!(place("config.Rita Prado.0"), "config.….0");
    }

    #[test]
    fn a_target_is_an_id_or_a_short_name_and_nothing_else() {
        for shown in [
            "",
            "form",
            "acme/form",
            "grupo-olx",
            "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
            "4kJ0sPz7Qm2XwYtB9nLdRa",
            "1234567",
        ] {
            assert_eq!(named(shown), shown);
        }
        let long = "x".repeat(LABEL_CHARACTERS + 1);
        for hidden in [
            "ak_a-pasted-key",
            "pk_1",
            "+5511900010031",
            "5511900010031",
            "Helena Duarte",
            "a\0b",
            long.as_str(),
        ] {
            assert_eq!(named(hidden), "(not a name or id)", "{hidden}");
        }
    }
}
