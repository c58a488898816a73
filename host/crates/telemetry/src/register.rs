//! How metrics are registered: each under its name, its help text and its unit.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
pub use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
pub use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
pub use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

/// Declares the metrics of an area: each with its field and type, and by which method of [`Register`] it is
/// registered.
macro_rules! metrics {
    ($area:ident { $($metric:ident: $type:ty = $method:ident $arguments:tt;)+ }) => {
        #[derive(Debug)]
        pub struct $area {
            $($metric: $type,)+
        }

        impl $area {
            pub fn new(register: &mut super::register::Register<'_>) -> Self {
                Self {
                    $($metric: register.$method $arguments,)+
                }
            }
        }
    };
}

pub(super) use metrics;

/// Declares sets of labels.
macro_rules! labels {
    ($($(#[$about:meta])* $vis:vis $name:ident { $($label:ident: $type:ty),+ })+) => {
        $(
            $(#[$about])*
            #[derive(
                Clone, Debug, Hash, PartialEq, Eq, prometheus_client::encoding::EncodeLabelSet,
            )]
            $vis struct $name {
                $(pub $label: $type,)+
            }
        )+
    };
}

pub(super) use labels;

labels! {
    pub StatusLabel { status: &'static str }
    pub OutcomeLabel { outcome: &'static str }
    pub StateLabel { state: &'static str }
    pub PluginLabel { plugin: String }
}

/// Histograms by their labels.
pub type Histograms<L> = Family<L, Histogram>;

/// Histograms by their labels, in which each bucket names one thing that fell into it.
pub type HistogramsWithExemplars<L, E> = Family<L, HistogramWithExemplars<E>>;

/// From half a millisecond to half a minute.
const SECONDS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

pub struct Register<'r>(&'r mut Registry);

impl<'r> Register<'r> {
    pub fn new(registry: &'r mut Registry) -> Self {
        Self(registry)
    }

    /// Registers a counter, a gauge, or a family of one of them.
    pub fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        self.metric(M::default(), name, help)
    }

    /// Registers a metric as it is.
    pub fn metric<M: Metric + Clone>(&mut self, metric: M, name: &str, help: &str) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }

    /// Registers a histogram of durations in seconds.
    pub fn seconds(&mut self, name: &str, help: &str) -> Histogram {
        self.with_seconds(seconds(), name, help)
    }

    /// Registers histograms of durations in seconds, by their labels.
    pub fn seconds_by<L>(&mut self, name: &str, help: &str) -> Histograms<L>
    where
        L: Clone + Hash + Eq + EncodeLabelSet + std::fmt::Debug + Send + Sync + 'static,
    {
        self.with_seconds(Histograms::new_with_constructor(seconds), name, help)
    }

    /// Registers histograms of durations in seconds, by their labels, with exemplars.
    pub fn seconds_with_exemplars<L, E>(
        &mut self,
        name: &str,
        help: &str,
    ) -> HistogramsWithExemplars<L, E>
    where
        L: Clone + Hash + Eq + EncodeLabelSet + std::fmt::Debug + Send + Sync + 'static,
        E: Clone + EncodeLabelSet + std::fmt::Debug + Send + Sync + 'static,
    {
        let make: fn() -> _ = || HistogramWithExemplars::new(SECONDS.into_iter());
        self.with_seconds(Family::new_with_constructor(make), name, help)
    }

    /// Registers a family of counters that has a line with zero for each of these labels, so that a rate
    /// over it includes the first event.
    pub fn begun_at_zero<L>(
        &mut self,
        name: &str,
        help: &str,
        labels: impl IntoIterator<Item = L>,
    ) -> Family<L, Counter>
    where
        L: Clone + Hash + Eq + EncodeLabelSet + std::fmt::Debug + Send + Sync + 'static,
    {
        let family: Family<L, Counter> = self.add(name, help);
        for label in labels {
            drop(family.get_or_create(&label));
        }
        family
    }

    /// Returns an empty set that admits `most` values.
    pub fn bounded<K: Hash + Eq>(&self, most: usize) -> BoundedSet<K> {
        BoundedSet {
            known: Mutex::default(),
            most,
        }
    }

    /// Registers a metric in seconds.
    pub fn with_seconds<M: Metric + Clone>(&mut self, metric: M, name: &str, help: &str) -> M {
        self.0
            .register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }
}

/// Counts one more with this outcome.
pub fn count(family: &Family<OutcomeLabel, Counter>, outcome: &'static str) {
    family.get_or_create(&OutcomeLabel { outcome }).inc();
}

/// Sets a gauge to a number of things.
pub fn set(gauge: &Gauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}

/// Returns the class of an HTTP status: `2xx` to `5xx`.
pub fn class(status: u16) -> &'static str {
    match status {
        0..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}

/// The value that stands for all values of a label without a line of their own.
pub const OTHER: &str = "other";

/// Values of a label with lines of their own; those past the bound share one line.
#[derive(Debug)]
pub struct BoundedSet<K> {
    known: Mutex<HashSet<K>>,
    most: usize,
}

impl<K: Hash + Eq + Clone> BoundedSet<K> {
    /// Returns whether the value has a line of its own. A new value gets one while there is
    /// room.
    pub fn has(&self, key: &K) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(key) || (known.len() < self.most && known.insert(key.clone()))
    }
}
