//! Tests of the list of streams.

use settings::Mode;
use std::io::Write;
use testing::{Origin, World};

#[test]
fn streams_are_listed_and_idle_connections_are_not() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let origin = Origin::new(move |stream, _| {
        let _ = released.lock().unwrap().recv();
        drop(stream);
    });
    let server = || vec![testing::server(1, origin.address)];
    let (http, address) = testing::listen("px", Mode::Http, server());
    let (tcp, bytes) = testing::listen("by", Mode::Tcp, server());
    let world = World::new(vec![http, tcp]);
    let idle = world.play(move || testing::client(address));
    let busy = world.play(move || {
        let mut stream = testing::client(address);
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        stream
    });
    let session = world.play(move || testing::client(bytes));
    let list = || world.workers[0].streams(0).streams;
    let with_server = || list().iter().filter(|it| it.server == Some(0)).count();
    world.until("both are with their servers", || with_server() == 2);
    let listed = list();
    assert_eq!(listed.len(), 2, "{listed:?}");
    for (stream, index) in [(&busy, 0), (&session, 1)] {
        let source = stream.local_addr().ok();
        let told = listed.iter().find(|it| it.peer == source).expect("it is listed");
        assert_eq!((told.frontend, told.backend, told.age_s), (index, Some(index), 0));
        assert!(told.descriptor > 0 && told.usage.calls > 0, "{told:?}");
    }
    world.until("both have connections", || list().iter().all(|it| it.server_descriptor > 0));
    drop((release, idle, busy, session));
    world.until("nothing is listed", || list().is_empty());
}
