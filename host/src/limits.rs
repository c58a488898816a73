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

/// Attempts of one fetch before it is given up: once an hour, the longest backoff,
/// for longer than the 90 days that Meta keeps a lead. The days are what ends it.
pub const FETCH_ATTEMPTS: u32 = 2_400;

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

/// Connections of the admin surface, beside those of the others.
pub const ADMIN_CONNECTIONS: usize = 64;

/// Bytes of a request's target: longer ones are answered 414.
pub const URI_BYTES: usize = 8 << 10;

/// Bytes of a request's headers, names and values: more are answered 431.
pub const HEADER_BYTES: usize = 32 << 10;

/// Bytes that a connection buffers: a whole head fits, and not much more.
pub const CONNECTION_BUFFER_BYTES: usize = 64 << 10;

/// Bytes of a caller's own request id.
pub const REQUEST_ID_BYTES: usize = 128;

/// Seconds that a connection may be open without a request under way.
pub const IDLE_SECONDS: u64 = 60;

/// Seconds that a client may take nothing of an answer.
pub const STALL_SECONDS: u64 = 60;

/// Bytes and seconds of a refused body that are read and dropped, so that a
/// client that is still sending gets to read the refusal.
pub const DRAINED_BYTES: usize = 16 << 20;
pub const DRAINED_SECONDS: u64 = 2;

/// Bytes above which an answer is compressed: below, headers weigh as much.
pub const COMPRESS_FROM_BYTES: u64 = 1 << 10;

/// Bytes that are compressed on the spot, about half a millisecond; more go to a thread of their own.
pub const COMPRESS_INLINE_BYTES: usize = 32 << 10;

/// Microseconds that what the store said of a key is believed, good or bad.
pub const KEY_BELIEVED_MICROS: i64 = 1_000_000;

/// Keys believed at once; one more forgets them all, which costs a read each.
pub const KEYS_BELIEVED: usize = 16_384;

/// Seconds between notes in the store of when keys were last used.
pub const KEY_USE_SECONDS: u64 = 15;

/// Seconds that readiness waits for the store.
pub const READY_SECONDS: u64 = 2;

/// Bytes of a guest's stack: recursion past it traps, long before the host's own stack ends.
pub const PLUGIN_STACK_BYTES: usize = 512 << 10;

/// Core instances of one plugin: an interpreter with its adapters has about ten.
pub const PLUGIN_CORE_INSTANCES: u32 = 20;

/// Linear memories of one plugin: one is usual, adapters may bring a second.
pub const PLUGIN_MEMORIES: u32 = 4;

/// Tables of one plugin.
pub const PLUGIN_TABLES: u32 = 20;

/// Elements of one table: interpreters have some ten thousand functions.
pub const PLUGIN_TABLE_ELEMENTS: usize = 100_000;

/// Failing golden cases that a refusal tells; the first ones say what is wrong.
pub const GOLDEN_FAILURES_TOLD: usize = 3;

/// Characters of what a refusal tells of one failing golden case: a line of a
/// log, with some differences in it.
pub const GOLDEN_FAILURE_CHARACTERS: usize = 400;

/// Bytes of what a plugin writes to standard output and error in one call.
pub const PLUGIN_LOG_BYTES: usize = 16 << 10;

/// Notes of one conversion, and bytes of each: they are for people.
pub const NOTES_PER_DELIVERY: usize = 100;
pub const NOTE_BYTES: usize = 1 << 10;

/// Bytes of randomness that a guest may ask for at once.
pub const PLUGIN_RANDOM_BYTES: u64 = 1 << 20;

/// Handles (streams, pollables) that a guest may hold.
pub const PLUGIN_HANDLES: usize = 1_000;

/// Bytes of a compiler's complaint that are kept.
pub const COMPILER_MESSAGE_BYTES: usize = 4 << 10;

/// Bytes of a file in the inbox: larger ones are not even read.
pub const INBOX_FILE_BYTES: u64 = 256 << 20;

/// Bytes of deliveries in one commit: a batch is held in memory once more as parameters.
pub const BYTES_PER_COMMIT: usize = 32 << 20;

/// Background writes in one commit, behind the interactive ones: they settle what
/// nobody waits for, and must not make a request wait.
pub const BACKGROUND_WRITES_PER_COMMIT: usize = 64;

/// Deliveries of one connection kept in quarantine: past it the newest is not kept.
pub const QUARANTINED_PER_CONNECTION: u64 = 1_000;

/// Bytes of one connection's deliveries kept in quarantine.
pub const QUARANTINED_BYTES_PER_CONNECTION: u64 = 64 << 20;

/// Connections that read from the store at once: more would only share the same cores.
pub const STORE_READERS: u32 = 8;

/// Milliseconds between two checkpoints of the store's log.
pub const CHECKPOINT_EVERY_MS: u64 = 500;

/// Bytes of the store's log past which the writer waits for it to be emptied.
pub const LOG_BYTES: u64 = 256 << 20;

/// Refused plugin files that are remembered.
pub const REFUSALS: u32 = 100;

/// Bytes of a JSON body on the admin surface: a workspace file with some ten thousand products.
pub const ADMIN_BODY_BYTES: usize = 4 << 20;

/// Deliveries of one page for operators.
pub const DELIVERIES_PER_PAGE: u32 = 500;

/// Bytes that the data folder's disk must have free for the host to call itself
/// ready: a commit of the largest deliveries and the log around it.
pub const DISK_RESERVE_BYTES: u64 = 8 << 20;

/// Seconds that one verb of a store on a network may take: past it the caller hears 503.
pub const STORE_SECONDS: u64 = 8;

/// Workspaces that one statement looks at when it asks about all of them: the
/// database reads the list of those that may be seen again for each.
pub const WORKSPACES_AT_ONCE: usize = 64;

/// Seconds that a request waits for a connection to the database.
pub const STORE_ACQUIRE_SECONDS: u64 = 3;

/// Seconds that the start waits for the database server's first answer.
pub const STORE_OPEN_SECONDS: u64 = 10;

/// Seconds without a sign of life after which a host counts as dead.
pub const HOST_DEAD_SECONDS: i64 = 10;

/// Seconds between two signs of life: several may get lost. Also how long a lost
/// announcement stays unnoticed.
pub const HOST_BEAT_SECONDS: u64 = 2;

/// Seconds after its last sign of life from which a host begins nothing, until it
/// has seen what serves by now: less than after which the others go on without it.
pub const HOST_STALE_SECONDS: u64 = 9;

/// Seconds that the row of a dead host is shown.
pub const HOST_KEPT_SECONDS: i64 = 3_600;

/// Seconds that an activation waits for the hosts to swap, after all of them
/// prepared: past it the answer names those that have not.
pub const CONVERGE_SECONDS: u64 = 15;

/// Seconds that a periodic job is held; the next host takes over after that.
pub const JOB_SECONDS: u32 = 15;

/// Verbs under way on a database at once for each connection to it, those that
/// wait for one included: past it requests hear 503 at once, and those that wait
/// are served within a fraction of a second.
pub const STORE_ASKED_PER_CONNECTION: usize = 32;

/// Connections that only commit leads, out of all: readers never keep a lead waiting.
pub const STORE_WRITERS: u32 = 2;

/// Milliseconds between two looks at a database.
pub const STORE_LOOK_MS: u64 = 1_000;

/// Milliseconds in which a database has to answer a look, and then a new connection
/// (some six ways there and back), before it counts as lost: one that is far away
/// or only busy takes some.
pub const STORE_ANSWER_MS: u64 = 3_000;

/// Milliseconds between two attempts to reach a database that is lost.
pub const STORE_AGAIN_MS: u64 = 250;

/// Announcements that a host may be behind: past it everything counts as announced.
pub const ANNOUNCEMENTS_WAITING: usize = 64;

/// Workspaces that a host knows to be refused for now.
pub const RATES_REFUSED: usize = 16_384;

/// Runs of one batch that loses against other hosts' batches: past it the batch
/// is split, and its parts come alone.
pub const COMMIT_ATTEMPTS: u32 = 6;

/// Milliseconds of the pause after a lost run, doubled each time, of which chance takes a part.
pub const COMMIT_PAUSE_MS: u64 = 2;

/// Seconds that the answer to a commit may take before its outcome is found out another way.
pub const COMMIT_SECONDS: u64 = 5;

/// Seconds that finding out the outcome of a commit may take; with the others
/// before it less than a request waits for its answer.
pub const OUTCOME_SECONDS: u64 = 8;

/// Milliseconds between two looks at whether a lost commit is decided.
pub const OUTCOME_PAUSE_MS: u64 = 50;

/// Seconds after which it is worth asking again whether a host is ready.
pub const READY_AGAIN_SECONDS: u64 = 2;

/// Seconds without writes after a fail-over or a restore: more than the clocks of
/// two servers may differ.
pub const FENCE_SECONDS: u64 = 5;

/// Seconds that the first write waits at most for a clock that is behind the
/// stamps that were handed out.
pub const FENCE_LONGEST_SECONDS: u64 = 60;

/// Seconds between two notes of how far the store is.
pub const SEEN_EVERY_SECONDS: u64 = 10;

/// Rows of one transaction of a move, and bytes of what is long in them: what is
/// held in memory twice, and copied again when the move is cut off.
pub const MOVED_ROWS: u32 = 1_000;
pub const MOVED_BYTES: u64 = 8 << 20;

/// Connections that wait to be accepted, as far as the kernel's own bound lets them.
pub const ACCEPT_QUEUE: u32 = 4_096;
