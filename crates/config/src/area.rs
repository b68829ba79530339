//! The area of work that a name of HAProxy belongs to while it is not implemented.

/// `class/name area` per line; the first line that fits counts.
const AREAS: &str = include_str!("../../../docs/compat/areas.txt");

/// Words before a quoted name in messages of the language, and the class of that name.
const KINDS: [(&str, &str); 4] = [
    ("action '", "action"),
    ("converter '", "converter"),
    ("fetch method '", "fetch"),
    ("ACL keyword '", "acl"),
];

/// The area that a name belongs to, by its class as the keyword tables call it.
pub fn area(class: &str, name: &str) -> Option<&'static str> {
    let lines = AREAS.lines().filter(|line| !line.starts_with('#'));
    let mut lines = lines.filter_map(|line| line.split_once(' '));
    lines.find(|(pattern, _)| fits(pattern, class, name)).map(|(_, area)| area)
}

/// Whether a name in its class fits a pattern `class/name` with stars.
pub(crate) fn fits(pattern: &str, class: &str, name: &str) -> bool {
    let Some((classes, names)) = pattern.split_once('/') else { return false };
    matches(classes, class) && matches(names, name)
}

/// The area of the name that a message calls not implemented yet.
pub(crate) fn of_message(message: &str) -> Option<&'static str> {
    if !message.contains("not implemented yet") {
        return None;
    }
    KINDS.iter().find_map(|(before, class)| {
        let (_, rest) = message.split_once(before)?;
        area(class, rest.split('\'').next()?)
    })
}

/// Whether a text fits a pattern in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_areas() {
        for (class, name, expected) in [
            ("bind", "ssl", Some("TLS")),
            ("fetch", "ssl_fc_sni", Some("TLS")),
            ("fetch", "sc0_conn_cnt", Some("stick tables")),
            ("action", "set-bandwidth-limit", Some("bandwidth limitation")),
            ("section", "peers", Some("peers")),
            ("unheard", "of", Some("other areas")),
        ] {
            assert_eq!(area(class, name), expected, "{class} {name}");
        }
        let message = "action 'do-resolve' is not implemented yet in 'http-request'";
        assert_eq!(of_message(message), Some("resolvers"));
        assert_eq!(of_message("action 'do-resolve' is wrong"), None);
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("a*c", "abc") && matches("*", "") && matches("a", "a"));
        assert!(!matches("a*c", "ab") && !matches("a", "ab") && !matches("a*a", "a"));
    }
}
