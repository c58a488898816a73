-- Which server the store was on when it was last written: a store that finds
-- itself on another one was restored, or follows a fail-over.
alter table store add column server text;
