//! The contracts that this host supports, for converters and for adapters. Generated
//! binding types stop here; everything above uses the domain's own types.
//!
//! To add a version, add its WIT beside the others, a folder here whose types implement
//! [`Converter`](guest::Converter) or [`Adapter`](guest::Adapter), and its offers in
//! [`OFFERED`]. A minor release never removes a version that plugins in the field use.

mod golden;
pub mod guest;
mod texts;
mod v1;

use self::guest::Offer;

/// The contracts, with the newer version of a kind before the older one.
pub const OFFERED: &[Offer] = &[v1::CONVERTER, v1::ADAPTER];
