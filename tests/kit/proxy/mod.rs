//! A network between a host and PostgreSQL that fails on demand: slow, silent,
//! cut, or cut at the worst moment, in the middle of a COMMIT.
//!
//! It accepts connections on a loopback port and forwards each to the server. Its
//! behaviour can be changed at any time, and the change also affects open
//! connections. Nothing is encrypted: it reads the messages as they pass.

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

/// The table that every batch writes its mark to. Commits of other transactions
/// are left alone.
const MARKS: &str = "commit_markers";

/// The most messages in flight in one direction; beyond that the sender blocks.
const UNDER_WAY: usize = 1_024;

/// The point in a commit at which the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never receives it: nothing is committed.
    Before,
    /// The server commits, and its answer is lost.
    After,
    /// The host finds its connection cut, and the server receives the commit only
    /// this long after: until then the outcome is unknown.
    Late(Duration),
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    cut: Cut,
    /// The first of this many commits is cut.
    every: usize,
}

#[derive(Clone, Copy, Debug)]
struct Weather {
    /// One way.
    delay: Duration,
    /// Nothing passes, not even the end of a connection.
    silent: bool,
    shut: bool,
    rule: Option<Rule>,
}

/// It stops when it is dropped, and cuts every connection.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<ProxyState>,
    acceptor: JoinHandle<()>,
}

struct ProxyState {
    server: SocketAddr,
    weather: watch::Sender<Weather>,
    /// Incremented to cut all connections.
    resets: watch::Sender<usize>,
    open: AtomicUsize,
    commits: AtomicUsize,
    cuts: AtomicUsize,
    /// How often the last batch waited for an answer.
    asked: AtomicUsize,
}

impl Proxy {
    /// Starts a proxy in front of the server at this URL.
    pub async fn before(url: &str) -> Self {
        let url = Url::parse(url).expect("a server's address");
        let host = url.host_str().expect("a host");
        let server = format!("{host}:{}", url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(ProxyState {
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

    /// The URL of the same database through this proxy.
    pub fn url(&self, url: &str) -> String {
        let mut url = Url::parse(url).expect("a database's address");
        url.set_ip_host(self.address.ip())
            .expect("an address has a host");
        url.set_port(Some(self.address.port()))
            .expect("an address has a port");
        url.into()
    }

    /// Delays everything by this time, each way.
    pub fn delay(&self, one_way: Duration) {
        self.change(|weather| weather.delay = one_way);
    }

    /// Holds everything back from now on, without an error on either side.
    pub fn fall_silent(&self) {
        self.change(|weather| weather.silent = true);
    }

    pub fn go_on(&self) {
        self.change(|weather| weather.silent = false);
    }

    pub fn shut(&self, shut: bool) {
        self.change(|weather| weather.shut = shut);
    }

    pub fn reset(&self) {
        self.shared.resets.send_modify(|resets| *resets += 1);
    }

    /// From now on, cuts the first of this many commits of batches like this.
    pub fn cut_commits(&self, cut: Cut, every: usize) {
        self.change(|weather| weather.rule = Some(Rule { cut, every }));
    }

    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::Relaxed)
    }

    pub fn commits(&self) -> usize {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// Returns how often the last committed batch waited for an answer, counted
    /// since the previous one on its connection.
    pub fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::Relaxed)
    }

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

async fn accept(listener: TcpListener, shared: Arc<ProxyState>) {
    while let Ok((client, _)) = listener.accept().await {
        if shared.weather.borrow().shut {
            // Dropped at once: the client gets an error.
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
    shared: Arc<ProxyState>,
) {
    shared.open.fetch_add(1, Ordering::Relaxed);
    let _open = OpenGuard(&shared.open);
    let _ = client.set_nodelay(true);
    let cut = tokio::select! {
        _ = resets.changed() => true,
        () = lead(&mut client, &shared) => false,
    };
    if cut {
        let _ = client.set_zero_linger();
    }
}

struct OpenGuard<'a>(&'a AtomicUsize);

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

enum ConnectionEnd {
    /// One of the two ends closed it, or failed.
    ByThem,
    Cut,
    /// With a commit that the server has not received.
    Late(Message, Duration),
}

async fn lead(client: &mut TcpStream, shared: &ProxyState) {
    shared.passes().await;
    let Some(first) = greeting(client).await else {
        return;
    };
    let Ok(mut server) = TcpStream::connect(shared.server).await else {
        return;
    };
    let _ = server.set_nodelay(true);
    let end = {
        let (client_reader, mut client_writer) = client.split();
        let (server_reader, mut server_writer) = server.split();
        let answer_is_lost = AtomicBool::new(false);
        let to_server = async {
            if shared.forward(&first, &mut server_writer).await.is_err() {
                return ConnectionEnd::ByThem;
            }
            to_server(client_reader, &mut server_writer, &answer_is_lost, shared).await
        };
        let to_client = to_client(server_reader, &mut client_writer, &answer_is_lost, shared);
        let mut to_server = std::pin::pin!(to_server);
        let mut to_client = std::pin::pin!(to_client);
        tokio::select! {
            end = &mut to_client => end,
            end = &mut to_server => match end {
                // The server's last messages still pass.
                ConnectionEnd::ByThem => to_client.await,
                end => end,
            },
        }
    };
    match end {
        ConnectionEnd::ByThem => {}
        ConnectionEnd::Cut => {
            let _ = client.set_zero_linger();
            let _ = server.set_zero_linger();
        }
        ConnectionEnd::Late(commit, late) => {
            // The host's side ends now: nothing more is read from it or sent to
            // it.
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

/// The client's first message; a request for encryption is declined.
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
    shared: &ProxyState,
) -> ConnectionEnd {
    let (queue, mut queued) = mpsc::channel(UNDER_WAY);
    let read = read(&mut from, queue);
    let write = async {
        let mut said = Statements::new(MARKS);
        let mut asked = 0;
        while let Some((since, message)) = queued.recv().await {
            shared.held_back(since).await;
            asked += usize::from(message.asks());
            if said.read_statement(&message) {
                shared.asked.store(asked, Ordering::Relaxed);
                asked = 0;
                match shared.commit() {
                    Some(Cut::Before) => return ConnectionEnd::Cut,
                    Some(Cut::Late(late)) => return ConnectionEnd::Late(message, late),
                    Some(Cut::After) => answer_is_lost.store(true, Ordering::Relaxed),
                    None => {}
                }
            }
            if to.write_all(message.bytes()).await.is_err() {
                return ConnectionEnd::ByThem;
            }
        }
        shared.passes().await;
        let _ = to.shutdown().await;
        ConnectionEnd::ByThem
    };
    both(read, write).await
}

async fn to_client(
    mut from: ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    answer_is_lost: &AtomicBool,
    shared: &ProxyState,
) -> ConnectionEnd {
    let (queue, mut queued) = mpsc::channel(UNDER_WAY);
    let read = read(&mut from, queue);
    let write = async {
        while let Some((since, message)) = queued.recv().await {
            shared.held_back(since).await;
            if answer_is_lost.load(Ordering::Relaxed) && message.is_committed() {
                return ConnectionEnd::Cut;
            }
            if to.write_all(message.bytes()).await.is_err() {
                return ConnectionEnd::ByThem;
            }
        }
        shared.passes().await;
        let _ = to.shutdown().await;
        ConnectionEnd::ByThem
    };
    both(read, write).await
}

/// The writer decides when the connection is over; the reader only feeds it.
async fn both(
    read: impl Future<Output = ()>,
    write: impl Future<Output = ConnectionEnd>,
) -> ConnectionEnd {
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

impl ProxyState {
    /// Returns when something may pass.
    async fn passes(&self) {
        let mut weather = self.weather.subscribe();
        let _ = weather.wait_for(|weather| !weather.silent).await;
    }

    /// Waits for the delay of the network.
    async fn held_back(&self, since: Instant) {
        let delay = self.weather.borrow().delay;
        tokio::time::sleep_until(since + delay).await;
        self.passes().await;
    }

    async fn forward(&self, message: &Message, to: &mut WriteHalf<'_>) -> std::io::Result<()> {
        self.held_back(Instant::now()).await;
        to.write_all(message.bytes()).await
    }

    /// Counts a commit, and returns where to cut it, if it is to be cut.
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
