//! Every bound of the service, with its unit and its reason. What an operator
//! may change is in the configuration, with these as defaults.

use std::time::Duration;

/// Bytes of a gateway body: far above the largest notification of the interface.
pub const BODY_BYTES: usize = 1 << 20;

/// Bytes of a delivery: providers batch up to a thousand updates, documented as up to 3 MB.
pub const DELIVERY_BYTES: usize = 4 << 20;

/// Bytes of request bodies held at once, however much memory there is, unless the
/// configuration says more: past it the sender hears 503 and comes again.
pub const BODY_BYTES_IN_FLIGHT: usize = 256 << 20;

/// Bytes of memory for each byte of bodies that may be held at once: a delivery is
/// in memory several times on its way, and plugins and the store need the rest.
pub const MEMORY_PER_BODY_BYTE: u64 = 16;

/// Ids of connections that nobody had come with before for which the store is asked,
/// each second; past it one list of all ids answers for the others.
pub const GUESSES_ASKED: u32 = 50;

/// Addresses whose failed keys are counted in a minute; past it no other is added.
pub const PEERS_COUNTED: usize = 16_384;

/// Connections or partners whose pace a host remembers; past it those that owe
/// nothing are forgotten, and then all.
pub const PACED: usize = 16_384;

/// Nesting of JSON: nothing real is deeper, and readers recurse.
pub const JSON_DEPTH: usize = 64;

/// Bytes of a fetch's answer that are kept and handed to the plugin.
pub const FETCH_ANSWER_BYTES: usize = 4 << 20;

/// Bytes of the state that a plugin may attach to a fetch.
pub const FETCH_STATE_BYTES: usize = 64 << 10;

/// Fetches that one item may chain.
pub const FETCH_HOPS: u32 = 4;

/// Characters of a lead's word in a greeting: above it channels refuse the message.
pub const GREETING_WORD_CHARACTERS: usize = 500;

/// Attempts of one fetch before it is given up: once an hour, the longest backoff,
/// for longer than the 90 days that Meta keeps a lead. The days are what ends it.
pub const FETCH_ATTEMPTS: u32 = 2_400;

/// Items of one delivery: Meta batches a thousand; ten times that is an accident.
pub const ITEMS_PER_DELIVERY: usize = 10_000;

/// What a lead costs the store, in units by which writes are measured; what is
/// only told of an item costs one.
pub const LEAD_COST: usize = 4;

/// Cost of one write of a delivery, 32 leads: some three milliseconds of the one
/// writer of a SQLite file. What brings more is stored as it came and taken in beside
/// other work.
pub const WRITE_COST: usize = 32 * LEAD_COST;

/// Cost of one part of a delivery that is taken in beside other work: what a write
/// that somebody waits for may find before it.
pub const PART_COST: usize = 16 * LEAD_COST;

/// Commits of writes that somebody waits for which go before a part of a large delivery.
pub const COMMITS_BEFORE_A_PART: u32 = 4;

/// Items of a delivery that a fetch looks at beside its own: those of nearly every delivery.
pub const ITEMS_LOOKED_AT: u32 = 64;
/// Bytes of all texts in the items that one delivery gives: twice the largest
/// delivery, since a converter says some of it in other words.
pub const ITEMS_BYTES: usize = 2 * DELIVERY_BYTES;

/// Phones, and e-mails, of one lead: each phone is parsed, which costs most of what
/// the host does with a lead, and no person has as many.
pub const LEAD_PHONES: usize = 20;
pub const LEAD_EMAILS: usize = 20;

/// Listings that one lead asks about, and consents that it gave.
pub const LEAD_LISTINGS: usize = 50;
pub const LEAD_CONSENTS: usize = 50;

/// Fields that say which campaign a lead came from.
pub const LEAD_CAMPAIGN_FIELDS: usize = 100;

/// Attributes of one lead, or of one message of a contact: a long form has some dozens.
pub const ATTRIBUTES: usize = 200;

/// Bytes of a lead's name as it comes; what is kept is cut to [`NAME_CHARACTERS`].
pub const LEAD_NAME_BYTES: usize = 4 << 10;

/// Bytes of a phone as it comes: sources write words beside the number.
pub const LEAD_PHONE_BYTES: usize = 256;

/// Bytes of a short text of a lead: an e-mail, an id (an index is on it), a
/// reference, a time, a source's name, the name of an attribute.
pub const LEAD_WORD_BYTES: usize = 1 << 10;

/// Bytes of a long text of a lead: its message, the text of a consent, the value of
/// an attribute or of a campaign's field.
pub const LEAD_TEXT_BYTES: usize = 64 << 10;

/// Bytes of an inbound message's attributes together: they are exported with it.
pub const MESSAGE_ATTRIBUTES_BYTES: usize = 64 << 10;

pub use crate::domain::deal::{
    LEFT_OUT_NAMES, MESSAGE_BYTES as DEAL_MESSAGE_BYTES, PROPS_BYTES as DEAL_PROPS_BYTES,
};

/// Leads of one delivery whose notes name what had no room in their deals; the
/// others are counted.
pub const LEFT_OUT_LEADS: usize = 10;

/// Bytes of a request that a plugin asks for, its slots empty: twice the largest
/// body of the gateway, from which a template message is made.
pub const REQUEST_BYTES: usize = 2 * BODY_BYTES;

/// Pieces of which a request or a reply is put together: each slot costs a hash.
pub const SEGMENTS: usize = 4_096;

/// Fields of a request's query, and of its headers.
pub const REQUEST_FIELDS: usize = 256;

/// Bytes of a reply that a plugin gives its sender: a challenge, or a short text.
pub const REPLY_BYTES: usize = 64 << 10;

/// Secrets that the golden cases of a plugin show in replies, each by one function.
pub const REPLY_SLOTS: usize = 256;

/// Secrets that a handshake compares: one is usual.
pub const REQUIREMENTS: usize = 16;

/// Writes in one commit: enough to share an fsync, few enough to keep the lock short.
pub const WRITES_PER_COMMIT: usize = 512;

/// Writes of one connection in one commit while others write too, where a commit takes
/// several ways to a database and back.
pub const WRITES_OF_ONE: usize = 128;

/// The same in a store with one writer: some two milliseconds beside what the disk takes.
pub const WRITES_OF_ONE_ALONE: usize = 16;

/// Commits after one with writes of several connections that are kept short as well:
/// who came then may come again.
pub const SHARED_COMMITS: u32 = 64;

/// The part of the memory that this process may use which the memories of all calls under
/// way may have together: so many times less.
pub const PLUGINS_PART_OF_MEMORY: u64 = 4;

/// Versions of plugins, and connections, that have lines of their own in the metrics;
/// all others share one.
pub const VERSIONS_COUNTED: usize = 200;
pub const CONNECTIONS_COUNTED: usize = 1_000;

/// The window of a compressed body, as a power of two: what RFC 9659 lets everybody use,
/// and as much memory as it takes to read one.
pub const ZSTD_WINDOW_LOG: u32 = 23;

/// Deliveries of one connection that are converted and committed at once while others
/// send too, for each write of one that a commit takes: the next ones are ready when it
/// is done.
pub const TURNS_PER_WRITE: usize = 2;

/// Microseconds after another connection's delivery in which a connection is not alone.
pub const SEVERAL_FOR: i64 = 10_000_000;

/// Writes waiting for the writer, of which each connection has a part: past it requests
/// hear 503.
pub const WRITES_WAITING: usize = 8_192;

/// Failures of one delivery on one digest before it is parked.
pub const ATTEMPTS_PER_DIGEST: u32 = 3;

/// Rows of one export page.
pub const EXPORT_PAGE_MAX: u32 = 1_000;
pub const EXPORT_PAGE_DEFAULT: u32 = 100;

/// Bytes of the rows of one export page, and of the deals of one lookup: past it
/// there are fewer. A single row is given however long it is.
pub const EXPORT_PAGE_BYTES: usize = 16 << 20;
pub const DEALS_BYTES: usize = EXPORT_PAGE_BYTES;

/// Bytes of memory for each byte of a page; and what a page may have however little
/// memory there is. A page is in memory once, in pieces that are freed as they go out,
/// and its compressed answer beside it. Several readers make pages at once, and the rest
/// of the service needs most of the memory.
pub const MEMORY_PER_PAGE_BYTE: u64 = 128;
pub const LEAST_PAGE_BYTES: usize = 1 << 20;

/// Bytes from which on a piece of memory is given back to the system when it is freed.
pub const LARGE_PIECE_BYTES: i32 = 1 << 20;

/// Bytes above which an answer is counted until its client has taken it.
pub const ANSWER_COUNTED_BYTES: usize = 64 << 10;

/// Bytes that there is room for of one address's answers at least: a page, and what
/// stands around its rows.
pub const ANSWER_ROOM_BYTES: usize = EXPORT_PAGE_BYTES + (1 << 20);

/// Deals of one lookup.
pub const DEALS_PER_LOOKUP: u32 = 100;

/// Rows of a deal's history, and notes of it, that operators are shown.
pub const DEAL_PAST: u32 = 200;

/// Tickets of one page of the desk.
pub const TICKETS_PAGE_MAX: u32 = 100;
pub const TICKETS_PAGE_DEFAULT: u32 = 20;

/// Characters of a term that products are searched by: longer than any name that
/// people type.
pub const SEARCH_TERM_CHARACTERS: usize = 200;

/// Words of a term that count: each costs a walk through the index.
pub const SEARCH_TERM_WORDS: usize = 8;

/// Words of a product's name, and characters of a word, that are searched: what
/// comes after them is a description, or no language's word.
pub const SEARCH_NAME_WORDS: usize = 64;
pub const SEARCH_WORD_CHARACTERS: usize = 64;

/// Products of one page of a search, and when nothing is said.
pub const SEARCH_PAGE_MAX: usize = 100;
pub const SEARCH_PAGE_DEFAULT: usize = 10;

/// Microseconds for which an index is searched before its feed is asked again: a
/// product is found within two seconds.
pub const SEARCH_FRESH_MICROS: i64 = 1_000_000;

/// Microseconds for which an index that has no room is not tried to be loaded again.
pub const SEARCH_REFUSED_MICROS: i64 = 60_000_000;

/// Products that are read at once when an index is loaded: some milliseconds of the store.
pub const SEARCH_LOAD_ROWS: u32 = 5_000;

/// Changes past which an index is loaded anew rather than followed with: half a
/// second's work.
pub const SEARCH_CHANGES: usize = 50_000;

/// Seconds in which an index has to be loaded: ten million products take less.
pub const SEARCH_LOAD_SECONDS: u64 = 300;

/// Seconds that a search waits for its index: a million products take less.
pub const SEARCH_WAIT_SECONDS: u64 = 20;

/// Milliseconds for which connections that the kernel has begun are let in before their
/// listener closes: the way of a segment to a client and back.
pub const LISTENER_CLOSES_MS: u64 = 250;

/// Connections of the admin surface, beside those of the others.
pub const ADMIN_CONNECTIONS: usize = 64;

/// Bytes of a request's target: longer ones are answered 414.
pub const URI_BYTES: usize = 8 << 10;

/// Bytes of a request's headers, names and values: more are answered 431.
pub const HEADER_BYTES: usize = 32 << 10;

/// Bytes that a connection buffers: a whole head fits, and not much more.
pub const CONNECTION_BUFFER_BYTES: usize = 64 << 10;

/// Requests that one connection of HTTP/2 may have under way at once.
pub const STREAMS_PER_CONNECTION: u32 = 100;

/// Bytes of bodies that a connection of HTTP/2 may send before they are read, all of its
/// requests together.
pub const WINDOW_BYTES: u32 = 64 << 10;

/// Bytes of a file of certificates, or of a key.
pub const PEM_BYTES: u64 = 256 << 10;

/// Bytes of a caller's own request id.
pub const REQUEST_ID_BYTES: usize = 128;

/// Seconds that a connection may be open without a request under way.
pub const IDLE_SECONDS: u64 = 60;

/// Seconds that a client may take nothing of an answer.
pub const STALL_SECONDS: u64 = 60;

/// A body of at most so many bytes is copied out of its connection's buffer.
pub const BODY_COPIED_BYTES: usize = 16 << 10;

/// Bytes and seconds of a refused body that are read and dropped, so that a
/// client that is still sending gets to read the refusal.
pub const DRAINED_BYTES: usize = 16 << 20;
pub const DRAINED_SECONDS: u64 = 2;

/// Bytes of one piece of a large answer: a new piece begins past it. A row is never cut,
/// and a piece is freed when it has gone out.
pub const PIECE_BYTES: usize = 64 << 10;

/// Bytes above which an answer is compressed: below, headers weigh as much.
pub const COMPRESS_FROM_BYTES: usize = 1 << 10;

/// Bytes that are compressed on the spot, about half a millisecond; more go to a thread of their own.
pub const COMPRESS_INLINE_BYTES: usize = 32 << 10;

/// Microseconds that what the store said of a key is believed, good or bad.
pub const KEY_BELIEVED_MICROS: i64 = 1_000_000;

/// Keys believed at once; one more forgets them all, which costs a read each.
pub const KEYS_BELIEVED: usize = 16_384;

/// Seconds between notes in the store of when keys were last used.
pub const KEY_USE_SECONDS: u64 = 15;

/// Seconds that an orderly end may take beyond the drain, before the process is
/// ended by force: with the usual drain, less than the 40 that the operators' guide
/// gives to the service manager.
pub const STOP_SECONDS: u64 = 9;

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

/// Bytes of the schema that a plugin describes its configuration by: that of the
/// mapping converter, which says the most, has nine thousand.
pub const CONFIG_SCHEMA_BYTES: usize = 128 << 10;

/// Levels of a schema's text.
pub const CONFIG_SCHEMA_DEPTH: usize = 48;

/// Parts of a schema that can be reached from its root, each counted once.
pub const CONFIG_SCHEMA_PARTS: usize = 2_048;

/// Parts of a schema that look at one value through each other, by `$ref`,
/// `allOf` and the like: each is some frames of a stack.
pub const CONFIG_SCHEMA_CHAIN: usize = 32;

/// Most steps that a schema may take for one value of a configuration: that of
/// the mapping converter takes some hundred.
pub const CONFIG_SCHEMA_STEPS: u64 = 100_000;

/// How often `unevaluatedProperties` and `unevaluatedItems` are counted to look
/// again at what the parts beside them did.
pub const CONFIG_UNEVALUATED_LOOKS: u64 = 16;

/// Regular expressions of a schema, bytes of each, and bytes of each compiled.
pub const CONFIG_PATTERNS: usize = 256;
pub const CONFIG_PATTERN_BYTES: usize = 1_000;
pub const CONFIG_PATTERN_MEMORY: usize = 1 << 20;

/// Bytes of a plugin's configuration, and its levels.
pub const CONFIG_BYTES: usize = 256 << 10;
pub const CONFIG_DEPTH: usize = 16;

/// Most steps that checking one configuration may take, and that one process may
/// be asked for: about a second.
pub const CONFIG_STEPS: u64 = 20_000_000;

/// Configurations that one process is asked about.
pub const CONFIGS_AT_ONCE: usize = 32;

/// Faults of a configuration that are told.
pub const CONFIG_FAULTS_TOLD: usize = 50;

/// Processes that check schemas at once, and what each may take: seconds of
/// processor time, seconds on the clock of a busy machine, address space, stack.
pub const SCHEMA_CHECKS_AT_ONCE: usize = 2;
pub const SCHEMA_CHECK_SECONDS: u64 = 3;
pub const SCHEMA_CHECK_WALL_SECONDS: u64 = 30;
pub const SCHEMA_CHECK_MEMORY_MIB: u64 = 2_048;
pub const SCHEMA_CHECK_STACK_BYTES: usize = 64 << 20;

/// Components that are tried at once, and that wait for it: each is held in
/// memory as a whole.
pub const TRIALS_AT_ONCE: usize = 2;
pub const TRIALS_WAITING: usize = 6;

/// How many times as long as it took the turn of a component rests that was refused,
/// and for how long at most: bad ones one after the other take a tenth of a processor.
pub const TRIAL_REST_TIMES: u32 = 20;
pub const TRIAL_REST: Duration = Duration::from_millis(500);

/// Golden cases without an answer (out of time, out of memory, broken off) after
/// which no further one is tried.
pub const GOLDEN_UNANSWERED: usize = 3;

/// Bytes of a refusal that repeats what a component says; names that it lists, and
/// bytes of each.
pub const REFUSAL_BYTES: usize = 1_000;
pub const REFUSAL_NAMES: usize = 10;
pub const REFUSAL_NAME_BYTES: usize = 100;

/// Instances inside each other of which an import may be made: one is usual, and
/// whoever walks them does it by recursion.
pub const IMPORT_DEPTH: usize = 8;

/// Bytes of a plugin's machine code for each byte that a component may have: it is
/// held in memory twice when it is loaded, and compilers make some four.
pub const CODE_PER_COMPONENT_BYTE: usize = 8;

/// Values and bytes of text that the answer to a golden case may have: each is some
/// hundred bytes of memory when it is compared, and what a component expects fits
/// into so many bytes. JSON inside of a text may be written with more room.
pub const GOLDEN_ANSWER_VALUES: usize = leadhost_golden::MAX_PACKED_BYTES;
pub const GOLDEN_ANSWER_TEXT_BYTES: usize = 2 * leadhost_golden::MAX_PACKED_BYTES;

/// Bytes of what a plugin says of itself and of each of its secrets, and how many
/// secrets and hosts it may ask for.
pub const DESCRIPTION_BYTES: usize = 2 << 10;
pub const DESCRIBED_SECRETS: usize = 64;
pub const DESCRIBED_HOSTS: usize = 256;

/// Sender checks of one plugin, parts that one of them signs and secrets that a
/// source carries; bytes of each word in them.
pub const SENDER_CHECKS: usize = 32;
pub const SENDER_CHECK_BYTES: usize = 1 << 10;

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

/// Deliveries of one connection kept in quarantine: past it the address that holds most
/// loses its oldest.
pub const QUARANTINED_PER_CONNECTION: u64 = 1_000;

/// Bytes of one connection's deliveries kept in quarantine. Divided by the count above
/// it is what a delivery weighs beside its bytes, when the shares of addresses are compared.
pub const QUARANTINED_BYTES_PER_CONNECTION: u64 = 64 << 20;

/// Contacts that are named beside the one that is erased, as they have the same address.
pub const OTHERS_NAMED: u32 = 20;

/// Connections that read from the store at once: more would only share the same cores.
pub const STORE_READERS: u32 = 8;

/// Seconds without work after which a thread of the store gives back the pages that it has
/// at hand.
pub const STORE_REST_SECONDS: u64 = 10;

/// Prepared statements that a connection of a store keeps: more than there are.
pub const STORE_STATEMENTS: usize = 400;

/// Reads of a file that wait for a thread: past it they are refused.
pub const STORE_READS_WAITING: usize = 4_096;

/// Writes to a file that wait for its thread, batches of leads among them.
pub const STORE_WRITES_WAITING: usize = 1_024;

/// Seconds that a connection waits for another process that writes to the file.
pub const STORE_BUSY_SECONDS: u64 = 5;

/// Milliseconds between two checkpoints of the store's log.
pub const CHECKPOINT_EVERY_MS: u64 = 500;

/// Passes beside the writer before it has to wait for the log to be emptied: each moves
/// what was written during the one before, and takes a part of its time.
pub const CHECKPOINT_PASSES: u32 = 4;

/// Bytes of the store's log past which the writer waits until it can begin the log
/// anew; a file that is longer is shortened when nobody writes.
pub const LOG_BYTES: u64 = 64 << 20;

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

/// Seconds that the start waits for the first answer of the database server: with its own
/// start a host that cannot reach it says so within five.
pub const STORE_OPEN_SECONDS: u64 = 4;

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

/// Milliseconds in which a database has to answer a look, or, in the last two thirds of
/// them, a new connection (some six ways there and back), before it counts as lost: one
/// that is far away or only busy takes some, and with the time between two looks who
/// asks is refused within five seconds.
pub const STORE_ANSWER_MS: u64 = 3_500;

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

/// Rows of one transaction of a move, and bytes of what is long in them: a page, which is
/// copied again when the move is cut off. Up to three pages are in memory: one that is
/// read, one that waits, one that is written.
pub const MOVED_ROWS: u32 = 1_000;
pub const MOVED_BYTES: u64 = 8 << 20;

/// Files kept for other things than clients' connections: those to the store and to
/// the outside, files of the store and of components.
pub const FILES_KEPT: usize = 1_024;

/// A connection that idles for less makes no room: under load its next request is on its
/// way, and who is sent away then has to connect again.
pub const RESTS_MS: u64 = 250;

/// Connections that wait to be accepted, as far as the kernel's own bound lets them.
pub const ACCEPT_QUEUE: u32 = 4_096;

/// Bytes of the id that the host gives a message, as the contract promises it.
pub const MESSAGE_ID_BYTES: usize = 64;

/// Ids that a provider gives one message: one is usual, a message in parts has some.
pub const EXTERNAL_IDS_PER_MESSAGE: usize = 16;

/// Bytes of a provider's id or name of something: the longest known have some
/// hundred, and an index takes no more than a few of these.
pub const EXTERNAL_ID_BYTES: usize = 512;

/// Fields of a route: one or two are usual.
pub const ROUTE_FIELDS: usize = 32;

/// Bytes of a word of an adapter (a status, a type, a code): longer ones are cut.
pub const CHANNEL_WORD_BYTES: usize = 128;

/// Bytes of what a provider says of an error: longer texts are cut.
pub const CHANNEL_TEXT_BYTES: usize = 4 << 10;

/// Errors of one status; providers give one.
pub const ERRORS_PER_STATUS: usize = 16;

/// A bound of the merging itself, so it stands with it.
pub use crate::domain::message::ERRORS_PER_MESSAGE;

/// Bytes of what a contact wrote, as shown and exported: channels take some four
/// thousand characters. The delivery keeps what is cut.
pub const MESSAGE_CONTENT_BYTES: usize = 64 << 10;

/// Templates of one page of a provider's list: providers give at most a thousand.
pub const TEMPLATES_PER_PAGE: usize = 2_000;

/// Bytes of a template's text and components: a carousel of ten cards has some 20 KiB.
pub const TEMPLATE_BYTES: usize = 256 << 10;

/// Placeholders of one template.
pub const PLACEHOLDERS_PER_TEMPLATE: usize = 256;

/// Characters of a contact's name and of other names in a request.
pub const NAME_CHARACTERS: usize = 255;

/// Characters of a notification's words for the assistant.
pub const SPECIAL_INSTRUCTIONS_CHARACTERS: usize = 4_000;

/// Characters of a phone as a partner writes it; more than any spelling has.
pub const PHONE_CHARACTERS: usize = 64;

pub use crate::domain::contact::EMAIL_CHARACTERS;

pub use crate::domain::analytics::SOURCE_CHARACTERS;

/// Characters of a template's name: what WhatsApp allows.
pub const TEMPLATE_NAME_CHARACTERS: usize = 512;

/// Characters of a language's code: the longest tag that is in use.
pub const LANGUAGE_CHARACTERS: usize = 35;

/// Components of a template: a header, a body, and more buttons than any channel shows.
pub const TEMPLATE_COMPONENTS: usize = 50;

/// The greatest index of a button.
pub const BUTTON_INDEX: u32 = 99;

/// Parameters of one component, and replacements of the legacy format.
pub const TEMPLATE_PARAMETERS: usize = 100;

/// Characters of a parameter: above what any channel sends in one message.
pub const PARAMETER_CHARACTERS: usize = 4_096;

/// Characters of a link to a file.
pub const LINK_CHARACTERS: usize = 2_048;

/// Characters of an id in a partner's own system, of a product or a deal.
pub const EXTERNAL_ID_CHARACTERS: usize = 512;

/// Characters of what kind of note a deal's log is.
pub const LOG_TYPE_CHARACTERS: usize = 64;

/// Characters of what a note says at length; deals are shown without it.
pub const LOG_DESCRIPTION_CHARACTERS: usize = 4_000;

/// Bytes of a note's data as JSON: the deal shows the newest five of them on every
/// page that it is on.
pub const LOG_METADATA_BYTES: usize = 4 << 10;

/// Issues that one body is told: the first ones say what is wrong.
pub const ISSUES: usize = 100;

/// Characters of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARACTERS: usize = 255;

/// Seconds that a notification waits for the first list of its instance's
/// templates; without it they are not checked.
pub const TEMPLATES_WAIT_SECONDS: u64 = 3;

/// Seconds between two attempts to get an instance's list of templates, also
/// when a template is asked for that is not in it.
pub const TEMPLATES_AGAIN_SECONDS: i64 = 60;

/// Pages of a list of templates, and templates in it: a provider that goes on
/// past that goes in circles.
pub const TEMPLATE_PAGES: usize = 100;
pub const TEMPLATES_PER_INSTANCE: usize = 10_000;

/// Bytes of all templates of an instance: they are kept in memory while it sends.
pub const TEMPLATE_LIST_BYTES: usize = 32 << 20;

/// Seconds that a provider may make sends wait: as long as messages are kept.
pub const HOLD_LONGEST_SECONDS: i64 = 24 * 3_600;

/// Milliseconds between two attempts to write down what came of a send.
pub const SETTLE_AGAIN_MS: u64 = 250;

/// Seconds for which that a message was taken is tried to be written down, also
/// when its lease has ended: a store that was away comes back within minutes.
pub const SETTLE_ACCEPTED_SECONDS: u64 = 600;

/// Microseconds that what a channel says of an unknown message is kept: a provider
/// repeats a webhook for as long.
pub const REFERENCE_KEPT_MICROS: i64 = 7 * 24 * 3_600 * 1_000_000;

/// What is kept of unknown messages, past which the oldest goes: another system may
/// send through the same number.
pub const REFERENCES_UNKNOWN: u32 = 1_000_000;

/// Seconds in which a connection to the outside has to stand, TLS included: a far
/// end that is there takes one.
pub const EGRESS_CONNECT_SECONDS: u64 = 5;

/// Addresses of a name that are tried, and seconds for one: past it the next.
pub const EGRESS_ADDRESSES: usize = 4;
pub const EGRESS_ADDRESS_SECONDS: u64 = 2;

/// Seconds that a connection to the outside is kept for the next request. Less
/// than after which common servers close it (some after five): a request that
/// crosses with that is one of which nobody knows whether it was taken.
pub const EGRESS_KEPT_SECONDS: u64 = 4;

/// Seconds after which a connection to the outside is not used again, however busy:
/// a name that leads elsewhere by then is followed.
pub const EGRESS_CONNECTION_SECONDS: u64 = 300;

/// Connections to the outside that are kept, of one far end and in all.
pub const EGRESS_KEPT_PER_PLACE: usize = 64;
pub const EGRESS_KEPT: usize = 256;

/// Requests to the outside under way at once, of one far end and in all: one that
/// hangs leaves room for the others.
pub const EGRESS_CALLS_PER_PLACE: usize = 128;
pub const EGRESS_CALLS: usize = 512;

/// Milliseconds that an answered connection may take to be ready for another
/// request: it is at once, unless the far end did not read the request to its end.
pub const EGRESS_READY_MS: u64 = 100;

/// TLS sessions that are remembered, so that a further connection to the same
/// far end costs less.
pub const EGRESS_TLS_SESSIONS: usize = 256;

/// Products of one transaction of an import: a few milliseconds of the writer.
pub const IMPORT_ROWS: usize = 1_000;

/// Rows of a kind that go in one transaction when a person is erased: short enough not
/// to be felt by leads.
pub const ERASED_AT_ONCE: u32 = 200;

/// Deals, conversations and deliveries that go in one transaction: more hangs on each.
pub const ERASED_WHOLE_AT_ONCE: u32 = 20;

/// Deliveries that are searched for a person at once, and bytes of them.
pub const SEARCHED_AT_ONCE: u32 = 500;
pub const SEARCHED_BYTES: u64 = 8 << 20;

/// Deliveries that a receipt names of those that were left; the others are counted.
pub const LEFT_SHOWN: usize = 100;

/// Deliveries that were left whose ids an erasure remembers: a record of at most some
/// hundred kilobytes, and far more than name one person.
pub const LEFT_REMEMBERED: usize = 10_000;

/// Times that erasing a person goes on without getting anywhere, since somebody writes
/// what it removes, and milliseconds between two.
pub const ERASE_ATTEMPTS: u32 = 100;
pub const ERASE_PAUSE_MS: u64 = 20;

/// Times that the log of a SQLite file is tried to be emptied after somebody was erased,
/// while others read from it.
pub const LOG_EMPTIED_ATTEMPTS: u32 = 20;

/// Products that an operator removes in one request.
pub const REMOVED_PRODUCTS: usize = 1_000;

/// Microseconds that removals are told to who follows a feed within: indexes follow
/// by the second, and one that has not looked for that long is built anew.
pub const TOMBSTONES_KEPT_MICROS: i64 = 7 * 24 * 3_600 * 1_000_000;

/// Bytes of one line of a catalogue: a description that is as long as may be, each
/// of its characters written as an escape, and some columns that nobody takes.
pub const IMPORT_LINE_BYTES: usize = 256 << 10;

/// Rows of one transaction of an import into a store with one writer: interactive
/// writes wait no longer than for these, some milliseconds.
pub const IMPORT_ROWS_ALONE: usize = 250;

/// Bytes of products that one transaction of an import has in it.
pub const IMPORT_PART_BYTES: usize = 1 << 20;

/// Refused lines of an import that its answer tells; all are counted.
pub const IMPORT_PROBLEMS_TOLD: usize = 1_000;

/// Columns that an import does not take and names in its answer.
pub const IMPORT_NAMES_TOLD: usize = 20;

/// Products of a workspace that one import may bring: several times what the index
/// of names is made for, and a line that repeats for ever comes to an end.
pub const IMPORT_LINES: u64 = 20_000_000;

/// Characters of a product's external id: an index is on it.
pub const PRODUCT_EXTERNAL_ID_CHARACTERS: usize = 255;

/// Characters of a product's description: several pages.
pub const PRODUCT_DESCRIPTION_CHARACTERS: usize = 10_000;

/// Changes that one step reads into a rollup: some milliseconds of the writer.
pub const ROLLUP_CHANGES: u32 = 1_000;

/// The same in a store with one writer: interactive writes wait no longer than for these.
pub const ROLLUP_CHANGES_ALONE: u32 = 250;

/// Steps of rollups at once, however many connections the store has: more would
/// only take the machine from requests.
pub const ROLLUP_STEPS_AT_ONCE: usize = 4;

/// Seconds after which a run ends without what has more to read, which goes on in
/// the next: other workspaces are shown as of then.
pub const ROLLUP_RUN_SECONDS: u64 = 10;

/// Looks, a millisecond apart, at whether a request waits for the writer before a
/// step of a rollup begins: longer than a commit takes, and under full load the
/// rollups still move.
pub const ROLLUP_WAITS: u32 = 20;

/// Milliseconds between two rounds of rollups at least, however short the setting.
pub const ROLLUP_REST_MS: u64 = 50;

/// Zones of a workspace that have a cube of local days; others are answered from slots.
pub const ZONES_PER_WORKSPACE: usize = 8;

/// Requests for a zone before it gets a cube: a single question is cheaper without.
pub const ZONE_REQUESTS: u64 = 3;

/// Microseconds without a request after which a zone's cube goes.
pub const ZONE_UNUSED_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;

/// Slots that one step adds to a cube: four days.
pub const CUBE_SLOTS: i32 = 4 * 96;

/// Slots that one query adds up, so that none takes long: a month.
pub const ROLLUP_SLOTS_AT_ONCE: i32 = 31 * 96;

/// Days of a cube that one query reads: each may have many cells.
pub const CUBE_DAYS_AT_ONCE: i64 = 62;

/// Zones whose requests a host counts between two runs; past it none is added.
pub const ZONES_COUNTED: usize = 10_000;

/// Rows of one answer of analytics; past it the client is asked to narrow its question.
pub const ANALYTICS_ROWS: usize = 200_000;

/// Counts that are put together on the spot, in less than a millisecond; more go to a
/// thread of their own.
pub const ANALYTICS_INLINE_CELLS: usize = 4_096;

/// Counts by day and key that one answer of analytics is made of, some dozens of
/// mebibytes: ten years of a hundred keys. Sources are partners' words, and may be as
/// many as conversations.
pub const ANALYTICS_CELLS: usize = 500_000;

/// Seconds after which what analytics shows is stale: about twice the six hours that
/// its refreshing may take.
pub const ANALYTICS_STALE_SECONDS: i64 = 12 * 3_600;

/// The first year that analytics can be asked for: local days of every zone begin
/// with a quarter of an hour since then.
pub const ANALYTICS_FIRST_YEAR: i32 = 1980;

/// Local days past the present that analytics looks for: no conversation begins later.
pub const ANALYTICS_DAYS_AHEAD: i32 = 2;

/// Bytes of a challenge that a reply may sign: sources send 20 to 50. Longer ones could
/// be more than a challenge.
pub const CHALLENGE_BYTES: usize = 128;

/// Processor time of one slice of a plugin's call, or of the host's work on what it
/// gave: then others come first.
pub const SLICE: Duration = Duration::from_millis(1);

/// What a slice costs at least, for the queue and the thread: so that many tiny ones
/// are not free.
pub const SLICE_LEAST: Duration = Duration::from_micros(10);

/// Processor time up to which a call is quick: an interpreter's call takes one to
/// three milliseconds, more with a large body. Past it the call goes on behind what
/// serves.
pub const QUICK_CALL: Duration = Duration::from_millis(10);

/// Niceness of the threads that slow calls run on, above that of the service: there
/// they weigh a fifth of a thread that serves, by `sched(7)`.
pub const SLOW_NICENESS: i32 = 7;

/// The highest niceness there is.
pub const LEAST_PRIORITY: i32 = 19;

/// How long a slow call keeps the processor from a thread that serves, at most: the
/// least that Linux takes.
pub const SLOW_TURN: Duration = Duration::from_micros(100);

/// How long a request waits for an answer of a plugin that it cannot do without, as
/// sender checks and handshakes are: sources give up after some five to ten seconds.
pub const BRIEF_CALL_PATIENCE: Duration = Duration::from_secs(4);

/// How long the worker waits for a call at least: a twentieth of a processor is enough
/// for its two seconds, and its lease is longer.
pub const SLOW_CALL_PATIENCE: Duration = Duration::from_secs(40);

/// Calls that have begun, for each thread: each holds an instance with its memory.
/// Half of them may be slow.
pub const CALLS_PER_THREAD: usize = 4;

/// Lanes whose use of the processor is remembered, and digests that owe some.
pub const LANES_KEPT: usize = 4_096;
pub const DIGESTS_KEPT: usize = 1_024;

/// Failures in a row after which a version is tried less often for a connection.
pub const BREAKER_FAILURES: u32 = 3;

/// Seconds of the first and the longest pause between two tries of such a version.
pub const BREAKER_FIRST_SECONDS: i64 = 1;
pub const BREAKER_LONGEST_SECONDS: i64 = 300;

/// Seconds over which the deliveries are spread that wait for such a version.
pub const BREAKER_SPREAD_SECONDS: u32 = 60;

/// Pairs of version and connection whose failures are remembered.
pub const BREAKERS_KEPT: usize = 10_000;

/// Items, phones, addresses and the like of one delivery that are read on the spot,
/// in some hundred microseconds; more are read in slices by the plugins' threads.
pub const NORMALISED_INLINE: usize = 64;
