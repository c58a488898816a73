//! Hosts take their time from the database, whatever the date of their machine.

use leadhost_domain::time;
use leadhost_tests::{Hosts, On, Service, until};

use crate::faults::clock::{set_ahead, with_clock};

const DAY: i64 = 86_400;

/// Sends a lead, and checks that the host received it at the database's time.
async fn receives_in_time(hosts: &Hosts, host: &Service, id: &str) {
    let lead = format!(
        r#"{{"leadOrigin":"Grupo OLX","originLeadId":"{id}","name":"Ana","phone":"11987654321","message":"m"}}"#
    );
    let ask = host.ask("gateway", "POST", &hosts.ingest("portal"));
    ask.body(lead).send().await.expect(200);
    let list = hosts.operator(host, "GET", "/deliveries?limit=1");
    let list = list.send().await.expect(200).json();
    let at = list["deliveries"][0]["receivedAt"].as_str();
    let at = time::parse(at.expect("a time")).expect("a time").0;
    let query = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
    let now = hosts.count(query).await;
    let hour = 3_600_000_000;
    assert!(now.abs_diff(at) < hour, "{id}: {at} is not near {now}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_date_is_wrong_or_jumps_takes_the_time_of_the_database() {
    let on = available!(On::postgres());
    let hosts = Hosts::portal(on).apply().await;
    let tools = tempfile::tempdir().expect("a folder");
    let (program, ahead) = with_clock(tools.path());
    set_ahead(&ahead, 3 * DAY);
    let host = hosts.start_as(0, program, &[]).await;
    receives_in_time(&hosts, &host, "ahead").await;
    for days in [-3, 3, 0] {
        set_ahead(&ahead, days * DAY);
        receives_in_time(&hosts, &host, &format!("jumps-{days}")).await;
        let minutes = days * DAY / 60;
        until("the status names the difference", async || {
            let status = hosts.operator(&host, "GET", "/status").send().await;
            let status = status.expect(200).json();
            let shown = status["hosts"][0]["clockAheadMinutes"].as_i64()?;
            ((shown - minutes).abs() <= 1).then_some(())
        })
        .await;
        receives_in_time(&hosts, &host, &format!("after-{days}")).await;
    }
    assert!(host.stop());
}
