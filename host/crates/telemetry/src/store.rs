//! The store: the commits of the writer, and connections to the database.

use std::sync::atomic::Ordering;

use super::register::{Counter, Family, Gauge, Histogram, StateLabel, metrics};
use leadhost_domain::backlog::LogUsage;
use leadhost_store::writer::Commit;
use leadhost_store::{AuditExtent, PoolUsage};

const WRITES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

metrics! {
    StoreMetrics {
        commits: Counter = add("commits", "Transactions of the writer");
        commit_writes: Histogram =
            metric(Histogram::new(WRITES), "commit_writes", "Writes that shared one transaction");
        commit_seconds: Histogram =
            seconds("commit_duration", "Time of one transaction of the writer");
        commit_failures: Counter = add("commit_failures", "Transactions of the writer that failed");
        up: Gauge = add("store_up", "1 while the store answers, 0 while it is unreachable");
        disk_free: Gauge =
            add("disk_free_bytes", "Bytes that the service may still write to the disk of its data folder");
        log: Gauge = add("store_log_bytes", "Bytes of the write-ahead log of the database file");
        log_held: Gauge =
            with_seconds(Gauge::default(), "store_log_held", "How long a reader has kept the write-ahead log from being emptied");
        connections: Family<StateLabel, Gauge> =
            add("store_connections", "Connections to the database: open, idle and the maximum; and store operations in progress");
        audit_written: Counter =
            add("audit_rows_written", "Rows that all hosts have written to the audit");
        audit_rows: Gauge = add("audit_rows", "Rows of the audit that are stored");
    }
}

impl StoreMetrics {
    /// Counts a transaction of the writer, successful or not.
    pub fn commit(&self, commit: &Commit) {
        self.commits.inc();
        if !commit.done {
            self.commit_failures.inc();
        }
        self.commit_writes
            .observe(u32::try_from(commit.writes).map_or(f64::MAX, f64::from));
        self.commit_seconds.observe(commit.took.as_secs_f64());
    }

    /// Sets the free bytes of the data folder's disk.
    pub fn disk(&self, free: u64) {
        self.disk_free.set(i64::try_from(free).unwrap_or(i64::MAX));
    }

    /// Sets the size of the write-ahead log, and how long a reader has held it.
    pub fn log(&self, log: LogUsage) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.log.set(number(log.bytes));
        self.log_held
            .set(number(log.held_seconds.unwrap_or_default()));
    }

    /// Sets how many rows the audit has had, and has.
    pub fn audit(&self, extent: &AuditExtent) {
        let written = u64::try_from(extent.newest).unwrap_or(0);
        self.audit_written.inner().store(written, Ordering::Relaxed);
        self.audit_rows.set(extent.newest - extent.removed.number);
    }

    /// Sets whether the store answers, and the use of its connections.
    pub fn state(&self, up: bool, pool: Option<PoolUsage>) {
        self.up.set(i64::from(up));
        let Some(pool) = pool else {
            return;
        };
        for (state, count) in [
            ("open", pool.open),
            ("idle", pool.idle),
            ("most", pool.most),
            ("asked", pool.asked),
        ] {
            self.connections
                .get_or_create(&StateLabel { state })
                .set(i64::from(count));
        }
    }
}
