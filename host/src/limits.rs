//! Every bound of the service, with its unit and its reason. What an operator
//! may change is in the configuration, with these as defaults.

/// Bytes of a gateway body: far above the largest notification of the interface.
pub const BODY_BYTES: usize = 1 << 20;

/// Bytes of a delivery: providers batch up to a thousand updates, documented as up to 3 MB.
pub const DELIVERY_BYTES: usize = 4 << 20;

/// Bytes of request bodies held at once: past it the sender hears 503 and comes again.
pub const BODY_BYTES_IN_FLIGHT: usize = 256 << 20;

/// Nesting of JSON: nothing real is deeper, and readers recurse.
pub const JSON_DEPTH: usize = 64;

/// Bytes of a fetch's answer that are kept and handed to the plugin.
pub const FETCH_ANSWER_BYTES: usize = 4 << 20;

/// Bytes of the state that a plugin may attach to a fetch.
pub const FETCH_STATE_BYTES: usize = 64 << 10;

/// Fetches that one item may chain.
pub const FETCH_HOPS: u32 = 4;

/// Items of one delivery: Meta batches a thousand; ten times that is an accident.
pub const ITEMS_PER_DELIVERY: usize = 10_000;

/// Writes in one commit: enough to share an fsync, few enough to keep the lock short.
pub const WRITES_PER_COMMIT: usize = 512;

/// Writes waiting for the writer: past it requests hear 503.
pub const WRITES_WAITING: usize = 8_192;

/// Failures of one delivery on one digest before it is parked.
pub const ATTEMPTS_PER_DIGEST: u32 = 3;

/// Rows of one export page.
pub const EXPORT_PAGE_MAX: u32 = 1_000;
pub const EXPORT_PAGE_DEFAULT: u32 = 100;

/// Deals of one lookup.
pub const DEALS_PER_LOOKUP: u32 = 100;
