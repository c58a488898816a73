//! The bounds of sketches.

/// The deliveries of the baseline that precede the first report of a difference.
pub const BASELINE: u32 = 200;

/// Deliveries past which the counts of the baseline are halved, so that it follows slow changes.
pub const BASELINE_MOST: u32 = 2_000;

/// Deliveries of half a window. A window is looked at when a half is full.
pub const HALF: u32 = 25;

/// The percentage of deliveries from which a path is usual.
pub const USUAL: u64 = 90;

/// The percentage of deliveries below which a path may well be in none of half a window by chance.
pub const BY_CHANCE: u64 = 20;

/// The deliveries of the baseline from which a path that was not usual can be missed.
pub const SEEN: u32 = 5;

/// The percentage points by which the share of a field has to fall.
pub const FALL: u64 = 30;

/// The percentage points below the former share at which a field that fell counts as back. They are
/// fewer than the points of a fall, so that a share between the two bounds neither begins nor ends a
/// change.
pub const BACK: u64 = FALL / 2;

/// The percentage of deliveries that ends the change of a path: a lost one is in as many again, a new one
/// in fewer. It is far from that of a change, none or `USUAL`.
pub const PATH_BACK: u64 = 50;

/// Deliveries in a new form after which it is the usual one.
pub const ADOPTED: u32 = 1_000;

/// Differences that a change names.
pub const REPORTED: usize = 6;

/// Differences that are remembered, so that each is reported once.
pub const REMEMBERED: usize = 50;
