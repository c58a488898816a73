//! The types that a column can have: the field of a record decides how its column is read, and how it
//! becomes a parameter.

use std::borrow::Cow;
use std::net::IpAddr;

use super::value::{Json, Typed};
use crate::decide::SendState;
use crate::decide::rollup::BuildState;
use crate::prelude::*;
use crate::row::{ColumnRef, RowColumns as _, unread};
use crate::{ChangedBy, Erased, FieldChange, HostReport, RemainingData, StoredAnswer};
use leadhost_domain::analytics::{MeasureBits, MetricSet, TimeSlot};
use leadhost_domain::audit::ActOutcome;
use leadhost_domain::channel::Template;
use leadhost_domain::connection::{
    AllowedHost, ConnectionKind, ConnectionSettings, EndedChange, LeadFields, SourceChange,
};
use leadhost_domain::contact::FoundBy;
use leadhost_domain::deal::{DealStage, DealStatus};
use leadhost_domain::delivery::DeliveryBody;
use leadhost_domain::exchange::{HttpRequest, Pairs, SenderCheck, SenderChecks};
use leadhost_domain::key::{KeyKind, Role};
use leadhost_domain::message::{Actor, MessageProgress, Metadata};
use leadhost_domain::plugin::Description;
use leadhost_domain::provenance::Provenance;
use leadhost_domain::publisher::Publisher;
use leadhost_domain::repair::{RepairCounts, RepairPlan, RepairState, RepairUndone, RepairedKind};
use leadhost_domain::rollout::{RolloutPlan, RolloutStage};
use leadhost_domain::ticket::TicketStatus;
use leadhost_domain::workspace::AgentKind;

/// A type that a column can have.
pub trait Stored: Sized {
    const KIND: SqlType;
    const IS_NULLABLE: bool = false;

    /// Reads a column. Null is `None`.
    fn read_if(row: &SqlRow<'_>, column: ColumnRef) -> Result<Option<Self>, StoreError>;

    fn read(row: &SqlRow<'_>, column: ColumnRef) -> Result<Self, StoreError> {
        Self::read_if(row, column)?.ok_or_else(|| unread(column, "null"))
    }

    /// Returns the parameter, which borrows a text or bytes.
    fn value(&self) -> Result<SqlValue<'_>, StoreError>;
}

impl<T: Stored> Stored for Option<T> {
    const KIND: SqlType = T::KIND;
    const IS_NULLABLE: bool = true;

    fn read_if(row: &SqlRow<'_>, column: ColumnRef) -> Result<Option<Self>, StoreError> {
        T::read_if(row, column).map(Some)
    }

    fn read(row: &SqlRow<'_>, column: ColumnRef) -> Result<Self, StoreError> {
        T::read_if(row, column)
    }

    fn value(&self) -> Result<SqlValue<'_>, StoreError> {
        self.as_ref().map_or(Ok(SqlValue::Null(T::KIND)), T::value)
    }
}

/// Implements `Stored` for types: how `$row` is read at `$column`, and the parameter of `$value`.
macro_rules! stored {
    (
        $kind:ident: $($of:ty),+;
        |$row:ident, $column:ident| $read:expr;
        |$value:ident| $write:expr
    ) => {
        $(impl Stored for $of {
            const KIND: SqlType = SqlType::$kind;

            fn read_if(
                $row: &SqlRow<'_>,
                $column: ColumnRef,
            ) -> Result<Option<Self>, StoreError> {
                $read
            }

            fn value(&self) -> Result<SqlValue<'_>, StoreError> {
                let $value = self;
                Ok($write)
            }
        })+
    };
}

/// Types that are written as they are, for which a null has a kind too.
macro_rules! copied {
    ($($kind:ident ($($of:ty),+ $(,)?) |$row:ident, $column:ident| $read:expr, |$value:ident| $write:expr;)+) => {
        $(
            $(impl Typed for $of {
                const KIND: SqlType = SqlType::$kind;
            }

            impl From<$of> for SqlValue<'_> {
                fn from($value: $of) -> Self {
                    SqlValue::$kind($write)
                }
            }

            impl From<&$of> for SqlValue<'_> {
                fn from(value: &$of) -> Self {
                    Self::from(*value)
                }
            })+
            stored! {
                $kind: $($of),+;
                |$row, $column| $read;
                |value| SqlValue::from(*value)
            }
        )+
    };
}

copied! {
    Uuid (
        WorkspaceId, PartnerId, ContactId, DealId, DealLogId, DeliveryId, ErasureId, HostId, KeyId,
        MessageErrorId, MessageId, OwnerId, ProductId, RepairId, TicketId, ConversationId,
    ) |row, column| Ok(row.uuid_if(column)?.map(Self::from)), |id| id.into();
    Uuid (Uuid) |row, column| row.uuid_if(column), |id| id;
    Number (i64) |row, column| row.number_if(column), |number| number;
    Number (i32, u32, u16, u8) |row, column| number(row, column), |number| number.into();
    Number (AgentId) |row, column| Ok(row.number_if(column)?.map(AgentId)), |agent| agent.0;
    Truth (bool) |row, column| row.truth_if(column), |truth| truth;
    Time (Micros) |row, column| row.micros_if(column), |time| time;
}

/// Reads a number into a type that it must fit.
fn number<T: TryFrom<i64>>(row: &SqlRow<'_>, column: ColumnRef) -> Result<Option<T>, StoreError> {
    row.number_if(column)?
        .map(|number| T::try_from(number).map_err(|_| unread(column, number)))
        .transpose()
}

// The greatest number of the database stands for those that are greater.
stored! {
    Number: u64, usize;
    |row, column| number(row, column);
    |value| SqlValue::Number(i64::try_from(*value).unwrap_or(i64::MAX))
}

stored! {
    Text: String;
    |row, column| Ok(row.str_if(column)?.map(str::to_owned));
    |value| value.into()
}

stored! {
    Text: Digest;
    |row, column| Ok(row.str_if(column)?.map(|text| Digest(text.to_owned())));
    |value| value.into()
}

stored! {
    Text: Publisher;
    |row, column| parsed(row, column, Self::parse);
    |value| value.text().into()
}

stored! {
    Text: ConnectionId;
    |row, column| parsed(row, column, |text| text.parse().ok());
    |value| value.into()
}

stored! {
    Text: IpAddr;
    |row, column| parsed(row, column, |text| text.parse().ok());
    |value| (*value).into()
}

/// Reads a text that `of` parses, for example a word of a fixed set.
fn parsed<T>(
    row: &SqlRow<'_>,
    column: ColumnRef,
    of: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    row.str_if(column)?
        .map(|text| of(text).ok_or_else(|| unread(column, text)))
        .transpose()
}

stored! {
    Text: ActOutcome, Actor, AgentKind, BuildState, ConnectionKind, DealStage, DealStatus, DeliveryStatus,
        FoundBy, ItemStatus, KeyKind, RepairedKind, RepairState, RepairUndone, Role, RolloutStage,
        SendState, TicketStatus;
    |row, column| parsed(row, column, Self::from_text);
    |value| value.as_str().into()
}

stored! {
    Number: MetricSet;
    |row, column| row
        .number_if(column)?
        .map(|code| MetricSet::coded(code).ok_or_else(|| unread(column, code)))
        .transpose();
    |value| value.code().into()
}

stored! {
    Number: TimeSlot;
    |row, column| Ok(number(row, column)?.map(TimeSlot));
    |value| value.0.into()
}

stored! {
    Number: MeasureBits;
    |row, column| Ok(number(row, column)?.map(MeasureBits));
    |value| value.0.into()
}

stored! {
    Bytes: Vec<u8>;
    |row, column| row.bytes_if(column);
    |value| value.into()
}

stored! {
    Bytes: DeliveryBody;
    |row, column| Ok(row.bytes_if(column)?.map(Self::from));
    |value| SqlValue::Bytes(Cow::Borrowed(value))
}

// JSON whose text is kept as it is.
stored! {
    Json: Json;
    |row, column| Ok(row.str_if(column)?.map(|text| Json(text.to_owned())));
    |value| SqlValue::Json(Cow::Borrowed(&value.0))
}

stored! {
    Json: (u16, Pairs), BTreeMap<String, Micros>, BTreeMap<String, Vec<String>>, ChangedBy, ConnectionSettings, Description, Erased, HostReport,
        HttpRequest, LeadFields, Map<String, Value>, MessageProgress, Metadata, Pairs, Provenance, RanWith,
        RemainingData, RepairCounts, RepairPlan, RolloutPlan, SenderChecks, SourceChange, StoredAnswer, Value,
        Vec<AgentId>, Vec<AllowedHost>, Vec<EndedChange>, Vec<FieldChange>, Vec<SenderCheck>, Vec<String>, Vec<Template>;
    |row, column| row.json_if(column);
    |value| SqlValue::Json(Cow::Owned(crate::row::json(value)?))
}
