//! How a listener closes without cutting anybody off. A connection that the kernel
//! has let in and nobody has accepted yet is reset when its listener closes, and its
//! client, which may have sent a whole request by then, hears no answer.

use std::io;

use socket2::{SockFilter, SockRef};
use tokio::net::TcpListener;

/// From now on the kernel drops what would begin a connection, and lets those end
/// their handshake that have begun one. A client's system tries again after a second,
/// and is refused when the listener is closed by then: it knows that it was not heard.
///
/// # Errors
///
/// Those of the system, which may know no filters.
pub fn begin_no_more(listener: &TcpListener) -> io::Result<()> {
    SockRef::from(listener).attach_filter(&FIRST_SEGMENTS)
}

/// A program of the kernel's packet filter, which sees a segment from its TCP header
/// on. It keeps no byte of one with SYN and without ACK, and all of any other.
const FIRST_SEGMENTS: [SockFilter; 5] = [
    SockFilter::new(LOAD_BYTE, 0, 0, FLAGS_AT),
    SockFilter::new(AND, 0, 0, SYN | ACK),
    SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
    SockFilter::new(RETURN, 0, 0, 0),
    SockFilter::new(RETURN, 0, 0, u32::MAX),
];

const FLAGS_AT: u32 = 13;
const SYN: u32 = 0x02;
const ACK: u32 = 0x10;

// linux/bpf_common.h: the class of an instruction, with its size and mode or operation.
const LOAD_BYTE: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ) as u16;
const RETURN: u16 = libc::BPF_RET as u16;

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_has_connected_is_let_in_and_nobody_else_begins() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let _early = TcpStream::connect(address).expect("the kernel lets it in");
        begin_no_more(&listener).expect("the system filters");
        let late = tokio::task::spawn_blocking(move || {
            TcpStream::connect_timeout(&address, Duration::from_secs(20))
        });
        listener.accept().await.expect("the early one");
        // The late one waits for an answer of the kernel, and hears of the end.
        drop(listener);
        let refused = late.await.expect("no panic").expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
