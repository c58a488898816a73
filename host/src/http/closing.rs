//! How a listener closes without cutting anybody off. A connection that the kernel
//! has let in and nobody has accepted yet is reset when its listener closes, and its
//! client, which may have sent a whole request by then, hears no answer.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use libc::{IP_MINTTL, IPPROTO_IP, IPPROTO_IPV6, IPV6_MINHOPCOUNT, c_int};
use tokio::net::{TcpListener, TcpStream};

/// From now on the kernel drops what would begin a connection, and lets those end
/// their handshake that have begun one. A client's system tries again after a second,
/// and is refused when the listener is closed by then: it knows that it was not heard.
///
/// The listener takes no packet that has passed a router, or that a usual system sent:
/// they begin at 64 or 128 hops. Unlike a packet filter that needs no privilege.
///
/// # Errors
///
/// Those of the system, which may know no such bound.
pub fn begin_no_more(listener: &TcpListener) -> io::Result<()> {
    takes(listener, listener.local_addr()?, MOST_HOPS)
}

/// A connection whose handshake ended after its listener took no more has the listener's
/// bound, and hears nothing of what its client sends. From now on it does; what was not
/// heard is sent again.
///
/// # Errors
///
/// Those of the system.
pub fn hear(stream: &TcpStream) -> io::Result<()> {
    takes(stream, stream.local_addr()?, ANY_HOPS)
}

/// Hops that a packet has left at most, as it is sent by hardly anybody.
const MOST_HOPS: c_int = 255;
const ANY_HOPS: c_int = 0;

/// The socket at this address takes packets that have so many hops left, or more.
fn takes(socket: &impl AsRawFd, at: SocketAddr, hops: c_int) -> io::Result<()> {
    if at.is_ipv6() {
        set(socket, IPPROTO_IPV6, IPV6_MINHOPCOUNT, hops)?;
    }
    // On a socket of both families it counts for the older one.
    set(socket, IPPROTO_IP, IP_MINTTL, hops)
}

#[expect(unsafe_code, reason = "no crate of ours offers these two options")]
fn set(socket: &impl AsRawFd, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(&value)).map_err(io::Error::other)?;
    // SAFETY: the socket is open while it is borrowed, and the pointer is to a value that
    // lives until the call has returned and whose size is given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            length,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn check(bound: &str, host: &str) {
        let listener = TcpListener::bind(bound).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let address = SocketAddr::new(host.parse().expect("an address"), port);
        let _early = TcpStream::connect(address).expect("the kernel lets it in");
        begin_no_more(&listener).expect("the system has the bound");
        let late = tokio::task::spawn_blocking(move || {
            TcpStream::connect_timeout(&address, Duration::from_secs(20))
        });
        listener.accept().await.expect("the early one");
        // The late one waits for an answer of the kernel, and hears of the end.
        drop(listener);
        let refused = late.await.expect("no panic").expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn who_has_connected_is_let_in_and_nobody_else_begins() {
        check("127.0.0.1:0", "127.0.0.1").await;
    }

    #[tokio::test]
    async fn who_ended_the_handshake_late_is_heard() {
        for bound in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(bound).await.expect("a free port");
            let address = listener.local_addr().expect("it is bound");
            let mut client = TcpStream::connect(address).expect("the kernel lets it in");
            let (mut stream, _) = listener.accept().await.expect("the client");
            // As it has it from a listener that takes no more.
            takes(&stream, address, MOST_HOPS).expect("the system has the bound");
            client.write_all(b"a lead").expect("it is on its way");
            hear(&stream).expect("the system has the bound");
            let mut read = [0; 6];
            stream
                .read_exact(&mut read)
                .await
                .expect("it is sent again");
            assert_eq!(&read, b"a lead");
        }
    }

    #[tokio::test]
    async fn the_same_holds_for_both_families() {
        check("[::1]:0", "::1").await;
        check("[::]:0", "127.0.0.1").await;
    }
}
