//! A client that keeps the last form of each row. Its pulls vary in every way that
//! clients' pulls do: any page size, over HTTP or not, from the greatest processed
//! stamp or that stamp cut to milliseconds or seconds, abandoned in the middle of a
//! page, two at once, and paused while the hosts restart.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leadhost_tests::Random;

use super::Stepping;
use super::feed::{Feed, Limit, Place, Row};

/// The access paths to one feed.
pub struct Feeds {
    pub feeds: Vec<Feed>,
    /// The clock that stamps its rows; `None` if that is not checked.
    pub clock: Option<Arc<Stepping>>,
}

/// The most small pages of a pull before the client abandons it.
const PATIENCE: u64 = 30;
const FEW: usize = 40;

/// The first faults are enough.
const FAULTS: usize = 10;

struct Pull {
    way: usize,
    place: Place,
    last: i64,
    rows: usize,
    pages: usize,
    /// It is abandoned in the middle of this page.
    abandoned_at: Option<usize>,
}

/// How precisely a client keeps the greatest stamp that it has processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampPrecision {
    /// Always all of it: a late row is lost to it for ever.
    All,
    /// Sometimes milliseconds or seconds, so that it reads some rows again.
    Less,
}

pub struct FeedClient {
    random: Random,
    keeps: StampPrecision,
    /// The stamp and a hash of the text, by a hash of the id.
    rows: HashMap<u64, (i64, u64)>,
    /// The row of each stamp.
    stamps: HashMap<i64, u64>,
    greatest: Option<i64>,
    pulls: Vec<Pull>,
    pub pulls_ended: usize,
    faults: Vec<String>,
}

impl FeedClient {
    pub fn new(random: Random, keeps: StampPrecision) -> Self {
        Self {
            random,
            keeps,
            rows: HashMap::new(),
            stamps: HashMap::new(),
            greatest: None,
            pulls: Vec::new(),
            pulls_ended: 0,
            faults: Vec::new(),
        }
    }

    /// Pulls until the writers are done. In the last life it finishes its open
    /// pulls and then pulls everything new once more; before, it leaves them open
    /// for the next hosts.
    pub async fn poll(&mut self, feeds: &Feeds, done: &AtomicBool, is_last: bool) {
        while !done.load(Ordering::SeqCst) {
            self.turn(feeds).await;
            tokio::task::yield_now().await;
        }
        if !is_last {
            return;
        }
        self.end_pulls(feeds).await;
        self.catch_up(feeds).await;
    }

    /// Pulls everything that is new now.
    pub async fn catch_up(&mut self, feeds: &Feeds) {
        let place = Place::start(Limit::new(1_000), false);
        self.begin(0, place, None);
        self.end_pulls(feeds).await;
    }

    async fn end_pulls(&mut self, feeds: &Feeds) {
        while !self.pulls.is_empty() {
            self.turn_of(0, feeds).await;
        }
    }

    /// Reads one page of a pull.
    async fn turn(&mut self, feeds: &Feeds) {
        if self.pulls.is_empty() || (self.pulls.len() == 1 && self.random.one_in(8)) {
            let way = self.random.count(feeds.feeds.len());
            let (place, abandoned_at) = self.manner();
            self.begin(way, place, abandoned_at);
        }
        let at = self.random.count(self.pulls.len());
        self.turn_of(at, feeds).await;
    }

    fn manner(&mut self) -> (Place, Option<usize>) {
        let random = &mut self.random;
        let limit = match random.below(12) {
            0 => Limit {
                text: "0".to_owned(),
                rows: 1,
            },
            1 => Limit {
                text: "-1".to_owned(),
                rows: 1,
            },
            2 => Limit {
                text: "99999".to_owned(),
                rows: 1_000,
            },
            3 => Limit::new(1 + random.count(FEW)),
            _ => Limit::new(1 + random.count(1_000)),
        };
        let abandoned_at = match limit.rows {
            0..=FEW => Some(1 + usize::try_from(random.below(PATIENCE)).unwrap()),
            _ => random.one_in(6).then(|| 1 + random.count(3)),
        };
        (Place::start(limit, random.one_in(2)), abandoned_at)
    }

    /// Starts from the greatest stamp, kept with all digits, three or none.
    fn begin(&mut self, way: usize, place: Place, abandoned_at: Option<usize>) {
        let digits = match (self.keeps, self.random.below(6)) {
            (StampPrecision::Less, 0) => 3,
            (StampPrecision::Less, 1) if place.limit() > 200 => 0,
            _ => 6,
        };
        let place = match self.greatest {
            Some(greatest) => place.since(greatest, digits),
            None => place,
        };
        self.pulls.push(Pull {
            way,
            place,
            last: i64::MIN,
            rows: 0,
            pages: 0,
            abandoned_at,
        });
    }

    async fn turn_of(&mut self, at: usize, feeds: &Feeds) {
        let mut pull = self.pulls.swap_remove(at);
        let page = feeds.feeds[pull.way].page(&pull.place).await;
        let now = feeds
            .clock
            .as_ref()
            .map_or(i64::MAX, |clock| clock.latest());
        pull.pages += 1;
        pull.rows += page.rows.len();
        let limit = pull.place.limit();
        if page.rows.len() > limit || (page.more && page.rows.len() < limit) {
            self.fault(format!("a page of {limit} has {}", page.rows.len()));
        }
        let abandoned = pull.abandoned_at == Some(pull.pages);
        let processed = match abandoned {
            true => self.random.count(page.rows.len() + 1),
            false => page.rows.len(),
        };
        for row in &page.rows[..processed] {
            if row.stamp <= pull.last || row.stamp < pull.place.lower() {
                self.fault(format!("{} comes after {}", row.stamp, pull.last));
            }
            if row.stamp > now {
                self.fault(format!("{} is ahead of {now}", row.stamp));
            }
            pull.last = row.stamp;
            self.process(row);
        }
        if page.more && !abandoned {
            pull.place.went_past(&page);
            self.pulls.push(pull);
            return;
        }
        self.pulls_ended += 1;
        // Every page but the last is full, so that no pull is longer than its rows.
        if pull.pages > pull.rows.div_ceil(limit) + 1 {
            self.fault(format!("{} pages for {} rows", pull.pages, pull.rows));
        }
    }

    fn process(&mut self, row: &Row) {
        let id = hash(&row.id);
        self.greatest = self.greatest.max(Some(row.stamp));
        let other = self.stamps.insert(row.stamp, id);
        if other.is_some_and(|other| other != id) {
            self.fault(format!("two rows have the stamp {}", row.stamp));
        }
        let form = (row.stamp, hash(&row.text));
        let before = self.rows.insert(id, form);
        if let Some(before) = before
            && (before.0 > form.0 || (before.0 == form.0 && before.1 != form.1))
        {
            self.fault(format!("{} went back to {}", row.id, row.stamp));
        }
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < FAULTS {
            self.faults.push(fault);
        }
    }

    /// Returns how many rows differ from what this client knows.
    pub fn missed(&self, truth: &[Row]) -> usize {
        let known =
            |row: &&Row| self.rows.get(&hash(&row.id)) != Some(&(row.stamp, hash(&row.text)));
        truth.iter().filter(known).count()
    }

    /// Returns how many of the missed rows no later pull will return.
    pub fn passed_over(&self, truth: &[Row]) -> usize {
        let passed = |row: &&Row| Some(row.stamp) < self.greatest;
        let passed: Vec<_> = truth.iter().filter(passed).cloned().collect();
        self.missed(&passed)
    }

    pub fn knows(&self, id: &str) -> bool {
        self.rows.contains_key(&hash(id))
    }

    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    pub fn assert_knows(&self, truth: &[Row], seed: u64) {
        assert_eq!(self.missed(truth), 0, "rows are missed with seed {seed}");
        assert_eq!(self.rows.len(), truth.len(), "rows too many, seed {seed}");
        assert!(self.faults.is_empty(), "{:?}, seed {seed}", self.faults);
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
