//! Tests of header rewriting.

use super::*;
use htx::Version;

fn request(cookie: &str) -> Head {
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    head.push(b"cookie", cookie.as_bytes());
    head
}

#[test]
fn forwardfor_adds_the_client_unless_excepted_or_present() {
    let option = |except, if_none| ForwardFor { except, header: "x-forwarded-for".into(), if_none };
    let client: IpAddr = "192.0.2.7".parse().unwrap();
    let added =
        |front: Option<&ForwardFor>, back: Option<&ForwardFor>, there: bool| -> Vec<String> {
            let mut head = request("a=b");
            if there {
                head.push(b"x-forwarded-for", b"10.0.0.1");
            }
            forward_for(&mut head, front, back, client);
            head.all(b"x-forwarded-for")
                .map(|it| String::from_utf8_lossy(it.value).into_owned())
                .collect()
        };
    let (plain, if_none) = (option(None, false), option(None, true));
    let excepted = option(Some(("192.0.2.0".parse().unwrap(), 24)), false);
    let none: [String; 0] = [];
    assert_eq!(added(Some(&plain), None, false), ["192.0.2.7".to_owned()]);
    assert_eq!(added(Some(&plain), None, true), ["10.0.0.1".to_owned(), "192.0.2.7".to_owned()]);
    assert_eq!(added(None, Some(&if_none), true), ["10.0.0.1".to_owned()]);
    assert_eq!(added(Some(&excepted), None, false), none);
}

#[test]
fn networks() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    assert!(contains(ip("10.0.0.0"), 8, ip("10.255.0.1")));
    assert!(!contains(ip("10.0.0.0"), 8, ip("11.0.0.1")));
    assert!(contains(ip("0.0.0.0"), 0, ip("1.2.3.4")) && !contains(ip("::"), 0, ip("1.2.3.4")));
    assert!(contains(ip("2001:db8::"), 32, ip("2001:db8::1")));
}

#[test]
fn data_of_the_request_that_response_rules_read_is_kept() {
    use settings::Mode;
    use std::io::Write as _;
    use testing::{Origin, World, client, listen, log_format, read_head, rules, server};
    let origin = Origin::new(|mut stream, _| {
        while !read_head(&mut stream).is_empty() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let (mut proxy, address) = listen("fe", Mode::Http, vec![server(1, origin.address)]);
    (proxy.log_format, proxy.unique_id) =
        (None, Some(log_format("id-%{+X}o%ci-%[req.hdr(in)]", Mode::Http)));
    proxy.rules = rules(
        Mode::Http,
        &["http-response set-header out %[unique-id]", "http-response set-header how %[method]"],
    );
    let world = World::new(vec![proxy]);
    let heads = world.play(move || {
        let mut stream = client(address);
        ["one", "two"].map(|name| {
            let request = format!("GET / HTTP/1.1\r\nHost: x\r\nIn: {name}\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            String::from_utf8(read_head(&mut stream)).unwrap()
        })
    });
    assert!(heads[0].contains("how: GET\r\n"), "{}", heads[0]);
    assert!(heads[0].contains("out: id-7F000001-one\r\n"), "{}", heads[0]);
    assert!(heads[1].contains("out: id-7F000001-two\r\n"), "{}", heads[1]);
}
