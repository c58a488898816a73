//! Messages: how many notifications a second are sent through the adapter to a
//! provider on the same machine, how much of a notification's time is the
//! host's, and how many events a second are ingested durably from webhooks of a
//! thousand.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::host::{self, Host};
use crate::http::Client;
use crate::provider::{self, Provider};
use crate::report::{Report, Table, count, seconds, time};
use crate::sample::{Sample, median};
use crate::{Arguments, Failure};

const CONNECTIONS: usize = 64;
/// The response time of a distant provider.
const FAR: Duration = Duration::from_millis(50);
/// How long the last status may wait for its conversion.
const PATIENCE: Duration = Duration::from_secs(60);
/// Events of one webhook: the maximum that providers document.
const EVENTS: u64 = 1_000;

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut near = Vec::new();
    let mut far = Vec::new();
    for number in 1..=arguments.rounds {
        let round = round(arguments, Duration::ZERO, CONNECTIONS)?;
        eprintln!(
            "  round {number}: {} notifications/s, {} events/s",
            count(round.per_second()),
            count(round.events_per_second)
        );
        near.push(round);
        // One at a time: the host's latency for a single notification.
        far.push(self::round(arguments, FAR, 1)?);
    }
    Ok(report(&near, &far))
}

struct MessageRound {
    took: Vec<Duration>,
    elapsed: Duration,
    events_per_second: f64,
}

impl MessageRound {
    fn per_second(&self) -> f64 {
        self.took.len() as f64 / self.elapsed.as_secs_f64()
    }
}

fn round(
    arguments: &Arguments,
    pause: Duration,
    connections: usize,
) -> Result<MessageRound, Failure> {
    let provider = Provider::start(pause)?;
    let folder = arguments.scratch()?;
    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    host.activate(&arguments.plugin("adapter-whatsapp-cloud.wasm")?)?;
    let channel = apply(&host, &provider)?;

    let during = arguments.round();
    let begin = Instant::now();
    let senders: Vec<_> = (0..connections)
        .map(|index| {
            let (channel, gateway) = (channel.clone(), host.gateway);
            std::thread::spawn(move || send(gateway, &channel, index, begin + during))
        })
        .collect();
    let mut took = Vec::new();
    for sender in senders {
        took.extend(sender.join().map_err(|_| "a sender panicked")??);
    }
    let elapsed = begin.elapsed();
    let sent = took.len() as u64;
    let taken = provider.taken();
    if taken != sent {
        return Err(format!("{sent} messages were answered and {taken} went out").into());
    }
    let began = Instant::now();
    statuses(host.gateway, &channel, sent)?;
    wait_until_delivered(&host, &channel, sent)?;
    let events_per_second = sent as f64 / began.elapsed().as_secs_f64();
    host.stop()?;
    Ok(MessageRound {
        took,
        elapsed,
        events_per_second,
    })
}

#[derive(Clone)]
struct Channel {
    instance: Value,
    webhook: String,
    partner_key: String,
    workspace_key: String,
}

fn apply(host: &Host, provider: &Provider) -> Result<Channel, Failure> {
    let url = format!("http://{}", provider.address);
    let declaration = json!({
        "workspace": {"slug": "bench", "name": "Bench", "rate_limit": 1_000_000},
        "partners": [{"name": "crm"}],
        "instances": [{
            "name": "bot",
            "adapter": "whatsapp-cloud",
            "config": {"phoneNumberId": "1", "graphUrl": url},
            "allow": [format!("{url}!private")],
            "secrets": {"access-token": "bench"},
        }],
        "keys": [
            {"kind": "workspace", "label": "export"},
            {"kind": "partner", "label": "crm", "partner": "crm"},
        ],
    });
    let report = host.declare(&declaration)?;
    Ok(Channel {
        instance: report["instances"]["bot"].clone(),
        webhook: host::text(&report, "/channels/bot")?,
        partner_key: host::key(&report, "partner")?,
        workspace_key: host::key(&report, "workspace")?,
    })
}

fn send(
    gateway: SocketAddr,
    channel: &Channel,
    index: usize,
    ends: Instant,
) -> Result<Vec<Duration>, Failure> {
    let mut client = Client::connect(gateway, None)?;
    let headers = format!(
        "x-service-api-key: {}\r\ncontent-type: application/json\r\n",
        channel.partner_key
    );
    let mut took = Vec::new();
    let mut number = index;
    while Instant::now() < ends {
        let body = json!({
            "name": "Helena Duarte",
            // From the sender's index and a running number: each message has its own recipient.
            "phoneNumber": format!("+55119{:08}", 60_000_000 + number),
            "instanceId": channel.instance,
            "source": "bench",
            "template": {
                "name": "welcome",
                "language": {"code": "pt_BR"},
                "components": [{"type": "body", "parameters": [{"type": "text", "text": "Helena"}]}],
            },
        })
        .to_string();
        let begin = Instant::now();
        let answer = client.send("POST", "/send-notification", &headers, body.as_bytes())?;
        took.push(begin.elapsed());
        let said = answer.json()?;
        if said["success"] != true {
            return Err(format!("a notification was answered with {said}").into());
        }
        number += CONNECTIONS;
    }
    Ok(took)
}

/// Sends every message's `delivered`, in webhooks of a thousand, one after the other.
fn statuses(gateway: SocketAddr, channel: &Channel, sent: u64) -> Result<(), Failure> {
    let mut client = Client::connect(gateway, None)?;
    let mut first = 1;
    while first <= sent {
        let last = sent.min(first + EVENTS - 1);
        let statuses: Vec<Value> = (first..=last)
            .map(|number| {
                json!({
                    "id": provider::message_id(number),
                    "status": "delivered",
                    "timestamp": "1790000000",
                    "recipient_id": "5511900000000",
                })
            })
            .collect();
        let body = json!({
            "object": "whatsapp_business_account",
            "entry": [{"id": "7", "changes": [{"field": "messages", "value": {
                "messaging_product": "whatsapp",
                "metadata": {"display_phone_number": "5511900000000", "phone_number_id": "1"},
                "statuses": statuses,
            }}]}],
        })
        .to_string();
        let answer = client.post(&channel.webhook, "application/json", body.as_bytes())?;
        answer.must_be(200, "a webhook")?;
        first = last + 1;
    }
    Ok(())
}

/// Follows the export until each message is in it as delivered: a webhook is answered once it is stored.
fn wait_until_delivered(host: &Host, channel: &Channel, sent: u64) -> Result<(), Failure> {
    let mut client = Client::connect(host.data, Some(&channel.workspace_key))?;
    let (mut from, began) = (String::new(), Instant::now());
    let mut newest = String::new();
    let (mut messages, mut delivered) = (HashSet::new(), HashSet::new());
    while began.elapsed() < PATIENCE {
        let page = client.get_json(&format!("/v1/export/messages?limit=1000{from}"))?;
        for row in page["data"].as_array().into_iter().flatten() {
            let id = host::text(row, "/id")?;
            if !row["delivered_at"].is_null() {
                delivered.insert(id.clone());
            }
            messages.insert(id);
            newest = host::text(row, "/cursor_at")?;
        }
        if [messages.len(), delivered.len()].map(|found| found as u64) == [sent; 2] {
            return Ok(());
        }
        from = match page["next_cursor"].as_str() {
            Some(next) => format!("&cursor={next}"),
            None => {
                std::thread::sleep(Duration::from_millis(20));
                format!("&updated_since={newest}")
            }
        };
    }
    let (messages, delivered) = (messages.len(), delivered.len());
    Err(
        format!("{sent} messages went out; {messages} are exported, {delivered} as delivered")
            .into(),
    )
}

fn report(near: &[MessageRound], far: &[MessageRound]) -> Report {
    let mut report = Report::new("messages", "Messages sent and statuses received");
    let sample = |rounds: &[MessageRound]| {
        Sample::from_durations(rounds.iter().flat_map(|round| round.took.clone()))
    };
    let own = sample(far).p50().saturating_sub(FAR);
    let mut table = Table::new(
        format!(
            "Notifications through the WhatsApp adapter to a provider on the same machine. Median of {} rounds:",
            near.len()
        ),
        " | a second | p50 | p99",
    );
    let at_once = format!("{CONNECTIONS} connections, the provider answers at once");
    let distant = format!("one connection, the provider takes {}", time(FAR));
    for (way, rounds) in [(at_once, near), (distant, far)] {
        let [p50, p99, _] = sample(rounds).cells();
        let rate = median(rounds.iter().map(MessageRound::per_second));
        table.row([way.into(), count(rate), p50, p99]);
    }
    report.table(table);
    let mut events = Table::new(
        "Statuses back, in webhooks of 1 000 events, one webhook at a time:",
        " | events/s | a webhook",
    );
    let events_rate = median(near.iter().map(|round| round.events_per_second));
    events.row([
        "durable, each merged into its message".into(),
        count(events_rate),
        seconds(EVENTS as f64 / events_rate),
    ]);
    report.table(events);
    report.note(format!(
        "The host's own share of a notification, beside the {} of the provider: {} (p50), with two commits in it.",
        time(FAR),
        time(own)
    ));
    report.note("The provider received every message once; each is exported as delivered.");
    report
}
