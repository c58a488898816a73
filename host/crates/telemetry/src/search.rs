//! Searches for products, and their indexes.

use std::time::Duration;

use super::register::{Counter, Family, Gauge, Histogram, OutcomeLabel, count, metrics, set};
use leadhost_domain::word::words;

words! {
    Searched: "the outcome of a search" {
        Found = "found",
        Nothing = "nothing",
        /// The index was not loaded in time.
        Loading = "loading",
        /// The index is above its bound.
        TooLarge = "too_large",
        Failed = "failed",
    }
}

metrics! {
    SearchMetrics {
        searches: Family<OutcomeLabel, Counter> =
            add("searches", "Searches for products: found, nothing, loading, too_large, failed");
        seconds: Histogram =
            seconds("search_duration", "Time of a search for products, waiting for its index included");
        load_seconds: Histogram =
            seconds("search_load_duration", "Time of loading a workspace's index of products");
        indexes: Gauge = add("search_indexes", "Indexes of products in memory");
        index_bytes: Gauge =
            add("search_index_bytes", "Bytes of the indexes of products in memory");
    }
}

impl SearchMetrics {
    /// Counts a search by its outcome, and its time with the wait for the index.
    pub fn searched(&self, outcome: Searched, took: Duration) {
        count(&self.searches, outcome.as_str());
        self.seconds.observe(took.as_secs_f64());
    }

    /// Records the time of loading a workspace's product index.
    pub fn loaded(&self, took: Duration) {
        self.load_seconds.observe(took.as_secs_f64());
    }

    /// Sets the number of product indexes and the memory that they use.
    pub fn indexes(&self, count: usize, bytes: usize) {
        set(&self.indexes, count);
        set(&self.index_bytes, bytes);
    }
}
