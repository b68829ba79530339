//! Names that are resolved by a name server of the field, Debian's `dnsmasq`.

use crate::support::{Directory, LogReceiver, Running, Setup, eventually, stat_of};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "/usr/sbin/dnsmasq";

/// Of signal(7).
const STOP: i32 = 19;
const CONTINUE: i32 = 18;

/// A dnsmasq that answers for `test` and refuses all other names, over UDP and TCP.
struct Dnsmasq {
    child: Child,
    address: SocketAddr,
    hosts: PathBuf,
    _directory: Directory,
}

impl Dnsmasq {
    /// Returns `None` where the program is not installed.
    fn start(hosts: &str, service: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            println!("skipped: no dnsmasq; on Debian: sudo apt-get install dnsmasq-base");
            return None;
        }
        let directory = Directory::new();
        let hosts = directory.write("hosts", hosts);
        let started = (0..20).find_map(|_| Self::try_start(&hosts, service));
        let (child, address) = started.expect("dnsmasq stays");
        Some(Self { child, address, hosts, _directory: directory })
    }

    /// `dnsmasq` cannot inherit a socket, so it gets a port that was free for datagrams a moment
    /// ago. If the port is taken meanwhile, `dnsmasq` exits.
    fn try_start(hosts: &Path, service: &str) -> Option<(Child, SocketAddr)> {
        let address = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let address = address.expect("a port");
        let child = Command::new(PROGRAM)
            .args(["--conf-file=/dev/null", "--keep-in-foreground", "--no-resolv", "--no-hosts"])
            .args(["--user=", "--pid-file=", "--bind-interfaces", "--listen-address=127.0.0.1"])
            .args(["--local=/test/", "--local-ttl=0", &format!("--srv-host={service}")])
            .arg(format!("--port={}", address.port()))
            .arg(format!("--addn-hosts={}", hosts.display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("dnsmasq starts");
        // Before its first answer a signal would end `dnsmasq`.
        let stays = eventually("an answer of dnsmasq, or its end", || {
            let ended = child.try_wait().is_ok_and(|status| status.is_some());
            if ended { Some(false) } else { answers(address).then_some(true) }
        });
        stays.then_some((child, address))
    }

    /// From now on these are its names.
    fn know(&self, hosts: &str) {
        std::fs::write(&self.hosts, hosts).expect("a file can be written");
        self.signal(sys::signal::HUP);
    }

    fn signal(&self, number: i32) {
        sys::signal::send(self.child.id() as i32, number).expect("dnsmasq runs");
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the server answers a query for the root.
fn answers(address: SocketAddr) -> bool {
    let ask = || {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        socket.send_to(b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\0\0\x01\0\x01", address)?;
        socket.recv(&mut [0; 512])
    };
    ask().is_ok()
}

/// A backend with these lines, whose names `dns` resolves.
fn start(dns: &Dnsmasq, log: &LogReceiver, section: &str, back: &str) -> Running {
    Setup::new(&format!(
        "global\n nbthread 2\n stats socket <dir>/cli level admin\n\
         defaults\n mode http\n timeout connect 5s\n timeout client 20s\n timeout server 20s\n \
         log <log> format raw local0\n\
         resolvers r\n nameserver d {}\n timeout resolve 50ms\n timeout retry 200ms\n \
         resolve_retries 2\n{section}\
         frontend web\n bind <web>\n default_backend b\n\
         backend b\n default-server resolvers r resolve-prefer ipv4 init-addr none\n{back}",
        dns.address
    ))
    .with("log", log.address())
    .start()
}

/// The address and the maintenance of each server, in their order.
fn places(weir: &Running) -> Vec<String> {
    let dump = weir.cli("show servers state b");
    let rows = dump.lines().skip(2).map(|line| line.split(' ').collect::<Vec<_>>());
    rows.map(|row| format!("{} {}", row[4], row[6])).collect()
}

fn wait_for(weir: &Running, expected: &[&str]) {
    eventually(&format!("{expected:?} rather than {:?}", places(weir)), || {
        (places(weir) == expected).then_some(())
    });
}

fn counter(weir: &Running, name: &str) -> u64 {
    let csv = weir.cli("show stat domain resolvers");
    stat_of(&csv, "d", "r", name).parse().expect("a counter")
}

#[test]
fn answers_of_dnsmasq_are_followed_and_held_after_failures() {
    let Some(dns) = Dnsmasq::start("127.0.0.1 app.test\n", "_h._tcp.test,app.test,80") else {
        return;
    };
    let log = LogReceiver::new();
    let hold = " hold nx 600ms\n hold timeout 900ms\n";
    let weir = start(&dns, &log, hold, " server s app.test:80\n server o app.example:80\n");
    // Every answer is another one.
    for n in 1..=5 {
        let address = format!("127.0.0.{n}");
        dns.know(&format!("{address} app.test\n"));
        // Names of others are refused.
        wait_for(&weir, &[&format!("{address} 0"), "- 32"]);
    }
    assert!(counter(&weir, "refused") > 0 && counter(&weir, "valid") > 0);
    assert_eq!(counter(&weir, "update"), 5);
    let before = (counter(&weir, "nx"), weir.cli("show servers state b"));
    dns.know("");
    eventually("no such name", || (counter(&weir, "nx") > before.0).then_some(()));
    assert_eq!(weir.cli("show servers state b"), before.1, "what was known is held");
    assert!(log.find("Server b/s is going DOWN").contains("(DNS NX status)"));
    wait_for(&weir, &["- 32", "- 32"]);
    dns.know("127.0.0.6 app.test\n");
    wait_for(&weir, &["127.0.0.6 0", "- 32"]);
    // The name server exists, but does not answer.
    let before = (counter(&weir, "timeout"), weir.cli("show servers state b"));
    dns.signal(STOP);
    eventually("nothing in time", || (counter(&weir, "timeout") > before.0 + 1).then_some(()));
    assert_eq!(weir.cli("show servers state b"), before.1, "what was known is held");
    assert!(log.find("Server b/s is going DOWN").contains("(DNS timeout status)"));
    dns.signal(CONTINUE);
    wait_for(&weir, &["127.0.0.6 0", "- 32"]);
}

#[test]
fn a_template_takes_many_addresses_over_tcp_and_the_records_of_a_service() {
    let some = |range: std::ops::Range<u8>| -> String {
        range.map(|n| format!("127.0.1.{n} many.test\n127.0.2.{n} h{n}.test\n")).collect()
    };
    let Some(dns) = Dnsmasq::start(&some(1..101), "_h._tcp.test,h7.test,8007,0,1000") else {
        return;
    };
    let log = LogReceiver::new();
    let lines = " server-template t 100 many.test:80\n server-template u 2 _h._tcp.test\n";
    let weir = start(&dns, &log, "", lines);
    let taken = |weir: &Running| {
        let mut all = places(weir);
        all.truncate(100);
        all.sort();
        all.dedup();
        all.retain(|place| place.starts_with("127.0.1."));
        all.len()
    };
    eventually("an address for each", || (taken(&weir) == 100).then_some(()));
    assert!(counter(&weir, "truncated") > 0, "a datagram of 512 bytes holds 30");
    eventually("the place of the service", || {
        (places(&weir)[100..] == ["127.0.2.7 64", "- 32"]).then_some(())
    });
    // A server whose address is still valid keeps it; the others lose theirs.
    let before = places(&weir);
    let kept = |place: &&String| place.split(' ').next().is_some_and(is_low);
    dns.know(&some(1..51));
    eventually("half of them", || (taken(&weir) == 50).then_some(()));
    let after = places(&weir);
    for (before, after) in before[..100].iter().zip(&after) {
        assert_eq!(after, if kept(&before) { before } else { "- 32" });
    }
}

/// Whether it is one of the first fifty.
fn is_low(address: &str) -> bool {
    let last = address.rsplit('.').next().and_then(|number| number.parse::<u8>().ok());
    last.is_some_and(|number| number <= 50)
}
