//! Connections of HTTP/3 on several threads, and over reloads.

use crate::support::h3_client::{H3Client, RETURN, RequestLoss, free_address, started_with};
use crate::support::master::Master;
use crate::support::{Identity, Origin, Setup, eventually, reply};
use openssl::x509::X509;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// A load, and the number of reloads under it.
#[derive(Clone, Copy)]
struct ReloadPlan {
    reloads: usize,
    /// Clients with one request after another.
    clients: usize,
    /// Clients with uploads that last over reloads.
    uploads: usize,
}

/// Moves a client to another port, as address translation may do.
fn rebind(client: &mut H3Client, server: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(server).expect("a route");
    socket.set_read_timeout(Some(Duration::from_millis(10))).expect("an open socket");
    client.socket = socket;
}

#[test]
fn connections_stay_with_their_thread_when_the_address_of_the_client_changes() {
    for words in ["", " shards 1", " shards 2", " thread 2-3"] {
        let (weir, address, trust) = started_with(words, "    nbthread 4\n", RETURN);
        let mut clients: Vec<_> = (0..8).map(|_| H3Client::connect(address, &trust)).collect();
        for _ in 0..4 {
            for client in &mut clients {
                assert_eq!(client.ask("GET", "/", b"").1, b"hello", "{words}");
                rebind(client, address);
            }
        }
        assert_eq!(weir.stat("web", "FRONTEND", "conn_tot"), "8", "{words}");
    }
}

/// Stops the clients when the test ends or fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// State that the clients of a load share.
struct ReloadLoad {
    address: SocketAddr,
    trust: Vec<u8>,
    stop: AtomicBool,
    /// Reloads so far.
    reloads: AtomicUsize,
    /// Requests that were answered, and those that were sent again.
    done: AtomicUsize,
    repeated: AtomicUsize,
    failures: Mutex<Vec<String>>,
}

impl ReloadLoad {
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Notes the end of a request; `true`: it was answered with this body.
    fn note(&self, kind: &str, end: Result<(String, Vec<u8>), RequestLoss>, body: &str) -> bool {
        let failure = match end {
            Ok((status, got)) if (&*status, &*got) == ("200", body.as_bytes()) => {
                self.done.fetch_add(1, Relaxed);
                return true;
            }
            Err(RequestLoss::Unprocessed) => {
                self.repeated.fetch_add(1, Relaxed);
                return false;
            }
            Ok((status, _)) => format!("answered with {status}"),
            Err(RequestLoss::Failed(text)) => text,
        };
        let text = format!("{kind} at reload {}: {failure}", self.reloads.load(Relaxed));
        self.failures.lock().expect("no panic").push(text);
        false
    }

    fn connect(&self) -> Option<H3Client> {
        let client = H3Client::try_connect(self.address, &self.trust);
        client.map_err(|loss| self.note("handshake", Err(loss), "")).ok()
    }

    /// Requests, one after another; a connection is left when the server says so or it has failed.
    fn ask(&self) {
        let (mut client, mut number) = (self.connect(), 0);
        while !self.is_over() {
            let leaves = |it: &mut H3Client| it.is_going_away() || it.lost.is_some();
            if client.as_mut().is_none_or(leaves) {
                client.iter_mut().for_each(|it| it.close(0x100));
                client = self.connect();
                continue;
            }
            let Some(client) = &mut client else { continue };
            let len = number % 7 * 500;
            let (id, mut bytes) = client.open("POST", "/", len);
            bytes.resize(bytes.len() + len, b'x');
            let end = client.try_finish(id, &bytes);
            number += usize::from(self.note("request", end, &len.to_string()));
        }
        client.iter_mut().for_each(|it| it.close(0x100));
    }

    /// Uploads, each of which lasts until a further reload is over.
    fn upload(&self) -> usize {
        let half = vec![b'u'; 700_000];
        let mut count = 0;
        while !self.is_over() {
            let Some(mut client) = self.connect() else { continue };
            let (id, mut bytes) = client.open("PUT", "/", 2 * half.len());
            bytes.extend_from_slice(&half);
            let mut rest = &bytes[..];
            let seen = self.reloads.load(Relaxed);
            while client.lost.is_none()
                && (!rest.is_empty() || self.reloads.load(Relaxed) == seen && !self.is_over())
            {
                rest = &rest[client.write(id, rest)..];
                client.rest();
            }
            let end = client.try_finish(id, &half);
            count += usize::from(self.note("upload", end, &(2 * half.len()).to_string()));
            client.close(0x100);
        }
        count
    }
}

#[test]
fn reloads_lose_no_request_and_no_upload_of_http3() {
    reload_under_load(ReloadPlan { reloads: 6, clients: 6, uploads: 2 });
}

#[test]
#[ignore = "a minute of work: cargo xtask soak"]
fn twenty_reloads_with_two_hundred_connections_lose_nothing() {
    reload_under_load(ReloadPlan { reloads: 20, clients: 150, uploads: 50 });
}

fn reload_under_load(plan: ReloadPlan) {
    let authority = Identity::new("authority", None);
    let identity = Identity::new("a.test", Some(&authority));
    let trust = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            peer.send(reply("200 OK", &request.body.len().to_string()));
        }
    });
    let address = free_address();
    let text = format!(
        "global\n    nbthread 3\n    stats socket <dir>/cli level admin\ndefaults\n    mode http\n    \
         timeout connect 5s\n    timeout client 20s\n    timeout server 20s\nfrontend web\n    \
         bind quic4@<quic> ssl crt <dir>/a.pem alpn h3\n    default_backend app\nbackend app\n    \
         server s {}\n",
        origin.address()
    );
    let setup = Setup::new(&text).file("a.pem", &identity.pem()).with("quic", address);
    let master = Master::start(setup, &["-W"]);
    let first = master.worker();
    let load = ReloadLoad {
        address,
        trust: trust.to_der().expect("a certificate"),
        stop: AtomicBool::new(false),
        reloads: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        repeated: AtomicUsize::new(0),
        failures: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let stopped = Stops(&load.stop);
        let clients: Vec<_> = (0..plan.clients).map(|_| scope.spawn(|| load.ask())).collect();
        let uploads: Vec<_> = (0..plan.uploads).map(|_| scope.spawn(|| load.upload())).collect();
        let wait = || {
            let seen = load.done.load(Relaxed);
            eventually("more requests", || (load.done.load(Relaxed) > seen + 20).then_some(()));
        };
        for _ in 0..plan.reloads {
            wait();
            assert_eq!(master.cli("reload"), "Loading success.");
            load.reloads.fetch_add(1, Relaxed);
        }
        wait();
        drop(stopped);
        clients.into_iter().for_each(|client| client.join().expect("a client that ends"));
        let uploads = uploads.into_iter().map(|upload| upload.join().expect("uploads that end"));
        assert!(uploads.sum::<usize>() >= plan.uploads, "{:?}", load.failures);
    });
    let failures = load.failures.lock().expect("no panic");
    let (done, repeated) = (load.done.load(Relaxed), load.repeated.load(Relaxed));
    let all = done + failures.len();
    println!("{} of {all} requests failed, {repeated} were sent again", failures.len());
    assert!(failures.is_empty(), "{} of {all}, {repeated} again: {failures:#?}", failures.len());
    assert_ne!(master.settled(), first);
}

#[test]
fn a_process_that_takes_the_sockets_over_leaves_connections_to_the_one_before() {
    let authority = Identity::new("authority", None);
    let identity = Identity::new("a.test", Some(&authority));
    let trust = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
    let trust = trust.to_der().expect("a certificate");
    let origin = |name: &'static str| {
        Origin::new(move |mut peer| {
            while peer.request().is_some() {
                peer.send(reply("200 OK", name));
            }
        })
    };
    for words in ["", " quic-force-retry"] {
        let (address, origins) = (free_address(), [origin("old"), origin("new")]);
        let setup = |origin: &Origin| {
            Setup::new(&format!(
                "global\n    nbthread 2\n    stats socket <dir>/cli level admin expose-fd listeners\n\
                 defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
                 timeout server 20s\nfrontend web\n    \
                 bind quic4@<quic> ssl crt <dir>/a.pem alpn h3{words}\n    default_backend app\n\
                 backend app\n    server s {}\n",
                origin.address()
            ))
            .file("a.pem", &identity.pem())
            .with("quic", address)
        };
        let mut old = setup(&origins[0]).start();
        old.cli("show info");
        let mut clients: Vec<_> = (0..4).map(|_| H3Client::connect(address, &trust)).collect();
        let half = vec![b'u'; 200_000];
        let begin = |client: &mut H3Client| {
            let id = client.begin("PUT", "/", 2 * half.len());
            client.append(id, &half);
            id
        };
        let ids: Vec<_> = clients.iter_mut().map(begin).collect();
        let (cli, pid) = (old.path("cli").display().to_string(), old.pid().to_string());
        let new = setup(&origins[1]).arguments(&["-db", "-x", &cli, "-sf", &pid]).start();
        new.cli("show info");
        old.expect_error("Proxy web stopped");
        for _ in 0..6 {
            let mut fresh = H3Client::connect(address, &trust);
            assert_eq!(fresh.ask("GET", "/", b"").1, b"new", "{words}");
        }
        for (client, id) in clients.iter_mut().zip(ids) {
            client.append(id, &half);
            client.finish(id);
            assert_eq!(client.answer(id), ("200".to_owned(), b"old".to_vec()), "{words}");
        }
        clients.iter_mut().for_each(|client| assert_eq!(client.end(), 0x100));
        assert_eq!(old.wait().code(), Some(0));
    }
}
