//! A network between a host and PostgreSQL that goes wrong on demand: slow,
//! silent, cut, or cut exactly where it hurts most, in the middle of a COMMIT.
//!
//! It takes connections on a loopback port and leads each to the server. What
//! it shall do may be changed at any time, and counts for connections that are
//! open too. Nothing is encrypted: it reads the messages as they pass.

mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use url::Url;

use self::wire::{Message, Statements};

/// Every batch writes its mark here: commits of other transactions are left alone.
const MARKS: &str = "commit_markers";

/// Messages under way in one direction; past it the sender feels it.
const UNDER_WAY: usize = 1_024;

/// Where in a commit the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears of it: nothing is committed.
    Before,
    /// The server commits, and its answer is lost.
    After,
    /// The host finds its connection cut, and the server hears of the commit
    /// only this long after: until then nobody can know.
    Late(Duration),
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    cut: Cut,
    /// The first of so many commits.
    every: usize,
}

#[derive(Clone, Copy, Debug)]
struct Weather {
    /// One way.
    delay: Duration,
    /// Nothing passes, not even an end.
    silent: bool,
    /// New connections are refused.
    shut: bool,
    rule: Option<Rule>,
}

/// It ends when it is dropped, and every connection with it.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: JoinHandle<()>,
}

struct Shared {
    server: SocketAddr,
    weather: watch::Sender<Weather>,
    /// Grows when all connections are to be cut.
    resets: watch::Sender<usize>,
    open: AtomicUsize,
    commits: AtomicUsize,
    cuts: AtomicUsize,
    /// How often the last batch waited for an answer.
    asked: AtomicUsize,
}

impl Proxy {
    /// In front of the server that this URL reaches.
    pub async fn before(url: &str) -> Self {
        let url = Url::parse(url).expect("a server's address");
        let host = url.host_str().expect("a host");
        let server = format!("{host}:{}", url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            server: server.parse().expect("a server on the loopback interface"),
            weather: watch::Sender::new(Weather {
                delay: Duration::ZERO,
                silent: false,
                shut: false,
                rule: None,
            }),
            resets: watch::Sender::new(0),
            open: AtomicUsize::new(0),
            commits: AtomicUsize::new(0),
            cuts: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
        });
        let acceptor = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            acceptor,
        }
    }

    /// The same database, through here.
    pub fn url(&self, url: &str) -> String {
        let mut url = Url::parse(url).expect("a database's address");
        url.set_ip_host(self.address.ip())
            .expect("an address has a host");
        url.set_port(Some(self.address.port()))
            .expect("an address has a port");
        url.into()
    }

    /// What passes takes this long, each way.
    pub fn delay(&self, one_way: Duration) {
        self.change(|weather| weather.delay = one_way);
    }

    /// Nothing passes any more, and nobody hears why.
    pub fn fall_silent(&self) {
        self.change(|weather| weather.silent = true);
    }

    /// What was held back passes.
    pub fn go_on(&self) {
        self.change(|weather| weather.silent = false);
    }

    /// Whether new connections are refused.
    pub fn shut(&self, shut: bool) {
        self.change(|weather| weather.shut = shut);
    }

    /// Cuts every connection that is open.
    pub fn reset(&self) {
        self.shared.resets.send_modify(|resets| *resets += 1);
    }

    /// From now on the first of so many commits of a batch ends so.
    pub fn cut_commits(&self, cut: Cut, every: usize) {
        self.change(|weather| weather.rule = Some(Rule { cut, every }));
    }

    /// Commits are left alone.
    pub fn spare_commits(&self) {
        self.change(|weather| weather.rule = None);
    }

    /// Commits of batches that were cut so far.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::Relaxed)
    }

    /// Commits of batches that were asked for so far.
    pub fn commits(&self) -> usize {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// How often the last batch that was committed waited for an answer, counted
    /// since the one before it on its connection.
    pub fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut Weather)) {
        self.shared.weather.send_modify(change);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.acceptor.abort();
        self.reset();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        if shared.weather.borrow().shut {
            // Dropped at once, with an error for who tried.
            let _ = client.set_zero_linger();
            continue;
        }
        let resets = shared.resets.subscribe();
        tokio::spawn(connection(client, resets, Arc::clone(&shared)));
    }
}

async fn connection(
    mut client: TcpStream,
    mut resets: watch::Receiver<usize>,
    shared: Arc<Shared>,
) {
    shared.open.fetch_add(1, Ordering::Relaxed);
    let _open = Open(&shared.open);
    let _ = client.set_nodelay(true);
    let cut = tokio::select! {
        _ = resets.changed() => true,
        () = lead(&mut client, &shared) => false,
    };
    if cut {
        let _ = client.set_zero_linger();
    }
}

struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a connection ends.
enum End {
    /// One of the two closed it, or failed.
    ByThem,
    Cut,
    /// With the commit that the server has not heard of.
    Late(Message, Duration),
}

/// Leads one connection to its end.
async fn lead(client: &mut TcpStream, shared: &Shared) {
    shared.passes().await;
    let Some(first) = greeting(client).await else {
        return;
    };
    let Ok(mut server) = TcpStream::connect(shared.server).await else {
        return;
    };
    let _ = server.set_nodelay(true);
    let end = {
        let (client_says, mut client_hears) = client.split();
        let (server_says, mut server_hears) = server.split();
        let answer_is_lost = AtomicBool::new(false);
        let to_server = async {
            if shared.forward(&first, &mut server_hears).await.is_err() {
                return End::ByThem;
            }
            to_server(client_says, &mut server_hears, &answer_is_lost, shared).await
        };
        let to_client = to_client(server_says, &mut client_hears, &answer_is_lost, shared);
        let mut to_server = std::pin::pin!(to_server);
        let mut to_client = std::pin::pin!(to_client);
        tokio::select! {
            end = &mut to_client => end,
            end = &mut to_server => match end {
                // The server has its last word.
                End::ByThem => to_client.await,
                end => end,
            },
        }
    };
    match end {
        End::ByThem => {}
        End::Cut => {
            let _ = client.set_zero_linger();
            let _ = server.set_zero_linger();
        }
        End::Late(commit, late) => {
            // The host's side ends now: nothing more is read from it or told it.
            let _ = client.shutdown().await;
            tokio::time::sleep(late).await;
            if server.write_all(commit.bytes()).await.is_ok() {
                while let Ok(Some(answer)) = Message::read(&mut server, true).await {
                    if answer.is_ready() {
                        break;
                    }
                }
            }
        }
    }
}

/// The client's first words; encryption is declined.
async fn greeting(client: &mut TcpStream) -> Option<Message> {
    loop {
        let message = Message::read(client, false).await.ok()??;
        if !message.asks_for_encryption() {
            return Some(message);
        }
        client.write_all(b"N").await.ok()?;
    }
}

async fn to_server(
    mut from: ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    answer_is_lost: &AtomicBool,
    shared: &Shared,
) -> End {
    let (queue, mut queued) = mpsc::channel(UNDER_WAY);
    let read = read(&mut from, queue);
    let write = async {
        let mut said = Statements::new(MARKS);
        let mut asked = 0;
        while let Some((since, message)) = queued.recv().await {
            shared.held_back(since).await;
            asked += usize::from(message.asks());
            if said.hear(&message) {
                shared.asked.store(asked, Ordering::Relaxed);
                asked = 0;
                match shared.commit() {
                    Some(Cut::Before) => return End::Cut,
                    Some(Cut::Late(late)) => return End::Late(message, late),
                    Some(Cut::After) => answer_is_lost.store(true, Ordering::Relaxed),
                    None => {}
                }
            }
            if to.write_all(message.bytes()).await.is_err() {
                return End::ByThem;
            }
        }
        shared.passes().await;
        let _ = to.shutdown().await;
        End::ByThem
    };
    both(read, write).await
}

async fn to_client(
    mut from: ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    answer_is_lost: &AtomicBool,
    shared: &Shared,
) -> End {
    let (queue, mut queued) = mpsc::channel(UNDER_WAY);
    let read = read(&mut from, queue);
    let write = async {
        while let Some((since, message)) = queued.recv().await {
            shared.held_back(since).await;
            if answer_is_lost.load(Ordering::Relaxed) && message.is_committed() {
                return End::Cut;
            }
            if to.write_all(message.bytes()).await.is_err() {
                return End::ByThem;
            }
        }
        shared.passes().await;
        let _ = to.shutdown().await;
        End::ByThem
    };
    both(read, write).await
}

/// The writer decides when it is over; the reader only feeds it.
async fn both(read: impl Future<Output = ()>, write: impl Future<Output = End>) -> End {
    let mut write = std::pin::pin!(write);
    tokio::select! {
        () = read => write.await,
        end = &mut write => end,
    }
}

async fn read(from: &mut ReadHalf<'_>, queue: mpsc::Sender<(Instant, Message)>) {
    while let Ok(Some(message)) = Message::read(from, true).await {
        if queue.send((Instant::now(), message)).await.is_err() {
            return;
        }
    }
}

impl Shared {
    /// Returns when something may pass.
    async fn passes(&self) {
        let mut weather = self.weather.subscribe();
        let _ = weather.wait_for(|weather| !weather.silent).await;
    }

    /// As long as the way takes.
    async fn held_back(&self, since: Instant) {
        let delay = self.weather.borrow().delay;
        tokio::time::sleep_until(since + delay).await;
        self.passes().await;
    }

    async fn forward(&self, message: &Message, to: &mut WriteHalf<'_>) -> std::io::Result<()> {
        self.held_back(Instant::now()).await;
        to.write_all(message.bytes()).await
    }

    /// Counts a commit; where it is cut, if it is.
    fn commit(&self) -> Option<Cut> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let rule = self.weather.borrow().rule?;
        if !number.is_multiple_of(rule.every) {
            return None;
        }
        self.cuts.fetch_add(1, Ordering::Relaxed);
        Some(rule.cut)
    }
}
