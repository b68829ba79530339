//! Tests of both versions in both directions: accepted and refused headers, split input.

use super::*;
use proptest::prelude::*;

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn v4() -> Addresses {
    (addr("1.2.3.4:42"), addr("5.6.7.8:1337"))
}

fn complete(input: &[u8]) -> ProxyHeader<'_> {
    match decode(input) {
        Ok(ProxyHeaderStep::Complete { header, len }) if len == input.len() => header,
        other => panic!("{other:?} of {input:?}"),
    }
}

/// A version 2 header built by hand.
fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u16).to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[command, family][..], &len, body].concat()
}

const A4: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 0, 42, 5, 57];

fn value(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind][..], &(bytes.len() as u16).to_be_bytes(), bytes].concat()
}

fn with(values: &[Vec<u8>]) -> Vec<u8> {
    v2(0x21, 0x11, &[A4, &values.concat()].concat())
}

#[test]
fn accepted_lines() {
    let v6 = (addr("[::1]:42"), addr("[2001:db8::2]:0"));
    for (line, ends) in [
        ("PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\r\n", Some(v4())),
        ("PROXY TCP6 ::1 2001:DB8::2 42 0\r\n", Some(v6)),
        ("PROXY UNKNOWN\r\n", None),
        ("PROXY UNKNOWN ffff::1 whatever  1\r\n", None),
    ] {
        assert_eq!(
            complete(line.as_bytes()),
            ProxyHeader { ends, ..ProxyHeader::default() },
            "{line}"
        );
    }
    let longest = format!("PROXY UNKNOWN {}\r\n", "x".repeat(91));
    assert_eq!((longest.len(), complete(longest.as_bytes()).ends), (107, None));
}

#[test]
fn refused_lines() {
    for (line, error) in [
        ("GET / HTTP/1.1\r\n", ProxyHeaderError::Foreign),
        ("PROXYTCP4 ", ProxyHeaderError::Foreign),
        ("PROXY UDP4 1.2.3.4 5.6.7.8 42 1337\r\n", ProxyHeaderError::Unhandled),
        ("PROXY \r\n", ProxyHeaderError::Unhandled),
        ("PROXY TCP4\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 42\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\rx", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.444 5.6.7.8 42 1337\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.04 5.6.7.8 42 1337\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 042 1337\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 +42 1337\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 42 65536\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 42 1337 \r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4  1.2.3.4 5.6.7.8 42 1337\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP4 ::1 5.6.7.8 42 1337\r\n", ProxyHeaderError::Invalid),
        ("PROXY TCP6 ::1 5.6.7.8 42 1337\r\n", ProxyHeaderError::Invalid),
    ] {
        assert_eq!(decode(line.as_bytes()), Err(error), "{line}");
    }
    let long = format!("PROXY UNKNOWN {}", "x".repeat(93));
    assert_eq!(decode(long.as_bytes()), Err(ProxyHeaderError::Invalid));
}

#[test]
fn accepted_blocks() {
    let plain = ProxyHeader { ends: Some(v4()), ..ProxyHeader::default() };
    assert_eq!(complete(&v2(0x21, 0x11, A4)), plain);
    for (command, family, body) in [
        (0x20, 0x00, &b""[..]),
        (0x20, 0x11, &[A4, b"\x02\0\x01x"].concat()),
        (0x21, 0x00, b"abc"),
        (0x21, 0x10, b""),
        (0x21, 0x12, A4),
        (0x21, 0x31, &[b'x'; 216]),
        (0x21, 0x32, &[b'x'; 216]),
    ] {
        assert_eq!(
            complete(&v2(command, family, body)),
            ProxyHeader::default(),
            "{command} {family}"
        );
    }
    let bytes = with(&[
        value(4, b"   "),
        value(1, b"h2"),
        value(2, b"first"),
        value(2, &[b'a'; 255]),
        value(5, &[b'u'; 128]),
        value(0xee, b"custom"),
        value(0x30, b"blue"),
        value(
            0x20,
            &[&b"\x05\0\0\0\x09"[..], &value(0x21, b"TLSv1.3"), &value(0x22, b"me")].concat(),
        ),
    ]);
    let tls = ProxyTls {
        encrypted: true,
        certificate: (false, true),
        verify: 9,
        version: Some(b"TLSv1.3"),
        common_name: Some(b"me"),
        ..ProxyTls::default()
    };
    let expected = ProxyHeader {
        alpn: Some(b"h2"),
        authority: Some(&[b'a'; 255]),
        unique_id: Some(&[b'u'; 128]),
        namespace: Some(b"blue"),
        tls: Some(tls),
        ..plain
    };
    assert_eq!(complete(&bytes), expected);
}

#[test]
fn refused_blocks() {
    for (bytes, error) in [
        (v2(0x11, 0x11, A4), ProxyHeaderError::Foreign),
        (v2(0x22, 0x11, A4), ProxyHeaderError::Invalid),
        (v2(0x21, 0x41, A4), ProxyHeaderError::Invalid),
        (v2(0x21, 0x13, A4), ProxyHeaderError::Invalid),
        (v2(0x21, 0x11, &A4[..11]), ProxyHeaderError::Invalid),
        (v2(0x21, 0x31, A4), ProxyHeaderError::Invalid),
        (with(&[b"x".to_vec()]), ProxyHeaderError::Invalid),
        (with(&[b"xx".to_vec()]), ProxyHeaderError::Invalid),
        (with(&[b"\x02\0\x02x".to_vec()]), ProxyHeaderError::Invalid),
        (with(&[value(2, &[b'a'; 256])]), ProxyHeaderError::Invalid),
        (with(&[value(5, &[b'a'; 129])]), ProxyHeaderError::Invalid),
        (with(&[value(3, b"abc")]), ProxyHeaderError::Invalid),
        (with(&[value(3, b"abcd")]), ProxyHeaderError::Invalid),
        (with(&[value(0x20, b"abcd")]), ProxyHeaderError::Invalid),
        (with(&[value(0x20, b"\x01\0\0\0\0\x21\0\x09x")]), ProxyHeaderError::Invalid),
        (v2(0x21, 0x11, &[0; 5000]), ProxyHeaderError::Invalid),
    ] {
        assert_eq!(decode(&bytes), Err(error), "{bytes:?}");
    }
}

#[test]
fn encoded_headers() {
    let line = |ends| {
        let mut out = Vec::new();
        encode_v1(ends, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(line(None), "PROXY UNKNOWN\r\n");
    assert_eq!(line(Some(v4())), "PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\r\n");
    let mixed = Some((addr("[2001:db8::1]:1"), addr("127.0.0.1:2")));
    assert_eq!(line(mixed), "PROXY TCP6 2001:db8::1 ::ffff:127.0.0.1 1 2\r\n");
    let block = |header: &ProxyHeader<'_>| {
        let mut out = b"before".to_vec();
        encode_v2(header, &mut out);
        out.split_off(6)
    };
    assert_eq!(block(&ProxyHeader::default()), v2(0x20, 0, b""));
    let plain = ProxyHeader { ends: Some(v4()), ..ProxyHeader::default() };
    assert_eq!(block(&plain), v2(0x21, 0x11, A4));
    let sealed = ProxyHeader { checksum: true, unique_id: Some(b"ID"), ..plain };
    let expected = with(&[value(3, &[0; 4]), value(5, b"ID")]);
    let sum = stdx::hash::crc32c(&expected).to_be_bytes();
    assert_eq!(block(&sealed), with(&[value(3, &sum), value(5, b"ID")]));
    // Without TLS, these are the only values.
    let clear = ProxyHeader { tls: Some(ProxyTls::default()), ..plain };
    assert_eq!(block(&clear), with(&[value(0x20, &[0; 5])]));
}

fn ends() -> impl Strategy<Value = Option<Addresses>> {
    let end = || any::<SocketAddr>().prop_map(|end| SocketAddr::new(end.ip(), end.port()));
    proptest::option::of((end(), end()))
}

proptest! {
    #[test]
    fn encoded_headers_are_decoded(
        ends in ends(),
        authority in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..255)),
        unique_id in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..128)),
        checksum: bool,
        verify: u32,
    ) {
        let ends = ends.map(aligned);
        let mut line = Vec::new();
        encode_v1(ends, &mut line);
        prop_assert_eq!(complete(&line).ends, ends);
        let tls = Some(ProxyTls { encrypted: true, verify, cipher: Some(b"c"), ..ProxyTls::default() });
        let (authority, unique_id) = (authority.as_deref(), unique_id.as_deref());
        let header = ProxyHeader { ends, authority, unique_id, checksum, tls, ..ProxyHeader::default() };
        let mut block = Vec::new();
        encode_v2(&header, &mut block);
        let expected = if ends.is_some() { header } else { ProxyHeader::default() };
        prop_assert_eq!(complete(&block), expected);
        for bytes in [line, block] {
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), Ok(ProxyHeaderStep::Partial));
            }
        }
    }

    #[test]
    fn a_changed_bit_is_noticed(at in 0usize..64, bit in 0u8..8) {
        let header = ProxyHeader { ends: Some(v4()), checksum: true, unique_id: Some(b"some"), ..ProxyHeader::default() };
        let mut block = Vec::new();
        encode_v2(&header, &mut block);
        let at = at % block.len();
        block[at] ^= 1 << bit;
        // Flips that turn the checksum into another value, or the header into a longer or a local
        // one, cannot be detected.
        if let Ok(ProxyHeaderStep::Complete { header: read, .. }) = decode(&block) {
            prop_assert!(!read.checksum || read == header);
        }
    }

    #[test]
    fn no_input_panics(tail in proptest::collection::vec(any::<u8>(), 0..64), which in 0usize..3) {
        let begin: &[u8] = [&b""[..], b"PROXY ", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x20"][which];
        let bytes = [begin, &tail].concat();
        if let Ok(ProxyHeaderStep::Complete { len, .. }) = decode(&bytes) {
            prop_assert!(len <= bytes.len());
        }
    }
}
