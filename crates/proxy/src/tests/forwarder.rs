//! Directions between datagram sockets, which keep writes apart, so that each single write is
//! visible.

use buf::Buf;
use engine::state::worker::Worker;
use htx::Head;
use mux::{BodyKind, HeadStep, Side, h1};
use reactor::{Handle, Socket, Urgency};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixDatagram;
use std::rc::Rc;
use testing::World;
use transport::channel::Link;
use transport::codec::Machine;
use transport::forwarder::*;
use transport::splice::Splicing;

/// An upload whose bytes are all in the buffer.
struct Upload {
    world: World,
    flow: Flow,
    input: Buf,
    from: (Link, Machine),
    to: (Link, Machine),
    server: UnixDatagram,
    /// The other end of the silent client's socket.
    _client: UnixDatagram,
}

fn pair(worker: &Rc<Worker>) -> (Link, UnixDatagram) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let socket = Socket::adopt(&worker.thread, Handle(ours.into_raw_fd()));
    (Link::Socket(socket.into()), theirs)
}

impl Upload {
    fn new(payload: &[u8]) -> Self {
        let world = World::new(Vec::new());
        let worker = &world.workers[0];
        let ((from, client), (to, server)) = (pair(worker), pair(worker));
        let conn = |side| h1::H1Conn::new(side, h1::H1ConnSettings::default());
        let (mut source, mut target) = (conn(Side::Client), conn(Side::Server));
        let (mut head, mut flow) = (Head::default(), Flow::default());
        let text = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        let step = source.handle_head(text, &mut head).unwrap();
        let HeadStep::Complete { body, .. } = step else { panic!("{step:?}") };
        assert_eq!(body, BodyKind::Chunked);
        target.encode_head(&mut head, body, &mut flow.outbox.bytes);
        let mut input = Buf::with_capacity(payload.len());
        input.append(payload);
        let (from, to) = ((from, Machine::H1(source)), (to, Machine::H1(target)));
        Self { world, flow, input, from, to, server, _client: client }
    }

    fn step(&mut self) -> Result<Step, Fault> {
        let mut ends = Ends {
            from: (&self.from.0, &mut self.from.1),
            to: (&self.to.0, &mut self.to.1),
            need: Urgency::Ordinary,
            splicing: Splicing::Never,
        };
        self.flow.step(self.world.workers[0].pools(), &mut self.input, &mut ends)
    }

    /// The bytes written behind the head: one text per write.
    fn written(&self) -> Vec<String> {
        self.world.turn();
        let mut buffer = vec![0; 1 << 16];
        let mut all = Vec::new();
        while let Ok(count) = self.server.recv(&mut buffer) {
            all.push(String::from_utf8(buffer[..count].to_vec()).unwrap());
        }
        if let Some(first) = all.first_mut() {
            let end = first.find("\r\n\r\n").map_or(0, |at| at + 4);
            *first = first.split_off(end);
        }
        all
    }
}

#[test]
fn chunks_that_have_come_together_go_out_together() {
    let (count, chunk) = (4_000, "1\r\nx\r\n");
    let mut upload = Upload::new(format!("{}0\r\n\r\n", chunk.repeat(count)).as_bytes());
    let (mut steps, mut written, mut writes) = (0, String::new(), 0);
    loop {
        let step = upload.step().unwrap();
        let all = upload.written();
        writes += all.len();
        written.extend(all);
        steps += 1;
        assert!(writes <= count * chunk.len() / 2_048, "{writes} writes in {steps} steps");
        match step {
            Step::Done => break,
            Step::More | Step::AwaitsDestination => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(written, format!("{}0\r\n\r\n", chunk.repeat(count)));
    assert!(steps >= count / PIECES as usize, "others have their turn: {steps} steps");
}

#[test]
fn complete_messages_are_sent_without_waiting_for_the_next() {
    let mut upload = Upload::new(b"2\r\nab\r\n3\r\ncde\r\n4\r\nf");
    assert_eq!(upload.step().unwrap(), Step::AwaitsSource);
    assert_eq!(upload.written().concat(), "2\r\nab\r\n3\r\ncde\r\n1\r\nf\r\n");
}

#[test]
fn bytes_before_a_fault_are_forwarded() {
    let mut upload = Upload::new(b"2\r\nab\r\n3\r\ncde\r\nnonsense");
    assert!(matches!(upload.step(), Err(Fault::Protocol(_))));
    assert_eq!(upload.written().concat(), "2\r\nab\r\n3\r\ncde\r\n");
}
