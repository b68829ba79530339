//! Header names for peers that tell upper from lower case.

use crate::support::{LogReceiver, Message, Origin, Setup};

const GLOBAL: &str = "h1-case-adjust content-length Content-Length\n    \
                      h1-case-adjust-file <dir>/names";

/// The heads that a server and a client receive with these options.
fn exchange(front: &str, back: &str) -> [Message; 2] {
    let origin =
        Origin::answering("HTTP/1.1 200 OK\r\nX-REQUEST-Id: 7\r\nContent-Length: 2\r\n\r\nok");
    let weir = Setup::http(front, &format!("{back}\n    server s <origin>"))
        .global(GLOBAL)
        .file("names", "# names\n\n \tx-request-id\tX-Request-ID \nhost HOST\n")
        .between(&origin, &LogReceiver::new());
    let mut client = weir.web();
    let answer = client.ask("GET / HTTP/1.1\r\nhost: x\r\nX-Other: 1\r\n\r\n");
    [origin.request(0), answer]
}

fn names(message: &Message) -> Vec<&str> {
    message.headers.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn clients_and_servers_have_their_own_case() {
    let [request, answer] = exchange("", "");
    assert_eq!(names(&request), ["host", "x-other"]);
    assert_eq!(names(&answer), ["x-request-id", "content-length"]);
    let [request, answer] = exchange("    option h1-case-adjust-bogus-client", "");
    assert_eq!(names(&request), ["host", "x-other"]);
    assert_eq!(names(&answer), ["X-Request-ID", "Content-Length"]);
    let [request, answer] = exchange("", "    option h1-case-adjust-bogus-server");
    assert_eq!(names(&request), ["HOST", "x-other"]);
    assert_eq!(names(&answer), ["x-request-id", "content-length"]);
}

#[test]
fn answers_of_the_proxy_itself_have_it_too() {
    let front = "    option h1-case-adjust-bogus-client\n    \
                 http-request return status 200 content-type text/plain string ok";
    let weir =
        Setup::http(front, "").global(GLOBAL).file("names", "content-type CONTENT-TYPE\n").start();
    let answer = weir.web().get("/");
    assert_eq!(names(&answer), ["Content-Length", "CONTENT-TYPE"]);
}
