//! The bounds of the service, with their units and reasons; bounds of time are durations. A bound of
//! one file alone is a constant at its top. The configuration covers the bounds that an operator may
//! change, with these values as defaults.

use std::time::Duration;

/// Bytes of a gateway body: far above the largest notification of the interface.
pub const BODY_BYTES: usize = 1 << 20;

/// Bytes of a delivery: providers batch up to a thousand updates and document up to 3 MB.
pub const DELIVERY_BYTES: usize = 4 << 20;

/// Bytes of request bodies held at once, however much memory there is, unless the
/// configuration sets another value. Past it the sender gets 503 and retries.
pub const BODY_BYTES_IN_FLIGHT: usize = 256 << 20;

/// Bytes of memory for each byte of bodies that may be held at once: a delivery is in
/// memory several times while it is processed, and plugins and the store need the rest.
pub const MEMORY_PER_BODY_BYTE: u64 = 16;

/// Unknown connection ids for which the store is asked, each second. Past it one list of
/// all ids answers for the others.
pub const GUESSES_ASKED: u32 = 50;

/// Addresses whose failed keys are counted in a minute. Past it no further address is
/// counted.
pub const PEERS_COUNTED: usize = 16_384;

/// Connections or partners whose rate a host remembers. Past it the host forgets those
/// without debt, and if that is not enough, all of them.
pub const PACED: usize = 16_384;

/// Nesting of JSON: no real body is deeper, and parsers recurse.
pub const JSON_DEPTH: usize = 64;

/// Bytes of a fetch's answer that are kept and passed to the plugin.
pub const FETCH_ANSWER_BYTES: usize = 4 << 20;

/// Bytes of the state that a plugin may attach to a fetch.
pub const FETCH_STATE_BYTES: usize = 64 << 10;

/// Fetches that one item may chain.
pub const FETCH_HOPS: u32 = 4;

/// Characters of a lead's text in a greeting: channels refuse a message with a longer one.
pub const GREETING_WORD_CHARACTERS: usize = 500;

/// Attempts of one fetch before it is given up: one an hour, the longest backoff, for
/// longer than the 90 days that Meta keeps a lead. In practice the limit in days ends it
/// first.
pub const FETCH_ATTEMPTS: u32 = 2_400;

/// Items of one delivery: Meta batches a thousand; a delivery with ten times that is an
/// accident.
pub const ITEMS_PER_DELIVERY: usize = 10_000;

/// The cost of a lead for the store, in the units that measure writes. An item that is only
/// reported costs one.
pub const LEAD_COST: usize = 4;

/// Cost of one write of a delivery, 32 leads: some three milliseconds of the single writer
/// of a SQLite file. A delivery that costs more is stored as received and processed in
/// parts between other writes.
pub const WRITE_COST: usize = 32 * LEAD_COST;

/// Cost of one part of a delivery that is processed between other writes: the longest work
/// that an interactive write may find ahead of it.
pub const PART_COST: usize = 16 * LEAD_COST;

/// Commits of interactive writes that go before a part of a large delivery.
pub const COMMITS_BEFORE_A_PART: u32 = 4;

/// Items of a delivery that a fetch reads beside its own: nearly every delivery has no
/// more.
pub const ITEMS_LOOKED_AT: u32 = 64;
/// Leads of different people under one id, among which the lead is found that a change means. A source that
/// gives all leads one id gives none.
pub const LEADS_OF_ONE_ID: usize = 16;

/// Digests that a lead keeps of what its source has said: of the first and the newest deliveries.
pub const SEEN_OF_A_LEAD: usize = 8;

/// Bytes of all texts in the items of one delivery: twice the largest delivery, since a
/// converter repeats some of it in other words.
pub const ITEMS_BYTES: usize = 2 * DELIVERY_BYTES;

/// Phones, and e-mails, of one lead: no person has as many. Each phone is parsed, which is
/// most of the host's work on a lead.
pub const LEAD_PHONES: usize = 20;
pub const LEAD_EMAILS: usize = 20;

/// Listings that one lead asks about, and consents that it carries.
pub const LEAD_LISTINGS: usize = 50;
pub const LEAD_CONSENTS: usize = 50;

/// Fields that identify the campaign of a lead.
pub const LEAD_CAMPAIGN_FIELDS: usize = 100;

/// Attributes of one lead, or of one message of a contact: a long form has a few dozen.
pub const ATTRIBUTES: usize = 200;

/// Bytes of a phone as received: sources write words beside the number.
pub const LEAD_PHONE_BYTES: usize = 256;

/// Bytes of a short text of a lead: an e-mail, an id (an index is on it), a
/// reference, a time, a source's name, the name of an attribute.
pub const LEAD_WORD_BYTES: usize = 1 << 10;

/// Bytes of a long text of a lead: the text of a consent, the value of an attribute or of
/// a campaign's field.
pub const LEAD_TEXT_BYTES: usize = 64 << 10;

/// Bytes of all attributes of an inbound message: they are exported with it.
pub const MESSAGE_ATTRIBUTES_BYTES: usize = 64 << 10;

pub use crate::deal::{
    LEFT_OUT_NAMES, MESSAGE_BYTES as DEAL_MESSAGE_BYTES, PROPS_BYTES as DEAL_PROPS_BYTES,
};

/// Leads of one delivery for which the notes name the values that did not fit into their
/// deals; the others are counted.
pub const LEFT_OUT_LEADS: usize = 10;

/// Bytes of a request that a plugin composes, before its slots are filled: twice the
/// largest body of the gateway, from which a template message is made.
pub const REQUEST_BYTES: usize = 2 * BODY_BYTES;

/// Segments of a request or a reply: each slot costs a hash.
pub const SEGMENTS: usize = 4_096;

/// Fields of a request's query, and of its headers.
pub const REQUEST_FIELDS: usize = 256;

/// Bytes of a plugin's reply to its sender: a challenge, or a short text.
pub const REPLY_BYTES: usize = 64 << 10;

/// Secrets that the golden cases of a plugin use in replies, counted for each slot
/// function.
pub const REPLY_SLOTS: usize = 256;

/// Secrets that a handshake compares: one is usual.
pub const REQUIREMENTS: usize = 16;

/// Writes in one commit: enough to share an fsync, few enough to keep the lock short.
pub const WRITES_PER_COMMIT: usize = 512;

/// Writes of one connection in one commit while others write too, where a commit takes
/// several round trips to a database.
pub const WRITES_OF_ONE: usize = 128;

/// The same in a store with a single writer: some two milliseconds beside the time that the
/// disk takes.
pub const WRITES_OF_ONE_ALONE: usize = 16;

/// Number of commits that are kept short after a commit with writes of several connections:
/// the other connections may write again.
pub const SHARED_COMMITS: u32 = 64;

/// The divisor of the memory that this process may use: all calls in progress share the
/// result.
pub const PLUGINS_PART_OF_MEMORY: u64 = 4;

/// Versions of plugins, and connections, with metric lines of their own; all others share
/// one.
pub const VERSIONS_COUNTED: usize = 200;
pub const CONNECTIONS_COUNTED: usize = 1_000;

/// Sketches of connections' deliveries that a host holds; the deliveries of further connections
/// are not sketched meanwhile. One takes some kilobytes, at most a tenth of a megabyte.
pub const SKETCHES: usize = 1_000;

/// Paths of a sketch, and bytes of a path: bodies of leads have a few dozen short ones at their top; a
/// body whose keys are values has any number.
pub const SKETCH_PATHS: usize = 100;
pub const SKETCH_PATH_BYTES: usize = 100;

/// Bytes of a body that is read for a sketch: about a millisecond.
pub const SKETCH_BODY_BYTES: usize = 256 << 10;

/// Deliveries that wait to be sketched, with their bodies. Past it they are left out.
pub const SKETCHES_WAITING: usize = 64;

/// Time between two deliveries of one connection that are sketched, and how many after a pause are
/// sketched at once.
pub const SKETCH_EVERY: Duration = Duration::from_millis(200);
pub const SKETCHED_AT_ONCE: u32 = 300;

/// Deliveries of a connection that the previous version converts too, to tell whether a failure or a
/// change is new in the version that serves (up to [`BLAME_LAST`] if leads have lost a field and none of
/// the first ones has it in the previous version); the time between two such trials of one connection; the
/// time of one; and how many a host makes at once.
pub const BLAME_DELIVERIES: u32 = 5;
pub const BLAME_EVERY: Duration = Duration::from_mins(1);
pub const BLAME_TIME: Duration = Duration::from_secs(20);
pub const BLAMES_AT_ONCE: usize = 2;

/// Answers to fetches on which versions failed that a host remembers for such trials; a larger one
/// than [`SKETCH_BODY_BYTES`] is not. Together at most 16 MiB.
pub const BLAME_ANSWERS: usize = 64;

/// The last conversions of a connection that are remembered to see whether its deliveries keep failing.
pub const BLAME_LAST: usize = 20;

/// Time between two writes of a connection's sketch whose half window is not full.
pub const SKETCH_WRITES_EVERY: Duration = Duration::from_secs(30);

/// The window of a compressed body, as a power of two: the largest that RFC 9659 lets every
/// sender use. Reading a body takes as much memory.
pub const ZSTD_WINDOW_LOG: u32 = 23;

/// Deliveries of one connection that are converted and committed at once while other
/// connections send too, for each write of one connection that a commit takes: the next
/// ones are ready when it is done.
pub const TURNS_PER_WRITE: usize = 2;

/// How long after another connection's delivery a connection counts as one of several.
pub const SEVERAL_FOR: Duration = Duration::from_secs(10);

/// Writes waiting for the writer, of which each connection has a share. Past it requests
/// get 503.
pub const WRITES_WAITING: usize = 8_192;

/// How long a delivery waits for a place among them before it is refused.
pub const ROOM_PATIENCE: Duration = Duration::from_secs(1);

/// Failures of one delivery on one version before the delivery is parked.
pub const ATTEMPTS_PER_DIGEST: u32 = 3;

/// Rows of one export page.
pub const EXPORT_PAGE_MAX: u32 = 1_000;
pub const EXPORT_PAGE_DEFAULT: u32 = 100;

/// Bytes of the rows of one export page, and of the deals of one lookup. Past it the answer
/// has fewer rows. A single row is returned however long it is.
pub const EXPORT_PAGE_BYTES: usize = 16 << 20;
pub const DEALS_BYTES: usize = EXPORT_PAGE_BYTES;

/// Bytes of memory for each byte of a page, and the least that a page may have with little
/// memory. A page is in memory once, in pieces that are freed as they are sent, together
/// with its compressed form. Several readers build pages at once, and the rest of the
/// service needs most of the memory.
pub const MEMORY_PER_PAGE_BYTE: u64 = 128;
pub const LEAST_PAGE_BYTES: usize = 1 << 20;

/// Bytes from which a freed allocation is returned to the system.
pub const LARGE_PIECE_BYTES: i32 = 1 << 20;

/// Bytes above which an answer counts against the limits until its client has read it.
pub const ANSWER_COUNTED_BYTES: usize = 64 << 10;

/// Least bytes of answers that one address may have in memory: a page and what surrounds
/// its rows.
pub const ANSWER_ROOM_BYTES: usize = EXPORT_PAGE_BYTES + (1 << 20);

/// Deals of one lookup.
pub const DEALS_PER_LOOKUP: u32 = 100;

/// Rows of a deal's history, and its notes, that operators are shown.
pub const DEAL_PAST: u32 = 200;

/// Tickets of one page of the desk.
pub const TICKETS_PAGE_MAX: u32 = 100;
pub const TICKETS_PAGE_DEFAULT: u32 = 20;

/// Notes of a deal in one answer.
pub const DEAL_LOGS_PAGE_MAX: u32 = 100;
pub const DEAL_LOGS_PAGE_DEFAULT: u32 = 20;

/// Characters of a search term for products: longer than any name that people type.
pub const SEARCH_TERM_CHARACTERS: usize = 200;

/// Words of a term that are searched: each costs a walk through the index.
pub const SEARCH_TERM_WORDS: usize = 8;

/// Words of a product's name, and characters of a word, that are searched: longer names are
/// descriptions, and longer words are not language.
pub const SEARCH_NAME_WORDS: usize = 64;
pub const SEARCH_WORD_CHARACTERS: usize = 64;

/// Products of one page of a search, at most and by default.
pub const SEARCH_PAGE_MAX: usize = 100;
pub const SEARCH_PAGE_DEFAULT: usize = 10;

/// How long an index is searched before its feed is read again: a new product is found
/// within two seconds.
pub const SEARCH_FRESH_FOR: Duration = Duration::from_secs(1);

/// Time before an index that did not fit into memory is loaded again.
pub const SEARCH_REFUSED_FOR: Duration = Duration::from_mins(1);

/// Products that one read of an index load takes: some milliseconds of the store.
pub const SEARCH_LOAD_ROWS: u32 = 5_000;

/// Changes past which an index is rebuilt rather than updated: half a second of work.
pub const SEARCH_CHANGES: usize = 50_000;

/// Time that loading an index may take: ten million products take less.
pub const SEARCH_LOAD_DEADLINE: Duration = Duration::from_mins(5);

/// How long a search waits for its index: loading a million products takes less.
pub const SEARCH_PATIENCE: Duration = Duration::from_secs(20);

/// How long connections that the kernel has already begun are accepted before their listener
/// closes: one round trip to a client.
pub const LISTENER_CLOSES: Duration = Duration::from_millis(250);

/// Connections of the admin listener, beside those of the other listeners.
pub const ADMIN_CONNECTIONS: usize = 64;

/// Bytes of a request's target: longer ones get 414.
pub const URI_BYTES: usize = 8 << 10;

/// Bytes of a request's headers, names and values: more get 431.
pub const HEADER_BYTES: usize = 32 << 10;

/// Bytes that a connection buffers: enough for a whole head and little more.
pub const CONNECTION_BUFFER_BYTES: usize = 64 << 10;

/// Requests that one HTTP/2 connection may have in progress at once.
pub const STREAMS_PER_CONNECTION: u32 = 100;

/// Bytes of bodies that an HTTP/2 connection may send before they are read, over all of its
/// requests.
pub const WINDOW_BYTES: u32 = 64 << 10;

/// Bytes of a certificate file or a key file.
pub const PEM_BYTES: u64 = 256 << 10;

/// Bytes of a caller's own request id.
pub const REQUEST_ID_BYTES: usize = 128;

/// Time that a client may read nothing of an answer.
pub const STALL_LONGEST: Duration = Duration::from_secs(60);

/// Bytes up to which a body is copied out of its connection's buffer.
pub const BODY_COPIED_BYTES: usize = 16 << 10;

/// Bytes of a refused body that are read and discarded, and for how long, so that a client
/// that is still sending can read the refusal.
pub const DRAINED_BYTES: usize = 16 << 20;
pub const DRAINED_FOR: Duration = Duration::from_secs(2);

/// Bytes after which a large answer begins a new piece. A row is never split, and a piece
/// is freed when it has been sent.
pub const PIECE_BYTES: usize = 64 << 10;

/// Bytes above which an answer is compressed: below, the headers are as large as the
/// saving.
pub const COMPRESS_FROM_BYTES: usize = 1 << 10;

/// Bytes up to which an answer is compressed in place, in about half a millisecond; a
/// larger one goes to a thread of its own.
pub const COMPRESS_INLINE_BYTES: usize = 32 << 10;

/// How long the store's verdict about a key is cached, whether the key is valid or not.
pub const KEY_CACHED_FOR: Duration = Duration::from_secs(1);

/// Keys cached at once; one more clears the cache, which costs one read for each key.
pub const KEYS_CACHED: usize = 16_384;

/// The longest lifetime of a key that expires, in days: 100 years.
pub const KEY_DAYS: u32 = 36_500;

/// Time between two writes of the times when keys were last used.
pub const KEY_USES_EVERY: Duration = Duration::from_secs(15);

/// Bytes of log lines that wait for the reader of the log: some thousands of requests. As many
/// again may be with the thread that writes them.
pub const LOG_BYTES_WAITING: usize = 1 << 20;

/// How long the end of the process waits until the log's last lines are written: the reader of the log may be
/// what is blocked.
pub const LOG_FLUSH: Duration = Duration::from_millis(500);

/// The same for the line of a panic, on the thread that panics.
pub const LOG_FLUSH_OF_A_PANIC: Duration = Duration::from_millis(50);

/// Time that a graceful stop may take beyond the drain before the process is ended by
/// force: with the default drain less than the 40 seconds that the operators' guide gives to
/// the service manager.
pub const STOP_DEADLINE: Duration = Duration::from_secs(9);

/// How long readiness waits for the store.
pub const READY_PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of a guest's stack: deeper recursion traps, long before the host's own stack
/// overflows.
pub const PLUGIN_STACK_BYTES: usize = 512 << 10;

/// Bytes of memory that a call gets beyond its limit, once it has asked for more than that: for the message of
/// the exception with which it ends.
pub const PLUGIN_MESSAGE_MEMORY: usize = 2 << 20;

/// Bytes of a component above which warm instances are made for it: all interpreters are larger,
/// and compiled languages without a runtime start in microseconds.
pub const WARM_COMPONENT_BYTES: usize = 1 << 20;

/// Warm instances of one version, and of all.
pub const WARM_INSTANCES: usize = 8;
pub const WARM_INSTANCES_OF_ALL: usize = 32;

/// Calls after which the number of warm instances of a version becomes that which they needed.
pub const WARM_CALLS: usize = 256;

/// The divisor of the memory that all calls share: the memory that warm instances may take.
pub const WARM_PART_OF_POOL: usize = 4;

/// Core instances of one plugin: an interpreter with its adapters has about ten.
pub const PLUGIN_CORE_INSTANCES: u32 = 20;

/// Linear memories of one plugin: one is usual, adapters may bring a second.
pub const PLUGIN_MEMORIES: u32 = 4;

/// Tables of one plugin.
pub const PLUGIN_TABLES: u32 = 20;

/// Elements of one table: interpreters have some ten thousand functions.
pub const PLUGIN_TABLE_ELEMENTS: usize = 100_000;

/// Bytes of a plugin's configuration, and its nesting.
pub const CONFIG_BYTES: usize = 256 << 10;
pub const CONFIG_DEPTH: usize = 16;

/// Faults of a configuration that are reported.
pub const CONFIG_FAULTS_SHOWN: usize = 50;

/// Threads that check configurations at once: each for tenths of a second at most.
pub const SCHEMA_CHECKS_AT_ONCE: usize = 2;

/// Limits of the process that turns a core module into a component on the machine of an integrator:
/// address space, and processor time in whole seconds.
pub const COMPONENTIZE_MEMORY_MIB: u64 = 2_048;
pub const COMPONENTIZE_PROCESSOR_TIME: Duration = Duration::from_secs(60);

/// Components whose trials run at once, and that wait for a trial: each is held in memory
/// as a whole. One caller has all places but one, and half of the room to wait, here and for
/// verifications.
pub const TRIALS_AT_ONCE: usize = 2;
pub const TRIALS_WAITING: usize = 6;

/// After a refused component its trial slot rests for this multiple of the time that the
/// trial took, and at most for this long: a series of bad components takes a tenth of a
/// processor.
pub const TRIAL_REST_TIMES: u32 = 20;
pub const TRIAL_REST: Duration = Duration::from_millis(500);

/// Golden cases without an answer (out of time, out of memory, trapped) after which the
/// others are not run.
pub const GOLDEN_UNANSWERED: usize = 3;

/// Bytes of a refusal that quotes a component; names that it lists, and bytes of each.
pub const REFUSAL_BYTES: usize = 1_000;
pub const REFUSAL_NAMES: usize = 10;
pub const REFUSAL_NAME_BYTES: usize = 100;

/// Nesting of instances in an import: one level is usual, and the code that walks them is
/// recursive.
pub const IMPORT_DEPTH: usize = 8;

/// Bytes from which a core module is worth to be compiled apart from its component. The adapters of WASI
/// and most other small modules are below it.
pub const LIBRARY_BYTES: usize = 128 << 10;

/// Bytes of a plugin's machine code for each byte that a component may have: it is in
/// memory twice while it is loaded, and compilers produce about four.
pub const CODE_PER_COMPONENT_BYTE: usize = 8;

/// Values and bytes of text in the answer to a golden case: each value takes some hundred
/// bytes of memory when the answer is compared, and what a component expects fits into
/// this. JSON inside a text may be formatted less compactly.
pub const GOLDEN_ANSWER_VALUES: usize = leadhost_golden::MAX_PACKED_BYTES;
pub const GOLDEN_ANSWER_TEXT_BYTES: usize = 2 * leadhost_golden::MAX_PACKED_BYTES;

/// Bytes of a plugin's summary and of the summary of each secret, and how many secrets and
/// hosts it may declare.
pub const DESCRIPTION_BYTES: usize = 2 << 10;
pub const DESCRIBED_SECRETS: usize = 64;
pub const DESCRIBED_HOSTS: usize = 256;

/// Sender checks of one plugin, signed parts of one check, and secrets that a source
/// carries; bytes of each string in them.
pub const SENDER_CHECKS: usize = 32;
pub const SENDER_CHECK_BYTES: usize = 1 << 10;

/// Failing golden cases that a refusal describes; the first ones show what is wrong.
pub const GOLDEN_FAILURES_SHOWN: usize = 3;

/// Characters with which a refusal describes one failing golden case: a log line with a few
/// differences, or a crash with its place and the end of its log.
pub const GOLDEN_FAILURE_CHARACTERS: usize = 1_000;

/// Bytes of standard output and error of a plugin that one call keeps: the last ones, which tell why
/// it failed.
pub const PLUGIN_LOG_BYTES: usize = 16 << 10;

/// Bytes of the last lines of that output in an error that is one line: an exception with its place.
pub const LOG_IN_ERROR_BYTES: usize = 500;

/// Notes of one conversion, and bytes of each: they are for people.
pub const NOTES_PER_DELIVERY: usize = 100;
pub const NOTE_BYTES: usize = 1 << 10;

/// Lines about earlier failures that a delivery keeps in addition to its notes: the newest ones.
pub const EARLIER_FAILURES: usize = 10;

/// Bytes of randomness that a guest may ask for at once.
pub const PLUGIN_RANDOM_BYTES: u64 = 1 << 20;

/// Handles (streams, pollables) that a guest may hold.
pub const PLUGIN_HANDLES: usize = 1_000;

/// Bytes of a compiler's error message that are kept.
pub const COMPILER_MESSAGE_BYTES: usize = 4 << 10;

/// Bytes of a file in the inbox: larger ones are not read.
pub const INBOX_FILE_BYTES: u64 = 256 << 20;

/// Bytes of deliveries in one commit: a batch is in memory a second time as statement
/// parameters.
pub const BYTES_PER_COMMIT: usize = 32 << 20;

/// Background writes in one commit, after the interactive ones: no request waits for them,
/// and they must not delay one.
pub const BACKGROUND_WRITES_PER_COMMIT: usize = 64;

/// Deliveries of one connection kept in quarantine. Past it the address that holds the most
/// loses its oldest.
pub const QUARANTINED_PER_CONNECTION: u64 = 1_000;

/// Bytes of one connection's deliveries kept in quarantine. Divided by the count above, it
/// is the overhead that each delivery adds to its bytes when the shares of addresses are
/// compared.
pub const QUARANTINED_BYTES_PER_CONNECTION: u64 = 64 << 20;

/// Contacts with the same address that are named when a contact is erased.
pub const OTHERS_NAMED: u32 = 20;

/// Connections that read from the store at once: more would only compete for the same
/// cores.
pub const STORE_READERS: u32 = 8;

/// Time without work after which a thread of the store releases its cached pages.
pub const STORE_RESTS_AFTER: Duration = Duration::from_secs(10);

/// Prepared statements that a connection of a store keeps: more than the service uses.
pub const STORE_STATEMENTS: usize = 400;

/// Reads of a file that wait for a thread. Past it they are refused.
pub const STORE_READS_WAITING: usize = 4_096;

/// Writes to a file that wait for its thread, including batches of leads.
pub const STORE_WRITES_WAITING: usize = 1_024;

/// How often a lock of a store or a data folder is tried, and the time between two tries: a process that was killed
/// frees a few gigabytes of memory before its lock.
pub const LOCK_TRIES: u32 = 50;
pub const LOCK_AGAIN: Duration = Duration::from_millis(100);

/// How long a connection waits for another process that writes to the file.
pub const STORE_BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// Time between two checkpoints of the store's log.
pub const CHECKPOINT_EVERY: Duration = Duration::from_millis(500);

/// Checkpoint passes beside the writer before it has to wait for the log to be emptied:
/// each pass copies what was written during the one before and takes a fraction of its
/// time.
pub const CHECKPOINT_PASSES: u32 = 4;

/// How long a reader may hold the store's log, while that is large, before operators are told.
pub const LOG_HELD: Duration = Duration::from_secs(10);

/// Bytes of the store's log past which the writer waits until it can restart the log. A
/// longer log file is truncated when there are no writes.
pub const LOG_BYTES: u64 = 64 << 20;

/// Bytes of the address of a component in a registry. Registries allow names of 255 characters and tags
/// of 128.
pub const SOURCE_BYTES: usize = 512;

/// Refused plugin files that are listed.
pub const REFUSALS: u32 = 100;

/// Bytes of a JSON body on the admin API: a workspace file with some ten thousand products.
pub const ADMIN_BODY_BYTES: usize = 4 << 20;

/// Deliveries of one page for operators.
pub const DELIVERIES_PER_PAGE: u32 = 500;

/// Rows of one page for operators who name no other number.
pub const ROWS_PER_PAGE: u32 = 50;

/// Bytes that the data folder's disk must have free for the host to report ready: a commit
/// of the largest deliveries and the log around it.
pub const DISK_RESERVE_BYTES: u64 = 8 << 20;

/// Time that one operation on a networked store may take. Past it the caller gets 503.
pub const STORE_DEADLINE: Duration = Duration::from_secs(8);

/// Workspaces that one statement reads when it covers all of them: for each, the database
/// reads the list of visible workspaces again.
pub const WORKSPACES_AT_ONCE: usize = 64;

/// How long a request waits for a connection to the database.
pub const STORE_ACQUIRE_PATIENCE: Duration = Duration::from_secs(3);

/// How long the start waits for the database server's first answer: with the time of its
/// own start, a host that cannot reach the server reports it within five seconds.
pub const STORE_OPEN_PATIENCE: Duration = Duration::from_secs(4);

/// Time without a heartbeat after which a host counts as dead.
pub const HOST_DEAD: Duration = Duration::from_secs(10);

/// Time between two heartbeats: several may be lost. Also the longest time that a lost
/// announcement goes unnoticed.
pub const HOST_BEAT: Duration = Duration::from_secs(2);

/// Time after its last heartbeat from which a host begins no work until it has read what is
/// active now: less than the time after which the other hosts continue without it.
pub const HOST_STALE: Duration = Duration::from_secs(9);

/// How long the row of a dead host is listed.
pub const DEAD_HOST_RETENTION: Duration = Duration::from_hours(1);

/// How long an activation waits for the hosts to switch after all of them have prepared.
/// Past it the answer names the hosts that have not switched.
pub const CONVERGE_PATIENCE: Duration = Duration::from_secs(15);

/// The difference between the clocks of a host and of its database from which the host warns.
pub const CLOCK_WARNING: Duration = Duration::from_secs(60);

/// The lease on a periodic job; after that another host takes over.
pub const JOB_LEASE: Duration = Duration::from_secs(15);

/// Operations in progress at once for each connection to a database, including those that
/// wait for a connection. Past it requests get 503 at once, and those that wait are served
/// within a fraction of a second.
pub const STORE_ASKED_PER_CONNECTION: usize = 32;

/// Connections reserved for commits of leads, out of all: readers never delay a lead.
pub const STORE_WRITERS: u32 = 2;

/// Time between two health checks of a database.
pub const STORE_LOOK_EVERY: Duration = Duration::from_secs(1);

/// Time in which a database has to answer a health check, or, in the last two thirds of it,
/// open a new connection (some six round trips), before it counts as lost.
/// A database that is far away or only busy takes part of this, and together with the time
/// between two checks a caller is refused within five seconds.
pub const STORE_ANSWER_PATIENCE: Duration = Duration::from_millis(3_500);

/// Time between two attempts to reach a lost database.
pub const STORE_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Announcements that a host may lag behind. Past it the host treats everything as
/// announced.
pub const ANNOUNCEMENTS_WAITING: usize = 64;

/// Workspaces that a host remembers as refused for now by their rate.
pub const RATES_REFUSED: usize = 16_384;

/// Attempts of one batch that conflicts with other hosts' batches. Past it the batch is
/// split and its parts run alone.
pub const COMMIT_ATTEMPTS: u32 = 6;

/// The pause after a conflict, doubled each time; chance takes off a part.
pub const COMMIT_PAUSE: Duration = Duration::from_millis(2);

/// Time that the answer to a commit may take before its outcome is determined another way.
pub const COMMIT_DEADLINE: Duration = Duration::from_secs(5);

/// Time that determining the outcome of a commit may take; with the times before it, less
/// than a request waits for its answer.
pub const OUTCOME_DEADLINE: Duration = Duration::from_secs(8);

/// Time between two checks whether a commit without an answer is decided.
pub const OUTCOME_PAUSE: Duration = Duration::from_millis(50);

/// Time after which a client should ask again whether a host is ready, in whole seconds.
pub const READY_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Least time without writes after a fail-over or a restore: more than the clocks of two
/// servers may differ by.
pub const FENCE_LEAST: Duration = Duration::from_secs(5);

/// Longest time that the first write waits for a clock that is behind the stamps already
/// issued.
pub const FENCE_LONGEST: Duration = Duration::from_mins(1);

/// Time between two updates of the store's high-water mark.
pub const SEEN_EVERY: Duration = Duration::from_secs(10);

/// Rows of one transaction of a move, and bytes of the long values in them: one page, which
/// is copied again if the move is interrupted. Up to three pages are in memory: one being
/// read, one waiting, one being written.
pub const MOVED_ROWS: u32 = 1_000;
pub const MOVED_BYTES: u64 = 8 << 20;

/// File descriptors reserved for purposes other than client connections: connections to the
/// store and outgoing ones, files of the store and of components.
pub const FILES_RESERVED: usize = 1_024;

/// How long a connection must have been idle before it is closed to make room: under load
/// its next request is already on its way, and its client would have to connect again.
pub const IDLE_BEFORE_CLOSING: Duration = Duration::from_millis(250);

/// Connections that wait to be accepted, within the kernel's own bound.
pub const ACCEPT_QUEUE: u32 = 4_096;

/// Bytes of the id that the host gives a message, as the contract promises.
pub const MESSAGE_ID_BYTES: usize = 64;

/// Ids that a provider gives one message: one is usual, a message in parts has several.
pub const EXTERNAL_IDS_PER_MESSAGE: usize = 16;

/// Further ids of one person in one event or answer: WhatsApp has two.
pub const FURTHER_IDS: usize = 8;

/// Bytes of a provider's id or name of something: the longest known have some hundred, and
/// an index takes only a few of this length.
pub const EXTERNAL_ID_BYTES: usize = 512;

/// Fields of a route: one or two are usual.
pub const ROUTE_FIELDS: usize = 32;

/// Bytes of a short text of an adapter (a status, a type, a code): longer ones are cut.
pub const CHANNEL_WORD_BYTES: usize = 128;

/// Bytes of a provider's text about an error: longer texts are cut.
pub const CHANNEL_TEXT_BYTES: usize = 4 << 10;

/// Errors of one status update; providers send one.
pub const ERRORS_PER_STATUS: usize = 16;

/// Defined beside the merging code, whose bound it is.
pub use crate::message::ERRORS_PER_MESSAGE;

/// Bytes of a contact's message, as shown and exported: channels allow some four thousand
/// characters. The delivery keeps the text that is cut off.
pub const MESSAGE_CONTENT_BYTES: usize = 64 << 10;

/// Templates of one page of a provider's list: providers return at most a thousand.
pub const TEMPLATES_PER_PAGE: usize = 2_000;

/// Bytes of a template's text and components: a carousel of ten cards has some 20 KiB.
pub const TEMPLATE_BYTES: usize = 256 << 10;

/// Placeholders of one template.
pub const PLACEHOLDERS_PER_TEMPLATE: usize = 256;

/// Characters of a contact's name and of other names in a request.
pub const NAME_CHARACTERS: usize = 255;

/// Characters of a notification's instructions for the assistant.
pub const SPECIAL_INSTRUCTIONS_CHARACTERS: usize = 4_000;

/// Characters of a phone as a partner writes it; more than any notation needs.
pub const PHONE_CHARACTERS: usize = 64;

pub use crate::contact::EMAIL_CHARACTERS;

pub use crate::analytics::SOURCE_CHARACTERS;

/// Characters of a template's name: the limit of WhatsApp.
pub const TEMPLATE_NAME_CHARACTERS: usize = 512;

/// Characters of a language code: the longest tag in use.
pub const LANGUAGE_CHARACTERS: usize = 35;

/// Components of a template: a header, a body, and more buttons than any channel shows.
pub const TEMPLATE_COMPONENTS: usize = 50;

/// The greatest index of a button.
pub const BUTTON_INDEX: u32 = 99;

/// Parameters of one component, and replacements of the legacy format.
pub const TEMPLATE_PARAMETERS: usize = 100;

/// Characters of a parameter: Meta refuses a message whose body has more.
pub const PARAMETER_CHARACTERS: usize = 1_024;

/// Characters of a link to a file.
pub const LINK_CHARACTERS: usize = 2_048;

/// Characters of an id in a partner's own system, for a product or a deal.
pub const EXTERNAL_ID_CHARACTERS: usize = 512;

/// Characters of the type of an entry in a deal's log.
pub const LOG_TYPE_CHARACTERS: usize = 64;

/// Characters of the description of a log entry; lists of deals leave it out.
pub const LOG_DESCRIPTION_CHARACTERS: usize = 4_000;

/// Bytes of a log entry's metadata as JSON: every page with the deal shows the newest five
/// entries.
pub const LOG_METADATA_BYTES: usize = 4 << 10;

/// Issues that are reported for one body: the first ones show what is wrong.
pub const ISSUES: usize = 100;

/// Characters of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARACTERS: usize = 255;

/// How long a notification waits for the first list of its instance's templates; without it
/// the template is not checked.
pub const TEMPLATES_PATIENCE: Duration = Duration::from_secs(3);

/// Time between two attempts to get an instance's list of templates, also if a request names
/// a template that is not in it.
pub const TEMPLATES_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// Pages of a list of templates, and templates in it: a provider that returns more is
/// looping.
pub const TEMPLATE_PAGES: usize = 100;
pub const TEMPLATES_PER_INSTANCE: usize = 10_000;

/// Bytes of all templates of an instance: they are kept in memory while it sends.
pub const TEMPLATE_LIST_BYTES: usize = 32 << 20;

/// Longest hold that a provider may set: as long as messages are kept.
pub const HOLD_LONGEST: Duration = Duration::from_hours(24);

/// Time between two attempts to record the outcome of a send.
pub const SETTLE_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// How long the host tries to record that a provider accepted a message, even after the
/// lease has ended: an unreachable store comes back within minutes.
pub const SETTLE_ACCEPTED_FOR: Duration = Duration::from_mins(10);

/// How long a channel's report about an unknown message is kept: as long as providers repeat
/// a webhook.
pub const REFERENCE_RETENTION: Duration = Duration::from_hours(7 * 24);

/// How long a message to a person who was erased is recognised by its channel's id: as long as channels
/// try to deliver one, and report that.
pub const ERASED_REFERENCE_RETENTION: Duration = Duration::from_hours(35 * 24);

/// Reports about unknown messages that are kept. Past it the oldest are removed: another
/// system may send through the same number.
pub const REFERENCES_UNKNOWN: u32 = 1_000_000;

/// Time that opening an outgoing connection may take, TLS included: a live server takes
/// about a second.
pub const EGRESS_CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Addresses of a name that are tried, and the time for each before the next is tried.
pub const EGRESS_ADDRESSES: usize = 4;
pub const EGRESS_ADDRESS_DEADLINE: Duration = Duration::from_secs(2);

/// How long an idle outgoing connection is kept. Less than the time after which common
/// servers close it (some after five seconds): if a request crosses with the close, it is not
/// known whether the server got it.
pub const EGRESS_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Time after which an outgoing connection is not used again, however busy: the service
/// follows a name that resolves to another address by then.
pub const EGRESS_CONNECTION_LONGEST: Duration = Duration::from_mins(5);

/// Idle outgoing connections that are kept, for one server and in all.
pub const EGRESS_IDLE_PER_PLACE: usize = 64;
pub const EGRESS_IDLE: usize = 256;

/// Outgoing requests in progress at once, to one server and in all: a server that hangs
/// leaves room for the others.
pub const EGRESS_CALLS_PER_PLACE: usize = 128;
pub const EGRESS_CALLS: usize = 512;

/// Time that a connection may take after an answer to be ready for another request: it is
/// ready at once, unless the server did not read the request to its end.
pub const EGRESS_READY_DEADLINE: Duration = Duration::from_millis(100);

/// TLS sessions that are remembered, so that another connection to the same server costs
/// less.
pub const EGRESS_TLS_SESSIONS: usize = 256;

/// Products of one transaction of an import: a few milliseconds of the writer.
pub const IMPORT_ROWS: usize = 1_000;

/// Rows of one kind that one transaction removes when a person is erased: short enough not
/// to delay leads.
pub const ERASED_AT_ONCE: u32 = 200;

/// Deals, conversations and deliveries that one transaction removes: more rows depend on
/// each.
pub const ERASED_WHOLE_AT_ONCE: u32 = 20;

/// Deliveries that one step searches for a person, and their bytes.
pub const SEARCHED_AT_ONCE: u32 = 500;
pub const SEARCHED_BYTES: u64 = 8 << 20;

/// Remaining deliveries that a receipt names; further ones are counted.
pub const LEFT_SHOWN: usize = 100;

/// Remaining deliveries whose ids an erasure remembers: a record of at most some hundred
/// kilobytes, and far more deliveries than name one person.
pub const LEFT_REMEMBERED: usize = 10_000;

/// Attempts to erase a person without progress, while other writes recreate what it
/// removes, and the time between two attempts.
pub const ERASE_ATTEMPTS: u32 = 100;
pub const ERASE_PAUSE: Duration = Duration::from_millis(20);

/// Attempts to empty the log of a SQLite file after a person was erased, while others read
/// from it.
pub const LOG_EMPTIED_ATTEMPTS: u32 = 20;

/// How long tombstones are kept for readers of a feed: indexes read it every second, and an
/// index that has not read it for that long is rebuilt.
pub const TOMBSTONE_RETENTION: Duration = Duration::from_hours(7 * 24);

/// Bytes of one line of a catalogue: a description of the greatest length with each
/// character escaped, and some columns that the import ignores.
pub const IMPORT_LINE_BYTES: usize = 256 << 10;

/// Rows of one transaction of an import into a store with a single writer: interactive
/// writes wait no longer than for these, some milliseconds.
pub const IMPORT_ROWS_ALONE: usize = 250;

/// Bytes of products in one transaction of an import.
pub const IMPORT_PART_BYTES: usize = 1 << 20;

/// Refused lines of an import that its answer lists; all are counted.
pub const IMPORT_PROBLEMS_SHOWN: usize = 1_000;

/// Ignored columns that the answer to an import names.
pub const IMPORT_NAMES_SHOWN: usize = 20;

/// Products of a workspace that one import may contain: several times what the index of
/// names is designed for, and an endless input comes to an end.
pub const IMPORT_LINES: u64 = 20_000_000;

/// Characters of a product's external id: an index is on it.
pub const PRODUCT_EXTERNAL_ID_CHARACTERS: usize = 255;

/// Characters of a product's description: several pages.
pub const PRODUCT_DESCRIPTION_CHARACTERS: usize = 10_000;

/// Changes that one step of a rollup reads: some milliseconds of the writer.
pub const ROLLUP_CHANGES: u32 = 1_000;

/// The same in a store with a single writer: interactive writes wait no longer than for
/// these.
pub const ROLLUP_CHANGES_ALONE: u32 = 250;

/// Rollup steps at once, however many connections the store has: more would only take the
/// machine away from requests.
pub const ROLLUP_STEPS_AT_ONCE: usize = 4;

/// Time after which a run stops reading workspaces with more changes; the next run continues
/// with them. Other workspaces show their counts as of this run.
pub const ROLLUP_RUN_LONGEST: Duration = Duration::from_secs(10);

/// Checks, a millisecond apart, whether a request waits for the writer before a rollup step
/// begins: longer than a commit takes, and under full load the rollups still advance.
pub const ROLLUP_WAITS: u32 = 20;

/// Least time between two rounds of rollups, however short the configured interval.
pub const ROLLUP_REST: Duration = Duration::from_millis(50);

/// Time zones of a workspace with a cube of local days; others are answered from slots.
pub const ZONES_PER_WORKSPACE: usize = 8;

/// Requests for a time zone before it gets a cube: a single request is cheaper without one.
pub const ZONE_REQUESTS: u64 = 3;

/// Time without a request after which a time zone's cube is removed.
pub const ZONE_UNUSED: Duration = Duration::from_hours(30 * 24);

/// Slots that one step adds to a cube: four days.
pub const CUBE_SLOTS: i32 = 4 * 96;

/// Slots that one query adds up, so that no query takes long: a month.
pub const ROLLUP_SLOTS_AT_ONCE: i32 = 31 * 96;

/// Days of a cube that one query reads: each may have many cells.
pub const CUBE_DAYS_AT_ONCE: i64 = 62;

/// Time zones whose requests a host counts between two runs. Past it no further zone is
/// counted.
pub const ZONES_COUNTED: usize = 10_000;

/// Rows of one answer of analytics. Past it the client is asked to narrow its query.
pub const ANALYTICS_ROWS: usize = 200_000;

/// Counts that are combined in place, in less than a millisecond; more go to a thread of
/// their own.
pub const ANALYTICS_INLINE_CELLS: usize = 4_096;

/// Counts by day and key that one answer of analytics reads, some dozens of mebibytes: ten
/// years of a hundred keys. Partners choose the names of sources, and there may be as many
/// sources as conversations.
pub const ANALYTICS_CELLS: usize = 500_000;

/// Periods of a chart of analytics: with more, a bar is thinner than two pixels.
pub const ANALYTICS_CHART_PERIODS: usize = 400;

/// Time after which analytics counts are stale: about twice the six hours that a refresh may
/// take.
pub const ANALYTICS_STALE_AFTER: Duration = Duration::from_hours(12);

/// The first year that analytics can be asked for: since then, local days of every time
/// zone begin on a quarter of an hour.
pub const ANALYTICS_FIRST_YEAR: i32 = 1980;

/// Local days past the present that analytics reads: no conversation begins later.
pub const ANALYTICS_DAYS_AHEAD: i32 = 2;

/// Bytes of a challenge that a reply may sign: sources send 20 to 50. A longer text could
/// be more than a challenge.
pub const CHALLENGE_BYTES: usize = 128;

/// Processor time of one slice of a plugin call, or of the host's work on its result: then
/// other work comes first.
pub const SLICE: Duration = Duration::from_millis(1);

/// Least cost of a slice, for the queue and the thread, so that many tiny slices are not
/// free.
pub const SLICE_LEAST: Duration = Duration::from_micros(10);

/// Processor time up to which a call is quick: an interpreter's call takes one to three
/// milliseconds, more with a large body. Past it the call continues at a lower priority
/// than the threads that serve requests.
pub const QUICK_CALL: Duration = Duration::from_millis(10);

/// Niceness that is added for the threads that run slow calls: each weighs a fifth of a
/// thread that serves requests, by `sched(7)`.
pub const SLOW_NICENESS: i32 = 7;

/// The highest niceness.
pub const LEAST_PRIORITY: i32 = 19;

/// Longest time that a slow call keeps the processor from a thread that serves requests:
/// the shortest that Linux allows.
pub const SLOW_TURN: Duration = Duration::from_micros(100);

/// How long a request waits for a plugin's answer that it needs, such as sender checks and
/// handshakes: sources give up after some five to ten seconds.
pub const BRIEF_CALL_PATIENCE: Duration = Duration::from_secs(4);

/// Least time that the worker waits for a call under a lease that nothing renews: a twentieth of a
/// processor is enough for its two seconds, and its lease is longer.
pub const SLOW_CALL_PATIENCE: Duration = Duration::from_secs(40);

/// Least time that the worker waits for a conversion whose lease is renewed. A call that is given up
/// starts over: if its time were shorter than its two seconds take on a busy machine, no attempt
/// would ever end. A three-hundredth of a processor is enough.
pub const LEASED_CALL_PATIENCE: Duration = Duration::from_secs(600);

/// Calls in progress for each thread: each holds an instance with its memory. Half of them
/// may be slow.
pub const CALLS_PER_THREAD: usize = 4;

/// Lanes whose processor use is remembered, and digests with debts.
pub const LANES_KEPT: usize = 4_096;
pub const DIGESTS_KEPT: usize = 1_024;

/// Failures in a row after which the circuit breaker opens for a version and a connection.
pub const BREAKER_FAILURES: u32 = 3;

/// The first and the longest pause between two calls while a circuit is open.
pub const BREAKER_FIRST: Duration = Duration::from_secs(1);
pub const BREAKER_LONGEST: Duration = Duration::from_mins(5);

/// Time over which the deliveries that wait for such a version are spread, a second apart.
pub const BREAKER_SPREAD: Duration = Duration::from_secs(60);

/// First tries of deliveries that may fail for such a version at once, and the time after which one more may.
/// Each has this part of the time of a call inside a request: enough for nearly every lead, little beside
/// other connections, and still so long that a connection that uses it up runs on the slow threads.
pub const FIRST_TRY_PART: u32 = 2;
pub const FIRST_TRIES_AT_ONCE: u32 = 200;
pub const FIRST_TRY_EVERY: Duration = Duration::from_millis(100);

/// Pairs of version and connection whose failures are remembered.
pub const BREAKERS_KEPT: usize = 10_000;

/// Items, phones, addresses and the like of one delivery that are normalised in place, in
/// some hundred microseconds; more are normalised in slices on the plugins' threads.
pub const NORMALISED_INLINE: usize = 64;

/// Verifications that run at once. Others wait.
pub const VERIFICATIONS_AT_ONCE: usize = 2;

/// Verifications that may wait. Above it operators are asked to retry.
pub const VERIFICATIONS_WAITING: usize = 6;

/// Deliveries that a verification compares, unless the operator names another number.
pub const VERIFY_DELIVERIES: u32 = 1_000;

/// Deliveries at which a verification looks to count those from which it chose. Beyond these it says
/// that there are more.
pub const VERIFY_COUNTED: u32 = 200_000;

/// Deliveries of a connection among which a verification looks for each outcome, and of all connections
/// together: an equal part of each.
pub const VERIFY_LOOKED_EACH: u32 = 10_000;
pub const VERIFY_LOOKED: u32 = 100_000;

/// The most deliveries that an operator may name for a verification.
pub const VERIFY_DELIVERIES_MOST: u32 = 10_000;

/// Time of a verification, unless the operator names another. It ends with what was compared
/// by then.
pub const VERIFY_TIME: Duration = Duration::from_secs(30);

/// The longest time that an operator may name for a verification.
pub const VERIFY_LONGEST: Duration = Duration::from_secs(280);

/// Deliveries that a verification holds in memory at once, each with its body.
pub const VERIFY_AT_ONCE: usize = 2;

/// Beside live traffic a verification rests for this multiple of the time of each comparison, as
/// far as its time allows.
pub const VERIFY_REST_TIMES: u32 = 3;

/// Deliveries that are captured by one request.
pub const CAPTURES: usize = 50;

/// Bytes of the bodies and answers that one request captures. The first delivery is captured even if
/// it has more.
pub const CAPTURED_BYTES: usize = 16 << 20;

/// Time of masking the persons of one delivery, for golden cases: one of 4 MiB takes a few seconds.
pub const GOLDEN_EXPORT_TIME: Duration = Duration::from_secs(20);

/// Bytes of a page of the console, and of the bodies that the page of a delivery shows: a browser shows no
/// more at once, and a body becomes longer when it is indented and escaped.
pub const CONSOLE_PAGE_BYTES: usize = 16 << 20;
pub const SHOWN_BODY_BYTES: usize = 256 << 10;

/// Bytes of a value, and of the line of a request, that stand beside others, and rows of one delivery: its
/// items, and those that a replay would change.
pub const SHOWN_VALUE_BYTES: usize = 2 << 10;
pub const SHOWN_ITEMS: usize = 200;

/// Time of a request that captures deliveries, after which it begins with no further one.
pub const CAPTURE_TIME: Duration = Duration::from_secs(30);

/// Deliveries that a replay on an integrator's machine takes, unless the person names another number,
/// and the most that may be named.
pub const REPLAYED: u32 = 200;
pub const REPLAYED_MOST: u32 = 2_000;

/// Bytes of bodies and answers that such a replay takes from the service.
pub const REPLAYED_BYTES: u64 = 512 << 20;

/// Time of such a replay, unless the person names another one, after which it begins with no further
/// delivery; and the longest that may be named.
pub const REPLAY_TIME: Duration = Duration::from_mins(5);
pub const REPLAY_LONGEST: Duration = Duration::from_hours(1);

/// Bytes of an answer of the admin API that a command reads. The largest are captures.
pub const ADMIN_ANSWER_BYTES: usize = 256 << 20;

/// Connections of which a verification takes deliveries. Each needs a few queries.
pub const VERIFY_CONNECTIONS: usize = 200;

/// Fields that a verification counts apart, in each kind of change. Sources choose the names of
/// attributes.
pub const VERIFY_FIELDS: usize = 200;

/// Values that leads gain with a version, as a comparison remembers them: some 300 kB.
pub const VERIFY_GAINED: usize = 4_096;

/// Examples that a verification shows of each difference.
pub const VERIFY_EXAMPLES: usize = 3;

/// Deliveries of a rollout that wait for their comparison after they were answered. Others are
/// not compared.
pub const ROLLOUT_WAITING: usize = 1_024;

/// The same for sends, each with its message and the provider's answer.
pub const ROLLOUT_SENDS_WAITING: usize = 128;

/// Deliveries and sends that a host remembers as counted for a rollout before their outcome, so that each
/// counts once.
pub const ROLLOUT_FAILED: usize = 1_024;

/// Attempts at a fetch after which it counts as failed for a rollout, although it is tried again.
pub const ROLLOUT_FETCH_ATTEMPTS: u32 = 3;

/// Bytes of the body of a provider's answer that both versions of a rollout read. Usual ones are a few hundred.
pub const COMPARED_ANSWER_BYTES: usize = 64 << 10;

/// Values of a JSON body of a request that are compared apart. A template message has some dozens.
pub const COMPARED_LEAVES: usize = 1_000;

/// Items and bytes of a body up to which the results of two versions are compared on the thread that
/// has them, in some hundred microseconds; and the memory of a call, since a large result needs
/// much.
pub const COMPARED_ITEMS: usize = 30;
pub const COMPARED_BYTES: usize = 64 << 10;
pub const COMPARED_MEMORY: u64 = 16 << 20;

/// Accepted concerns that a row of the audit has.
pub const AUDITED_CONCERNS: usize = 20;

/// Changed values of one connection that a row of the audit has.
pub const AUDITED_VALUES: usize = 20;

/// Connections of which a row of the audit has the changed values.
pub const AUDITED_CONNECTIONS: usize = 50;

/// Reports of hosts on one rollout. A host that starts again writes a new one.
pub const ROLLOUT_REPORTS: u32 = 200;

/// Steps of a rollout.
pub const ROLLOUT_STEPS: usize = 20;

/// Repairs that the impact of a version names, and the newest ones among which it looks for them.
pub const IMPACT_REPAIRS: usize = 5;
pub const IMPACT_REPAIRS_READ: u32 = 100;

/// Changes that could not be undone which the answer about a repair lists.
pub const REPAIR_STAYING: u32 = 50;

/// Comparisons that each step of a canary needs before the next one begins, unless the operator names
/// another number. With fewer, the guards could hardly trip: three harmful ones have to be among them.
pub const ROLLOUT_STEP_COMPARISONS: u64 = 10;

/// The greatest such number.
pub const ROLLOUT_STEP_COMPARISONS_MOST: u64 = 100_000;

/// The longest step, shadow or probation of a rollout: 30 days.
pub const ROLLOUT_LONGEST: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Characters of the name of a field in a rollout, which is kept.
pub const VERIFY_NAME_CHARACTERS: usize = 80;

/// Words of a masked example.
pub const VERIFY_EXAMPLE_WORDS: usize = 8;

/// Characters of a word of a masked example.
pub const VERIFY_EXAMPLE_CHARACTERS: usize = 24;

/// How much longer than a delivery's replay a repair pauses after it beside live traffic: it takes at most a
/// fifth of a thread and of the store's time.
pub const REPAIR_PAUSE: u32 = 4;

/// Deliveries that a repair converts at once while there is no live traffic, each with its body in memory.
pub const REPAIR_AT_ONCE: usize = 8;

/// Deliveries of a repair whose ids are held at once, 16 bytes each. The next ones are looked for
/// after them.
pub const REPAIR_IDS: usize = 250_000;

/// Leads of a contact of which a repair decides at once whose they are.
pub const REPAIR_PARTED_AT_ONCE: usize = 20;

/// Deals that moved in a repair whose former contacts are looked at in one piece of work.
pub const REPAIR_MOVES_AT_ONCE: u32 = 100;

/// Changes that an undo leaves because the store fails with them, before it ends: then the fault is not
/// theirs.
pub const REPAIR_LEFT: usize = 100;

/// Changes of a repair that one commit undoes.
pub const REPAIR_UNDONE_AT_ONCE: u32 = 32;

/// Calls of plugins that wait for `leadhost plugin dev` to show them. Further ones are left out.
pub const WATCHED_CALLS: usize = 256;

/// Answered requests that wait for `leadhost plugin dev` to show them. Further ones are left out.
pub const WATCHED_REQUESTS: usize = 256;

/// The length of a slot of counts over time. Further back, hours are counted. The statements of
/// `store/operations/activity.rs` have the number too.
pub const ACTIVITY_SLOT: Duration = Duration::from_mins(5);

/// Slots of an hour.
pub const ACTIVITY_SLOTS_PER_HOUR: i64 = (3_600 / ACTIVITY_SLOT.as_secs()) as i64;

/// Hours of which counts are kept: those of a week, and the one that has begun.
pub const ACTIVITY_HOURS: i64 = 7 * 24 + 1;

/// Versions of plugins whose calls a host counts over time. One takes at most some forty kilobytes.
pub const CALL_HISTORIES: usize = 200;

/// Rows that one count of an hour of a connection reads: more than ten thousand deliveries a minute.
/// If there are more, the newest are counted.
pub const ACTIVITY_ROWS: u32 = 1_000_000;

/// Connections and instances whose activity is counted: a few hours of counts for each stay in memory.
pub const ACTIVITY_SERIES: usize = 1_000;

/// The age past which counts of activity are made again at a request.
pub const ACTIVITY_FRESH: Duration = Duration::from_secs(10);

/// The longest time that a page waits for the first counts.
pub const ACTIVITY_WAIT: Duration = Duration::from_millis(20);

/// Items of one contact or leads of one external id that a search looks at.
pub const SEARCHED_ITEMS: u32 = 1_000;

/// How long requests refused with 507 are shown to operators; and others, after which time the next begins
/// another count.
pub const REFUSED_WRITES_SHOWN: Duration = Duration::from_hours(24);
pub const REFUSED_REST: Duration = Duration::from_hours(1);

/// Connections whose refused requests are counted by connection, and those of them that the line
/// of `leadhost status` names: the others are a number.
pub const REFUSED_CONNECTIONS: usize = 100;
pub const REFUSED_NAMED: usize = 5;

/// Deliveries of a connection within an hour, or else within a day: from so many on, a connection that
/// refused most of them is shown to operators.
pub const MOSTLY_REJECTED_OF_AN_HOUR: u64 = 10;
pub const MOSTLY_REJECTED_OF_A_DAY: u64 = 5;

/// Fetches of a delivery that its page shows, stored answers, and the bytes of their bodies.
pub const SHOWN_FETCHES: u32 = 20;
pub const SHOWN_ANSWER_BYTES: usize = 256 << 10;

/// Deliveries of a list that one request of an operator converts again or releases, and the time after
/// which it begins with no further one: a browser waits for the answer.
pub const REPLAYED_AT_ONCE: usize = 500;
pub const REPLAYED_WITHIN: Duration = Duration::from_secs(20);

/// Deliveries that such a request names because they stay as they are.
pub const REPLAYED_REFUSALS: usize = 20;

/// Messages with an unknown outcome that one request of an operator resolves, the time after which it
/// begins with no further one, and those that it names because they stay as they are.
pub const RESOLVED_AT_ONCE: usize = 500;
pub const RESOLVED_WITHIN: Duration = Duration::from_secs(20);
pub const RESOLVED_REFUSALS: usize = 20;

/// The newest deliveries in quarantine at which Today looks for the connections whose secrets it links, and
/// how many of these it names: the list has the others.
pub const QUARANTINE_LOOKED_AT: u32 = 50;
pub const QUARANTINE_SECRETS_NAMED: usize = 3;

/// Ended changes of the leads of a connection that are remembered: of more, the oldest become one.
pub const ENDED_CHANGES: usize = 5;

/// Versions that were rolled back lately, for which Today and `leadhost status` look whether deliveries of
/// them are left. The others are named without it: each look may read [`LOOKED_THROUGH`] rows.
pub const LEFT_VERSIONS_LOOKED_FOR: usize = 5;

/// Further looks for the deliveries of such a version, each behind the one before.
pub const LEFT_VERSION_LOOKS: u32 = 4;

/// Deliveries at which a page of a list looks for those of one version, which no index finds.
pub const LOOKED_THROUGH: u32 = 20_000;

/// Deals at which a page of a list looks for those of one workspace, to which no index of a SQLite file leads.
pub const DEALS_LOOKED_THROUGH: u32 = 2_000;

/// Deals, conversations, tickets and deliveries, of each, that the page of a deal or a contact shows.
pub const SHOWN_OF_PERSON: u32 = 50;

/// Contacts that the history of one deal names.
pub const CONTACTS_NAMED: usize = 20;

/// Workspaces in which a search for a delivery or a person's messages looks if the request names none.
pub const SEARCHED_WORKSPACES: usize = 50;

/// Open streams of the console on one host: each holds a connection of the admin listener, which needs
/// others for its answers. A page without one is read again by its link.
pub const CONSOLE_STREAMS: usize = 24;

/// The time between two looks of a stream for something new.
pub const CONSOLE_LOOK: Duration = Duration::from_secs(2);

/// Looks of a stream after which it sends something, so that a connection that was cut is noticed.
pub const CONSOLE_BEAT: u32 = 7;

/// Sessions of the console on one host. Past it, the one that was unused for longest ends.
pub const CONSOLE_SESSIONS: usize = 1_000;

/// The time after which an unused session of the console ends.
pub const CONSOLE_IDLE: Duration = Duration::from_hours(1);

/// The longest time of a session of the console: a working day.
pub const CONSOLE_LONGEST: Duration = Duration::from_hours(12);

/// Traces that are open on a host. Each request in progress has one; past it requests have none.
pub const TRACES_OPEN: usize = 16_384;

/// Spans of one trace, of some 300 bytes each. Further ones are dropped, except the root.
pub const TRACE_SPANS: usize = 256;

/// Rows of the audit that a rollback reads at once, to find how earlier versions ceased to be active.
pub const ROLLBACK_AUDIT_PAGE: u32 = 1_000;

/// Such pages that a rollback reads at most: the last 10 000 acts.
pub const ROLLBACK_AUDIT_PAGES: usize = 20;

/// The longest time in which a rollback that has begun counts as under way: one that has no outcome by then
/// was cut off.
pub const ROLLBACK_TIME: Duration = Duration::from_secs(60);

/// Bytes of a text in a span.
pub const ATTRIBUTE_BYTES: usize = 256;

/// Traces that wait for their export, mostly of some 4 KiB. Past it traces are dropped.
pub const TRACES_QUEUED: usize = 2_048;

/// Spans after which a batch of traces is exported.
pub const EXPORT_SPANS: usize = 2_048;

/// How long a trace waits at most for others to share its export.
pub const EXPORT_EVERY: Duration = Duration::from_secs(1);

/// The deadline of one attempt to export. It is the default of OpenTelemetry.
pub const EXPORT_DEADLINE: Duration = Duration::from_secs(10);

/// Attempts to export a batch. Then it is dropped.
pub const EXPORT_ATTEMPTS: u32 = 4;

/// The first and the longest pause between attempts to export. The receiver may ask for one in between.
pub const EXPORT_BACKOFF_FIRST: Duration = Duration::from_millis(500);
pub const EXPORT_BACKOFF_LONGEST: Duration = Duration::from_secs(5);

/// How long a stop waits for the export of the last traces.
pub const EXPORT_AT_STOP: Duration = Duration::from_secs(3);

/// Problems that `leadhost status` lists; it counts the rest.
pub const STATUS_PROBLEMS: usize = 50;

/// Differences of a candidate that `leadhost status` names; it counts the rest.
pub const STATUS_DRIFT: usize = 2;

/// Leads of a source with which the next ones are compared at the earliest, and leads from which on a loss is
/// reported: two windows of 25 later. `leadhost status` names so many sources with fewer.
pub const YOUNG_SOURCE_LEADS: u32 = 30;
pub const WATCHED_SOURCE_LEADS: u32 = YOUNG_SOURCE_LEADS + 50;
pub const YOUNG_SOURCES_NAMED: usize = 5;

/// Connections with something that does not work that a host remembers, how long after it last failed, and the
/// characters of its reason.
pub const TROUBLES: usize = 1_000;
pub const TROUBLE_SHOWN: Duration = Duration::from_hours(24);
pub const TROUBLE_CHARACTERS: usize = 200;

/// The age of the oldest waiting work from which `leadhost status` calls it a problem.
pub const STATUS_LONG_WAIT: Duration = Duration::from_mins(15);

/// Time between two polls of `leadhost tail`.
pub const TAIL_PERIOD: Duration = Duration::from_secs(1);

/// How long `leadhost tail` waits for the answers of one poll.
pub const TAIL_DEADLINE: Duration = Duration::from_secs(10);

/// Rows of one page that `leadhost tail` asks for.
pub const TAIL_ROWS: u32 = 200;

/// Pages of one poll of `leadhost tail`. It says so if there were more.
pub const TAIL_PAGES: usize = 10;

/// How far each poll of `leadhost tail` looks back: a delivery may be committed after one that was
/// received later.
pub const TAIL_OVERLAP: Duration = Duration::from_secs(5);

/// The same if the state of deliveries is given: they come into that state later.
pub const TAIL_OVERLAP_OF_STATE: Duration = Duration::from_mins(5);

/// How long a check of `leadhost doctor` waits for what it asks.
pub const DOCTOR_DEADLINE: Duration = Duration::from_secs(5);

/// Remote servers that `leadhost doctor` connects to. It names how many it left out.
pub const DOCTOR_REMOTE_SERVERS: usize = 200;

/// Remote servers that `leadhost doctor` connects to at the same time.
pub const DOCTOR_REMOTE_SERVERS_AT_ONCE: usize = 8;

/// Free bytes on the data folder's disk below which `leadhost doctor` warns.
pub const DOCTOR_LOW_DISK_BYTES: u64 = 1 << 30;

/// The difference of two clocks from which `leadhost doctor` warns…
pub const DOCTOR_CLOCK_WARNING: Duration = Duration::from_secs(1);

/// …and from which it calls it a problem: sender checks with times begin to fail, and a fail-over waits.
pub const DOCTOR_CLOCK_PROBLEM: Duration = Duration::from_secs(30);

/// How long before the end of a certificate `leadhost doctor` and `leadhost status` warn.
pub const DOCTOR_CERTIFICATE_WARNING: Duration = Duration::from_hours(21 * 24);
