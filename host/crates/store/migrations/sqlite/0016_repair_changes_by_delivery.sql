-- An erasure finds what the receipt of a repair has of the other contacts of a lead.
create index repair_changes_by_delivery on repair_changes (delivery_id);
