//! Whether a test may run with a binary, by the test's tags.

use super::probe::Facts;
use super::suite::Tag;

/// Run it, or the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    Run,
    Skip(String),
}

/// Compares a test's tags with the features of the binary. `types` are the test types that may run,
/// separated by commas; `any` allows all.
pub(crate) fn verdict(tags: &[Tag], facts: &Facts, types: &str) -> GateVerdict {
    let kind = value(tags, "REGTEST_TYPE").unwrap_or("default");
    if !types.split(',').any(|allowed| allowed == kind || allowed == "any") {
        return GateVerdict::Skip(format!("type {kind}"));
    }
    tags.iter().find_map(|tag| obstacle(tag, facts)).map_or(GateVerdict::Run, GateVerdict::Skip)
}

fn value<'a>(tags: &'a [Tag], name: &str) -> Option<&'a str> {
    tags.iter().rev().find(|tag| tag.name == name).map(|tag| tag.value.trim())
}

/// Why a single tag keeps its test from running.
fn obstacle(tag: &Tag, facts: &Facts) -> Option<String> {
    let value = tag.value.as_str();
    match tag.name.as_str() {
        "REQUIRE_VERSION" if version(&facts.version) < version(value) => {
            Some(format!("needs version {value}"))
        }
        "REQUIRE_VERSION_BELOW" if version(&facts.version) >= version(value) => {
            Some(format!("only below version {value}"))
        }
        "REQUIRE_OPTIONS" => missing(value, |name| facts.features.contains(&format!("+{name}"))),
        "REQUIRE_OPTION" => {
            missing(reason_cut(value), |name| facts.features.contains(&format!("+{name}")))
        }
        // The suite's script reads only the plural of this tag.
        "REQUIRE_SERVICES" => missing(value, |name| facts.services.iter().any(|s| s == name)),
        "EXCLUDE_TARGETS" => excluded(value, &facts.target),
        "EXCLUDE_TARGET" => excluded(reason_cut(value), &facts.target),
        _ => None,
    }
}

/// The singular tags end with `, reason`.
fn reason_cut(value: &str) -> &str {
    value.rsplit_once(',').map_or(value, |(names, _)| names)
}

/// The first group of alternatives (`A|B`) of which none is there.
fn missing(value: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let groups = value.split(',').map(str::trim).filter(|group| !group.is_empty());
    let absent = |group: &&str| !group.split('|').any(|name| has(name.trim()));
    groups.into_iter().find(absent).map(|group| format!("needs {group}"))
}

fn excluded(value: &str, target: &str) -> Option<String> {
    value.split(',').any(|name| name.trim() == target).then(|| format!("not on {target}"))
}

/// A version as up to four numbers: of each dotted part only the leading digits count.
fn version(text: &str) -> [u32; 4] {
    let mut numbers = [0; 4];
    for (number, part) in numbers.iter_mut().zip(text.trim().split('.')) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        *number = digits.parse().unwrap_or(0);
    }
    numbers
}

#[cfg(test)]
mod tests {
    //! Tests of each tag, met and not met.
    use super::*;

    fn facts() -> Facts {
        Facts {
            version: "2.7-dev7-weir".to_owned(),
            target: "linux-glibc".to_owned(),
            features: vec!["+SLZ".to_owned(), "-LUA".to_owned(), "+PCRE2".to_owned()],
            services: vec!["none".to_owned()],
        }
    }

    fn judge(name: &str, value: &str) -> GateVerdict {
        let tags = [Tag { name: name.to_owned(), value: value.to_owned() }];
        verdict(&tags, &facts(), "default,slow")
    }

    #[test]
    fn runs_what_is_met() {
        for (name, value) in [
            ("REQUIRE_VERSION", "2.7"),
            ("REQUIRE_VERSION", "1.9"),
            ("REQUIRE_VERSION_BELOW", "2.8"),
            ("REQUIRE_OPTIONS", "ZLIB|SLZ,PCRE2"),
            ("REQUIRE_OPTION", "SLZ, this test compresses"),
            ("REQUIRE_SERVICE", "prometheus-exporter"),
            ("EXCLUDE_TARGETS", "freebsd,osx,generic"),
            ("REGTEST_TYPE", "slow"),
            ("ANYTHING", "else"),
        ] {
            assert_eq!(judge(name, value), GateVerdict::Run, "{name}={value}");
        }
    }

    #[test]
    fn skips_what_is_not() {
        for (name, value) in [
            ("REQUIRE_VERSION", "2.8"),
            ("REQUIRE_VERSION", "2.7.1"),
            ("REQUIRE_VERSION_BELOW", "2.7"),
            ("REQUIRE_OPTIONS", "SLZ,LUA"),
            ("REQUIRE_OPTION", "OPENSSL, certificates"),
            ("REQUIRE_OPTION", "OPENSSL"),
            ("REQUIRE_SERVICES", "prometheus-exporter"),
            ("EXCLUDE_TARGETS", "linux-glibc"),
            ("EXCLUDE_TARGET", "linux-glibc, for a reason"),
            ("REGTEST_TYPE", "broken"),
        ] {
            assert!(matches!(judge(name, value), GateVerdict::Skip(_)), "{name}={value}");
        }
    }
}
