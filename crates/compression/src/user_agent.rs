//! Clients that claim to take compressed bodies and do not.

/// Whether HAProxy's manual excludes a browser: `Mozilla/4`, except Internet Explorer 6 of Windows
/// XP with Service Pack 2 (`SV1`), and Internet Explorer from 7 on.
pub(crate) fn is_unreliable(user_agent: &[u8]) -> bool {
    const EXPLORER: &[u8] = b"Mozilla/4.0 (compatible; MSIE ";
    if !user_agent.starts_with(b"Mozilla/4") {
        return false;
    }
    let Some(version) = user_agent.strip_prefix(EXPLORER) else { return true };
    let digits = version.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    match version.first() {
        Some(b'1'..=b'9') if digits == 2 => false,
        Some(b'6') => !version.windows(3).any(|word| word == b"SV1"),
        Some(digit) => !(b'7'..=b'9').contains(digit),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_internet_explorers_among_mozilla_4_are_reliable() {
        let rows: &[(&str, bool)] = &[
            ("", false),
            ("curl/8", false),
            ("Mozilla/5.0 (X11; Linux x86_64)", false),
            ("mozilla/4.0", false),
            ("xMozilla/4", false),
            ("Mozilla/4", true),
            ("Mozilla/4.0", true),
            ("Mozilla/40", true),
            ("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)", false),
            ("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)", true),
            ("Mozilla/4.0 (compatible; MSIE 7.0; X)", false),
            ("Mozilla/4.0 (compatible; MSIE 8.0)", false),
            ("Mozilla/4.0 (compatible; MSIE 5.5; SV1)", true),
            ("Mozilla/4.0 (compatible; MSIE 4.0; SV1)", true),
            ("Mozilla/4.0 (compatible; MSIE ", true),
            ("Mozilla/4.0 (compatible;MSIE 7.0)", true),
            ("Mozilla/4.0 MSIE 6 SV1", true),
            // HAProxy compares one digit only; the manual says 7 and later.
            ("Mozilla/4.0 (compatible; MSIE 10.0; X)", false),
        ];
        for (user_agent, expected) in rows {
            assert_eq!(is_unreliable(user_agent.as_bytes()), *expected, "{user_agent}");
        }
    }
}
