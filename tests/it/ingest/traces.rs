//! Traces of deliveries, as a receiver of OTLP gets them: each step with its parent, no personal data,
//! errors always, and a receiver that fails costs no lead.

use std::time::{Duration, Instant};

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::limits;
use leadhost_tests::otlp::{Behaviour, OtlpReceiver, ReceivedSpan, TraceGaps};
use leadhost_tests::{Answer, Declared, Host, Log, On, Options, guests, has, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{harm, lead, meta, with_form};

leadhost_tests::on_every_store! {
    a_lead_is_a_trace_of_its_steps_without_personal_data,
    the_steps_of_a_lead_leave_no_gap,
    a_fetch_continues_the_trace_of_its_delivery_and_names_it_to_the_remote_server,
    a_callers_trace_is_continued_and_linked,
    only_a_trace_with_an_error_is_exported_at_share_zero,
    the_lines_of_a_request_name_its_trace_and_its_delivery,
    a_receiver_that_fails_costs_no_lead_and_blocks_nothing,
}

/// The time for all that has ended to be exported.
const EXPORTED: Duration = Duration::from_secs(20);

/// The span of the request that brings a lead.
const REQUEST: &str = "POST /ingest-lead/{partnerConnectionId}";

async fn receiver_and(on: On, per_mille: u32) -> (OtlpReceiver, Options) {
    let receiver = OtlpReceiver::start().await;
    let options = Options::patient(on)
        .with("telemetry.otlp_endpoint", receiver.url())
        .with("telemetry.otlp_headers", "x-tenant=hidden%20word")
        .with("telemetry.traces_per_mille", per_mille);
    (receiver, options)
}

struct TracedHost {
    host: Host,
    declared: Declared,
    receiver: OtlpReceiver,
}

impl TracedHost {
    async fn new(on: On, per_mille: u32) -> Self {
        let (receiver, options) = receiver_and(on, per_mille).await;
        let host = Host::working_with(options).await;
        let declared = with_form(&host).await;
        Self {
            host,
            declared,
            receiver,
        }
    }

    async fn deliver(&self, id: &str) -> Answer {
        let ask = self.host.post(&self.declared.address("form"));
        let body = lead(id, "Rui Tavares", "+5521988880002");
        ask.json(&body).send().await.expect(200)
    }

    /// Returns the exported spans of the trace that took this delivery in, in their order.
    async fn spans_of(&self, delivery: &str) -> Vec<ReceivedSpan> {
        spans_of(&self.host, &self.receiver, delivery).await
    }
}

async fn spans_of(host: &Host, receiver: &OtlpReceiver, delivery: &str) -> Vec<ReceivedSpan> {
    until("the trace is exported", async || {
        host.app.core.tracer().flush(EXPORTED).await;
        let spans = receiver.spans();
        let taken_in = spans.iter().find(|span| {
            span.name == "process delivery" && span.attribute("leadhost.delivery.id") == delivery
        })?;
        let trace = taken_in.trace.clone();
        let own = spans.into_iter().filter(|span| span.trace == trace);
        let own: Vec<_> = own.collect();
        own.iter().any(|span| span.kind == 2).then_some(own)
    })
    .await
}

fn delivery_of(answer: &Answer) -> String {
    let id = answer.json()["deliveryId"].as_str().map(str::to_owned);
    id.expect("a delivery")
}

/// Returns the name of each span with its parent's.
fn family(spans: &[ReceivedSpan]) -> Vec<(&str, &str)> {
    let name = |id: &str| {
        let found = spans.iter().find(|span| span.id == id);
        found.map_or("", |span| span.name.as_str())
    };
    spans
        .iter()
        .map(|span| (span.name.as_str(), name(&span.parent)))
        .collect()
}

#[track_caller]
fn named<'s>(spans: &'s [ReceivedSpan], name: &str) -> &'s ReceivedSpan {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", family(spans)))
}

async fn a_lead_is_a_trace_of_its_steps_without_personal_data(on: On) {
    let system = match on {
        On::Sqlite => "sqlite",
        On::Postgres(..) => "postgresql",
    };
    let traced = TracedHost::new(on, 1_000).await;
    // The first one loads what later ones find.
    traced.deliver("first").await;
    let answer = traced.deliver("l-1").await;
    let delivery = delivery_of(&answer);
    let spans = traced.spans_of(&delivery).await;
    assert_eq!(
        family(&spans),
        [
            (REQUEST, ""),
            ("find connection", REQUEST),
            ("read body", REQUEST),
            ("wait for turn", REQUEST),
            ("process delivery", REQUEST),
            ("check sender", "process delivery"),
            ("mask secrets", "process delivery"),
            ("convert", "process delivery"),
            ("call plugin", "convert"),
            ("commit", "process delivery"),
            ("wait for commit", "commit"),
            ("COMMIT", "commit"),
        ]
    );
    let request = named(&spans, REQUEST);
    assert_eq!(request.kind, 2);
    assert_eq!(request.attribute("http.request.method"), "POST");
    let route = "/ingest-lead/{partnerConnectionId}";
    assert_eq!(request.attribute("http.route"), route);
    assert_eq!(request.attribute("http.response.status_code"), "200");
    assert_eq!(request.trace, delivery.replace('-', ""));
    let process = named(&spans, "process delivery");
    assert_eq!(process.attribute("messaging.destination.name"), "form");
    assert_eq!(process.attribute("messaging.operation.type"), "process");
    let convert = named(&spans, "convert");
    assert_eq!(convert.attribute("leadhost.plugin.name"), "example-form");
    assert!(!convert.attribute("leadhost.plugin.version").is_empty());
    assert!(convert.attribute("leadhost.plugin.digest").len() >= 64);
    assert_eq!(convert.attribute("leadhost.items"), "1");
    let commit = named(&spans, "COMMIT");
    assert_eq!(commit.kind, 3);
    assert_eq!(commit.attribute("leadhost.commit.writes"), "1");
    assert_eq!(commit.attribute("db.system.name"), system);
    assert!(
        spans
            .iter()
            .all(|span| !span.is_error && span.ended >= span.began)
    );
    for personal in "Rui Tavares 988880002 AP-10 visitar 127.0.0.1".split(' ') {
        assert!(!traced.receiver.holds(personal), "{personal} was exported");
    }
    let secret = traced.declared.id("form").to_string();
    assert!(!traced.receiver.holds(&secret), "the address was exported");
    let export = &traced.receiver.requests()[0];
    assert_eq!(export.path, "/v1/traces");
    assert_eq!(export.headers["content-type"], "application/x-protobuf");
    assert_eq!(export.headers["x-tenant"], "hidden word");
    assert_eq!(export.resource["service.name"], "leadhost");
}

async fn the_steps_of_a_lead_leave_no_gap(on: On) {
    let traced = TracedHost::new(on, 1_000).await;
    let mut gaps = TraceGaps::default();
    for number in 0..TraceGaps::TRACES {
        let answer = traced.deliver(&format!("l-{number}")).await;
        let spans = traced.spans_of(&delivery_of(&answer)).await;
        if gaps.add(&spans, REQUEST) {
            return;
        }
    }
    gaps.assert_narrow();
}

async fn a_fetch_continues_the_trace_of_its_delivery_and_names_it_to_the_remote_server(on: On) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let remote_server = listener.local_addr().expect("an address");
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a call");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a head"));
        }
        let answer = b"HTTP/1.1 503 Later\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.expect("an answer");
        String::from_utf8(head).expect("a text")
    });
    let (receiver, options) = receiver_and(on, 0).await;
    let host = Host::working_with(options).await;
    host.activate("converter-meta-lead-ads").await;
    let double = meta::double();
    let file = meta::connection("meta", &double, meta::PAGE);
    let file = file.replace(&double.address().to_string(), &remote_server.to_string());
    let declared = host.declare(&file).await;
    let body = meta::webhook(meta::PAGE, &["440000000000011"]);
    let answer = meta::send(&host, &declared.address("meta"), &body).await;
    let delivery = host.delivery(&answer.expect(200)).await.summary.id;
    let head = asked.await.expect("the remote server is asked");
    let spans = until("the fetch is exported", async || {
        host.app.core.tracer().flush(EXPORTED).await;
        let spans = receiver.spans();
        let found = spans.iter().any(|span| span.name == "fetch lead");
        found.then_some(spans)
    })
    .await;
    let fetch = named(&spans, "fetch lead");
    let trace = delivery.to_string().replace('-', "");
    assert_eq!(fetch.trace, trace);
    assert_eq!(fetch.parent, trace[16..], "the span that took it in");
    let call = named(&spans, "GET");
    assert_eq!((call.kind, &call.parent), (3, &fetch.id));
    assert_eq!(call.attribute("http.response.status_code"), "503");
    assert_eq!(
        call.attribute("server.port"),
        remote_server.port().to_string()
    );
    assert!(call.is_error && fetch.is_error);
    let sent = format!("traceparent: 00-{trace}-{}-00\r\n", call.id);
    has!(head, &sent);
    assert!(!receiver.holds("440000000000011") && !receiver.holds("double-page-token"));
}

async fn a_callers_trace_is_continued_and_linked(on: On) {
    let traced = TracedHost::new(on, 1_000).await;
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let send = async |header: String| {
        let ask = traced.host.post(&traced.declared.address("form"));
        let body = lead(&header, "Rui Tavares", "+5521988880002");
        let ask = ask.header("traceparent", &header).json(&body);
        delivery_of(&ask.send().await.expect(200))
    };
    let delivery = send(format!("00-{trace}-{parent}-00")).await;
    let spans = traced.spans_of(&delivery).await;
    let request = named(&spans, REQUEST);
    assert_eq!((&*request.trace, &*request.parent), (trace, parent));
    let process = named(&spans, "process delivery");
    assert_eq!(process.links, [delivery.replace('-', "")]);
    // An invalid one counts as none.
    let delivery = send(format!("00-{trace}-0000000000000000-01")).await;
    let spans = traced.spans_of(&delivery).await;
    let request = named(&spans, REQUEST);
    assert_eq!(request.parent, "");
    assert_eq!(request.trace, delivery.replace('-', ""));
    assert!(named(&spans, "process delivery").links.is_empty());
}

async fn only_a_trace_with_an_error_is_exported_at_share_zero(on: On) {
    let traced = TracedHost::new(on, 0).await;
    traced.host.converter(guests::misbehave()).await;
    traced.deliver("l-1").await;
    let declared = traced.host.declare(&harm("bad", "trap", 0)).await;
    let ask = traced.host.post(&declared.address("bad"));
    let answer = ask.json(&json!({"name": "Rui"})).send().await.expect(200);
    let spans = traced.spans_of(&delivery_of(&answer)).await;
    let failed: Vec<_> = spans.iter().filter(|span| span.is_error).collect();
    let failed: Vec<_> = failed
        .iter()
        .map(|span| (span.name.as_str(), span.attribute("error.type")))
        .collect();
    assert_eq!(failed, [("convert", "trapped"), ("call plugin", "trapped")]);
    assert!(!named(&spans, "commit").is_error);
    let all = traced.receiver.spans();
    let of_form = |span: &&ReceivedSpan| span.attribute("messaging.destination.name") == "form";
    assert_eq!(all.iter().filter(of_form).count(), 0);
    let counts = traced.host.app.core.tracer().counts().expect("it is on");
    assert!(counts.exported >= 1 && counts.unsampled >= 1, "{counts:?}");
    assert!(!traced.receiver.holds("Rui"));
    let ask = traced.host.admin("GET", "/metrics");
    let metrics = ask.send().await.expect(200);
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    has!(text, "leadhost_traces_total{outcome=\"unsampled\"}");
}

async fn the_lines_of_a_request_name_its_trace_and_its_delivery(on: On) {
    let log = Log::capture();
    let traced = TracedHost::new(on, 0).await;
    traced.host.converter(guests::misbehave()).await;
    let declared = traced.host.declare(&harm("bad", "trap", 0)).await;
    log.take();
    let ask = traced.host.post(&declared.address("bad"));
    let answer = ask.json(&json!({"name": "Rui"})).send().await.expect(200);
    let delivery = delivery_of(&answer);
    let text = log.take();
    for line in ["plugin failed, delivery stored", "answered"] {
        let found = text.lines().find(|one| one.contains(line));
        let found = found.unwrap_or_else(|| panic!("no {line} in {text}"));
        has!(found, &format!("delivery={delivery}"));
        let trace = format!("trace={}", delivery.replace('-', ""));
        has!(found, &trace);
    }
}

async fn a_receiver_that_fails_costs_no_lead_and_blocks_nothing(on: On) {
    let behaviours = [
        Some(Behaviour::Refuse(500)),
        Some(Behaviour::Refuse(503)),
        Some(Behaviour::Hang),
        None,
    ];
    for (case, behaviour) in behaviours.into_iter().enumerate() {
        let mut traced = TracedHost::new(on.clone(), 1_000).await;
        match behaviour {
            Some(behaviour) => traced.receiver.behave(behaviour),
            // It is gone: connections are refused.
            None => traced.receiver = OtlpReceiver::start().await,
        }
        for number in 0..20 {
            let answer = traced.deliver(&format!("l-{case}-{number}")).await;
            assert_eq!(answer.json()["status"], "converted", "{behaviour:?}");
            let stored = traced.host.delivery(&answer).await.summary.status;
            assert_eq!(stored, DeliveryStatus::Converted, "{behaviour:?}");
        }
        if let Some(Behaviour::Refuse(500)) = behaviour {
            // The specification lets no one repeat it.
            traced.host.app.core.tracer().flush(EXPORTED).await;
            let counts = traced.host.app.core.tracer().counts().expect("it is on");
            assert!(counts.not_sent >= 20 && counts.exported == 0, "{counts:?}");
        }
        let began = Instant::now();
        traced.host.app.core.traces.stop().await;
        // A stop that waited for all attempts would take longer than that many deadlines.
        let attempts = limits::EXPORT_DEADLINE * limits::EXPORT_ATTEMPTS;
        assert!(began.elapsed() < attempts / 2, "{behaviour:?}");
    }
}
