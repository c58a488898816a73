//! The parts of a request that several operations read: bodies, names, times, pages. And the check of a role.

use serde::de::DeserializeOwned;

use crate::endpoints::prelude::*;
use crate::error::{AmbiguousName, ConflictDetails};
use crate::json;
use leadhost_domain::key::Role;
use leadhost_domain::time;
use leadhost_domain::workspace::name_in_workspace;

pub fn needs(caller: &AdminCaller, role: Role, what: &str) -> Result<(), ApiError> {
    if caller.role() >= role {
        return Ok(());
    }
    Err(ApiError::Forbidden(format!(
        "This key has the role {}, and `{what}` needs the role {role}: `leadhost key create --kind admin --role {role}`, run with a key of the role admin, makes such a key.",
        caller.role()
    )))
}

/// The kinds of items that a request may name with or without their workspace.
#[derive(Clone, Copy)]
pub enum NamedKind {
    Connection,
    Instance,
}

impl NamedKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Instance => "instance",
        }
    }
}

/// Returns the only item with this name. Each item comes with its workspace and its own name.
pub fn only<T>(
    kind: NamedKind,
    text: &str,
    all: impl Iterator<Item = (String, String, T)>,
) -> Result<T, ApiError> {
    let what = kind.as_str();
    let mut found: Vec<_> = all
        .filter(|(workspace, name, _)| name == text || name_in_workspace(workspace, name) == text)
        .collect();
    match found.len() {
        0 => Err(ApiError::NotFound(format!(
            "There is no {what} `{text}`; `leadhost {what} list` shows those that exist."
        ))),
        1 => Ok(found.remove(0).2),
        _ => {
            let names: Vec<String> = found
                .iter()
                .map(|(workspace, name, _)| name_in_workspace(workspace, name))
                .collect();
            let message = format!(
                "`{text}` is in several workspaces: write one of {}.",
                names.join(", ")
            );
            let names = match kind {
                NamedKind::Connection => AmbiguousName::Connections(names),
                NamedKind::Instance => AmbiguousName::Instances(names),
            };
            Err(ApiError::Conflict {
                message,
                details: Some(ConflictDetails::Ambiguous(names)),
            })
        }
    }
}

/// Reads a JSON body. An empty body counts as an empty object.
pub async fn read_json<T: DeserializeOwned>(
    call: &Call<'_>,
    body: UnreadBody,
) -> Result<T, ApiError> {
    let (bytes, _held) = json::read_bytes(call, body, limits::ADMIN_BODY_BYTES).await?;
    let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() {
            "not as expected"
        } else {
            "not JSON"
        };
        ApiError::BadRequest(format!("The body is {what}: {error}."))
    })
}

pub fn check_length(field: &str, text: &str) -> Result<(), ApiError> {
    let (has, most) = (text.chars().count(), limits::NAME_CHARACTERS);
    if has <= most {
        return Ok(());
    }
    Err(ApiError::BadRequest(format!(
        "`{field}` has {has} characters: at most {most} are allowed."
    )))
}

pub fn page_limit(query: &Query<'_>) -> Result<u32, ApiError> {
    query.limit(limits::ROWS_PER_PAGE, limits::DELIVERIES_PER_PAGE)
}

/// Returns the row before which the next page begins, or `None` if the page is not full and so
/// the last.
pub fn last_of_full<T>(rows: &[T], limit: u32) -> Option<&T> {
    rows.last().filter(|_| rows.len() >= limit as usize)
}

pub fn moment(call: &Call<'_>, name: &str) -> Result<Option<Micros>, ApiError> {
    let query = call.query();
    let text = query.filled(&[name]);
    text.map(|text| moment_of(call, name, text)).transpose()
}

/// Reads the time that a parameter names: as such, or by how long ago it was.
pub fn moment_of(call: &Call<'_>, name: &str, text: &str) -> Result<Micros, ApiError> {
    time::parse_moment(text, call.http.core.clock.now()).ok_or_else(|| {
        ApiError::BadRequest(format!(
            "`{name}={text}` is not a time: write 2026-01-31, 2026-01-31T12:00:00Z, or how long ago it was, such as 24h."
        ))
    })
}

pub fn flag(call: &Call<'_>, name: &str) -> Result<bool, ApiError> {
    match call.query().get(name) {
        None | Some("" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(ApiError::BadRequest(format!(
            "`{name}={other}`: expected true or false."
        ))),
    }
}
