-- Ids are the 16 bytes of a uuid (a connection's is text), times are microseconds since the
-- epoch, as are the stamps of a feed, JSON is text, truth is 0 or 1. Columns have the names
-- that they have in PostgreSQL.
--
-- The key of each tenant's table begins with workspace_id. The tables on a lead's way carry no
-- foreign keys: the batch that writes them has just read or made the rows they name, and each
-- check would be a lookup for every lead. Rows that are small and looked up by their key
-- lie in its order (`without rowid`), so that a new row touches one tree less.

create table store (
  one integer primary key check (one = 1),
  id blob not null,
  last_lease integer not null default 0,
  -- Agents are numbered without gaps.
  last_agent integer not null default 0
) strict;

-- declarations

create table workspaces (
  id blob primary key,
  slug text not null unique,
  name text not null,
  region text not null,
  time_zone text not null,
  rate_limit integer not null,
  created_at integer not null
) strict, without rowid;

create table partners (
  workspace_id blob not null references workspaces (id),
  id blob primary key,
  name text not null,
  created_at integer not null,
  unique (workspace_id, name)
) strict, without rowid;

create table agents (
  workspace_id blob not null references workspaces (id),
  id integer primary key,
  name text not null,
  number text,
  kind text not null,
  channel text,
  adapter text,
  internal integer not null,
  unique (workspace_id, name)
) strict;

create table owners (
  workspace_id blob not null references workspaces (id),
  id blob primary key,
  name text not null,
  email text not null,
  unique (workspace_id, email)
) strict, without rowid;

create table products (
  workspace_id blob not null references workspaces (id),
  id blob primary key,
  external_id text not null,
  name text not null,
  description text,
  cursor_us integer not null,
  created_at integer not null,
  updated_at integer not null,
  -- the import that named it last
  import_at integer,
  unique (workspace_id, external_id)
) strict, without rowid;

create unique index products_feed on products (workspace_id, cursor_us);

create table connections (
  workspace_id blob not null references workspaces (id),
  id text primary key,
  -- `source`, or `channel`
  kind text not null,
  partner_id blob references partners (id),
  name text not null,
  plugin text not null,
  config text not null,
  config_version integer not null,
  agent_id integer references agents (id),
  allow text not null,
  checks text not null,
  routes text not null,
  secrets text not null,
  sealed blob not null,
  fingerprint text not null,
  region text not null,
  time_zone text not null,
  dedupe_by_content integer not null,
  settings text not null,
  paused_at integer,
  paused_reason text,
  unique (workspace_id, kind, name)
) strict;

create table keys (
  id blob primary key,
  digest blob not null unique,
  kind text not null,
  workspace_id blob references workspaces (id),
  partner_id blob references partners (id),
  role text,
  label text not null,
  hint text not null,
  created_at integer not null,
  expires_at integer,
  revoked_at integer,
  last_used_at integer
) strict, without rowid;

-- plugins

create table plugins (
  digest text primary key,
  description text not null,
  contract text not null,
  bytes integer not null,
  checks text not null,
  golden integer not null,
  origin text not null,
  publisher text,
  stored_at integer not null,
  -- Last, so that no other column is read past it.
  wasm blob not null
) strict;

create table activations (
  name text primary key,
  digest text not null references plugins (digest),
  previous text references plugins (digest),
  generation integer not null,
  activated_at integer not null
) strict;

create table refusals (
  number integer primary key autoincrement,
  origin text not null,
  digest text,
  reason text not null,
  at integer not null
) strict;

-- Acts of operators, never changed or removed. Each row has the hash of itself and of the row before it.
create table audit (
  number integer primary key,
  at integer not null,
  key_id blob,
  label text not null,
  role text,
  address text not null,
  act text not null,
  target text not null,
  outcome text not null,
  begun integer,
  detail text not null,
  hash text not null
) strict;

-- the way of a lead

create table feed_clock (
  workspace_id blob not null,
  entity integer not null,
  last_us integer not null,
  -- The greatest stamp of a tombstone that was deleted: a client whose cursor is older has to
  -- read the feed from its beginning.
  forgotten_us integer not null default 0,
  primary key (workspace_id, entity)
) strict, without rowid;

-- Unfinished work: deliveries (item -1), fetches (their item's place), and messages that are
-- not sent yet (item -2, by the message's id). The usual delivery is finished at once and
-- never has a row. Leases are only here, also that of a finished delivery which is replayed.
create table queue (
  workspace_id blob not null,
  delivery_id blob not null,
  item integer not null,
  connection_id text not null,
  -- the delivery's state, `fetch`, or `waiting`, `sending`, `unknown`
  status text not null,
  -- the plugin version that was last tried on the delivery
  digest text,
  body_bytes integer not null default 0,
  due_at integer,
  lease integer not null default 0,
  lease_until_at integer,
  -- of a send, when it is given up
  until_at integer,
  primary key (delivery_id, item)
) strict, without rowid;

create index queue_by_connection on queue (connection_id, status);
create index queue_by_status on queue (status, delivery_id);
-- Connections take turns: the worker looks for waiting work connection by connection.
create index queue_conversions on queue (connection_id, due_at)
  where item = -1 and due_at is not null;
create index queue_calls on queue (connection_id, due_at)
  where item <> -1 and due_at is not null;

create table deliveries (
  workspace_id blob not null,
  id blob not null unique,
  connection_id text not null,
  received_at integer not null,
  method text not null,
  path text not null,
  query text not null,
  headers text not null,
  body_bytes integer not null,
  status text not null,
  error text,
  notes text not null,
  ran text,
  attempts integer not null,
  next_attempt_at integer,
  presented blob,
  -- the sender of an unproven delivery, by the owner of the network
  peer text,
  -- Last, so that no other column is read past it.
  body blob not null
) strict;

create index deliveries_by_connection on deliveries (connection_id, id);
-- Finished without a lead: too few to be met soon in the order of time.
create index deliveries_without_lead on deliveries (status, id)
  where status in ('rejected', 'duplicate', 'ignored');

create table items (
  workspace_id blob not null,
  delivery_id blob not null,
  item integer not null,
  status text not null,
  external_id text,
  deal_id blob,
  contact_id blob,
  message text,
  primary key (delivery_id, item)
) strict, without rowid;

create index items_by_contact on items (contact_id) where contact_id is not null;

create table fetches (
  workspace_id blob not null,
  delivery_id blob not null,
  item integer not null,
  connection_id text not null,
  dedupe_key text,
  external_id text,
  hop integer not null,
  due_at integer not null,
  until_at integer not null,
  attempts integer not null,
  ran text not null,
  request text not null,
  state blob not null,
  response_head text,
  response_body blob,
  primary key (delivery_id, item)
) strict;

-- The answers of sources to the fetches of a delivery, kept for as long as the delivery, so
-- that a replay needs no second call. The number is the order in which they were settled.
create table answers (
  number integer primary key,
  workspace_id blob not null,
  delivery_id blob not null,
  item integer not null,
  hop integer not null,
  external_id text,
  request text not null,
  response_head text not null,
  -- Last, so that no other column is read past it.
  response_body blob not null,
  unique (delivery_id, item, hop)
) strict;

create table dedupe (
  workspace_id blob not null,
  connection_id text not null,
  key text not null,
  delivery_id blob not null,
  item integer not null,
  until_at integer,
  deal_id blob,
  contact_id blob,
  primary key (connection_id, key)
) strict, without rowid;

create index dedupe_ends on dedupe (until_at) where until_at is not null;

create table contacts (
  workspace_id blob not null,
  cursor_us integer not null,
  id blob primary key,
  name text,
  email text,
  phone_number text,
  banned_at integer,
  props text not null,
  -- Fields that a person edited: a JSON array of names, such as ["name"].
  edited text not null default '[]',
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;

-- A stamp is unique within its workspace, so the id adds nothing to the order.
create unique index contacts_feed on contacts (workspace_id, cursor_us);

create table contact_keys (
  workspace_id blob not null,
  key text not null,
  contact_id blob not null,
  primary key (workspace_id, key)
) strict, without rowid;

create index contact_keys_by_contact on contact_keys (contact_id);

-- Keys of a contact that another one has had before: a person is found by every address and
-- phone that is theirs, also one that two people share.
create table shared_keys (
  workspace_id blob not null,
  key text not null,
  contact_id blob not null,
  primary key (workspace_id, key, contact_id)
) strict, without rowid;

create index shared_keys_by_contact on shared_keys (contact_id);

create table deals (
  workspace_id blob not null,
  cursor_us integer not null,
  id blob primary key,
  person_id blob not null,
  agent_id integer,
  owner_id blob,
  status text not null,
  title text,
  props text not null,
  edited text not null default '[]',
  created_at integer not null,
  updated_at integer not null,
  stage_code text not null,
  product_id blob,
  external_id text,
  connection_id text,
  delivery_id blob,
  -- Set if a partner made the deal; the others belong to the partner of their connection.
  partner_id blob
) strict, without rowid;

create unique index deals_feed on deals (workspace_id, cursor_us);
create index deals_by_person on deals (person_id, id);
create index deals_by_external_id on deals (workspace_id, external_id)
  where external_id is not null;

-- The log of changes of a deal, with their authors; `who` and `changes` are JSON.
create table deal_history (
  number integer primary key,
  workspace_id blob not null,
  deal_id blob not null,
  at integer not null,
  who text not null,
  changes text not null
) strict;

create index deal_history_by_deal on deal_history (deal_id, number);

create table deal_logs (
  workspace_id blob not null,
  id blob primary key,
  deal_id blob not null,
  created_at integer not null,
  partner_id blob not null,
  key_id blob not null,
  kind text not null,
  subject text not null,
  description text,
  metadata text not null
) strict;

create index deal_logs_by_deal on deal_logs (deal_id, id);

-- what messaging writes

create table conversations (
  workspace_id blob not null,
  cursor_us integer not null,
  id blob primary key,
  contact_id blob not null,
  deal_id blob,
  agent_id integer,
  agent_type text,
  source text,
  channel text,
  status text not null,
  created_at integer not null,
  updated_at integer not null,
  first_message_at integer,
  answered_at integer,
  last_message_at integer,
  no_response_at integer,
  transferred_at integer,
  appointment_at integer,
  closed_at integer,
  props text not null,
  -- when the first message of the instance was stored
  messaged_at integer,
  -- transferred to people when it is not answered in time
  transfer integer not null default 1,
  -- unanswered by then it is no_response; idle until then it closes
  respond_by integer,
  close_by integer,
  -- the earlier of the two
  due_at integer generated always as (
    case when respond_by is null or close_by < respond_by then close_by else respond_by end
  ) stored
) strict;

create unique index conversations_feed on conversations (workspace_id, cursor_us);
create unique index conversations_open on conversations (contact_id, agent_id)
  where closed_at is null;
create index conversations_due on conversations (due_at) where due_at is not null;
create index conversations_by_contact on conversations (contact_id);
create index conversations_by_deal on conversations (deal_id) where deal_id is not null;

create table messages (
  workspace_id blob not null,
  cursor_us integer not null,
  id blob primary key,
  conversation_id blob not null,
  contact_id blob not null,
  agent_id integer,
  created_at integer not null,
  actor text not null,
  kind text not null,
  content text,
  metadata text not null,
  state text not null default '',
  delivered_at integer,
  read_at integer
) strict;

create unique index messages_feed on messages (workspace_id, cursor_us);
create index messages_by_conversation on messages (conversation_id, id);
create index messages_by_agent on messages (agent_id, id);

-- Messages that are not sent yet, or whose outcome is unknown. The queue has the time when
-- each is due, and its lease.
create table sends (
  workspace_id blob not null,
  message_id blob primary key,
  conversation_id blob not null,
  contact_id blob not null,
  connection_id text not null,
  recipient text not null,
  payload text not null,
  attempts integer not null,
  until_at integer not null
) strict;

-- The message of each channel's id, or the status of an id whose message is not known yet.
create table channel_refs (
  workspace_id blob not null,
  connection_id text not null,
  external_id text not null,
  message_id blob,
  progress text,
  recipient_id text,
  until_at integer,
  primary key (connection_id, external_id)
) strict, without rowid;

create index channel_refs_end on channel_refs (until_at) where until_at is not null;
create index channel_refs_strays on channel_refs (recipient_id) where recipient_id is not null;

-- Pauses of sends: to one contact, or, with the nil id, of a whole number.
create table holds (
  workspace_id blob not null,
  connection_id text not null,
  contact_id blob not null,
  until_at integer not null,
  primary key (connection_id, contact_id)
) strict, without rowid;

create index holds_end on holds (until_at);

create table message_errors (
  workspace_id blob not null,
  cursor_us integer not null,
  id blob primary key,
  conversation_id blob,
  deal_id blob,
  agent_id integer,
  message_id blob,
  external_id text,
  recipient_id text,
  code text not null,
  title text,
  description text,
  details text,
  template_name text,
  channel text,
  occurred_at integer not null
) strict;

create unique index message_errors_feed on message_errors (workspace_id, cursor_us);
create index message_errors_by_conversation on message_errors (conversation_id, cursor_us);
create index message_errors_by_deal on message_errors (deal_id, cursor_us);
-- An error about an unknown message has only its recipient: an erasure finds it by that.
create index message_errors_strays on message_errors (recipient_id)
  where message_id is null and recipient_id is not null;

-- An instance's templates, as its provider listed them.
create table template_lists (
  workspace_id blob not null,
  connection_id text primary key,
  synced_at integer not null,
  error text,
  unlisted integer not null,
  templates text not null
) strict;

create table idempotency (
  workspace_id blob not null,
  partner_id blob not null,
  route text not null,
  key text not null,
  fingerprint text not null,
  message_id blob,
  -- null while the first request is running
  answer text,
  until_at integer not null,
  primary key (partner_id, route, key)
) strict, without rowid;

create index idempotency_ends on idempotency (until_at);
create index idempotency_by_message on idempotency (message_id) where message_id is not null;

-- Conversations and deals that were handed over to people.
create table tickets (
  workspace_id blob not null,
  cursor_us integer not null,
  id blob primary key,
  conversation_id blob,
  deal_id blob,
  contact_id blob not null,
  agent_id integer,
  -- the agent that handed it over, as it was when the ticket opened
  agent_type text,
  source text,
  owner_id blob,
  -- `open`, `answered`, `resolved`
  status text not null,
  special_instructions text,
  opened_at integer not null,
  answered_at integer,
  resolved_at integer,
  updated_at integer not null
) strict;

create unique index tickets_feed on tickets (workspace_id, cursor_us);
create index tickets_newest on tickets (workspace_id, id);
create index tickets_by_status on tickets (workspace_id, status, id);
create unique index tickets_live on tickets (conversation_id)
  where resolved_at is null and conversation_id is not null;
create unique index tickets_live_of_deals on tickets (deal_id)
  where resolved_at is null and conversation_id is null;
create index tickets_by_contact on tickets (contact_id);
create index tickets_by_deal on tickets (deal_id) where deal_id is not null;

-- Tombstones of removed rows: internal readers of a feed get them, the export does not.
-- They name no person.
create table tombstones (
  workspace_id blob not null,
  entity integer not null,
  cursor_us integer not null,
  id blob not null,
  primary key (workspace_id, entity, cursor_us)
) strict, without rowid;

create index tombstones_oldest on tombstones (cursor_us);

create table erasures (
  workspace_id blob not null,
  id blob primary key,
  contact_id blob not null,
  -- `id`, `phone`, `email`: what the contact was found by, not its value
  found_by text not null,
  -- the operator's key
  key_id blob not null,
  began_at integer not null,
  -- null: it was interrupted, or goes on
  done_at integer,
  -- the number of erased rows of each kind
  erased text not null,
  -- the rows that were found and not erased
  remaining text not null
) strict;

create index erasures_newest on erasures (workspace_id, id);
create index erasures_by_contact on erasures (contact_id, id);

-- Analytics: rollups that follow the feeds of conversations and tickets.

-- The last successful run of each metric set. It belongs to no tenant.
create table rollup_runs (
  metric_set integer primary key,
  -- all rows committed before this time are counted
  as_of integer not null,
  finished_at integer not null,
  changes integer not null
) strict;

-- A whole rollup of a metric set of a workspace.
create table rollup_builds (
  workspace_id blob not null,
  metric_set integer not null,
  build integer primary key autoincrement,
  -- `making`, `serving`, `retired`
  state text not null,
  -- the feed is counted up to this stamp
  after_us integer not null,
  -- the feed's clock when the build began: rows removed by then were never counted
  began_us integer not null,
  -- grows with each change of its tables
  step integer not null,
  -- grows with each change of its counts
  version integer not null,
  -- if runs have failed for the workspace: the time its counts are as of; null: nothing was
  -- counted
  held_at integer,
  held integer not null default 0
) strict;

create unique index rollup_builds_serving on rollup_builds (workspace_id, metric_set)
  where state = 'serving';
create unique index rollup_builds_making on rollup_builds (workspace_id, metric_set)
  where state = 'making';
create index rollup_builds_of on rollup_builds (workspace_id, metric_set, build);

-- The dimensions of counts; '' and 0 stand for none.
create table rollup_keys (
  workspace_id blob not null,
  key integer primary key autoincrement,
  agent_type text not null,
  agent_id integer not null,
  source text not null,
  unique (workspace_id, agent_type, agent_id, source)
) strict;

-- The measures that were counted of a conversation or a ticket; `measured` has a bit for each.
create table rollup_facts (
  workspace_id blob not null,
  build integer not null,
  id blob not null,
  slot integer not null,
  key integer not null,
  measured integer not null,
  primary key (build, id)
) strict, without rowid;

-- The counts of a quarter of an hour, numbered from 1970-01-01.
create table rollup_slots (
  workspace_id blob not null,
  build integer not null,
  slot integer not null,
  key integer not null,
  count_1 integer not null,
  count_2 integer not null,
  count_3 integer not null,
  count_4 integer not null,
  count_5 integer not null,
  primary key (build, slot, key)
) strict, without rowid;

-- Local days of a zone, by the zone's rules of this version, from the slots before
-- `filled_slot`.
create table rollup_cubes (
  workspace_id blob not null,
  build integer not null,
  zone text not null,
  tzdata text not null,
  filled_slot integer not null,
  primary key (build, zone)
) strict, without rowid;

-- The counts of a local day, numbered from 1970-01-01: JSON, [[key, counts..]..].
create table rollup_days (
  workspace_id blob not null,
  build integer not null,
  zone text not null,
  day integer not null,
  cells text not null,
  primary key (build, zone, day)
) strict;

-- Zones that are asked for.
create table rollup_zones (
  workspace_id blob not null,
  zone text not null,
  requests integer not null,
  used_at integer not null,
  primary key (workspace_id, zone)
) strict, without rowid;

-- For people who look into the file; the service reads none of these. Ids are written as the
-- service writes them, times in UTC and to the millisecond, and workspaces, connections and
-- other small things have their names. A stamp stays the number that feeds are in order of.

create view readable_connections as
select
  c.id, w.slug as workspace, c.kind, c.name, p.name as partner, a.name as agent, c.plugin,
  c.config, c.config_version, c.region, c.time_zone,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.paused_at / 1000 / 1e3, 'unixepoch') as paused_at,
  c.paused_reason
from connections as c
left join workspaces as w on w.id = c.workspace_id
left join partners as p on p.id = c.partner_id
left join agents as a on a.id = c.agent_id;

create view readable_queue as
select
  w.slug as workspace,
  lower(hex(substr(q.delivery_id, 1, 4)) || '-' || hex(substr(q.delivery_id, 5, 2)) || '-'
    || hex(substr(q.delivery_id, 7, 2)) || '-' || hex(substr(q.delivery_id, 9, 2)) || '-'
    || hex(substr(q.delivery_id, 11))) as delivery_id,
  q.item, c.name as connection, q.status, q.digest, q.body_bytes,
  strftime('%Y-%m-%dT%H:%M:%fZ', q.due_at / 1000 / 1e3, 'unixepoch') as due_at,
  q.lease,
  strftime('%Y-%m-%dT%H:%M:%fZ', q.lease_until_at / 1000 / 1e3, 'unixepoch') as lease_until_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', q.until_at / 1000 / 1e3, 'unixepoch') as until_at
from queue as q
left join workspaces as w on w.id = q.workspace_id
left join connections as c on c.id = q.connection_id;

create view readable_deliveries as
select
  lower(hex(substr(d.id, 1, 4)) || '-' || hex(substr(d.id, 5, 2)) || '-'
    || hex(substr(d.id, 7, 2)) || '-' || hex(substr(d.id, 9, 2)) || '-'
    || hex(substr(d.id, 11))) as id,
  w.slug as workspace, c.name as connection,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.received_at / 1000 / 1e3, 'unixepoch') as received_at,
  d.method, d.path, d.query, d.headers, d.body_bytes, d.status, d.error, d.notes, d.ran,
  d.attempts,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.next_attempt_at / 1000 / 1e3, 'unixepoch') as next_attempt_at,
  d.peer, d.body
from deliveries as d
left join workspaces as w on w.id = d.workspace_id
left join connections as c on c.id = d.connection_id;

create view readable_contacts as
select
  lower(hex(substr(c.id, 1, 4)) || '-' || hex(substr(c.id, 5, 2)) || '-'
    || hex(substr(c.id, 7, 2)) || '-' || hex(substr(c.id, 9, 2)) || '-'
    || hex(substr(c.id, 11))) as id,
  w.slug as workspace, c.cursor_us, c.name, c.email, c.phone_number,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.banned_at / 1000 / 1e3, 'unixepoch') as banned_at,
  c.props, c.edited,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.created_at / 1000 / 1e3, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.updated_at / 1000 / 1e3, 'unixepoch') as updated_at
from contacts as c
left join workspaces as w on w.id = c.workspace_id;

create view readable_deals as
select
  lower(hex(substr(d.id, 1, 4)) || '-' || hex(substr(d.id, 5, 2)) || '-'
    || hex(substr(d.id, 7, 2)) || '-' || hex(substr(d.id, 9, 2)) || '-'
    || hex(substr(d.id, 11))) as id,
  w.slug as workspace, d.cursor_us,
  lower(hex(substr(d.person_id, 1, 4)) || '-' || hex(substr(d.person_id, 5, 2)) || '-'
    || hex(substr(d.person_id, 7, 2)) || '-' || hex(substr(d.person_id, 9, 2)) || '-'
    || hex(substr(d.person_id, 11))) as person_id,
  a.name as agent, o.name as owner, d.status, d.stage_code, d.title, d.props, d.edited,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.created_at / 1000 / 1e3, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.updated_at / 1000 / 1e3, 'unixepoch') as updated_at,
  nullif(lower(hex(substr(d.product_id, 1, 4)) || '-' || hex(substr(d.product_id, 5, 2)) || '-'
    || hex(substr(d.product_id, 7, 2)) || '-' || hex(substr(d.product_id, 9, 2)) || '-'
    || hex(substr(d.product_id, 11))), '----') as product_id,
  d.external_id, c.name as connection,
  nullif(lower(hex(substr(d.delivery_id, 1, 4)) || '-' || hex(substr(d.delivery_id, 5, 2)) || '-'
    || hex(substr(d.delivery_id, 7, 2)) || '-' || hex(substr(d.delivery_id, 9, 2)) || '-'
    || hex(substr(d.delivery_id, 11))), '----') as delivery_id,
  p.name as partner
from deals as d
left join workspaces as w on w.id = d.workspace_id
left join agents as a on a.id = d.agent_id
left join owners as o on o.id = d.owner_id
left join connections as c on c.id = d.connection_id
left join partners as p on p.id = d.partner_id;

create view readable_conversations as
select
  lower(hex(substr(c.id, 1, 4)) || '-' || hex(substr(c.id, 5, 2)) || '-'
    || hex(substr(c.id, 7, 2)) || '-' || hex(substr(c.id, 9, 2)) || '-'
    || hex(substr(c.id, 11))) as id,
  w.slug as workspace, c.cursor_us,
  lower(hex(substr(c.contact_id, 1, 4)) || '-' || hex(substr(c.contact_id, 5, 2)) || '-'
    || hex(substr(c.contact_id, 7, 2)) || '-' || hex(substr(c.contact_id, 9, 2)) || '-'
    || hex(substr(c.contact_id, 11))) as contact_id,
  nullif(lower(hex(substr(c.deal_id, 1, 4)) || '-' || hex(substr(c.deal_id, 5, 2)) || '-'
    || hex(substr(c.deal_id, 7, 2)) || '-' || hex(substr(c.deal_id, 9, 2)) || '-'
    || hex(substr(c.deal_id, 11))), '----') as deal_id,
  a.name as agent, c.agent_type, c.source, c.channel, c.status,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.created_at / 1000 / 1e3, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.updated_at / 1000 / 1e3, 'unixepoch') as updated_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.first_message_at / 1000 / 1e3, 'unixepoch') as first_message_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.answered_at / 1000 / 1e3, 'unixepoch') as answered_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.last_message_at / 1000 / 1e3, 'unixepoch') as last_message_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.no_response_at / 1000 / 1e3, 'unixepoch') as no_response_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.transferred_at / 1000 / 1e3, 'unixepoch') as transferred_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.appointment_at / 1000 / 1e3, 'unixepoch') as appointment_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.closed_at / 1000 / 1e3, 'unixepoch') as closed_at,
  c.props,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.messaged_at / 1000 / 1e3, 'unixepoch') as messaged_at,
  c.transfer,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.respond_by / 1000 / 1e3, 'unixepoch') as respond_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.close_by / 1000 / 1e3, 'unixepoch') as close_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.due_at / 1000 / 1e3, 'unixepoch') as due_at
from conversations as c
left join workspaces as w on w.id = c.workspace_id
left join agents as a on a.id = c.agent_id;

create view readable_messages as
select
  lower(hex(substr(m.id, 1, 4)) || '-' || hex(substr(m.id, 5, 2)) || '-'
    || hex(substr(m.id, 7, 2)) || '-' || hex(substr(m.id, 9, 2)) || '-'
    || hex(substr(m.id, 11))) as id,
  w.slug as workspace, m.cursor_us,
  lower(hex(substr(m.conversation_id, 1, 4)) || '-' || hex(substr(m.conversation_id, 5, 2)) || '-'
    || hex(substr(m.conversation_id, 7, 2)) || '-' || hex(substr(m.conversation_id, 9, 2)) || '-'
    || hex(substr(m.conversation_id, 11))) as conversation_id,
  lower(hex(substr(m.contact_id, 1, 4)) || '-' || hex(substr(m.contact_id, 5, 2)) || '-'
    || hex(substr(m.contact_id, 7, 2)) || '-' || hex(substr(m.contact_id, 9, 2)) || '-'
    || hex(substr(m.contact_id, 11))) as contact_id,
  a.name as agent,
  strftime('%Y-%m-%dT%H:%M:%fZ', m.created_at / 1000 / 1e3, 'unixepoch') as created_at,
  m.actor, m.kind, m.content, m.metadata, m.state,
  strftime('%Y-%m-%dT%H:%M:%fZ', m.delivered_at / 1000 / 1e3, 'unixepoch') as delivered_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', m.read_at / 1000 / 1e3, 'unixepoch') as read_at
from messages as m
left join workspaces as w on w.id = m.workspace_id
left join agents as a on a.id = m.agent_id;
