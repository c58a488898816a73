//! The flaws of a delivery under one version: it fails, is refused, brings no lead, or brings a lead
//! that lacks a field.

use super::outcome::VersionOutcome;
use leadhost_domain::difference::ItemKind;
use leadhost_domain::word::words;

words! {
    /// A flaw of a delivery's result.
    Flaw: "the flaw" {
        Failed = "failed",
        Refused = "refused",
        NoLead = "noLead",
        NoName = "noName",
        NoPhone = "noPhone",
        NoEmail = "noEmail",
        NoExternalId = "noExternalId",
        NoListing = "noListing",
    }
}

impl Flaw {
    /// Returns what so many deliveries are or do, in words that follow their number.
    pub fn describe_deliveries(self) -> &'static str {
        match self {
            Self::Failed => "deliveries fail",
            Self::Refused => "deliveries are refused",
            Self::NoLead => "deliveries bring no lead",
            Self::NoName => "deliveries have a lead without a name",
            Self::NoPhone => "deliveries have a lead without a phone",
            Self::NoEmail => "deliveries have a lead without an e-mail address",
            Self::NoExternalId => "deliveries have a lead without an external id",
            Self::NoListing => "deliveries have a lead without a listing",
        }
    }
}

/// The flaws of one delivery, by the places of [`Flaw::ALL`]. `None`: it cannot have this flaw, such as
/// a lead without a phone if there is no lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flaws([Option<bool>; Flaw::ALL.len()]);

impl Flaws {
    /// Returns those of a delivery on which the version fails.
    pub fn failed() -> Self {
        let mut flaws = Self::default();
        flaws.set(Flaw::Failed, true);
        flaws
    }

    /// Returns those of a delivery that the version refuses.
    pub fn refused() -> Self {
        let mut flaws = Self::default();
        flaws.set(Flaw::Failed, false);
        flaws.set(Flaw::Refused, true);
        flaws
    }

    /// Returns those of a delivery that was converted. `leads` says of each lead whether it has a name, a
    /// phone, an e-mail address, an external id and a listing.
    pub fn converted(leads: impl IntoIterator<Item = [bool; 5]>) -> Self {
        let mut flaws = Self::default();
        flaws.set(Flaw::Failed, false);
        flaws.set(Flaw::Refused, false);
        flaws.set(Flaw::NoLead, true);
        for has in leads {
            flaws.set(Flaw::NoLead, false);
            let fields = [
                Flaw::NoName,
                Flaw::NoPhone,
                Flaw::NoEmail,
                Flaw::NoExternalId,
                Flaw::NoListing,
            ];
            for (flaw, has) in fields.into_iter().zip(has) {
                let lacked = flaws.has(flaw) == Some(true);
                flaws.set(flaw, lacked || !has);
            }
        }
        flaws
    }

    /// Returns them by the places of [`Flaw::ALL`].
    pub fn all(&self) -> [Option<bool>; Flaw::ALL.len()] {
        self.0
    }

    fn has(&self, flaw: Flaw) -> Option<bool> {
        self.0[flaw as usize]
    }

    fn set(&mut self, flaw: Flaw, has: bool) {
        self.0[flaw as usize] = Some(has);
    }
}

impl From<&VersionOutcome> for Flaws {
    fn from(outcome: &VersionOutcome) -> Self {
        let items = match outcome {
            VersionOutcome::Failed(_) => return Self::failed(),
            VersionOutcome::Refused(_) => return Self::refused(),
            VersionOutcome::Converted(items) => items,
        };
        // Its leads are not known.
        if items.iter().any(|item| item.kind == ItemKind::Fetch) {
            return Self::default();
        }
        let leads = items.iter().filter(|item| item.kind == ItemKind::Lead);
        Self::converted(leads.map(|lead| {
            ["name", "phone", "email", "externalId", "listing"]
                .map(|field| lead.fields.contains_key(field))
        }))
    }
}
