//! What most files of statements use.

pub use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use uuid::Uuid;

pub use crate::change::RowChange;
pub use crate::database::Database;
pub use crate::decide::{ReadSet, WorkingSet};
pub use crate::postgres::VisibleRows;
pub use crate::row::{FromRow as _, with_id};
pub(crate) use crate::row::{cells, from_row, read};
pub use crate::schema;
pub use crate::schema::table::OnConflict;
pub(crate) use crate::schema::table::reading;
pub use crate::sql::{Arg, Sql, SqlRow, Tx, json, made, sql};
pub(crate) use crate::sql::{args, statements, steps};
pub use crate::{Store, StoreError};
pub use leadhost_domain::id::{
    AgentId, ConnectionId, ContactId, ConversationId, DealId, DealLogId, DeliveryId, ErasureId,
    HostId, KeyId, MessageErrorId, MessageId, OwnerId, PartnerId, ProductId, RepairId, TicketId,
    WorkspaceId,
};
pub use leadhost_domain::limits;
pub use leadhost_domain::time::Micros;
