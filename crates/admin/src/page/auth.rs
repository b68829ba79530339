//! `stats auth`: Basic authentication of a page (RFC 7617).

use crate::web::response;
use engine::state::services::{Answer, Body};
use htx::Head;
use settings::StatsPage;
use stdx::base64::{self, Padding};

/// The name of HAProxy's realm.
const REALM: &str = "HAProxy Statistics";
const BODY: &str = "<html><body><h1>401 Unauthorized</h1>\n\
                    You need a valid user and password to access this content.\n\
                    </body></html>\n";

/// Whether the request may see the page.
pub(super) fn allows(page: &StatsPage, request: &Head) -> bool {
    if page.users.is_empty() {
        return true;
    }
    let given = request.get(b"authorization").and_then(credentials);
    let Some((user, password)) = given else { return false };
    let mut allowed = false;
    // All credentials are compared to their ends, so that the time reveals nothing about them.
    for (name, secret) in &page.users {
        let same = equal(name, &user) & equal(secret, &password);
        allowed |= same;
    }
    allowed
}

/// Asks for credentials.
pub(super) fn challenge(page: &StatsPage) -> Answer {
    let mut head = response(401, "Unauthorized", "text/html");
    let realm = page.realm.as_deref().unwrap_or(REALM).replace(['"', '\\'], "");
    head.push(b"www-authenticate", format!("Basic realm=\"{realm}\"").as_bytes());
    Answer { head, body: Body::Whole(BODY.as_bytes().to_vec()) }
}

fn equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differences == 0
}

fn credentials(value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let scheme = value.get(..6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = base64::decode(value[6..].trim_ascii(), base64::STANDARD, Padding::Optional)?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some((decoded[..colon].to_vec(), decoded[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;
    use proptest::prelude::*;

    fn request(authorization: &[u8]) -> Head {
        let mut head = Head::default();
        head.set_request(b"GET", b"/", Version::Http11);
        head.push(b"authorization", authorization);
        head
    }

    #[test]
    fn only_users_of_the_list_are_admitted() {
        let users = vec![(b"a".to_vec(), b"b:c".to_vec()), (b"d".to_vec(), Vec::new())];
        let page = StatsPage { users, ..StatsPage::default() };
        assert!(allows(&page, &request(b"Basic YTpiOmM=")));
        assert!(allows(&page, &request(b"basic ZDo=")));
        for wrong in [&b"Basic YTpi"[..], b"Basic", b"Bearer YTpiOmM=", b"Basic !", b""] {
            assert!(!allows(&page, &request(wrong)), "{wrong:?}");
        }
        assert!(allows(&StatsPage::default(), &request(b"")));
        let answer = challenge(&page);
        assert_eq!(answer.head.status(), 401);
        assert!(matches!(answer.body, Body::Whole(body) if body.len() == 112));
        let realm = answer.head.get(b"www-authenticate");
        assert_eq!(realm, Some(&b"Basic realm=\"HAProxy Statistics\""[..]));
    }

    proptest! {
        #[test]
        fn any_header_is_understood(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = credentials(&value);
        }
    }
}
