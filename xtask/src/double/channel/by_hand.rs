//! A double for trying things by hand: it sends statuses by itself after a
//! moment, and command lines on standard input play the contact and provider
//! failures.

use std::io::BufRead as _;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::misbehaviour::WORDS;
use super::state::State;
use super::{Accepted, Channel, Flush, Inbound, Misbehaviour, Provider, Status};

/// The statuses of an accepted message, and how many seconds after the acceptance
/// each is sent, with that time. Providers' times are whole seconds, so an
/// earlier one could be before the acceptance.
const STORY: [(&str, u64); 3] = [("sent", 1), ("delivered", 2), ("read", 3)];

const AGAIN: Duration = Duration::from_secs(5);

/// The interval for looking at the accepted messages.
const LOOK: Duration = Duration::from_millis(100);

pub fn start<P: Provider>(
    listen: std::net::SocketAddr,
    provider: P,
) -> std::io::Result<Arc<Channel<P>>> {
    let double = Channel::start_at(listen, State::new(provider, None))?;
    let double = Arc::new(double);
    let weak = Arc::downgrade(&double);
    std::thread::Builder::new()
        .name("double-teller".to_owned())
        .spawn(move || send_events(&weak))?;
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

pub fn command<P: Provider>(double: &Channel<P>, line: &str) -> Result<String, String> {
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
                let (text, event) = said?;
                let Some(event) = event else {
                    return Ok(text);
                };
                double.queue(event);
                // It has happened, even if the callback could not be reached.
                let outcome = flush(double).unwrap_or_else(|not_yet| not_yet);
                Ok([text, outcome].join("\n"))
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
fn send_events<P: Provider>(double: &Weak<Channel<P>>) {
    let mut seen = 0;
    let mut due: Vec<(Instant, Status)> = Vec::new();
    let mut again: Option<Instant> = None;
    while let Some(double) = double.upgrade() {
        let now = Instant::now();
        for message in &double.accepted()[seen..] {
            for (word, after) in STORY {
                let status = double.status_of(&message.id, word).at(message.at + after);
                due.push((now + Duration::from_secs(after), status));
            }
            seen += 1;
        }
        let (ripe, later): (Vec<_>, Vec<_>) = due.into_iter().partition(|(when, _)| *when <= now);
        due = later;
        let is_time = !ripe.is_empty() || again.is_some_and(|when| when <= now);
        for (_, status) in ripe {
            double.queue(status);
        }
        if is_time {
            // Without a callback there is nothing to do.
            let _ = double.flush(Flush::default().batches(P::BATCH));
            again = (double.pending() > 0).then(|| now + AGAIN);
        }
        drop(double);
        std::thread::park_timeout(LOOK);
    }
}
