//! The rows that a test starts with: workspaces with a key of every kind, and leads that
//! are already in the store.

use std::collections::BTreeMap;

use leadhost_domain::connection::{ConnectionKind, ConnectionSettings};
use leadhost_domain::contact;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::{ConnectionId, DealId, DeliveryId, KeyId, PartnerId, WorkspaceId};
use leadhost_domain::key::{KeyKind, KeyRecord, PlainKey, Role};
use leadhost_domain::lead::Action;
use leadhost_domain::phone::{self, Phone};
use leadhost_domain::time::Micros;
use leadhost_domain::workspace::AgentKind;
use leadhost_store::{
    Acceptance, ConversionResult, DedupeKey, ItemResult, NewDelivery, NewItem, NewLead, Plan,
    PlannedAgent, PlannedConnection, PlannedProduct, Write, WriteOutcome,
};
use serde_json::{Map, json};
use uuid::Uuid;

use crate::host::Host;

/// A workspace with a partner, an agent, a connection and keys.
pub struct Seeded {
    pub workspace: WorkspaceId,
    pub partner: PartnerId,
    pub connection: ConnectionId,
    pub partner_key: PlainKey,
    pub workspace_key: PlainKey,
    pub access_token: PlainKey,
}

impl Host {
    pub async fn workspace(&self, slug: &str) -> Seeded {
        self.workspace_with(slug, |_| {}).await
    }

    /// A workspace whose plan is changed before it is applied.
    pub async fn workspace_with(&self, slug: &str, change: impl FnOnce(&mut Plan)) -> Seeded {
        let mut plan = plan(slug);
        change(&mut plan);
        let now = self.app.core.clock.now();
        let applied = self.store().apply(&plan, now, false).await.expect("a plan");
        let workspace = applied.workspace_id;
        let partner = applied.partners["acme"];
        let key = async |kind, partner| self.key(kind, Some(workspace), partner).await.0;
        Seeded {
            workspace,
            partner,
            connection: applied.connections["forms"].clone(),
            partner_key: key(KeyKind::Partner, Some(partner)).await,
            workspace_key: key(KeyKind::Workspace, None).await,
            access_token: key(KeyKind::AccessToken, Some(partner)).await,
        }
    }

    /// Creates a key of this kind. An admin key has the role `admin`.
    pub async fn key(
        &self,
        kind: KeyKind,
        workspace: Option<WorkspaceId>,
        partner: Option<PartnerId>,
    ) -> (PlainKey, KeyId) {
        let (key, made) = self::key(kind, self.app.core.clock.now());
        let record = KeyRecord {
            workspace,
            partner,
            ..made
        };
        let store = self.store();
        store
            .create_key(&record, &key.digest())
            .await
            .expect("a key");
        (key, record.id)
    }

    pub async fn admin_key(&self) -> PlainKey {
        self.key(KeyKind::Admin, None, None).await.0
    }

    /// Stores a delivery with one lead, as the pipeline would. Returns its deal.
    pub async fn lead(&self, seeded: &Seeded, name: &str, phone: &str, email: &str) -> DealId {
        self.leads(seeded, &[(name, phone, email)]).await[0]
    }

    /// Stores a delivery with a lead for each name, phone and e-mail. Returns
    /// their deals.
    pub async fn leads(&self, seeded: &Seeded, people: &[(&str, &str, &str)]) -> Vec<DealId> {
        self.leads_with(seeded, people, |_| {}).await
    }

    /// The same, with a change to the leads before they are stored.
    pub async fn leads_with(
        &self,
        seeded: &Seeded,
        people: &[(&str, &str, &str)],
        change: impl Fn(&mut NewLead),
    ) -> Vec<DealId> {
        let now = self.app.core.clock.now();
        let items = people
            .iter()
            .zip(0..)
            .map(|(person, index)| {
                let mut lead = lead(seeded, person);
                change(&mut lead);
                let result = ItemResult::Lead(Box::new(lead));
                NewItem { index, result }
            })
            .collect();
        let write = Write::Accept(Box::new(Acceptance {
            keys: Vec::new(),
            delivery: NewDelivery {
                id: DeliveryId::new(now),
                workspace: seeded.workspace,
                connection: seeded.connection.clone(),
                received_at: now,
                method: "POST".to_owned(),
                path: format!("/ingest-lead/{}", seeded.connection),
                query: Vec::new(),
                headers: Vec::new(),
                body: b"{}".to_vec().into(),
            },
            peer: None,
            result: ConversionResult {
                status: None,
                items,
                ran: None,
                error: None,
                notes: Vec::new(),
                attempts: 0,
                next_attempt_at: None,
                presented: None,
            },
        }));
        let written = self.store().commit(&[write]).await.expect("a commit");
        let [WriteOutcome::Done(outcome)] = written.as_slice() else {
            panic!("the delivery is new: {written:?}");
        };
        assert_eq!(outcome.status, DeliveryStatus::Converted);
        outcome
            .items
            .iter()
            .map(|item| item.deal_id.expect("a deal"))
            .collect()
    }
}

fn lead(seeded: &Seeded, (name, phone, email): &(&str, &str, &str)) -> NewLead {
    let phones: Vec<_> = [phone]
        .into_iter()
        .filter(|phone| !phone.is_empty())
        .map(|phone| phone::normalise(phone, "BR"))
        .collect();
    let emails: Vec<_> = contact::email(email).into_iter().collect();
    let external_id = format!("lead-{name}");
    let numbers: Vec<_> = phones.iter().map(Phone::best).collect();
    // As the service keeps them: what the lead says of the person.
    let said = json!({"name": name, "phones": numbers, "emails": emails});
    NewLead {
        connection: seeded.connection.clone(),
        agent: None,
        dedupe: Some(DedupeKey {
            key: format!("id:{external_id}"),
            window: None,
        }),
        action: Action::Create,
        external_id: Some(external_id),
        name: Some((*name).to_owned()),
        contact_keys: contact::keys(&phones, &emails),
        phones,
        emails,
        products: Vec::new(),
        title: Some(format!("{name} asks")),
        deal_props: [(contact::SAID.to_owned(), said)].into_iter().collect(),
        left_out: Vec::new(),
        as_text: Vec::new(),
        contact_props: Map::new(),
        greeting: None,
    }
}

/// An id that a workspace has in each plan of a test, as secrets are sealed for it.
fn workspace_id(slug: &str) -> WorkspaceId {
    let mut bytes = [0; 16];
    for (at, byte) in slug.bytes().enumerate() {
        bytes[at % 16] ^= byte;
    }
    WorkspaceId(Uuid::from_bytes(bytes))
}

/// A plan with a partner, an agent and a connection.
pub fn plan(slug: &str) -> Plan {
    Plan {
        workspace: workspace_id(slug),
        is_part: false,
        slug: slug.to_owned(),
        name: format!("Workspace {slug}"),
        region: "BR".to_owned(),
        time_zone: "America/Sao_Paulo".to_owned(),
        // Tests poll until something has happened, while the clock stands.
        rate_limit: 1_000_000,
        partners: vec!["acme".to_owned()],
        agents: vec![agent("desk")],
        owners: Vec::new(),
        connections: vec![PlannedConnection {
            agent: Some("desk".to_owned()),
            ..connection("forms", "acme", "forms")
        }],
        products: Vec::new(),
    }
}

pub fn agent(name: &str) -> PlannedAgent {
    PlannedAgent {
        name: name.to_owned(),
        number: None,
        kind: AgentKind::Ai,
        channel: None,
        adapter: None,
        internal: false,
    }
}

pub fn connection(name: &str, partner: &str, plugin: &str) -> PlannedConnection {
    PlannedConnection {
        kind: ConnectionKind::Source,
        name: name.to_owned(),
        partner: Some(partner.to_owned()),
        plugin: plugin.to_owned(),
        config: "{}".to_owned(),
        agent: None,
        allow: Vec::new(),
        checks: Vec::new(),
        routes: BTreeMap::new(),
        secrets: Vec::new(),
        secrets_at: BTreeMap::new(),
        sealed: Vec::new(),
        fingerprint: "1".to_owned(),
        based_on: None,
        region: None,
        time_zone: None,
        dedupe_by_content: true,
        settings: ConnectionSettings::default(),
    }
}

pub fn product(external_id: &str, name: &str) -> PlannedProduct {
    PlannedProduct {
        external_id: external_id.to_owned(),
        name: name.to_owned(),
        description: None,
    }
}

/// A key that is made now, and its record.
pub fn key(kind: KeyKind, now: Micros) -> (PlainKey, KeyRecord) {
    let key = PlainKey::generate(kind);
    let record = KeyRecord {
        id: KeyId::new(now),
        kind,
        workspace: None,
        partner: None,
        role: (kind == KeyKind::Admin).then_some(Role::Admin),
        label: "test".to_owned(),
        hint: key.hint(),
        created_at: now,
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    };
    (key, record)
}
