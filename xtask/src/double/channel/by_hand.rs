//! A double that somebody started to try things against: statuses follow by
//! themselves after a moment, and lines on the standard input, or requests to
//! `/double/..`, play the lead and the bad day.

use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::misbehaviour::WORDS;
use super::{Accepted, Channel, Control, Event, Flush, Inbound, Misbehaviour, Provider};
use crate::double::http::{Answer, Request};

/// What follows a message that was taken, and how many seconds after: told then,
/// and with that time. Providers' times are whole seconds, so that an earlier one
/// could lie before the acceptance.
const STORY: [(&str, u64); 3] = [("sent", 1), ("delivered", 2), ("read", 3)];

/// What was not taken is told again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// Starts a double that goes on by itself.
pub fn start<P: Provider>(
    listen: std::net::SocketAddr,
    provider: P,
) -> std::io::Result<Arc<Channel<P>>> {
    let (sender, receiver) = channel();
    let double = Channel::start_telling(listen, provider, None, Some(sender))?;
    let double = Arc::new(double);
    let control: Control = {
        let double = Arc::downgrade(&double);
        Box::new(move |line| match double.upgrade() {
            Some(double) => command(&double, line),
            None => Err("the double ends".to_owned()),
        })
    };
    // Nobody else has set it: the double is new.
    let _ = double.state().control.set(control);
    let teller = Arc::downgrade(&double);
    std::thread::Builder::new()
        .name("double-teller".to_owned())
        .spawn(move || tell(&teller, &receiver))?;
    Ok(double)
}

/// Reads lines until there are no more, and says what came of each.
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

/// What can be typed.
pub fn help<P: Provider>(provider: &P) -> String {
    format!(
        "\
inbound FROM TEXT                      a contact writes
press FROM WORDS                       a contact presses a button of the last message
status ID|last WORD [CODE]             sent, delivered, read, failed, or any other
fail HOW [TIMES]                       the next sends go wrong
behave                                 they do not
release                                what hangs gets its answer
messages                               what was taken
{}
HOW is one of
{WORDS}",
        provider.commands()
    )
}

/// The answer to a request that is a typed line: `POST /double/inbound` with the
/// rest of the line as its body, or `GET /double` for the help.
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
            told(double)
        }
        ["press", from, _, ..] => {
            let words = rest(2);
            let accepted = double.accepted();
            let last = accepted.iter().rev().find(|message| {
                let send = &message.send;
                send.recipient == *from || send.recipient_id.as_deref() == Some(from)
            });
            let last = last.ok_or_else(|| format!("no message went to {from}"))?;
            double.inbound(Inbound::button(from, &words, &words).answering(&last.id));
            told(double)
        }
        ["status", id, word, codes @ ..] => {
            let accepted = double.accepted();
            let id = match (*id, accepted.last()) {
                ("last", Some(last)) => last.id.clone(),
                ("last", None) => return Err("no message was taken yet".to_owned()),
                (id, _) => id.to_owned(),
            };
            let codes: Result<Vec<u32>, _> = codes.iter().map(|code| code.parse()).collect();
            let codes = codes.map_err(|error| format!("a code is a number: {error}"))?;
            double.tell(double.status_of(&id, word).errors(&codes));
            told(double)
        }
        ["fail", how, times @ ..] => {
            let what = Misbehaviour::parse(how)
                .ok_or_else(|| format!("`{how}` is no way to fail; one of\n{WORDS}"))?;
            let times = times.first().map_or(Ok(1), |times| times.parse());
            let times = times.map_err(|error| format!("how often is a number: {error}"))?;
            let said = format!("{times} x {what:?}");
            double.next_sends(times, what);
            Ok(said)
        }
        ["behave"] => {
            double.behave();
            Ok("the next sends go well".to_owned())
        }
        ["release"] => {
            double.release();
            Ok("what hung has its answer".to_owned())
        }
        ["messages"] => Ok(messages(&double.accepted())),
        ["help"] => Ok(help(double.provider())),
        _ => match double.provider().command(&words) {
            Some(said) => {
                let said = said?;
                let Some(event) = said.event else {
                    return Ok(said.text);
                };
                double.tell(event);
                // It has happened, also where nobody could be told of it.
                let told = told(double).unwrap_or_else(|not_yet| not_yet);
                Ok([said.text, told].join("\n"))
            }
            None => Err(format!(
                "not understood: {line}\n{}",
                help(double.provider())
            )),
        },
    }
}

fn told<P: Provider>(double: &Channel<P>) -> Result<String, String> {
    let answers = double
        .flush(Flush::default())
        .map_err(|error| format!("not told yet: {error}"))?;
    let lines: Vec<String> = answers
        .iter()
        .map(|answer| format!("the callback answered {} {}", answer.status, answer.body))
        .collect();
    Ok(lines.join("\n"))
}

fn messages(accepted: &[Accepted]) -> String {
    if accepted.is_empty() {
        return "no message was taken yet".to_owned();
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

/// Tells the story of each message, and again what was not taken, until the
/// double ends.
fn tell<P: Provider>(double: &Weak<Channel<P>>, taken: &Receiver<Accepted>) {
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
            double.tell(event);
        }
        // Without a callback there is nobody to tell.
        let _ = double.flush(Flush::default().batches(P::BATCH));
        if double.pending() > 0 {
            due.push((Instant::now() + AGAIN, None));
        }
    }
}
