//! What a partner said of a person: the deals that it sees, and its notifications.

use std::collections::HashMap;

use crate::domain::id::{ContactId, PartnerId, WorkspaceId};
use crate::domain::said::Said;
use crate::store::StoreError;
use crate::store::row::RowColumns as _;
use crate::store::sql::{Sql, Tx, args, sql};

/// The newest deals and conversations of a person that are read for what they say.
const SAID_ROWS: u32 = 200;

static OTHERS: Sql = sql("
select id
from partners
where workspace_id = :workspace
and id <> :partner
limit 1");

/// Returns whether the workspace has other partners, too.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn has_others(
    tx: &mut Tx,
    workspace: WorkspaceId,
    partner: PartnerId,
) -> Result<bool, StoreError> {
    let args = args! { workspace, partner };
    let other = tx.row(&OTHERS, &args, |row| row.id::<PartnerId>("id"));
    Ok(other.await?.is_some())
}

static SAID: Sql = sql("
select id, said
from (
  select d.id, d.props -> 'contact' as said
  from deals as d
  left join connections as s
    on s.id = d.connection_id
  where d.person_id = :person
  and d.workspace_id = :workspace               -- postgres
  and (d.workspace_id = :workspace) is true     -- sqlite
  and coalesce(d.partner_id, s.partner_id) = :partner
  union all
  select id, said -> :key::text
  from conversations
  where contact_id = :person
  and (workspace_id = :workspace) is true
) as own
where said is not null
order by id desc
limit :limit");

/// Returns what the partner said of the person.
///
/// # Errors
///
/// [`StoreError`] if a row holds an impossible value, or the database fails.
async fn of(
    tx: &mut Tx,
    workspace: WorkspaceId,
    partner: PartnerId,
    person: ContactId,
) -> Result<Said, StoreError> {
    let (key, limit) = (partner.to_string(), SAID_ROWS);
    let args = args! { workspace, partner, person, key: key.as_str(), limit };
    let mut said = Said::default();
    for one in tx.rows(&SAID, &args, |row| row.json("said")).await? {
        said.add(&one);
    }
    Ok(said)
}

/// What one partner said of persons, each read once.
pub struct SaidOf {
    workspace: WorkspaceId,
    partner: PartnerId,
    known: HashMap<String, Said>,
}

impl SaidOf {
    /// Knows nothing yet.
    pub fn new(workspace: WorkspaceId, partner: PartnerId) -> Self {
        let known = HashMap::new();
        Self {
            workspace,
            partner,
            known,
        }
    }

    /// Returns what the partner said of the person with this id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if a row holds an impossible value, or the database fails.
    pub async fn person(&mut self, tx: &mut Tx, id: &str) -> Result<&Said, StoreError> {
        if !self.known.contains_key(id) {
            let said = match id.parse() {
                Ok(person) => of(tx, self.workspace, self.partner, person).await?,
                Err(_) => Said::default(),
            };
            self.known.insert(id.to_owned(), said);
        }
        Ok(&self.known[id])
    }
}

pub const SQL: &[&Sql] = &[&OTHERS, &SAID];
