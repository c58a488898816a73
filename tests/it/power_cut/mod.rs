//! The power fails while leads come in. The test records what the service does to its data
//! folder. Then, for many moments of the record, it builds the folder as a disk may have
//! it when the power comes back, and opens it: every lead acknowledged by then is there
//! once, with its raw delivery.
//!
//! As a control, a disk that reports syncs without doing them must lose leads; otherwise
//! these cuts would prove nothing. `disk.rs` lists the assumptions about a disk.
//!
//! `LEADHOST_POWER_CUTS` sets the number of moments, `LEADHOST_POWER_CUTS_SEED` the random
//! seed.

mod check;
mod disk;
mod record;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use leadhost_tests::load::post;
use leadhost_tests::size::given;
use leadhost_tests::{Hosts, On, Random, Service, eventually, figures, sized};
use tempfile::TempDir;

use self::check::{Fault, check};
use self::disk::{Disk, Folder};
use self::record::{Record, Recorder};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Leads sent at once: several share a commit.
const SENDERS: usize = 8;

/// For each of this many cuts of an honest disk, one cut of a disk that does not sync.
const CONTROLS_IN: usize = 10;

/// A lead, and the length of the record when its acknowledgement arrived.
struct Acknowledged {
    id: String,
    at: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_lead_is_there_after_a_power_cut() {
    let cuts = given("LEADHOST_POWER_CUTS", sized(20, 60));
    let cuts = usize::try_from(cuts).unwrap();
    let seed = given("LEADHOST_POWER_CUTS_SEED", SEED);
    let day = Day::new().await;
    let leads = day.acknowledged.len();

    let mut random = Random::from_seed(seed, 0);
    let moments = day.moments(cuts, &mut random);
    let found = day.cut(Disk::new(&day.record), &moments, seed).await;
    let (faults, deeds) = (found.len(), day.record.deeds.len());
    let listed = list_faults(&found);
    assert_eq!(
        faults, 0,
        "of {cuts} cuts with seed {seed}, in {deeds} deeds:\n{listed}"
    );

    let controls = (cuts / CONTROLS_IN).max(10);
    let moments = day.moments(controls, &mut random);
    let forgetful = Disk::ignoring_syncs_from(&day.record, day.begins);
    let found = day.cut(forgetful, &moments, seed).await;
    // A damaged file has lost its leads too, if there were any.
    let first = day.acknowledged.iter().map(|lead| lead.at).min();
    let first = day.record.deeds_at(first.expect("there are some"));
    let lose = found.iter().filter(|(moment, _)| *moment >= first).count();
    assert!(
        lose > 0,
        "a disk that does not sync loses nothing in {controls} cuts with seed {seed}"
    );
    let figure = format!(
        "{cuts} cuts, {leads} acknowledged leads, 0 lost; with syncs ignored {lose} of {controls} cuts lose leads"
    );
    figures::record("power cut", Some(&On::Sqlite), Some(seed), &figure);
}

/// The first faults, each with its moment.
fn list_faults(found: &[(usize, Fault)]) -> String {
    let first = found.iter().take(5);
    let lines = first.map(|(moment, fault)| format!("after {moment}: {}", fault.0));
    lines.collect::<Vec<_>>().join("\n")
}

/// The service from its first start: leads come in, it is killed in the middle of them,
/// recovers, is stopped, and starts again.
struct Day {
    record: Record,
    acknowledged: Vec<Acknowledged>,
    /// Deeds before the first lead.
    begins: usize,
}

impl Day {
    async fn new() -> Self {
        let (folder, tools) = (new_folder(), new_folder());
        let recorder = Arc::new(Recorder::new(tools.path(), folder.path()));
        let hosts = Hosts::portal(On::Sqlite).folder(folder);
        let hosts = hosts.program(recorder.program()).apply().await;
        recorder.read().assert_whole(hosts.folder(0));
        let begins = recorder.length();
        let mut acknowledged = Vec::new();
        for (life, is_killed) in [true, false, true].into_iter().enumerate() {
            let service = hosts.start_as(0, recorder.program(), &[]).await;
            let senders = LeadSenders::start(&recorder, &service, &hosts.ingest("portal"), life);
            senders.reach(100).await;
            if is_killed {
                tokio::task::block_in_place(|| recorder.kill(service));
                acknowledged.extend(senders.join().await);
            } else {
                acknowledged.extend(senders.join().await);
                assert!(tokio::task::block_in_place(|| service.stop()));
            }
        }
        let record = recorder.read();
        record.assert_whole(hosts.folder(0));
        Self {
            begins: record.deeds_at(begins),
            record,
            acknowledged,
        }
    }

    /// The moments at which the power fails, in order: random ones, and ones just after an
    /// acknowledgement.
    fn moments(&self, count: usize, random: &mut Random) -> Vec<usize> {
        let mut moments: Vec<_> = (0..count)
            .map(|number| {
                if number % 2 == 0 {
                    1 + random.count(self.record.deeds.len())
                } else {
                    let lead = random.count(self.acknowledged.len());
                    self.record.deeds_at(self.acknowledged[lead].at)
                }
            })
            .collect();
        moments.sort_unstable();
        moments
    }

    /// Returns the faults after cuts at these moments.
    async fn cut(&self, mut disk: Disk<'_>, moments: &[usize], seed: u64) -> Vec<(usize, Fault)> {
        let ground = volatile_folder();
        let mut found = Vec::new();
        for (number, moment) in moments.iter().enumerate() {
            disk.advance(*moment);
            let folder = disk.after_a_cut(&mut Random::from_seed(!seed, number));
            let place = ground.path().join(number.to_string());
            write(&place, &folder);
            let before = self.acknowledged.iter();
            let before: Vec<_> = before
                .filter(|lead| self.record.deeds_at(lead.at) <= *moment)
                .map(|lead| lead.id.as_str())
                .collect();
            if let Err(fault) = check(&place, &before).await {
                found.push((*moment, fault));
            }
            // Files that are still being closed are deleted with the parent folder.
            let _ = std::fs::remove_dir_all(&place);
        }
        found
    }
}

impl Record {
    /// Checks that everything in the folder is in the record: nothing bypassed the
    /// recorder.
    #[track_caller]
    fn assert_whole(&self, folder: &Path) {
        let mut disk = Disk::new(self);
        disk.advance(self.deeds.len());
        let recorded = disk.as_seen();
        let mut there = BTreeMap::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_file() && !name.ends_with("-shm") {
                there.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
        let names = |folder: &Folder| folder.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&recorded), names(&there));
        for (name, bytes) in there {
            assert!(recorded[&name] == bytes, "{name} is not as recorded");
        }
    }
}

/// The recorder compares paths without links.
fn new_folder() -> TempDir {
    let place = std::env::temp_dir().canonicalize().expect("it is there");
    tempfile::tempdir_in(place).expect("a folder")
}

/// In memory if possible: a check syncs a lot, and nothing here has to last.
fn volatile_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| new_folder())
}

fn write(place: &Path, folder: &Folder) {
    std::fs::create_dir(place).expect("a folder");
    for (name, bytes) in folder {
        std::fs::write(place.join(name), bytes).expect("a file");
    }
}

/// Senders, each with one connection and one lead at a time, until the service is gone or
/// they are stopped.
struct LeadSenders {
    ended: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<Vec<Acknowledged>>>,
}

impl LeadSenders {
    fn start(recorder: &Arc<Recorder>, service: &Service, path: &str, life: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let gateway = service.address("gateway");
        let tasks = (0..SENDERS).map(|sender| {
            let (ended, count) = (Arc::clone(&ended), Arc::clone(&count));
            let (recorder, path) = (Arc::clone(recorder), path.to_owned());
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                let mut connection = None;
                for lead in 0.. {
                    let id = format!("lead-{life}-{sender}-{lead}");
                    match post(&mut connection, gateway, &path, &id).await {
                        Some(true) => {
                            let at = recorder.length();
                            acknowledged.push(Acknowledged { id, at });
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        Some(false) => panic!("{id} was refused"),
                        None => break,
                    }
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                }
                acknowledged
            })
        });
        Self {
            tasks: tasks.collect(),
            ended,
            count,
        }
    }

    async fn reach(&self, count: usize) {
        let are_enough = async || self.count.load(Ordering::Relaxed) >= count;
        eventually("leads are acknowledged", are_enough).await;
    }

    /// Lets them finish their current requests. Returns the acknowledged leads.
    async fn join(self) -> Vec<Acknowledged> {
        self.ended.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for task in self.tasks {
            all.extend(task.await.expect("a sender ends by itself"));
        }
        all
    }
}
