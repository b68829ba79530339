//! Tests of how cookies are found and cut. Never part of the product.

use super::*;
use htx::Version;

fn request(cookie: &str) -> Head {
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    head.push(b"cookie", cookie.as_bytes());
    head
}

#[test]
fn a_cookie_is_found_and_cut_wherever_it_stands() {
    for (before, after) in [
        ("srv=a", None),
        ("srv=a; x=1", Some("x=1")),
        ("x=1; srv=a", Some("x=1")),
        ("x=1; srv=a; y=2", Some("x=1; y=2")),
        ("x=1;srv=a;y=2", Some("x=1; y=2")),
        ("xsrv=a", Some("xsrv=a")),
    ] {
        let mut head = request(before);
        if let Some((field, start, end)) = locate(&head, "srv") {
            cut(&mut head, field, start, end);
        }
        assert_eq!(head.get(b"cookie"), after.map(str::as_bytes), "{before}");
    }
}
