//! A double for trying things by hand: it sends statuses by itself after a
//! moment, and command lines on standard input, or requests to `/double/..`, play
//! the contact and provider failures.

use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::misbehaviour::WORDS;
use super::{Accepted, Channel, Control, Event, Flush, Inbound, Misbehaviour, Provider};
use crate::double::http::{Answer, Request};

/// The statuses of an accepted message, and how many seconds after the acceptance
/// each is sent, with that time. Providers' times are whole seconds, so an
/// earlier one could be before the acceptance.
const STORY: [(&str, u64); 3] = [("sent", 1), ("delivered", 2), ("read", 3)];

const AGAIN: Duration = Duration::from_secs(5);

pub fn start<P: Provider>(
    listen: std::net::SocketAddr,
    provider: P,
) -> std::io::Result<Arc<Channel<P>>> {
    let (sender, receiver) = channel();
    let double = Channel::start_with_listener(listen, provider, None, Some(sender))?;
    let double = Arc::new(double);
    let control: Control = {
        let double = Arc::downgrade(&double);
        Box::new(move |line| match double.upgrade() {
            Some(double) => command(&double, line),
            None => Err("the double is stopping".to_owned()),
        })
    };
    // The double is new, so its control is not set yet.
    let _ = double.state().control.set(control);
    let weak = Arc::downgrade(&double);
    std::thread::Builder::new()
        .name("double-teller".to_owned())
        .spawn(move || send_events(&weak, &receiver))?;
    Ok(double)
}

/// Reads command lines until there are no more, and prints the results.
pub fn listen<P: Provider>(double: &Channel<P>, mut say: impl FnMut(&str)) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.trim().is_empty() {
            continue;
        }
        match command(double, &line) {
            Ok(text) | Err(text) => say(&text),
        }
    }
}

pub fn help<P: Provider>(provider: &P) -> String {
    format!(
        "\
inbound FROM TEXT                      a contact writes
press FROM WORDS                       a contact presses a button of the last message
status ID|last WORD [CODE]             sent, delivered, read, failed, or any other
fail HOW [TIMES]                       the next sends fail like this
behave                                 cancels planned failures
release                                answers the sends that hang
messages                               lists the accepted messages
{}
HOW is one of
{WORDS}",
        provider.commands()
    )
}

/// Answers a request that is a command line: `POST /double/inbound` with the rest
/// of the line as its body, or `GET /double` for the help.
pub(super) fn answer(request: &Request, control: &Control) -> Option<Answer> {
    let command = match request.path.strip_prefix("/double")? {
        "" | "/" => "help",
        rest => rest.strip_prefix('/')?,
    };
    let body = String::from_utf8_lossy(&request.body);
    Some(match control(&format!("{command} {body}")) {
        Ok(text) => Answer::text(200, &format!("{text}\n")),
        Err(text) => Answer::text(400, &format!("{text}\n")),
    })
}

fn command<P: Provider>(double: &Channel<P>, line: &str) -> Result<String, String> {
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    let rest = |words: usize| -> String {
        let mut rest = line;
        for _ in 0..words {
            rest = rest
                .split_once(char::is_whitespace)
                .map_or("", |two| two.1)
                .trim_start();
        }
        rest.to_owned()
    };
    match words.as_slice() {
        ["inbound", from, _, ..] => {
            double.inbound(Inbound::text(from, &rest(2)));
            flush(double)
        }
        ["press", from, _, ..] => {
            let words = rest(2);
            let accepted = double.accepted();
            let last = accepted.iter().rev().find(|message| {
                let send = &message.send;
                send.recipient == *from || send.recipient_id == *from
            });
            let last = last.ok_or_else(|| format!("no message went to {from}"))?;
            double.inbound(Inbound::button(from, &words, &words).answering(&last.id));
            flush(double)
        }
        ["status", id, word, codes @ ..] => {
            let accepted = double.accepted();
            let id = match (*id, accepted.last()) {
                ("last", Some(last)) => last.id.clone(),
                ("last", None) => return Err("no message was accepted yet".to_owned()),
                (id, _) => id.to_owned(),
            };
            let codes: Result<Vec<u32>, _> = codes.iter().map(|code| code.parse()).collect();
            let codes = codes.map_err(|error| format!("CODE must be a number: {error}"))?;
            double.queue(double.status_of(&id, word).errors(&codes));
            flush(double)
        }
        ["fail", how, times @ ..] => {
            let what = Misbehaviour::parse(how)
                .ok_or_else(|| format!("unknown failure `{how}`; use one of\n{WORDS}"))?;
            let times = times.first().map_or(Ok(1), |times| times.parse());
            let times = times.map_err(|error| format!("TIMES must be a number: {error}"))?;
            double.next_sends(times, what);
            Ok(format!("{times} x {how}"))
        }
        ["behave"] => {
            double.behave();
            Ok("planned failures are cancelled".to_owned())
        }
        ["release"] => {
            double.release();
            Ok("hanging sends are answered".to_owned())
        }
        ["messages"] => Ok(messages(&double.accepted())),
        ["help"] => Ok(help(double.provider())),
        _ => match double.provider().command(&words) {
            Some(said) => {
                let said = said?;
                let Some(event) = said.event else {
                    return Ok(said.text);
                };
                double.queue(event);
                // It has happened, even if the callback could not be reached.
                let outcome = flush(double).unwrap_or_else(|not_yet| not_yet);
                Ok([said.text, outcome].join("\n"))
            }
            None => Err(format!(
                "unknown command: {line}\n{}",
                help(double.provider())
            )),
        },
    }
}

/// Sends the waiting events. Returns the answers of the callback as text.
fn flush<P: Provider>(double: &Channel<P>) -> Result<String, String> {
    let answers = double
        .flush(Flush::default())
        .map_err(|error| format!("callback failed, will retry: {error}"))?;
    let lines: Vec<String> = answers
        .iter()
        .map(|answer| format!("the callback answered {} {}", answer.status, answer.body))
        .collect();
    Ok(lines.join("\n"))
}

fn messages(accepted: &[Accepted]) -> String {
    if accepted.is_empty() {
        return "no message was accepted yet".to_owned();
    }
    let lines: Vec<String> = accepted
        .iter()
        .map(|message| {
            let send = &message.send;
            format!("{}  {}  {}", message.id, send.recipient, send.template)
        })
        .collect();
    lines.join("\n")
}

/// Sends the statuses of each message, and repeats refused events, until the
/// double ends.
fn send_events<P: Provider>(double: &Weak<Channel<P>>, taken: &Receiver<Accepted>) {
    let mut due: Vec<(Instant, Option<Event>)> = Vec::new();
    loop {
        let next = due.iter().map(|(when, _)| *when).min();
        let pause = next.map_or(AGAIN, |when| when.saturating_duration_since(Instant::now()));
        match taken.recv_timeout(pause) {
            Ok(message) => {
                let Some(double) = double.upgrade() else {
                    return;
                };
                for (word, after) in STORY {
                    let status = double.status_of(&message.id, word).at(message.at + after);
                    let when = Instant::now() + Duration::from_secs(after);
                    due.push((when, Some(status.into())));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        let (ripe, later): (Vec<_>, Vec<_>) = due.into_iter().partition(|(when, _)| *when <= now);
        due = later;
        if ripe.is_empty() {
            continue;
        }
        let Some(double) = double.upgrade() else {
            return;
        };
        for event in ripe.into_iter().filter_map(|(_, event)| event) {
            double.queue(event);
        }
        // Without a callback there is nothing to do.
        let _ = double.flush(Flush::default().batches(P::BATCH));
        if double.pending() > 0 {
            due.push((Instant::now() + AGAIN, None));
        }
    }
}
