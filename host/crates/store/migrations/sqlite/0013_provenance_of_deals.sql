-- How old the values are that sources gave a deal and its person. Deals that were made before have the
-- time that their property `occurredAt` says, and no time of arrival.
alter table deals add column provenance text not null default '{}';
