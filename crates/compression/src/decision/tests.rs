//! Tests of the decision; the rows are HAProxy's answers to the same messages.

use super::*;

type Fields = &'static [(&'static str, &'static str)];

const PLAIN: Fields = &[("Content-Type", "text/plain")];

fn request(is_http11: bool, is_head: bool, fields: Fields) -> Result<Algorithm, Refusal> {
    let mut facts = RequestFacts::new(is_http11, is_head, &[Algorithm::Gzip]);
    fields.iter().for_each(|(name, value)| facts.field(name.as_bytes(), value.as_bytes()));
    facts.algorithm()
}

fn response(
    mut facts: ResponseFacts<'static>,
    fields: Fields,
    types: &[&str],
) -> Result<Plan, Refusal> {
    fields.iter().for_each(|(name, value)| facts.field(name.as_bytes(), value.as_bytes()));
    decide(Algorithm::Gzip, &facts, types)
}

fn ok() -> ResponseFacts<'static> {
    ResponseFacts::new(200, true, Body::Length(1))
}

fn refusal(fields: Fields) -> Option<Refusal> {
    response(ok(), fields, &[]).err()
}

#[test]
fn a_request_allows_compression_or_not() {
    const GZIP: Fields = &[("Accept-Encoding", "gzip")];
    const OLD: Fields = &[("accept-encoding", "gzip"), ("User-Agent", "Mozilla/4.0")];
    assert_eq!(request(true, false, GZIP), Ok(Algorithm::Gzip));
    assert_eq!(request(false, false, GZIP), Err(Refusal::RequestVersion));
    assert_eq!(request(true, true, GZIP), Err(Refusal::Head));
    assert_eq!(request(true, false, OLD), Err(Refusal::UserAgent));
    assert_eq!(request(true, false, &[]), Err(Refusal::AcceptEncoding));
    assert_eq!(request(true, false, &[("accept-encoding", "br")]), Err(Refusal::AcceptEncoding));
    assert_eq!(
        request(true, false, &[("accept-encoding", "identity;q=0")]),
        Err(Refusal::AcceptEncoding)
    );
}

/// As HAProxy 2.6.12 was seen to forward requests.
#[test]
fn a_field_that_suits_no_algorithm_is_left_to_the_server() {
    let offloaded = |is_http11, is_head, configured: &[Algorithm], fields: Fields| {
        let mut facts = RequestFacts::new(is_http11, is_head, configured);
        fields.iter().for_each(|(name, value)| facts.field(name.as_bytes(), value.as_bytes()));
        facts.is_offloaded()
    };
    const GZIP: Fields = &[("accept-encoding", "gzip")];
    const OLD: Fields = &[("accept-encoding", "gzip"), ("user-agent", "Mozilla/4.0")];
    let gzip = [Algorithm::Gzip];
    assert!(offloaded(true, false, &gzip, GZIP));
    assert!(offloaded(true, true, &gzip, GZIP) && offloaded(false, false, &gzip, GZIP));
    assert!(!offloaded(true, false, &gzip, OLD));
    for other in ["deflate", "identity", "gzip;q=0"] {
        let mut facts = RequestFacts::new(true, false, &gzip);
        facts.field(b"accept-encoding", other.as_bytes());
        assert!(!facts.is_offloaded(), "{other}");
    }
    let identity = [Algorithm::Identity];
    assert!(offloaded(true, false, &identity, &[("accept-encoding", "identity")]));
    assert!(!offloaded(true, false, &identity, GZIP));
}

#[test]
fn identity_is_a_choice_that_compresses_nothing() {
    let configured = [Algorithm::Identity, Algorithm::Gzip];
    let mut facts = RequestFacts::new(true, false, &configured);
    facts.field(b"accept-encoding", b"identity, gzip");
    assert_eq!(facts.algorithm(), Err(Refusal::Identity));
}

#[test]
fn only_the_first_user_agent_counts() {
    const GZIP: (&str, &str) = ("accept-encoding", "gzip");
    const OLD: (&str, &str) = ("user-agent", "Mozilla/4.0");
    const NEW: (&str, &str) = ("user-agent", "x");
    assert_eq!(request(true, false, &[GZIP, NEW, OLD]), Ok(Algorithm::Gzip));
    assert_eq!(request(true, false, &[GZIP, OLD, NEW]), Err(Refusal::UserAgent));
}

#[test]
fn four_statuses_are_compressed() {
    for status in 100..600 {
        let facts = ResponseFacts::new(status, true, Body::Length(1));
        let expected = (!(200..=203).contains(&status)).then_some(Refusal::Status);
        assert_eq!(response(facts, PLAIN, &[]).err(), expected, "{status}");
    }
}

#[test]
fn the_body_has_an_end_and_at_least_one_byte() {
    for (body, expected) in [
        (Body::Length(0), Some(Refusal::Body)),
        (Body::Length(1), None),
        (Body::Delimited, None),
        (Body::UntilClose, Some(Refusal::Body)),
    ] {
        assert_eq!(response(ResponseFacts::new(200, true, body), PLAIN, &[]).err(), expected);
    }
    let old = ResponseFacts::new(200, false, Body::Length(1));
    assert_eq!(response(old, PLAIN, &[]), Err(Refusal::ResponseVersion));
}

#[test]
fn a_type_is_compared_by_its_beginning_without_case() {
    const ANY: &[&str] = &[];
    let rows: &[(&str, &[&str], bool)] = &[
        ("text/plain", &["text/plain", "text/html"], true),
        ("TEXT/PLAIN", &["text/plain"], true),
        ("text/plain", &["TEXT/"], true),
        ("text/plainx", &["text/plain"], true),
        ("text/plain;charset=x", &["text/plain"], true),
        ("text", &["text/plain"], false),
        ("image/png", &["text/"], false),
        ("image/png", ANY, true),
        ("", ANY, true),
        ("", &["text/"], false),
        ("image/x, text/plain", &["text/plain"], false),
        ("text/plain", &["*/*"], false),
        ("multipart/x", ANY, false),
        ("Multipart/Form", &["multipart/"], false),
        ("multipart", ANY, false),
        ("xmultipart/", ANY, true),
    ];
    for (content_type, types, expected) in rows {
        let mut facts = ok();
        facts.field(b"content-type", content_type.as_bytes());
        let decision = decide(Algorithm::Gzip, &facts, types);
        assert_eq!(decision.is_ok(), *expected, "{content_type} of {types:?}");
    }
    assert!(response(ok(), &[], &[]).is_ok());
    assert_eq!(response(ok(), &[], &["text/"]), Err(Refusal::ContentType));
}

#[test]
fn only_the_first_content_type_counts() {
    const TEXT: (&str, &str) = ("content-type", "text/plain");
    const IMAGE: (&str, &str) = ("content-type", "image/x");
    assert!(response(ok(), &[TEXT, IMAGE], &["text/"]).is_ok());
    assert_eq!(response(ok(), &[IMAGE, TEXT], &["text/"]), Err(Refusal::ContentType));
}

#[test]
fn an_entity_tag_is_weakened_and_a_malformed_one_forbids_compression() {
    let rows: &[(&str, Option<bool>)] = &[
        ("\"1\"", Some(true)),
        ("\"\"", Some(true)),
        ("\"a\"b\"", Some(true)),
        ("\"a\",\"b\"", Some(true)),
        ("W/\"1\"", Some(false)),
        ("W/\"\"", Some(false)),
        ("1", None),
        ("\"1", None),
        ("\"", None),
        ("w/\"1\"", None),
        ("W/ \"a\"", None),
        ("W/\"1", None),
        ("W/\"", None),
        ("*", None),
        ("", None),
    ];
    for (etag, weakens) in rows {
        let mut facts = ok();
        facts.field(b"ETag", etag.as_bytes());
        let plan = decide(Algorithm::Gzip, &facts, &[""; 0]);
        assert_eq!(plan.ok().map(|plan| plan.weaken_etag), *weakens, "{etag}");
    }
    assert_eq!(refusal(&[("etag", "\"a\""), ("etag", "\"a\"")]), Some(Refusal::ETag));
    assert_eq!(refusal(&[("etag", "W/\"a\""), ("etag", "W/\"a\"")]), Some(Refusal::ETag));
}

#[test]
fn no_transform_forbids_compression_as_a_directive_of_its_own() {
    for value in ["no-transform", "No-Transform", "public, no-transform", "no-transform, x"] {
        let mut facts = ok();
        facts.field(b"Cache-Control", value.as_bytes());
        assert_eq!(decide(Algorithm::Gzip, &facts, &[""; 0]), Err(Refusal::NoTransform), "{value}");
    }
    for value in [
        "no-transform=1",
        "no-transformx",
        "x=\"no-transform\"",
        "x=\"a, no-transform\"",
        "private;no-transform",
        "max-age=1 no-transform",
        "",
    ] {
        let mut facts = ok();
        facts.field(b"cache-control", value.as_bytes());
        assert!(decide(Algorithm::Gzip, &facts, &[""; 0]).is_ok(), "{value}");
    }
    assert_eq!(
        refusal(&[("cache-control", "public"), ("cache-control", "no-transform")]),
        Some(Refusal::NoTransform)
    );
    assert_eq!(refusal(&[("pragma", "no-transform")]), None);
}

#[test]
fn any_content_coding_forbids_another() {
    for value in ["gzip", "identity", "x", ""] {
        let mut facts = ok();
        facts.field(b"Content-Encoding", value.as_bytes());
        assert_eq!(decide(Algorithm::Gzip, &facts, &[""; 0]), Err(Refusal::ContentEncoding));
    }
}

#[test]
fn the_plan_says_how_the_body_was_delimited() {
    let plan = response(ok(), PLAIN, &[]).unwrap();
    assert_eq!(plan, Plan { algorithm: Algorithm::Gzip, weaken_etag: false, has_length: true });
    let chunked = ResponseFacts::new(200, true, Body::Delimited);
    assert!(!response(chunked, PLAIN, &[]).unwrap().has_length);
}
