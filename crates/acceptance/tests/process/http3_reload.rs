//! Connections of HTTP/3 on several threads, and over reloads.

use crate::support::h3_client::{H3Client, RETURN, free_address, started_with};
use crate::support::master::Master;
use crate::support::{Identity, Origin, Setup, eventually, reply};
use openssl::x509::X509;
use std::net::{SocketAddr, UdpSocket};
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

/// Requests, one after another, each answered; a connection is left when the server says so.
fn ask_on(address: SocketAddr, trust: &[u8], (stop, done): (&AtomicBool, &AtomicUsize)) {
    let mut client = H3Client::connect(address, trust);
    let mut number = 0;
    while !stop.load(Relaxed) {
        if client.is_going_away() || client.lost.is_some() {
            assert!(client.is_going_away(), "announced: {:?}", client.lost);
            client.close(0x100);
            client = H3Client::connect(address, trust);
        }
        number += 1;
        let body = vec![b'x'; number % 7 * 500];
        let answer = client.ask("POST", "/", &body);
        assert_eq!(answer, ("200".to_owned(), body.len().to_string().into_bytes()));
        done.fetch_add(1, Relaxed);
    }
    client.close(0x100);
}

/// Uploads, each of which lasts until a further reload is over.
fn upload(
    address: SocketAddr,
    trust: &[u8],
    (stop, reloads): (&AtomicBool, &AtomicUsize),
) -> usize {
    let half = vec![b'u'; 700_000];
    let mut count = 0;
    while !stop.load(Relaxed) {
        let mut client = H3Client::connect(address, trust);
        let id = client.begin("PUT", "/", 2 * half.len());
        client.append(id, &half);
        let seen = reloads.load(Relaxed);
        while reloads.load(Relaxed) == seen && !stop.load(Relaxed) {
            client.rest();
        }
        client.append(id, &half);
        client.finish(id);
        let expected = ("200".to_owned(), (2 * half.len()).to_string().into_bytes());
        assert_eq!(client.answer(id), expected);
        client.close(0x100);
        count += 1;
    }
    count
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
    let trust = trust.to_der().expect("a certificate");
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
    let (stop, done, reloads) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let stopped = Stops(&stop);
        let ask = || ask_on(address, &trust, (&stop, &done));
        let put = || upload(address, &trust, (&stop, &reloads));
        let clients: Vec<_> = (0..plan.clients).map(|_| scope.spawn(ask)).collect();
        let uploads: Vec<_> = (0..plan.uploads).map(|_| scope.spawn(put)).collect();
        for _ in 0..plan.reloads {
            let seen = done.load(Relaxed);
            eventually("more requests", || (done.load(Relaxed) > seen + 20).then_some(()));
            assert_eq!(master.cli("reload"), "Loading success.");
            reloads.fetch_add(1, Relaxed);
        }
        let seen = done.load(Relaxed);
        eventually("more requests", || (done.load(Relaxed) > seen + 20).then_some(()));
        drop(stopped);
        clients.into_iter().for_each(|client| client.join().expect("no request failed"));
        for upload in uploads {
            assert!(upload.join().expect("no upload failed") >= plan.reloads / 4);
        }
    });
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
