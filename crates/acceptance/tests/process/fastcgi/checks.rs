//! Health checks of servers that speak FastCGI.

use super::*;

#[test]
fn http_checks_use_fastcgi() {
    for (status, check) in [("200 OK", "L7OK"), ("500 Down", "L7STS")] {
        let output = format!("Status: {status}\r\nContent-Type: a\r\n\r\nup");
        let (app, log) = (Responder::answering(output), LogReceiver::new());
        let back = "    use-fcgi-app php\n    option httpchk\n    \
                    http-check send meth POST uri /ping.php/info?x hdr X-A b body hello\n    \
                    server s <app> proto fcgi check inter 100ms\n\
                    fcgi-app php\n    docroot /srv\n    path-info ^(/.+\\.php)(/.*)?$\n    \
                    set-param A b";
        let setup = Setup::http("", back).with("app", app.address()).with("log", log.address());
        let weir = setup.start();
        eventually("a result", || (weir.stat("app", "s", "check_status") == check).then_some(()));
        let request = app.request(0);
        for (name, value) in [
            ("HTTP_X_A", "b"),
            ("REQUEST_METHOD", "POST"),
            ("REQUEST_URI", "/ping.php/info?x"),
            ("SCRIPT_FILENAME", "/srv/ping.php"),
            ("PATH_INFO", "/info"),
            ("QUERY_STRING", "x"),
            ("SERVER_NAME", "127.0.0.1"),
            ("SERVER_PORT", &app.address().port().to_string()),
            ("SERVER_PROTOCOL", "HTTP/1.0"),
            ("REMOTE_PORT", "0"),
            ("CONTENT_LENGTH", "5"),
        ] {
            assert_eq!(request.param(name), Some(value), "{name}");
        }
        assert_eq!((request.param("REMOTE_ADDR"), request.param("A")), (None, None));
        assert_eq!(request.stdin, b"hello");
    }
}

#[test]
fn a_step_of_a_check_may_use_fastcgi() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let back = "    use-fcgi-app php\n    option httpchk\n    http-check connect proto fcgi\n    \
                http-check send meth GET uri /ping.php\n    http-check expect string hello\n    \
                server s <app> proto fcgi check inter 100ms\n\
                fcgi-app php\n    docroot /srv";
    let setup = Setup::http("", back).with("app", app.address()).with("log", log.address());
    let weir = setup.start();
    eventually("a result", || (weir.stat("app", "s", "check_status") == "L7OK").then_some(()));
    assert_eq!(app.request(0).param("SCRIPT_FILENAME"), Some("/srv/ping.php"));
}
