//! A client that keeps the last form of each row, and whose pulls are of every
//! manner that clients have: of any size of page, over the wire or not, from the
//! greatest stamp that it has processed or that stamp cut to milliseconds or
//! seconds, abandoned in the middle of a page, two at once, and left lying while
//! the hosts begin again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::feed::{Feed, Limit, Place, Row};
use super::{Chance, Stepping};

/// The ways to one feed.
pub struct Feeds {
    pub feeds: Vec<Feed>,
    /// By which its rows are stamped; none where that is not looked at.
    pub clock: Option<Arc<Stepping>>,
}

/// Pages of few rows that a client pulls before it loses patience.
const PATIENCE: u64 = 30;
const FEW: usize = 40;

/// Of what is wrong the first are enough.
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

/// What a client keeps of the greatest stamp that it has processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// All of it, always: what comes late is lost to it for ever.
    All,
    /// Sometimes milliseconds or seconds, so that it reads some rows again.
    Less,
}

pub struct Client {
    chance: Chance,
    keeps: Keeps,
    /// By a hash of the id: the stamp, and a hash of the text.
    rows: HashMap<u64, (i64, u64)>,
    /// Whose each stamp is.
    stamps: HashMap<i64, u64>,
    greatest: Option<i64>,
    pulls: Vec<Pull>,
    pub pulls_ended: usize,
    faults: Vec<String>,
}

impl Client {
    pub fn new(chance: Chance, keeps: Keeps) -> Self {
        Self {
            chance,
            keeps,
            rows: HashMap::new(),
            stamps: HashMap::new(),
            greatest: None,
            pulls: Vec::new(),
            pulls_ended: 0,
            faults: Vec::new(),
        }
    }

    /// Pulls until the writers are done. At the very last what is under way is
    /// ended, and once more everything is pulled that is new; before, it stays
    /// where it is, for other hosts to go on with.
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

    /// Pulls all that is new by now.
    pub async fn catch_up(&mut self, feeds: &Feeds) {
        let place = Place::start(Limit::of(1_000), false);
        self.begin(0, place, None);
        self.end_pulls(feeds).await;
    }

    async fn end_pulls(&mut self, feeds: &Feeds) {
        while !self.pulls.is_empty() {
            self.turn_of(0, feeds).await;
        }
    }

    /// A page of a pull.
    async fn turn(&mut self, feeds: &Feeds) {
        if self.pulls.is_empty() || (self.pulls.len() == 1 && self.chance.one_in(8)) {
            let way = self.chance.count(feeds.feeds.len());
            let (place, abandoned_at) = self.manner();
            self.begin(way, place, abandoned_at);
        }
        let at = self.chance.count(self.pulls.len());
        self.turn_of(at, feeds).await;
    }

    fn manner(&mut self) -> (Place, Option<usize>) {
        let chance = &mut self.chance;
        let limit = match chance.below(12) {
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
            3 => Limit::of(1 + chance.count(FEW)),
            _ => Limit::of(1 + chance.count(1_000)),
        };
        let abandoned_at = match limit.rows {
            0..=FEW => Some(1 + usize::try_from(chance.below(PATIENCE)).unwrap()),
            _ => chance.one_in(6).then(|| 1 + chance.count(3)),
        };
        (Place::start(limit, chance.one_in(2)), abandoned_at)
    }

    /// From the greatest stamp, of which it kept all digits, three or none.
    fn begin(&mut self, way: usize, place: Place, abandoned_at: Option<usize>) {
        let digits = match (self.keeps, self.chance.below(6)) {
            (Keeps::Less, 0) => 3,
            (Keeps::Less, 1) if place.limit() > 200 => 0,
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
            true => self.chance.count(page.rows.len() + 1),
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
        // Every page but the last is full, so that no pull outlasts what there was.
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

    /// Rows that are not as this client knows them.
    pub fn missed(&self, truth: &[Row]) -> usize {
        let known =
            |row: &&Row| self.rows.get(&hash(&row.id)) != Some(&(row.stamp, hash(&row.text)));
        truth.iter().filter(known).count()
    }

    /// Those of them that no pull will ever bring.
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
