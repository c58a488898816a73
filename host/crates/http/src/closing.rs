//! Closes a listener without cutting a client off. When a listener closes, the kernel resets
//! every connection that it has established but the service has not accepted yet. The client,
//! which may have sent a whole request by then, would get no answer.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use libc::{IP_MINTTL, IPPROTO_IP, IPPROTO_IPV6, IPV6_MINHOPCOUNT, c_int};
use tokio::net::{TcpListener, TcpStream};

/// Makes the kernel drop new connection attempts, while handshakes that have begun may
/// complete. The client's system tries again after a second, and is refused if the listener is
/// closed by then: so the client knows that its request did not arrive.
///
/// The listener ignores packets that passed a router, and packets that a usual system sent:
/// their hop count starts at 64 or 128. Unlike a packet filter, this needs no privilege.
pub fn begin_no_more(listener: &TcpListener) -> io::Result<()> {
    takes(listener, listener.local_addr()?, MOST_HOPS)
}

/// Makes an accepted connection receive what its client sends. A connection whose handshake
/// completed after [`begin_no_more`] inherits the listener's bound, and receives nothing until
/// this call. The client's system sends again what was lost.
pub fn receive_packets(stream: &TcpStream) -> io::Result<()> {
    takes(stream, stream.local_addr()?, ANY_HOPS)
}

/// The greatest hop count of a packet. Hardly any system sends packets with it.
const MOST_HOPS: c_int = 255;
const ANY_HOPS: c_int = 0;

/// Makes the socket at this address ignore packets with a smaller hop count.
fn takes(socket: &impl AsRawFd, at: SocketAddr, hops: c_int) -> io::Result<()> {
    if at.is_ipv6() {
        set(socket, IPPROTO_IPV6, IPV6_MINHOPCOUNT, hops)?;
    }
    // On a dual-stack socket this option covers IPv4.
    set(socket, IPPROTO_IP, IP_MINTTL, hops)
}

#[expect(unsafe_code, reason = "no dependency offers these two options")]
fn set(socket: &impl AsRawFd, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(&value)).map_err(io::Error::other)?;
    // SAFETY: the socket is open while it is borrowed, and the pointer is to a value that lives
    // until the call has returned and whose size is given.
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
        // The late client waits for the kernel's answer, and is refused once the listener is
        // closed.
        drop(listener);
        let refused = late
            .await
            .expect("no panic")
            .expect_err("the listener is closed");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn a_closing_listener_accepts_established_connections_only() {
        check("127.0.0.1:0", "127.0.0.1").await;
    }

    #[tokio::test]
    async fn a_connection_with_a_late_handshake_is_read() {
        for bound in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(bound).await.expect("a free port");
            let address = listener.local_addr().expect("it is bound");
            let mut client = TcpStream::connect(address).expect("the kernel lets it in");
            let (mut stream, _) = listener.accept().await.expect("the client");
            // The bound that a late connection inherits from its listener.
            takes(&stream, address, MOST_HOPS).expect("the system has the bound");
            client.write_all(b"a lead").expect("it is on its way");
            receive_packets(&stream).expect("the system has the bound");
            let mut read = [0; 6];
            stream
                .read_exact(&mut read)
                .await
                .expect("it is sent again");
            assert_eq!(&read, b"a lead");
        }
    }

    #[tokio::test]
    async fn listeners_of_both_address_families_close_alike() {
        check("[::1]:0", "::1").await;
        check("[::]:0", "127.0.0.1").await;
    }
}
