-- What the notifications of each partner said of the person, by the partner's id. Conversations that
-- began before have none: only their deals say whose they are.
alter table conversations add column said text not null default '{}';
