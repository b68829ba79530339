//! A name server by script, over UDP and TCP on one port.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The answer to one question.
#[derive(Clone)]
pub(crate) enum Says {
    /// These records: addresses, `cname NAME`, or `srv WEIGHT PORT TARGET [ADDRESS]`.
    Records(&'static [&'static str]),
    /// An error, by its code.
    Code(u8),
    /// Nothing at all.
    Nothing,
    /// That it does not fit; over TCP these records.
    Truncated(&'static [&'static str]),
    /// These bytes instead of the sections behind the question.
    Bytes(Vec<u8>),
    /// An answer to another number, then the right one.
    Forged(&'static [&'static str], &'static [&'static str]),
}

struct Zone {
    says: Mutex<BTreeMap<String, Says>>,
    asked: Mutex<Vec<String>>,
    /// The addresses from which streams were opened.
    peers: Mutex<Vec<SocketAddr>>,
    closing: AtomicBool,
}

/// The name server; its zone may change at any time.
pub(crate) struct NameServer {
    address: SocketAddr,
    zone: Arc<Zone>,
}

/// A question: its bytes, its key in the zone, and where it ends.
struct Question<'a> {
    bytes: &'a [u8],
    key: String,
    rtype: u16,
    end: usize,
}

impl NameServer {
    /// Starts one on a port that the kernel gives.
    pub(crate) fn new() -> Self {
        let (udp, tcp) = (0..50)
            .find_map(|_| {
                let udp = UdpSocket::bind("127.0.0.1:0").ok()?;
                Some((TcpListener::bind(udp.local_addr().ok()?).ok()?, udp))
            })
            .map(|(tcp, udp)| (udp, tcp))
            .expect("a port that is free for both");
        let address = udp.local_addr().expect("a bound socket");
        let says = Mutex::default();
        let (asked, peers) = (Mutex::default(), Mutex::default());
        let zone = Arc::new(Zone { says, asked, peers, closing: false.into() });
        udp.set_read_timeout(Some(Duration::from_millis(50))).expect("a UDP socket");
        let shared = zone.clone();
        std::thread::spawn(move || serve_udp(&udp, &shared));
        let shared = zone.clone();
        std::thread::spawn(move || serve_tcp(&tcp, &shared));
        Self { address, zone }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on answers `NAME TYPE` with this; names without an answer do not exist.
    pub(crate) fn say(&self, question: &str, says: Says) {
        self.zone.says.lock().expect("no thread panics with it").insert(question.into(), says);
    }

    /// The questions so far, `NAME TYPE udp|tcp`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.zone.asked.lock().expect("no thread panics with it").clone()
    }

    /// The addresses from which streams were opened so far.
    pub(crate) fn peers(&self) -> Vec<SocketAddr> {
        self.zone.peers.lock().expect("no thread panics with it").clone()
    }

    /// How often this was asked.
    pub(crate) fn count(&self, question: &str) -> usize {
        self.asked().iter().filter(|asked| asked.starts_with(question)).count()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.zone.closing.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve_udp(socket: &UdpSocket, zone: &Zone) {
    let mut buffer = [0; 65_536];
    while !zone.closing.load(Ordering::Relaxed) {
        let Ok((count, peer)) = socket.recv_from(&mut buffer) else { continue };
        for answer in answers(&buffer[..count], "udp", zone) {
            let _ = socket.send_to(&answer, peer);
        }
    }
}

fn serve_tcp(listener: &TcpListener, zone: &Arc<Zone>) {
    while let Ok((stream, peer)) = listener.accept() {
        if zone.closing.load(Ordering::Relaxed) {
            return;
        }
        zone.peers.lock().expect("no thread panics with it").push(peer);
        let zone = zone.clone();
        std::thread::spawn(move || serve_stream(stream, &zone));
    }
}

/// Answers until the other side closes.
fn serve_stream(mut stream: TcpStream, zone: &Zone) {
    let mut length = [0; 2];
    while stream.read_exact(&mut length).is_ok() {
        let mut question = vec![0; u16::from_be_bytes(length).into()];
        if stream.read_exact(&mut question).is_err() {
            return;
        }
        for answer in answers(&question, "tcp", zone) {
            let length = (answer.len() as u16).to_be_bytes();
            let _ = stream.write_all(&[&length[..], &answer].concat());
        }
    }
}

fn answers(bytes: &[u8], over: &str, zone: &Zone) -> Vec<Vec<u8>> {
    let Some(question) = Question::parse(bytes) else { return Vec::new() };
    zone.asked.lock().expect("no thread panics with it").push(format!("{} {over}", question.key));
    let says = zone.says.lock().expect("no thread panics with it").get(&question.key).cloned();
    match says.unwrap_or(Says::Code(3)) {
        Says::Nothing => Vec::new(),
        Says::Code(code) => vec![question.answer(0x8180 | u16::from(code), &[])],
        Says::Truncated(_) if over == "udp" => vec![question.answer(0x8380, &[])],
        Says::Records(records) | Says::Truncated(records) => {
            vec![question.answer(0x8180, records)]
        }
        Says::Bytes(more) => {
            let mut answer = question.answer(0x8180, &[]);
            answer[7] = 1;
            answer.extend(more);
            vec![answer]
        }
        Says::Forged(forged, right) => {
            let mut first = question.answer(0x8180, forged);
            first[1] ^= 1;
            vec![first, question.answer(0x8180, right)]
        }
    }
}

impl<'a> Question<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (mut at, mut labels) = (12, Vec::new());
        while let Some(length) = bytes.get(at).map(|length| usize::from(*length))
            && length > 0
        {
            labels.push(String::from_utf8_lossy(bytes.get(at + 1..at + 1 + length)?).into_owned());
            at += 1 + length;
        }
        let rtype = u16::from_be_bytes([*bytes.get(at + 1)?, *bytes.get(at + 2)?]);
        let word = match rtype {
            1 => "A",
            28 => "AAAA",
            33 => "SRV",
            _ => "?",
        };
        let key = format!("{} {word}", labels.join("."));
        Some(Self { bytes, key, rtype, end: at + 5 })
    }

    fn answer(&self, flags: u16, records: &[&str]) -> Vec<u8> {
        let mut owner = vec![0xc0, 12];
        let (mut answers, mut extra) = (Vec::new(), Vec::new());
        let mut told = 0u16;
        for record in records {
            let words: Vec<&str> = record.split(' ').collect();
            match words[..] {
                ["cname", target] => {
                    answers.extend(self::record(&owner, 5, &wire(target)));
                    owner = wire(target);
                }
                ["srv", weight, port, target, ref address @ ..] => {
                    let number = |text: &str| text.parse::<u16>().expect("a number").to_be_bytes();
                    let data = [&[0, 1][..], &number(weight), &number(port), &wire(target)];
                    answers.extend(self::record(&owner, 33, &data.concat()));
                    for address in address {
                        told += 1;
                        extra.extend(self::record(&wire(target), 1, &octets(address)));
                    }
                }
                [address] => answers.extend(self::record(&owner, self.rtype, &octets(address))),
                _ => panic!("no record: {record}"),
            }
        }
        let mut bytes = self.bytes[..2].to_vec();
        for word in [flags, 1, records.len() as u16, 0, told] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(&self.bytes[12..self.end]);
        bytes.extend(answers);
        bytes.extend(extra);
        bytes
    }
}

fn octets(address: &str) -> Vec<u8> {
    match address.parse().expect("an address") {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

fn record(owner: &[u8], rtype: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = owner.to_vec();
    bytes.extend(rtype.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 60]);
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}
