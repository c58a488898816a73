//! The queue of writes that a request waits for: one line for each connection. Lines take
//! turns, so that a flood of writes from one connection does not keep another out of the
//! next commit. A commit that several lines share is short.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, oneshot};

use super::{Write, WriteOutcome};
use crate::prelude::*;

pub(super) struct QueuedWrite {
    pub write: Write,
    pub answer: oneshot::Sender<CommittedWrite>,
}

/// The answer to a write, and the transaction that decided it.
pub(super) struct CommittedWrite {
    pub result: Result<WriteOutcome, StoreError>,
    pub began: Instant,
    pub took: Duration,
    /// The writes that shared the transaction.
    pub writes: usize,
}

/// The connection of a write that comes from outside. `None`: the one line for writes of
/// people and of the service itself.
type LineKey = Option<ConnectionId>;

pub(super) struct WriteQueue {
    inner: Mutex<Inner>,
    arrival: Notify,
    /// A write was taken, so one that waits for room may have it.
    freed: Notify,
}

struct Inner {
    /// The places of a line in a commit that several lines share.
    of_one: usize,
    lines: HashMap<LineKey, VecDeque<QueuedWrite>>,
    /// The lines in the order of their turns, each once.
    turns: VecDeque<LineKey>,
    count: usize,
    closed: bool,
    /// The line whose write was taken last.
    last: Option<LineKey>,
    /// The number of further batches that count as shared.
    shared: u32,
}

/// Why a write cannot be added.
pub(super) enum PushError {
    Full,
    Closed,
}

impl WriteQueue {
    /// Creates an empty queue. `of_one` is the number of places of a line in a commit that
    /// several lines share.
    pub fn new(of_one: usize) -> Self {
        Self {
            inner: Mutex::new(Inner::new(of_one)),
            arrival: Notify::new(),
            freed: Notify::new(),
        }
    }

    pub fn push(&self, waiting: QueuedWrite) -> Result<(), PushError> {
        let whose = line_key(&waiting.write);
        let mut inner = self.inner();
        if inner.closed {
            return Err(PushError::Closed);
        }
        if !inner.has_room(&whose) {
            return Err(PushError::Full);
        }
        inner.add(whose, waiting);
        drop(inner);
        self.arrival.notify_one();
        Ok(())
    }

    pub fn has_room(&self, connection: &ConnectionId) -> bool {
        let whose = Some(connection.clone());
        self.inner().has_room(&whose)
    }

    /// Waits until a write of this connection has room, at most this long. Returns whether it has.
    pub async fn room(&self, connection: &ConnectionId, patience: Duration) -> bool {
        if self.has_room(connection) {
            return true;
        }
        let waiting = async {
            loop {
                let mut freed = pin!(self.freed.notified());
                // From here on no notification is missed.
                freed.as_mut().enable();
                if self.has_room(connection) {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(patience, waiting).await.is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.inner().count == 0
    }

    pub async fn wait_for_write(&self) {
        self.arrival.notified().await;
    }

    pub fn close(&self) {
        self.inner().closed = true;
    }

    /// Adds the writes of the next commit, at most `most` in all. Returns whether the
    /// commit has reached its limit of bytes.
    pub fn take(&self, most: usize, batch: &mut Vec<QueuedWrite>) -> bool {
        let before = batch.len();
        let is_full = self.inner().take(most, batch);
        // As many as have room now, the first that came first.
        (before..batch.len()).for_each(|_| self.freed.notify_one());
        is_full
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn new(of_one: usize) -> Self {
        Self {
            of_one,
            lines: HashMap::new(),
            turns: VecDeque::new(),
            count: 0,
            closed: false,
            last: None,
            shared: 0,
        }
    }

    /// Gives each line an equal part of all places, and keeps one part for a line that is
    /// not there yet, so that a flood in one line keeps no other out.
    fn has_room(&self, whose: &LineKey) -> bool {
        let own = self.lines.get(whose).map_or(0, VecDeque::len);
        let others = self.lines.len() - usize::from(own > 0);
        let part = limits::WRITES_WAITING / (others + 2);
        self.count < limits::WRITES_WAITING && own < part.max(1)
    }

    fn add(&mut self, whose: LineKey, waiting: QueuedWrite) {
        self.count += 1;
        match self.lines.get_mut(&whose) {
            Some(line) => line.push_back(waiting),
            None => {
                self.turns.push_back(whose.clone());
                self.lines.insert(whose, VecDeque::from([waiting]));
            }
        }
    }

    fn take(&mut self, most: usize, batch: &mut Vec<QueuedWrite>) -> bool {
        let per_line = self.writes_per_line(most);
        let is_full = self.take_rounds(per_line, most, batch);
        self.last = batch.last().map(|waiting| line_key(&waiting.write));
        is_full
    }

    fn take_rounds(&mut self, per_line: usize, most: usize, batch: &mut Vec<QueuedWrite>) -> bool {
        let mut bytes = 0;
        // Each round gives each line one place.
        for _ in 0..per_line {
            for _ in 0..self.turns.len() {
                let Some(whose) = self.turns.front() else {
                    return false;
                };
                let line = self.lines.get_mut(whose).expect("a line for each turn");
                let next = line.front().expect("a line is never empty");
                bytes += size(&next.write);
                let is_full = !batch.is_empty() && bytes > limits::BYTES_PER_COMMIT;
                if is_full || batch.len() >= most {
                    return is_full;
                }
                batch.extend(line.pop_front());
                self.count -= 1;
                let ended = line.is_empty();
                if let Some(whose) = self.turns.pop_front() {
                    if ended {
                        self.lines.remove(&whose);
                    } else {
                        self.turns.push_back(whose);
                    }
                }
            }
        }
        bytes > limits::BYTES_PER_COMMIT
    }

    /// Returns how many writes to take from each line: all while there is only one line;
    /// a few while others wait for this commit too, or did so recently.
    fn writes_per_line(&mut self, most: usize) -> usize {
        let another = match (&self.last, self.turns.front()) {
            (Some(last), Some(next)) => last != next,
            _ => false,
        };
        if self.lines.len() > 1 || another {
            self.shared = limits::SHARED_COMMITS;
        }
        if self.shared == 0 {
            return most;
        }
        self.shared -= 1;
        self.of_one
    }
}

fn line_key(write: &Write) -> LineKey {
    match write {
        Write::Accept(acceptance) => Some(acceptance.delivery.connection.clone()),
        Write::Notify(notification) => Some(notification.channel.connection.clone()),
        _ => None,
    }
}

/// Returns the approximate size of a write in memory: the size of its bodies.
fn size(write: &Write) -> usize {
    match write {
        Write::Accept(acceptance) => acceptance.delivery.body.len(),
        Write::Answer(answer) => answer.response.body.len(),
        Write::Notify(notification) => notification.message.payload.len(),
        Write::Convert(_)
        | Write::Release { .. }
        | Write::Renew { .. }
        | Write::Settle(_)
        | Write::Remember(_)
        | Write::Begin(_)
        | Write::Sent(_)
        | Write::Resolve(_)
        | Write::Elapse(_)
        | Write::PatchDeal(_)
        | Write::CreateDeal(_)
        | Write::LogDeal(_)
        | Write::PatchTicket(_)
        | Write::PartContact(_)
        | Write::UndoRepair(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Acceptance, ConversionResult, NewDelivery};

    /// The places of a line that shares a commit.
    const FEW: usize = 16;

    fn id(letter: char) -> ConnectionId {
        let text: String = std::iter::repeat_n(letter, 22).collect();
        text.parse().expect("22 characters")
    }

    fn write(letter: char, bytes: usize) -> QueuedWrite {
        let delivery = NewDelivery {
            id: DeliveryId::new(Micros(0)),
            workspace: WorkspaceId::new(Micros(0)),
            connection: id(letter),
            received_at: Micros(0),
            method: String::new(),
            path: String::new(),
            query: Vec::new(),
            headers: Vec::new(),
            body: vec![0_u8; bytes].into(),
        };
        let acceptance = Acceptance {
            keys: Vec::new(),
            delivery,
            result: ConversionResult {
                status: None,
                items: Vec::new(),
                ran: None,
                error: None,
                notes: Vec::new(),
                attempts: 0,
                next_attempt_at: None,
                presented: None,
            },
            peer: None,
        };
        QueuedWrite {
            write: Write::Accept(Box::new(acceptance)),
            answer: oneshot::channel().0,
        }
    }

    fn lines(words: &[(char, usize)]) -> Inner {
        let mut inner = Inner::new(FEW);
        for (letter, count) in words {
            (0..*count).for_each(|_| inner.add(Some(id(*letter)), write(*letter, 0)));
        }
        inner
    }

    /// Counts the writes of a batch by connection.
    fn taken(inner: &mut Inner, most: usize) -> Vec<(char, usize)> {
        let mut batch = Vec::new();
        inner.take(most, &mut batch);
        let mut count = std::collections::BTreeMap::<char, usize>::new();
        for waiting in batch {
            let whose = line_key(&waiting.write).expect("a connection's");
            let letter = whose.as_str().chars().next().expect("a letter");
            *count.entry(letter).or_default() += 1;
        }
        count.into_iter().collect()
    }

    #[tokio::test]
    async fn a_write_waits_for_room_until_as_many_are_taken() {
        let queue = WriteQueue::new(FEW);
        while queue.push(write('a', 0)).is_ok() {}
        let (long, none) = (Duration::from_secs(3_600), Duration::ZERO);
        let (a, b) = (id('a'), id('b'));
        assert!(!queue.room(&a, none).await);
        assert!(queue.room(&b, none).await, "another connection has room");
        let both = async { tokio::join!(queue.room(&a, long), queue.room(&a, long)) };
        let take = async {
            tokio::task::yield_now().await;
            queue.take(2, &mut Vec::new());
        };
        assert_eq!(tokio::join!(both, take).0, (true, true));
        // A notification that nobody waited for is no room.
        while queue.push(write('a', 0)).is_ok() {}
        assert!(!queue.room(&a, none).await);
    }

    #[test]
    fn one_connection_alone_fills_a_commit() {
        let mut lines = lines(&[('a', 100)]);
        assert_eq!(taken(&mut lines, 60), [('a', 60)]);
        assert_eq!(taken(&mut lines, 60), [('a', 40)]);
        assert!(lines.lines.is_empty() && lines.turns.is_empty() && lines.count == 0);
    }

    #[test]
    fn each_of_several_connections_gets_a_few_places() {
        let mut lines = lines(&[('a', 1_000), ('b', 2), ('c', FEW + 5)]);
        let expect = [('a', FEW), ('b', 2), ('c', FEW)];
        assert_eq!(taken(&mut lines, 512), expect);
        assert_eq!(taken(&mut lines, 512), [('a', FEW), ('c', 5)]);
        // A line that was there a moment ago may return.
        assert_eq!(taken(&mut lines, 512), [('a', FEW)]);
        for _ in 0..limits::SHARED_COMMITS {
            taken(&mut lines, 1);
        }
        assert_eq!(
            taken(&mut lines, 512).first().map(|(_, n)| *n > FEW),
            Some(true)
        );
    }

    #[test]
    fn alternating_connections_share_commits_too() {
        let mut lines = lines(&[('a', 1)]);
        assert_eq!(taken(&mut lines, 512), [('a', 1)]);
        (0..100).for_each(|_| lines.add(Some(id('b')), write('b', 0)));
        assert_eq!(taken(&mut lines, 512), [('b', FEW)]);
    }

    #[test]
    fn many_writes_of_one_connection_leave_room_for_other_connections() {
        let places = limits::WRITES_WAITING;
        let a = Some(id('a'));
        let inner = lines(&[('a', places / 2 - 1)]);
        assert!(inner.has_room(&a));
        let inner = lines(&[('a', places / 2)]);
        assert!(!inner.has_room(&a));
        assert!(inner.has_room(&Some(id('b'))) && inner.has_room(&None));
        let inner = lines(&[('a', places / 3), ('b', 1)]);
        assert!(!inner.has_room(&a));
        assert!(inner.has_room(&Some(id('b'))));
    }

    #[test]
    fn a_connection_left_out_of_a_commit_comes_first_in_the_next() {
        let mut lines = lines(&[('a', 2), ('b', 2)]);
        assert_eq!(taken(&mut lines, 3), [('a', 2), ('b', 1)]);
        assert_eq!(taken(&mut lines, 3), [('b', 1)]);
    }

    #[test]
    fn a_commit_is_bounded_in_bytes_and_a_larger_write_goes_alone() {
        let mut inner = Inner::new(FEW);
        let most = limits::BYTES_PER_COMMIT;
        for bytes in [most - 1, 1, 1, most + 1, 1] {
            inner.add(Some(id('a')), write('a', bytes));
        }
        let mut sizes = Vec::new();
        while inner.count > 0 {
            let mut batch = Vec::new();
            inner.take(512, &mut batch);
            sizes.push(batch.len());
        }
        assert_eq!(sizes, [2, 1, 1, 1]);
    }
}
