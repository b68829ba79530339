//! Connections to applications: reuse, multiplexing, capacity, ends, retries.

use super::*;

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let weir = weir("", "", &app, &log);
    for _ in 0..5 {
        let mut client = weir.web();
        assert_eq!(client.get("/1").text(), "hello");
        assert_eq!(client.get("/2").text(), "hello");
    }
    assert!(app.connections() <= 5, "{}", app.connections());
    assert!(app.requests().iter().all(|request| request.keep_conn));
}

#[test]
fn without_keep_conn_each_request_has_a_connection() {
    let app = Responder::new(|conn| {
        if let Some(request) = conn.request() {
            conn.answer(&request, HELLO);
        }
    });
    let log = LogReceiver::new();
    let weir = weir("    no option keep-conn", "", &app, &log);
    let mut client = weir.web();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "hello");
    }
    assert_eq!(app.connections(), 3);
    assert!(app.requests().iter().all(|request| !request.keep_conn));
}

/// Answers the requests of a connection once it has `batch` of them, last first.
fn together(batch: usize) -> impl Fn(&mut AppConn) + Send + Sync + 'static {
    move |conn| loop {
        let mut requests = Vec::new();
        for _ in 0..batch {
            let Some(request) = conn.request() else { return };
            requests.push(request);
        }
        for request in requests.iter().rev() {
            let name = request.param("SCRIPT_NAME").expect("a name").to_owned();
            conn.answer(request, format!("Content-Type: a\r\n\r\n{name}").as_bytes());
        }
    }
}

#[test]
fn requests_share_a_connection_if_the_application_multiplexes() {
    let (app, log) = (Responder::new(together(3)), LogReceiver::new());
    let lines = "    option mpxs-conns\n    option max-reqs 3";
    let weir = weir(lines, "    http-reuse always", &app, &log);
    let mut clients: Vec<_> = (0..3).map(|_| weir.web()).collect();
    // The first connection has to be open before others can use it.
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!("GET /{number} HTTP/1.1\r\nHost: h\r\n\r\n"));
        if number == 0 {
            eventually("a connection", || (app.connections() == 1).then_some(()));
        }
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.response().text(), format!("/{number}"));
    }
    assert_eq!(app.connections(), 1);
}

#[test]
fn the_capacity_of_an_application_is_asked_for() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let weir = weir("    option get-values", "", &app, &log);
    let mut client = weir.web();
    assert_eq!(client.get("/").text(), "hello");
    assert_eq!(client.get("/").text(), "hello");
    assert_eq!((app.connections(), app.queries()), (1, 1));
}

#[test]
fn a_request_is_aborted_when_its_client_leaves_or_its_time_is_over() {
    for timeout in [false, true] {
        let app = Responder::new(|conn| while conn.request().is_some() {});
        let log = LogReceiver::new();
        let back = if timeout { "    timeout server 100ms" } else { "" };
        let weir = weir("", back, &app, &log);
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        app.request(0);
        if timeout {
            assert_eq!(client.response().status(), 504);
        }
        client.close();
        eventually("an abort", || (app.aborts() == 1).then_some(()));
        eventually("the end of the connection", || (app.ended() == 1).then_some(()));
    }
}

#[test]
fn an_idle_connection_that_the_application_closes_costs_no_request() {
    let app = Responder::new(|conn| {
        if let Some(request) = conn.request() {
            conn.answer(&request, HELLO);
        }
    });
    let log = LogReceiver::new();
    let weir = weir("", "", &app, &log);
    let mut client = weir.web();
    for number in 0..20 {
        let answer = client.get("/");
        assert_eq!(answer.text(), "hello", "{number}: {}", log.line());
    }
}

#[test]
fn an_overloaded_application_costs_another_server_a_request() {
    let busy = Responder::new(|conn| {
        while let Some(request) = conn.request() {
            let _ = conn.stream.write_all(&end(request.id, 2));
        }
    });
    let (idle, log) = (Responder::answering(HELLO), LogReceiver::new());
    let back = "    option redispatch\n    balance first\n    use-fcgi-app php\n    \
                server a <busy> proto fcgi\n    server b <idle> proto fcgi\n\
                fcgi-app php\n    docroot /";
    let setup = Setup::http("", back).with("busy", busy.address()).with("idle", idle.address());
    let weir = setup.with("log", log.address()).start();
    assert_eq!(weir.web().get("/").text(), "hello");
    assert!(!busy.requests().is_empty());
}

#[test]
fn an_answer_may_begin_and_end_before_its_request() {
    let app = Responder::new(|conn| {
        let Some(request) = conn.head() else { return };
        conn.answer(&request, HELLO);
        while conn.request().is_some() {}
    });
    let log = LogReceiver::new();
    let weir = weir("", "", &app, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(client.response().text(), "hello");
}

#[test]
fn a_thousand_aborted_requests_leave_no_connection() {
    let app = Responder::new(|conn| while conn.request().is_some() {});
    let log = LogReceiver::new();
    let weir = weir("", "", &app, &log);
    for _ in 0..10 {
        let clients: Vec<_> = (0..100)
            .map(|_| {
                let mut client = weir.web();
                client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
                client
            })
            .collect();
        let before = app.ended();
        eventually("requests", || (app.connections() >= before + 100).then_some(()));
        drop(clients);
        eventually("ends", || (app.ended() == app.connections()).then_some(()));
    }
    assert_eq!(weir.stat("app", "s", "scur"), "0");
}
