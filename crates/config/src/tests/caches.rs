//! `cache` sections, and the rules that name them.
use super::*;

#[test]
fn a_cache_has_its_defaults_and_takes_what_lines_say() {
    let caches = model(
        "cache a\n total-max-size 4\ncache b\n max-object-size 2097152\n total-max-size 4095\n \
         total-max-size 4\n max-age 0\n process-vary on\n max-secondary-entries 5\ncache c!d\n \
         total-max-size 1\n process-vary on\n process-vary off\n max-object-size 0\n",
    )
    .caches;
    let sizes: Vec<_> =
        caches.iter().map(|it| (it.total_max_size, it.rules.max_object_size)).collect();
    assert_eq!(sizes, [(4 << 20, 16_384), (4 << 20, 2 << 20), (1 << 20, 4_096)]);
    let others: Vec<_> = caches
        .iter()
        .map(|it| (it.rules.max_age, it.rules.process_vary, it.max_secondary_entries))
        .collect();
    assert_eq!(others, [(60, false, 10), (0, true, 5), (60, false, 10)]);
    assert_eq!(&*caches[2].name, "c!d");
}

#[test]
fn numbers_are_read_as_haproxy_reads_them() {
    for (lines, max_age, secondary, warning) in [
        (
            "max-age 10s",
            10,
            10,
            "'max-age' : '10s' is read as 10: what follows the digits is ignored",
        ),
        ("max-age x", 0, 10, "'max-age' : 'x' is read as 0: it does not begin with a digit"),
        ("max-age -1", u32::MAX, 10, "'max-age' : '-1' is no limit"),
        ("max-age", 60, 10, "'max-age' expects an age parameter in seconds."),
        (
            "process-vary maybe",
            60,
            10,
            "'process-vary' expects \"on\" or \"off\" (enable or disable vary processing).",
        ),
        (
            "process-vary",
            60,
            10,
            "'process-vary' expects \"on\" or \"off\" (enable or disable vary processing).",
        ),
        ("max-secondary-entries -1", 60, usize::MAX, ""),
        ("max-secondary-entries 99999999999999999999", 60, usize::MAX, ""),
    ] {
        let text = format!("cache c\n total-max-size 4\n {lines}\n");
        let cache = &model(&text).caches[0];
        assert_eq!(
            (cache.rules.max_age, cache.max_secondary_entries),
            (max_age, secondary),
            "{lines}"
        );
        let warnings = messages(&text, Severity::Warning);
        assert!(warnings.iter().any(|said| said == warning) || warning.is_empty(), "{warnings:?}");
        assert!(!cache.rules.process_vary, "{lines}");
    }
}

#[test]
fn mistakes_are_reported_in_haproxys_words() {
    for (lines, message) in [
        ("", "Size not specified for cache 'c'"),
        ("total-max-size 0", "Size not specified for cache 'c'"),
        ("total-max-size", "total-max-size wrong value ''"),
        ("total-max-size 4k", "total-max-size wrong value '4k'"),
        ("total-max-size 4096", "\"total-max-size\" (4096) must not be greater than 4095"),
        ("total-max-size -1", "\"total-max-size\" (-1) must not be greater than 4095"),
        ("total-max-size 4 5", "'total-max-size' cannot handle unexpected argument '5'."),
        ("total-max-size 4\n max-object-size 10k", "max-object-size wrong value '10k'"),
        ("total-max-size 4\n max-object-size", "max-object-size wrong value ''"),
        ("total-max-size 4\n max-age 1 2", "'max-age' cannot handle unexpected argument '2'."),
        ("total-max-size 4\n max-secondary-entries 0", "max-secondary-entries wrong value '0'"),
        ("total-max-size 4\n max-secondary-entries 5x", "max-secondary-entries wrong value '5x'"),
        ("total-max-size 4\n foo 1", "unknown keyword 'foo' in 'cache' section"),
        ("total-max-size 4\ncache c\n total-max-size 4", "Duplicate cache name 'c'."),
    ] {
        let text = format!("cache c\n {lines}\n");
        assert_eq!(messages(&text, Severity::Alert), [message], "{text}");
    }
    for size in ["2097153", "99999999999999999999", "-1"] {
        let text = format!("cache c\n max-object-size {size}\n total-max-size 4\n");
        let message = "\"max-object-size\" is limited to an half of \"total-max-size\" => 2097152";
        assert_eq!(messages(&text, Severity::Alert), [message], "{text}");
    }
    let unnamed = messages("cache\n total-max-size 4\n", Severity::Alert);
    assert_eq!(unnamed, ["'cache' expects a <name> argument"]);
    let two = messages("cache c d\n total-max-size 4\n", Severity::Alert);
    assert_eq!(two, ["'cache' cannot handle unexpected argument 'd'."]);
}

#[test]
fn long_names_are_truncated() {
    let text = format!("cache {}\n total-max-size 4\n", "a".repeat(40));
    assert_eq!(&*model(&text).caches[0].name, "a".repeat(32));
    let cut = format!("cache name is limited to 32 characters, truncate to '{}'.", "a".repeat(32));
    assert_eq!(messages(&text, Severity::Warning)[0], cut);
}

#[test]
fn rules_name_caches_that_are_there() {
    let text = |name: &str| {
        format!(
            "cache c\n total-max-size 4\ndefaults\n mode http\nbackend b\n http-request cache-use \
             {name}\n http-response cache-store {name}\n server s 127.0.0.1:80\n"
        )
    };
    assert!(messages(&text("c"), Severity::Alert).is_empty());
    let alerts = messages(&text("d"), Severity::Alert);
    let expected = "backend 'b': unable to find the cache 'd' referenced by the filter 'cache'.";
    assert!(alerts.iter().any(|said| said.contains(expected)), "{alerts:?}");
}

/// The alerts about a backend with these lines, in a configuration with the caches `c` and `d`.
fn alerts_of_backend(lines: &str) -> Vec<String> {
    let text = format!(
        "cache c\n total-max-size 4\ncache d\n total-max-size 4\ndefaults\n mode http\n\
         backend b\n {lines}\n server s 127.0.0.1:80\n"
    );
    messages(&text, Severity::Alert)
}

const USE: &str = "http-request cache-use c\n http-response cache-store c";

#[test]
fn filters_of_caches_may_be_declared_or_implied() {
    for lines in [
        "filter cache c",
        "filter cache c\n filter cache d",
        "filter trace\n filter cache c\n USE",
        "filter cache c\n filter trace\n USE",
        "filter cache d\n USE",
        "USE\n compression algo gzip",
        "filter cache c\n USE\n compression algo gzip",
        "filter cache c\n filter trace\n filter compression\n compression algo gzip\n USE",
        "filter cache c\n filter compression\n USE",
        "http-request cache-use c\n http-response cache-store d",
    ] {
        assert_eq!(alerts_of_backend(&lines.replace("USE", USE)), [""; 0], "{lines}");
    }
}

#[test]
fn mistakes_with_filters_of_caches_are_told_in_haproxys_words() {
    let unknown = "backend 'b': unable to find the cache 'zz' referenced by the filter 'cache'.";
    let before = "backend 'b': unable to enable the compression filter before the cache 'c'.";
    let explicit = "backend 'b': require an explicit filter declaration to use the cache 'c'.";
    let twice = "'filter' : 'b: multiple explicit declarations of the cache filter 'c''";
    for (lines, message) in [
        ("filter cache", "'filter' : 'cache : expects a <name> argument'"),
        ("filter cache c x", "'filter cache' : unknown keyword 'x'."),
        ("filter cache c\n filter cache c", twice),
        ("filter cache zz", unknown),
        ("http-request cache-use zz\n http-response cache-store zz", unknown),
        ("filter trace\n USE", explicit),
        ("filter trace\n filter cache d\n USE", explicit),
        ("filter trace\n http-response cache-store c", explicit),
        ("filter compression\n USE", before),
        ("filter compression\n filter cache c\n USE", before),
        ("filter compression\n filter cache c", before),
        ("filter compression\n compression algo gzip\n USE", before),
    ] {
        assert_eq!(alerts_of_backend(&lines.replace("USE", USE)), [message], "{lines}");
    }
}

#[test]
fn rules_of_defaults_name_caches_of_the_sections_that_inherit_them() {
    let text = |filter: &str| {
        format!(
            "cache c\n total-max-size 4\ndefaults d\n mode http\n http-request cache-use c\n\
             backend b from d\n {filter}\n server s 127.0.0.1:80\n"
        )
    };
    assert_eq!(messages(&text("filter cache c"), Severity::Alert), [""; 0]);
    let explicit = "backend 'b': require an explicit filter declaration to use the cache 'c'.";
    assert_eq!(messages(&text("filter trace"), Severity::Alert), [explicit]);
}

#[test]
fn words_beyond_haproxys_are_off_until_they_are_given() {
    let caches = model(
        "cache a\n total-max-size 4\ncache b\n total-max-size 4\n coalesce 5s\n ranges on\n \
         revalidate 60\n stale-if-error 600\n stale-while-revalidate 30\n",
    )
    .caches;
    let found: Vec<_> = caches
        .iter()
        .map(|it| {
            let rules = &it.rules;
            let stale = (rules.stale_if_error, rules.stale_while_revalidate);
            (it.coalesce, it.ranges, rules.keep_for_validation, stale)
        })
        .collect();
    assert_eq!(found, [(None, false, 0, (0, 0)), (Some(5000), true, 60, (600, 30))]);
    for (line, expected) in [
        ("ranges maybe", "'ranges' expects \"on\" or \"off\""),
        ("revalidate 5s", "'revalidate' expects a number of seconds"),
        ("stale-if-error -1", "'stale-if-error' expects a number of seconds"),
        ("stale-while-revalidate", "'stale-while-revalidate' expects a number of seconds"),
        ("coalesce soon", "'coalesce'"),
    ] {
        let text = format!("cache c\n total-max-size 4\n {line}\n");
        let alerts = messages(&text, Severity::Alert);
        assert!(alerts.iter().any(|said| said.contains(expected)), "{line}: {alerts:?}");
    }
}
