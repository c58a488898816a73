//! The common part of the doubles of messaging providers: they check, count and
//! answer sends, follow planned misbehaviour, and send events of the phones to a
//! callback as signed webhooks.
//!
//! A double does nothing by itself: events wait until [`Channel::flush`] sends them,
//! in the order, the batches and the repeats that it names. Only a double that is
//! started by hand acts by itself ([`by_hand`]). A send that the provider's checks
//! refuse is refused before any planned misbehaviour; each misbehaviour applies to
//! one send.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

pub mod by_hand;
mod callback;
mod event;
mod gate;
mod misbehaviour;
mod state;

pub use callback::{Callback, CallbackAnswer, Letter};
pub use event::{Event, Flush, Inbound, Status};
pub use misbehaviour::{Misbehaviour, Taken};

use self::state::State;
use super::http::{Answer, Request};
use super::server::{DoubleServer, locked};

pub trait Provider: Send + Sync + 'static {
    const NAME: &'static str;

    /// The most events in one webhook request.
    const BATCH: usize;

    fn is_send(&self, request: &Request) -> bool;

    /// Parses a send, or returns the refusal of the provider's own checks.
    fn read_send(&self, request: &Request) -> Result<Outgoing, Answer>;

    fn message_id(&self, number: u64) -> String;

    fn accepted(&self, message: &Accepted) -> Answer;

    /// A success that does not name the message.
    fn accepted_without_id(&self) -> Answer;

    /// The provider's error, with its documented status unless another is given.
    fn error(&self, code: u32, status: Option<u16>) -> Answer;

    fn other(&self, request: &Request) -> Answer;

    /// A webhook request with these events, unsigned.
    fn letter(&self, events: &[Event]) -> Letter;

    /// The headers that authenticate a letter at this address.
    fn seal(&self, url: &str, letter: &Letter, key: Key) -> Vec<(&'static str, String)>;

    /// A command line of this provider only: what is said, and an event for the provider to send.
    fn command(&self, _words: &[&str]) -> Option<Result<(String, Option<Event>), String>> {
        None
    }

    fn commands(&self) -> &'static str {
        ""
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Right,
    Wrong,
    /// It is not signed.
    None,
}

#[derive(Clone, Debug)]
pub struct Outgoing {
    /// As in the send.
    pub recipient: String,
    /// The provider's name for the recipient from then on.
    pub recipient_id: String,
    /// The sender's own text, which comes back with statuses.
    pub opaque: Option<String>,
    /// The template's name, or the provider's equivalent.
    pub template: String,
    /// The address for statuses of this message only.
    pub callback: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Accepted {
    pub id: String,
    pub send: Outgoing,
    /// Seconds since 1970.
    pub at: u64,
}

pub struct Channel<P: Provider> {
    server: DoubleServer<State<P>>,
}

impl<P: Provider> Channel<P> {
    /// Starts a double on a free port, whose time stands at `now`, in seconds since 1970,
    /// until it is set.
    pub fn start(provider: P, now: u64) -> io::Result<Self> {
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        Self::start_at(listen, State::new(provider, Some(now)))
    }

    fn start_at(listen: SocketAddr, state: State<P>) -> io::Result<Self> {
        let server = DoubleServer::start(listen, state)?;
        Ok(Self { server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub fn provider(&self) -> &P {
        &self.state().provider
    }

    // ---- control

    /// Applies this misbehaviour to the next sends that pass the checks. Plans queue
    /// up.
    pub fn next_sends(&self, times: u32, what: Misbehaviour) {
        self.state().plan.add(times, what);
    }

    pub fn behave(&self) {
        self.state().plan.clear();
    }

    pub fn release(&self) {
        self.state().gate.release();
    }

    pub fn hanging(&self) -> usize {
        self.state().gate.waiting()
    }

    pub fn set_time(&self, seconds: u64) {
        *locked(&self.state().now) = Some(seconds);
    }

    pub fn now(&self) -> u64 {
        self.state().now()
    }

    pub fn call_back(&self, callback: Callback) {
        *locked(&self.state().callback) = Some(callback);
    }

    // ---- memory

    pub fn requests(&self) -> Vec<Request> {
        locked(&self.state().seen).clone()
    }

    /// Returns every send that it has read, in order, including refused ones.
    pub fn sends(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| self.provider().is_send(request));
        requests
    }

    pub fn accepted(&self) -> Vec<Accepted> {
        locked(&self.state().accepted).clone()
    }

    /// Returns how many messages it has accepted for a recipient, in the spelling of
    /// the sends.
    pub fn accepted_for(&self, recipient: &str) -> usize {
        self.count(|message| message.send.recipient == recipient)
    }

    pub fn accepted_as(&self, opaque: &str) -> usize {
        self.count(|message| message.send.opaque.as_deref() == Some(opaque))
    }

    fn count(&self, is_it: impl Fn(&Accepted) -> bool) -> usize {
        let accepted = locked(&self.state().accepted);
        accepted.iter().filter(|message| is_it(message)).count()
    }

    // ---- events

    /// Queues a status of a message. The id may be unknown to the double.
    pub fn status(&self, id: &str, word: &str) {
        self.queue(self.status_of(id, word));
    }

    /// Returns a status as [`Channel::status`] queues it, to be changed and queued.
    pub fn status_of(&self, id: &str, word: &str) -> Status {
        let accepted = locked(&self.state().accepted);
        let message = accepted.iter().find(|message| message.id == id);
        let status = Status::new(id, word).at(self.now());
        let Some(Accepted { send, .. }) = message else {
            return status;
        };
        Status {
            recipient: Some(send.recipient_id.clone()),
            opaque: send.opaque.clone(),
            callback: send.callback.clone(),
            ..status
        }
    }

    pub fn inbound(&self, message: Inbound) {
        self.queue(message);
    }

    /// Queues an event. Without a time it gets the double's.
    pub fn queue(&self, event: impl Into<Event>) {
        let mut event = event.into();
        event.date(self.now());
        locked(&self.state().outbox).push_back(event);
    }

    pub fn pending(&self) -> usize {
        locked(&self.state().outbox).len()
    }

    /// Sends all waiting events. Events that are not answered with 2xx wait again,
    /// before later ones.
    pub fn flush(&self, how: Flush) -> io::Result<Vec<CallbackAnswer>> {
        let waiting: Vec<Event> = locked(&self.state().outbox).drain(..).collect();
        let (mut answers, mut left) = (Ok(Vec::new()), Vec::new());
        for events in how.arrange(waiting, P::BATCH) {
            let Ok(sofar) = &mut answers else {
                left.extend(events);
                continue;
            };
            match self.post_batch(&events) {
                Ok(answer) => {
                    if !answer.is_taken() {
                        left.extend(events);
                    }
                    sofar.push(answer);
                }
                Err(error) => {
                    left.extend(events);
                    answers = Err(error);
                }
            }
        }
        let mut outbox = locked(&self.state().outbox);
        left.into_iter()
            .rev()
            .for_each(|event| outbox.push_front(event));
        answers
    }

    fn post_batch(&self, events: &[Event]) -> io::Result<CallbackAnswer> {
        let own = events.iter().find_map(Event::callback);
        self.send_letter(own, &self.provider().letter(events), Key::Right)
    }

    pub fn send_raw(
        &self,
        content_type: &'static str,
        body: &[u8],
        key: Key,
    ) -> io::Result<CallbackAnswer> {
        let body = body.to_vec();
        self.send_letter(None, &Letter { content_type, body }, key)
    }

    fn send_letter(
        &self,
        own: Option<&str>,
        letter: &Letter,
        key: Key,
    ) -> io::Result<CallbackAnswer> {
        let mut callback = self.callback()?;
        if let Some(url) = own {
            callback = callback.with_url(url);
        }
        let seals = self.provider().seal(callback.url(), letter, key);
        callback.post(letter, &seals)
    }

    fn callback(&self) -> io::Result<Callback> {
        locked(&self.state().callback)
            .clone()
            .ok_or_else(|| io::Error::other("no callback URL is set"))
    }

    fn state(&self) -> &State<P> {
        self.server.endpoint()
    }
}
