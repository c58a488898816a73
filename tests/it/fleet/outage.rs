//! A host that loses the database reports that at once, and recovers by itself.

use std::time::{Duration, Instant};

use leadhost_tests::postgres::Database;
use leadhost_tests::proxy::Proxy;
use leadhost_tests::{On, Service, eventually, has, lacks};
use tempfile::TempDir;

/// A service whose network to the database may be cut.
struct CutOffHost {
    service: Service,
    network: Proxy,
    folder: TempDir,
    _database: std::sync::Arc<Database>,
}

impl CutOffHost {
    async fn start() -> Option<Self> {
        let On::Postgres(database) = On::postgres().await? else {
            return None;
        };
        let network = Proxy::before(database.url()).await;
        let url = network.url(database.url());
        let folder = tempfile::tempdir().unwrap();
        let service = tokio::task::block_in_place(|| {
            let on = On::Postgres(database.clone());
            Service::start_on(&on, folder.path(), &["--store-url", &url])
        });
        Some(Self {
            service,
            network,
            folder,
            _database: database,
        })
    }

    async fn is_ready(&self) -> bool {
        let ask = self.service.ask("gateway", "GET", "/health/ready");
        let answer = ask.send().await;
        if answer.status == 200 {
            return true;
        }
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(!answer.header("retry-after").is_empty());
        let reasons = answer.json()["reasons"].to_string();
        let known = ["the database is lost", "store", "catching up"];
        let is_known = known.iter().any(|reason| reasons.contains(reason));
        assert!(is_known, "{reasons}");
        false
    }

    async fn is_lost(&self) {
        let not_ready = async || !self.is_ready().await;
        eventually("the host is not ready", not_ready).await;
        let logged = async || self.service.log().contains("store unreachable");
        eventually("the loss is logged", logged).await;
    }

    async fn is_back(&self) {
        let ready = async || self.is_ready().await;
        eventually("the host is ready again", ready).await;
    }

    /// Every API refuses at once, in its own format. A host that waited for the
    /// database would never be quick; on a busy machine not every attempt is.
    async fn refuses_quickly(&self) {
        eventually("no request waits", async || {
            let began = Instant::now();
            self.refuses().await;
            began.elapsed() < Duration::from_secs(2)
        })
        .await;
    }

    async fn refuses(&self) {
        let ingest = "/ingest-lead/0123456789012345678901";
        for (surface, method, target, member) in [
            ("gateway", "POST", ingest, "statusCode"),
            ("gateway", "GET", "/deal?phone=1", "statusCode"),
            ("data", "GET", "/v1/whoami", "error"),
            ("admin", "GET", "/admin/v1/status", "error"),
        ] {
            let answer = self.service.ask(surface, method, target).send().await;
            assert_eq!(answer.status, 503, "{target}");
            assert!(!answer.header("retry-after").is_empty(), "{target}");
            assert!(!answer.json()[member].is_null(), "{target}");
        }
        // The console has a page with its style.
        let page = self.service.ask("admin", "GET", "/console").send().await;
        let page = page.expect(503);
        assert!(!page.header("retry-after").is_empty());
        has!(page, "leadhost doctor");
        lacks!(page, "The cause");
        let style = self.service.ask("admin", "GET", "/console/style.css");
        style.send().await.expect(200);
        let live = self.service.ask("gateway", "GET", "/health/live");
        live.send().await.expect(200);
    }

    /// One line at a loss, one at its return, and between them at most one of each job that was
    /// under way: no line for each refused request. Before the loss is known, a busy machine
    /// gives jobs the time to fail more than once. A machine that is too busy to answer for
    /// seconds is lost and found once more.
    #[track_caller]
    fn said_little(&self) {
        let log = self.service.log();
        let (mut losses, mut returns) = (0, 0);
        let mut while_lost = Vec::new();
        for line in log.lines() {
            if line.contains("store unreachable") {
                losses += 1;
            } else if line.contains("store reachable again") {
                returns += 1;
            } else if losses > returns && (line.contains("WARN") || line.contains("ERROR")) {
                while_lost.push(line);
            }
        }
        assert!((1..=3).contains(&losses), "{losses} losses");
        assert!(
            (losses - 1..=losses).contains(&returns),
            "{returns} returns, {losses} losses"
        );
        assert!(while_lost.len() < 12 * losses, "{while_lost:#?}");
    }

    /// The host serves its administrator again, and counts itself among the hosts.
    async fn serves_again(&self) {
        let key = std::fs::read_to_string(self.folder.path().join("admin.key")).unwrap();
        let bearer = format!("Bearer {}", key.trim());
        eventually("the host is alive among the hosts", async || {
            let ask = self.service.ask("admin", "GET", "/admin/v1/status");
            let answer = ask.header("authorization", &bearer).send().await;
            answer.status == 200 && answer.json()["hosts"][0]["alive"] == true
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_database_a_host_refuses_and_recovers_when_it_returns() {
    let cut = available!(CutOffHost::start());
    cut.is_back().await;
    cut.network.shut(true);
    cut.network.reset();
    cut.is_lost().await;
    for _ in 0..50 {
        cut.refuses().await;
    }
    cut.refuses_quickly().await;
    cut.network.shut(false);
    cut.is_back().await;
    cut.serves_again().await;
    cut.said_little();
}
