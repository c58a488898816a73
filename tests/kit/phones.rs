//! The phones behind a double of WhatsApp, which go on by themselves: what the
//! double took is told as sent, delivered and read, in any order; some people
//! answer, and some phones are off. What is not taken with 2xx is told again,
//! as the provider does, until it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::provider::{Accepted, Flush, Inbound, Order};
use crate::whatsapp::WhatsApp;

/// Between two looks at what the double took.
const LOOK: Duration = Duration::from_millis(5);

/// Telling all that waits takes far less, also on a busy machine.
const HOPELESS: Duration = Duration::from_secs(300);

/// What a phone says of a message.
const WORDS: [&str; 3] = ["sent", "delivered", "read"];

/// Of so many phones one is off, and of so many one answers.
const OFF: usize = 5;
const ANSWERS: usize = 3;

/// Events of one request, at most: a number that divides nothing here.
const BATCH: usize = 7;

/// Phones at work.
pub struct Phones {
    ended: Arc<AtomicBool>,
    task: JoinHandle<Story>,
}

/// What the phones said, all of which the service has taken.
#[derive(Default)]
pub struct Story {
    /// Messages that were told as read.
    pub read: Vec<Accepted>,
    /// Messages of which nothing was said.
    pub silent: Vec<Accepted>,
    /// The provider's ids of what people answered.
    pub answers: Vec<String>,
    /// What the service answered that it must not.
    pub wrong: Vec<String>,
}

impl Phones {
    /// For what is taken from now on, and what was taken before.
    pub fn start(whatsapp: &WhatsApp) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(go_on(whatsapp.clone(), Arc::clone(&ended)));
        Self { ended, task }
    }

    /// Tells the rest and ends.
    ///
    /// # Panics
    /// When the service does not take it, or answered wrongly before.
    pub async fn finish(self) -> Story {
        self.ended.store(true, Ordering::Relaxed);
        let story = tokio::time::timeout(HOPELESS, self.task).await;
        let story = story.expect("the service takes what is told");
        let story = story.expect("phones do not panic");
        assert!(story.wrong.is_empty(), "{:#?}", story.wrong);
        story
    }
}

async fn go_on(whatsapp: WhatsApp, ended: Arc<AtomicBool>) -> Story {
    let mut story = Story::default();
    let mut seen = 0;
    loop {
        let is_last = ended.load(Ordering::Relaxed);
        let accepted = whatsapp.accepted();
        for message in &accepted[seen..] {
            hear(&whatsapp, message, seen, &mut story);
            seen += 1;
        }
        let seed = u64::try_from(seen).expect("a count");
        let flush = Flush::default().batches(BATCH);
        // A service that is gone is told again.
        let told = whatsapp.try_flush(flush.order(Order::Shuffled(seed))).await;
        let wrong = told.unwrap_or_default().into_iter();
        let wrong = wrong.filter(|told| !told.is_taken() && told.status != 503);
        story.wrong.extend(wrong.map(|told| format!("{told:?}")));
        if is_last && whatsapp.pending() == 0 {
            return story;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn hear(whatsapp: &WhatsApp, message: &Accepted, number: usize, story: &mut Story) {
    if number % OFF == OFF - 1 {
        story.silent.push(message.clone());
        return;
    }
    for (after, word) in (0..).zip(WORDS) {
        let status = whatsapp.status_of(&message.id, word).at(message.at + after);
        whatsapp.tell(status);
    }
    story.read.push(message.clone());
    if number.is_multiple_of(ANSWERS) {
        let sender = message.send.recipient_id.as_deref();
        let sender = sender.unwrap_or(&message.send.recipient);
        let id = format!("wamid.ANSWER{number:08}");
        let answer = Inbound::text(sender, "Quero visitar.").answering(&message.id);
        whatsapp.inbound(answer.id(&id));
        story.answers.push(id);
    }
}
