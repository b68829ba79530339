//! Version and features of the program that loads a configuration, for conditions.
use std::cmp::Ordering;

/// Facts that `.if` and `-cc` may ask for (section 2.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features<'a> {
    /// The version of HAProxy that the program reports, e.g. `2.7.0`.
    pub version: &'a str,
    /// Feature words that `-vv` shows after a `+`.
    pub words: &'a [&'a str],
    /// Options that `enabled()` may find active, e.g. `EPOLL`.
    pub enabled: &'a [&'a str],
    /// Name of the TLS library with its version, e.g. `OpenSSL 3.0.1`; empty without one.
    pub ssl_library: &'a str,
    /// Version of the OpenSSL API, e.g. `3.0.1`; empty without one.
    pub openssl_version: &'a str,
}

impl Features<'_> {
    /// Orders the program's version against `other`: missing parts count as zero and `X.Y-devN`
    /// comes before `X.Y.0`.
    pub(crate) fn compare_version(&self, other: &str) -> Ordering {
        Version::parse(self.version).cmp(&Version::parse(other))
    }

    /// Orders the OpenSSL version against `other`; `None` without TLS library.
    pub(crate) fn compare_openssl(&self, other: &str) -> Option<Ordering> {
        let ours = openssl_parts(self.openssl_version);
        (!self.openssl_version.is_empty()).then(|| ours.cmp(&openssl_parts(other)))
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    branch: (u32, u32),
    /// 0 for a development version, 1 for a release.
    released: u8,
    patch: u32,
    commits: u32,
}

impl Version {
    fn parse(text: &str) -> Self {
        let mut dashed = text.split('-');
        let numbers = dashed.next().unwrap_or("");
        let mut parts = numbers.split('.').map(leading_number);
        let branch = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        let patch = parts.next().unwrap_or(0);
        let rest: Vec<&str> = dashed.collect();
        let dev = rest.first().and_then(|w| w.strip_prefix("dev")).map(leading_number);
        let after = rest.get(usize::from(dev.is_some()));
        let commits = after.map_or(0, |w| leading_number(w));
        match dev {
            Some(dev) => Self { branch, released: 0, patch: dev, commits },
            None => Self { branch, released: 1, patch, commits },
        }
    }
}

/// Major, minor, fix, then the letter of 1.x releases, e.g. `1.1.1f`.
fn openssl_parts(text: &str) -> (u32, u32, u32, u8) {
    let mut parts = text.split('.');
    let mut number = || leading_number(parts.next().unwrap_or(""));
    let (major, minor) = (number(), number());
    let last = parts.next().unwrap_or("");
    let letter = last.bytes().find(|b| !b.is_ascii_digit()).filter(u8::is_ascii_lowercase);
    (major, minor, leading_number(last), letter.unwrap_or(0))
}

fn leading_number(text: &str) -> u32 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn development_versions_come_before_the_release() {
        for (ours, other, order) in [
            ("2.7-dev7-4ab", "2.7", Ordering::Less),
            ("2.7-dev7-4ab", "2.7-dev0", Ordering::Greater),
            ("2.7.0", "2.7-dev13", Ordering::Greater),
            ("2.7.0", "2.7", Ordering::Equal),
            ("2.7.0", "2.10", Ordering::Less),
            ("2.7.0", "abc", Ordering::Greater),
            ("2.7.1-23", "2.7.1", Ordering::Greater),
        ] {
            let features = Features { version: ours, ..Features::default() };
            assert_eq!(features.compare_version(other), order, "{ours} {other}");
        }
    }

    #[test]
    fn openssl_letters_count() {
        let features = Features { openssl_version: "1.1.1f", ..Features::default() };
        assert_eq!(features.compare_openssl("1.1.1"), Some(Ordering::Greater));
        assert_eq!(features.compare_openssl("1.1.1n"), Some(Ordering::Less));
        assert_eq!(features.compare_openssl("3.0"), Some(Ordering::Less));
        assert_eq!(Features::default().compare_openssl("1.0"), None);
    }
}
