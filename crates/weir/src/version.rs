//! The output of `-v` and `-vv`, in the format that tools around HAProxy read.

use std::fmt::Write as _;

/// The version that the configuration language and the tools see (`version_atleast`, `-v`): the
/// language's, then ours.
pub(crate) const VERSION: &str = concat!("2.7-dev7-weir-", env!("CARGO_PKG_VERSION"));

/// The date of the version.
pub(crate) const DATE: &str = "2026/11/21";

/// A build option of HAProxy, as `feature(NAME)` and `-vv` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    /// Case-sensitive.
    pub(crate) name: &'static str,
    /// Whether it works here.
    pub(crate) works: bool,
}

const fn works(name: &'static str) -> Feature {
    Feature { name, works: true }
}

const fn lacks(name: &'static str) -> Feature {
    Feature { name, works: false }
}

/// The words of the features that work, for `feature(NAME)`.
pub(crate) fn words() -> Vec<&'static str> {
    FEATURES.iter().filter(|feature| feature.works).map(|feature| feature.name).collect()
}

/// Every feature word of HAProxy 2.7 on Linux, in alphabetical order.
pub(crate) const FEATURES: &[Feature] = &[
    lacks("51DEGREES"),
    works("ACCEPT4"),
    lacks("BACKTRACE"),
    works("CPU_AFFINITY"),
    works("CRYPT_H"),
    lacks("DEVICEATLAS"),
    lacks("DL"),
    lacks("ENGINE"),
    works("EPOLL"),
    lacks("EVPORTS"),
    works("GETADDRINFO"),
    lacks("KQUEUE"),
    works("LIBCRYPT"),
    works("LINUX_SPLICE"),
    works("LINUX_TPROXY"),
    works("LUA"),
    lacks("MEMORY_PROFILING"),
    lacks("NETFILTER"),
    works("NS"),
    works("OPENSSL"),
    lacks("OT"),
    lacks("PCRE"),
    works("PCRE2"),
    works("PCRE2_JIT"),
    lacks("PCRE_JIT"),
    lacks("POLL"),
    works("PRCTL"),
    lacks("PROCCTL"),
    works("PROMEX"),
    Feature { name: "QUIC", works: tls::HAS_QUIC },
    lacks("RT"),
    works("SLZ"),
    lacks("STATIC_PCRE"),
    works("STATIC_PCRE2"),
    works("SYSTEMD"),
    works("TFO"),
    works("THREAD"),
    works("TPROXY"),
    lacks("WURFL"),
    works("ZLIB"),
];

/// The output of `--version`, which no tool around HAProxy reads.
pub(crate) const OWN: &str = concat!(
    "weir ",
    env!("CARGO_PKG_VERSION"),
    "\nA load balancer that reads configurations of HAProxy 2.7.\n\
     'weir -v' has the version in HAProxy's words, 'weir -vv' how this program was built.\n"
);

/// The output of `-v`.
pub(crate) fn short() -> String {
    format!(
        "HAProxy version {VERSION} {DATE} - Weir, a load balancer for HAProxy configurations\n\
         Status: development, not for production\n\
         Running on: {} {}\n",
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

/// The names that `http-request use-service` knows.
pub(crate) fn services() -> Vec<&'static str> {
    engine::state::services::Service::TABLE.iter().map(|(name, _)| *name).collect()
}

/// The text of `-vv`. `features` decides which tests of the public suite run; `services` are the
/// names for `http-request use-service`.
pub(crate) fn long(features: &[Feature], services: &[&str]) -> String {
    let mut text = short();
    let words: Vec<String> = features.iter().map(word).collect();
    // The library is linked statically: build and run time versions are the same.
    let library = tls::library();
    let regex = sample::regex::version();
    let algorithms = algorithms();
    let services = if services.is_empty() { "none".to_owned() } else { services.join(" ") };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "Build options :\n  TARGET  = linux-glibc\n  CC      = rustc\n\n\
         Feature list : {}\n\n\
         Built with OpenSSL version : {library}\n\
         Running on OpenSSL version : {library}\n\
         Built with PCRE2 version : {regex}\n\
         PCRE2 library supports JIT : yes\n\
         Compression algorithms supported : {algorithms}\n\n\
         Available polling systems :\n      epoll : pref=300,  test result OK\n\
         Total: 1 (1 usable), will use epoll.\n\n\
         Available multiplexer protocols :\n{PROTOCOLS}\n\
         Available services : {services}\n\n\
         Available filters :\n",
        words.join(" ")
    );
    for (name, scope) in config::filters() {
        let _ = writeln!(text, "\t[{scope:>4}] {name}");
    }
    text
}

/// Names of the algorithms of `compression algo`, each with its token.
fn algorithms() -> String {
    let all = compression::ALGORITHMS.iter();
    let all: Vec<String> = all.map(|it| format!("{}(\"{}\")", it.name, it.token)).collect();
    all.join(", ")
}

/// The protocols that `proto` and `alpn` can ask for, and the default.
const PROTOCOLS: &str = "       quic : mode=HTTP  side=FE     mux=QUIC
         h2 : mode=HTTP  side=FE|BE  mux=H2
       fcgi : mode=HTTP  side=BE     mux=FCGI
  <default> : mode=SPOP  side=BE     mux=SPOP
       spop : mode=SPOP  side=BE     mux=SPOP
  <default> : mode=HTTP  side=FE|BE  mux=H1
         h1 : mode=HTTP  side=FE|BE  mux=H1
  <default> : mode=TCP   side=FE|BE  mux=PASS
       none : mode=TCP   side=FE|BE  mux=PASS
";

fn word(feature: &Feature) -> String {
    format!("{}{}", if feature.works { '+' } else { '-' }, feature.name)
}

#[cfg(test)]
mod tests {
    //! The lines that the public regression suite reads.
    use super::*;

    fn lines<'a>(text: &'a str, pattern: &str) -> Vec<&'a str> {
        text.lines().filter(|line| line.contains(pattern)).collect()
    }

    #[test]
    fn one_version_line_comes_first() {
        for text in [short(), long(FEATURES, &[])] {
            let found = lines(&text, "HAProxy version");
            assert_eq!(found, [text.lines().next().unwrap()]);
            assert_eq!(found[0].split(' ').nth(2), Some(VERSION));
            assert!(!found[0].contains(" : ") && !found[0].contains(" = "));
        }
        assert!(VERSION.starts_with("2.7-dev7-weir-"));
    }

    #[test]
    fn the_target_is_not_an_excluded_one() {
        let text = long(FEATURES, &[]);
        let found: Vec<&str> =
            lines(&text, "TARGET").into_iter().filter(|line| line.contains('=')).collect();
        assert_eq!(found, ["  TARGET  = linux-glibc"]);
    }

    #[test]
    fn features_are_one_line_of_words() {
        let given = [works("AB"), lacks("CD"), works("EF")];
        let text = long(&given, &[]);
        let found: Vec<&str> = text.lines().filter(|line| line.starts_with("Feature")).collect();
        assert_eq!(found, ["Feature list : +AB -CD +EF"]);
    }

    #[test]
    fn protocols_are_those_of_the_proto_keyword_and_quic() {
        let text = long(FEATURES, &[]);
        let names: Vec<&str> = lines(&text, "mux=")
            .iter()
            .filter_map(|it| it.split(':').next())
            .map(str::trim)
            .collect();
        let table =
            ["quic", "h2", "fcgi", "<default>", "spop", "<default>", "h1", "<default>", "none"];
        assert_eq!(names, table);
        for name in
            ["NS", "LUA", "TFO", "LINUX_SPLICE", "TPROXY", "PROMEX", "SYSTEMD", "SLZ", "ZLIB"]
        {
            assert!(words().contains(&name), "{name} works");
        }
    }

    #[test]
    fn services_are_one_line() {
        let found = |services| {
            let text = long(FEATURES, services);
            lines(&text, "Available services").join("\n")
        };
        assert_eq!(found(&[]), "Available services : none");
        assert_eq!(found(&["a", "b"]), "Available services : a b");
    }

    #[test]
    fn filters_and_algorithms_are_those_of_the_tables() {
        let text = long(FEATURES, &[]);
        let (_, filters) = text.split_once("Available filters :\n").unwrap();
        assert_eq!(
            filters,
            "\t[BWLIM] bwlim-in\n\t[BWLIM] bwlim-out\n\t[CACHE] cache\n\t[COMP] compression\n\t[FCGI] fcgi-app\n\t[SPOE] spoe\n\t[TRACE] trace\n"
        );
        let algorithms = "Compression algorithms supported : identity(\"identity\"), \
                          deflate(\"deflate\"), raw-deflate(\"deflate\"), gzip(\"gzip\"), br(\"br\"), \
                          zstd(\"zstd\")";
        assert_eq!(lines(&text, "Compression algorithms"), [algorithms]);
    }

    #[test]
    fn libraries_are_listed_with_their_versions() {
        let text = long(FEATURES, &[]);
        let expected = format!("Built with OpenSSL version : {}", tls::library());
        assert_eq!(lines(&text, "Built with OpenSSL"), [expected]);
        let found = lines(&text, "Built with PCRE2 version : 10.");
        let minor = found[0].rsplit('.').next().and_then(|minor| minor.parse::<u32>().ok());
        assert!(found.len() == 1 && minor.is_some_and(|minor| minor >= 43), "{found:?}");
    }

    #[test]
    fn features_are_sorted_and_unique() {
        assert!(FEATURES.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
