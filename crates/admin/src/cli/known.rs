//! Commands of HAProxy 2.7 that are not implemented yet. Never runs one.
//!
//! An entry moves from here into the table of commands when it works; a test holds that no command
//! is in both.

/// Their words.
#[rustfmt::skip]
pub(super) const NOT_YET: &[&str] = &[
    "abort ssl ca-file", "abort ssl cert", "abort ssl crl-file", "add ssl ca-file",
    "add ssl crt-list", "commit ssl ca-file", "commit ssl cert", "commit ssl crl-file",
    "debug dev bug", "debug dev close", "debug dev deadlock", "debug dev exit", "debug dev hex",
    "debug dev panic", "debug dev sched", "debug dev stream", "debug dev sym", "debug dev tkill",
    "del ssl ca-file", "del ssl cert", "del ssl crl-file", "del ssl crt-list", "httpclient",
    "new ssl ca-file", "new ssl cert", "new ssl crl-file", "set ssl ca-file", "set ssl cert",
    "set ssl crl-file", "set ssl ocsp-response", "set ssl tls-key", "show cache", "show peers",
    "show ssl ca-file", "show ssl cert", "show ssl crl-file", "show ssl crt-list",
    "show ssl ocsp-response", "show ssl providers", "show tls-keys", "show trace", "trace",
];

/// The command that these words call, if it is one of them.
pub(super) fn find(words: &[String]) -> Option<&'static str> {
    let matches = |name: &&&str| {
        let count = name.split(' ').count();
        words.len() >= count && name.split(' ').zip(words).all(|(own, word)| own == word)
    };
    NOT_YET.iter().filter(matches).max_by_key(|name| name.len()).copied()
}
