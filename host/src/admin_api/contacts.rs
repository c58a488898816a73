//! Contacts: erasure.
