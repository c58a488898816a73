//! The phones behind a double of WhatsApp. They act by themselves: they report
//! accepted messages as sent, delivered and read, in any order; some people
//! answer, and some phones are off. As the provider does, they repeat a webhook
//! until it is answered with 2xx.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::host_actions::LONG;
use crate::provider::{Accepted, Flush, Inbound, WhatsApp};

/// The interval for polling the double.
const LOOK: Duration = Duration::from_millis(5);

const WORDS: [&str; 3] = ["sent", "delivered", "read"];

/// One phone in this many is off, and one person in this many answers.
const OFF: usize = 5;
const ANSWERS: usize = 3;

/// The most events in one request: a number that divides no other here.
const BATCH: usize = 7;

pub struct Phones {
    ended: Arc<AtomicBool>,
    task: JoinHandle<Story>,
}

/// The events of the phones, all accepted by the service.
#[derive(Default)]
pub struct Story {
    pub read: Vec<Accepted>,
    pub silent: Vec<Accepted>,
    /// The provider's ids of messages that people answered.
    pub answers: Vec<String>,
    /// Answers that the service must not give.
    pub wrong: Vec<String>,
}

impl Phones {
    /// Starts with the messages that the double has accepted so far, and
    /// follows it.
    pub fn start(whatsapp: &WhatsApp) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(go_on(whatsapp.clone(), Arc::clone(&ended)));
        Self { ended, task }
    }

    /// Sends the remaining events and stops.
    ///
    /// # Panics
    /// If the service does not accept them, or answered wrongly before.
    pub async fn finish(self) -> Story {
        self.ended.store(true, Ordering::Relaxed);
        let story = tokio::time::timeout(LONG, self.task).await;
        let story = story.expect("the service accepts the webhooks");
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
            react(&whatsapp, message, seen, &mut story);
            seen += 1;
        }
        let seed = u64::try_from(seen).expect("a count");
        let flush = Flush::default().batches(BATCH);
        // If the service is down, the phones try again later.
        let answers = whatsapp.try_flush(flush.shuffled(seed)).await;
        let wrong = answers.unwrap_or_default().into_iter();
        let wrong = wrong.filter(|answer| !answer.is_taken() && answer.status != 503);
        story
            .wrong
            .extend(wrong.map(|answer| format!("{answer:?}")));
        if is_last && whatsapp.pending() == 0 {
            return story;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn react(whatsapp: &WhatsApp, message: &Accepted, number: usize, story: &mut Story) {
    if number % OFF == OFF - 1 {
        story.silent.push(message.clone());
        return;
    }
    for (after, word) in (0..).zip(WORDS) {
        let status = whatsapp.status_of(&message.id, word).at(message.at + after);
        whatsapp.queue(status);
    }
    story.read.push(message.clone());
    if number.is_multiple_of(ANSWERS) {
        let sender = &message.send.recipient_id;
        let id = format!("wamid.ANSWER{number:08}");
        let answer = Inbound::text(sender, "Quero visitar.").answering(&message.id);
        whatsapp.inbound(answer.id(&id));
        story.answers.push(id);
    }
}
