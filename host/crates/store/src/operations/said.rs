//! What a partner said of a person: the deals that it sees, and its notifications.

use crate::operations::prelude::*;
use leadhost_domain::said::Said;

statements! {
    static OTHERS: Sql = sql("
select id
from partners
where workspace_id = :workspace
and id <> :partner
limit 1");

    static SAID: Sql = sql("
each (workspace_id uuid, partner uuid, key text, person uuid)
select person, said
from (
  select each.person, d.id, d.props -> 'contact' as said,
    row_number() over (partition by each.person order by d.id desc) as place
  from each
  ordered join deals as d
    on d.person_id = each.person
    and (d.workspace_id = each.workspace_id) is true         -- sqlite
    and d.workspace_id = each.workspace_id                   -- postgres
  left join connections as s
    on s.id = d.connection_id
  where coalesce(d.partner_id, s.partner_id) = each.partner
  union all
  select each.person, c.id, c.said -> each.key,
    row_number() over (partition by each.person order by c.id desc)
  from each
  ordered join conversations as c
    on c.contact_id = each.person
    and (c.workspace_id = each.workspace_id) is true
) as own
where said is not null
and place <= 200
order by person, id desc");
}

/// Returns the partner that asks, if it must not see what others said: the workspace has other
/// partners, too.
pub async fn limited(
    tx: &mut Tx,
    workspace: WorkspaceId,
    asking: Option<PartnerId>,
) -> Result<Option<PartnerId>, StoreError> {
    let Some(partner) = asking else {
        return Ok(None);
    };
    let args = args! { workspace, partner };
    let other = tx.row(&OTHERS, &args, |row| row.get::<PartnerId>("id"));
    Ok(other.await?.map(|_| partner))
}

/// Returns what the partner said of each of these persons, by their ids: of the newest 200 deals and
/// the newest 200 conversations of each.
pub async fn of(
    tx: &mut Tx,
    workspace: WorkspaceId,
    partner: PartnerId,
    persons: impl Iterator<Item = &str>,
) -> Result<HashMap<String, Said>, StoreError> {
    let ids: BTreeSet<ContactId> = persons.filter_map(|id| id.parse().ok()).collect();
    let key = partner.to_string();
    let row = |person| args! { workspace_id: workspace, partner, key: key.as_str(), person };
    let rows: Vec<_> = ids.into_iter().map(row).collect();
    let found = tx.rows_each(&SAID, &rows, |row| {
        Ok((row.get::<ContactId>("person")?, row.get("said")?))
    });
    let mut said: HashMap<String, Said> = HashMap::new();
    for (person, one) in found.await? {
        said.entry(person.to_string()).or_default().add(&one);
    }
    Ok(said)
}
