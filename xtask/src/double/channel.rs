//! What the doubles of all messaging providers have in common: sends are
//! checked, counted and answered, misbehaviour is planned, and what comes back
//! from the phones is sent to a callback as signed webhooks.
//!
//! A double does nothing by itself: what is to come back is told to it, waits,
//! and goes out when [`Channel::flush`] says so, in the order, the batches and
//! the repeats that it says. Only a double that is started by hand goes on by
//! itself ([`by_hand`]). A send that the provider's checks refuse is answered so
//! before any planned misbehaviour; a misbehaviour is used up by one send.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

pub mod by_hand;
mod callback;
mod event;
mod gate;
mod misbehaviour;
mod state;

pub use callback::{Callback, Letter, Told};
pub use event::{Event, Flush, Inbound, Order, Status};
pub use misbehaviour::{Misbehaviour, Taken};

use self::state::{Control, State};
use super::http::{Answer, Request};
use super::server::{Server, locked};

/// One provider's protocol.
pub trait Provider: Send + Sync + 'static {
    const NAME: &'static str;

    /// Most events that one webhook request carries.
    const BATCH: usize;

    fn is_send(&self, request: &Request) -> bool;

    /// What a send asks for, or the refusal of the provider's own checks.
    fn read_send(&self, request: &Request) -> Result<Outgoing, Answer>;

    /// Of the n-th message.
    fn message_id(&self, number: u64) -> String;

    fn accepted(&self, message: &Accepted) -> Answer;

    /// The success that says nothing of the message.
    fn accepted_without_id(&self) -> Answer;

    /// The provider's error, under its documented status unless another is given.
    fn error(&self, code: u32, status: Option<u16>) -> Answer;

    /// What is no send. The address is the double's own.
    fn other(&self, request: &Request, address: &str) -> Answer;

    /// A webhook request with these events, unsigned.
    fn letter(&self, events: &[Event]) -> Letter;

    /// What a letter proves itself with at this address.
    fn seal(&self, url: &str, letter: &Letter, key: Key) -> Vec<(&'static str, String)>;

    /// What the callback is asked to show that it is meant: a query, and the
    /// body of the right answer. None where the provider does not ask.
    fn handshake(&self, _verify_token: Option<&str>) -> Option<(String, String)> {
        None
    }

    /// A line that somebody types, where this provider knows more of them.
    fn command(&self, _words: &[&str]) -> Option<Result<Said, String>> {
        None
    }

    /// Lines for people on what [`Provider::command`] understands.
    fn commands(&self) -> &'static str {
        ""
    }
}

/// What came of a line that somebody typed.
pub struct Said {
    pub text: String,
    /// What the provider tells of it.
    pub event: Option<Event>,
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self { text, event: None }
    }
}

/// What a webhook is signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Right,
    Wrong,
    /// It is not signed at all.
    None,
}

/// What a send asks for, as far as every provider has it.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// As it was sent.
    pub recipient: String,
    /// As the provider names it from then on; none where it does not say.
    pub recipient_id: Option<String>,
    /// The sender's own text, which comes back with statuses.
    pub opaque: Option<String>,
    /// The template's name, or what the provider has in its place.
    pub template: String,
    /// Where statuses of this very message go.
    pub callback: Option<String>,
}

/// A message that the double has taken.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub id: String,
    pub send: Outgoing,
    /// Seconds since 1970.
    pub at: u64,
}

/// A running double of a provider. It stops when it is dropped.
pub struct Channel<P: Provider> {
    server: Server<State<P>>,
}

impl<P: Provider> Channel<P> {
    /// Port 0 takes a free one. Time stands still at `now`, in seconds since
    /// 1970, until it is set; without it, it is the machine's.
    pub fn start_with(listen: SocketAddr, provider: P, now: Option<u64>) -> io::Result<Self> {
        Self::start_telling(listen, provider, now, None)
    }

    fn start_telling(
        listen: SocketAddr,
        provider: P,
        now: Option<u64>,
        listener: Option<Sender<Accepted>>,
    ) -> io::Result<Self> {
        let state = State::new(provider, now, listener);
        let server = Server::start(listen, state)?;
        *locked(&server.endpoint().address) = format!("http://{}", server.address());
        Ok(Self { server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// `http://` and the address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub fn provider(&self) -> &P {
        &self.state().provider
    }

    /// Waits for the double's end, which without a drop is never.
    pub fn wait(self) {
        self.server.wait();
    }

    // ---- what it is told to do

    /// The next so many sends that pass the checks go like this. Plans queue up.
    pub fn next_sends(&self, times: u32, what: Misbehaviour) {
        self.state().plan.add(None, times, what);
    }

    /// The same for sends to one recipient, as it is written in them; the others
    /// pass by. [`Misbehaviour::ResetUnread`] cannot know its recipient.
    pub fn next_sends_to(&self, recipient: &str, times: u32, what: Misbehaviour) {
        self.state().plan.add(Some(recipient), times, what);
    }

    /// What is planned and did not happen yet is forgotten.
    pub fn behave(&self) {
        self.state().plan.clear();
    }

    /// Lets the sends that hang now have their answers.
    pub fn release(&self) {
        self.state().gate.release();
    }

    /// How many sends hang now.
    pub fn hanging(&self) -> usize {
        self.state().gate.waiting()
    }

    /// Seconds since 1970, from now on.
    pub fn set_time(&self, seconds: u64) {
        *locked(&self.state().now) = Some(seconds);
    }

    pub fn now(&self) -> u64 {
        self.state().now()
    }

    /// Where webhooks go.
    pub fn call_back(&self, callback: Callback) {
        *locked(&self.state().callback) = Some(callback);
    }

    // ---- what it remembers

    /// Every request that it got, in order, sends and others.
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.state().seen).clone()
    }

    /// Every request to send that it has read, in order, refused ones included.
    pub fn sends(&self) -> Vec<Request> {
        let seen = locked(&self.state().seen);
        let sends = seen
            .iter()
            .filter(|request| self.provider().is_send(request));
        sends.cloned().collect()
    }

    /// Every message that it has taken, in order, whatever it answered.
    pub fn accepted(&self) -> Vec<Accepted> {
        locked(&self.state().accepted).clone()
    }

    /// How many messages it has taken for a recipient, as it is written in the sends.
    pub fn accepted_for(&self, recipient: &str) -> usize {
        let accepted = locked(&self.state().accepted);
        let of_it = accepted
            .iter()
            .filter(|message| message.send.recipient == recipient);
        of_it.count()
    }

    /// How many messages it has taken under the sender's own text.
    pub fn accepted_as(&self, opaque: &str) -> usize {
        let accepted = locked(&self.state().accepted);
        let of_it = accepted
            .iter()
            .filter(|message| message.send.opaque.as_deref() == Some(opaque));
        of_it.count()
    }

    // ---- what comes back

    /// A status of a message is to be told; an id that it never gave is one too.
    pub fn status(&self, id: &str, word: &str) {
        self.tell(self.status_of(id, word));
    }

    /// A message has failed with these codes.
    pub fn fails(&self, id: &str, codes: &[u32]) {
        self.tell(self.status_of(id, "failed").errors(codes));
    }

    /// A status as [`Channel::status`] tells it, to be changed before it is told.
    pub fn status_of(&self, id: &str, word: &str) -> Status {
        let accepted = locked(&self.state().accepted);
        let message = accepted.iter().find(|message| message.id == id);
        let status = Status::new(id, word).at(self.now());
        match message {
            None => status,
            Some(message) => Status {
                recipient: message
                    .send
                    .recipient_id
                    .clone()
                    .or_else(|| Some(message.send.recipient.clone())),
                opaque: message.send.opaque.clone(),
                callback: message.send.callback.clone(),
                ..status
            },
        }
    }

    /// A contact has written; told with the others.
    pub fn inbound(&self, message: Inbound) {
        self.tell(message);
    }

    pub fn tell(&self, event: impl Into<Event>) {
        let mut event = event.into();
        event.date(self.now());
        locked(&self.state().outbox).push_back(event);
    }

    /// How many events wait to be told.
    pub fn pending(&self) -> usize {
        locked(&self.state().outbox).len()
    }

    /// Tells all that waits. What is not answered with 2xx waits again, before
    /// what comes later.
    ///
    /// # Errors
    /// When there is no callback, or it cannot be reached; all waits again.
    pub fn flush(&self, how: Flush) -> io::Result<Vec<Told>> {
        let waiting: Vec<Event> = locked(&self.state().outbox).drain(..).collect();
        let (told, left) = self.tell_all(how.arrange(waiting, P::BATCH));
        let mut outbox = locked(&self.state().outbox);
        for event in left.into_iter().rev() {
            outbox.push_front(event);
        }
        told
    }

    /// What was answered, and the events that were not taken.
    fn tell_all(&self, batches: Vec<Vec<Event>>) -> (io::Result<Vec<Told>>, Vec<Event>) {
        let (mut told, mut left, mut failed) = (Vec::new(), Vec::new(), None);
        for events in batches {
            if failed.is_none() {
                match self.tell_one(&events) {
                    Ok(answer) if answer.is_taken() => {
                        told.push(answer);
                        continue;
                    }
                    Ok(answer) => told.push(answer),
                    Err(error) => failed = Some(error),
                }
            }
            left.extend(events);
        }
        (failed.map_or(Ok(told), Err), left)
    }

    fn tell_one(&self, events: &[Event]) -> io::Result<Told> {
        let own = events.iter().find_map(Event::callback);
        let letter = self.provider().letter(events);
        self.send_letter(own, &letter, Key::Right)
    }

    /// Sends any body to the callback, signed like this.
    pub fn send_raw(&self, content_type: &'static str, body: &[u8], key: Key) -> io::Result<Told> {
        let letter = Letter {
            content_type,
            body: body.to_vec(),
        };
        self.send_letter(None, &letter, key)
    }

    fn send_letter(&self, own: Option<&str>, letter: &Letter, key: Key) -> io::Result<Told> {
        let mut callback = self.callback()?;
        if let Some(url) = own {
            callback = callback.with_url(url);
        }
        let seals = self.provider().seal(callback.url(), letter, key);
        callback.post(letter, &seals)
    }

    /// Asks the callback to show that it is meant, with this token or the right
    /// one: whether it did, and what it answered.
    ///
    /// # Errors
    /// When there is no callback, it cannot be reached, or the provider does not ask.
    pub fn handshake(&self, verify_token: Option<&str>) -> io::Result<(bool, Told)> {
        let (query, right) = self
            .provider()
            .handshake(verify_token)
            .ok_or_else(|| io::Error::other("this provider has no handshake"))?;
        let told = self.callback()?.get(&query)?;
        Ok((told.is_taken() && told.body == right, told))
    }

    fn callback(&self) -> io::Result<Callback> {
        locked(&self.state().callback)
            .clone()
            .ok_or_else(|| io::Error::other("no callback was named"))
    }

    fn state(&self) -> &State<P> {
        self.server.endpoint()
    }
}
