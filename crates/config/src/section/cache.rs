//! `cache` sections (section 6.2).
use super::{Finished, Lines, PLAIN, ReadLine, SectionKind, only_name, own};
use crate::context::Cx;
use crate::diag::{Diagnostic, Severity};
use crate::draft::Draft;
use crate::keyword::Keyword;
use crate::line::{Args, Parsed};
use crate::parse::values::time_at;
use crate::value::Unit;
use cache::CacheSettings;
use cache::response::StoreRules;

pub(super) const KIND: SectionKind = SectionKind {
    name: "cache",
    doc: "A cache of responses.",
    open,
    title: |draft, index| &draft.caches[index].name,
    lines: Lines::Own(KEYWORDS),
    finish,
    build: |draft, model| model.caches = std::mem::take(&mut draft.caches),
    ..PLAIN
};

/// `max-age` of a section without it, in seconds.
const MAX_AGE: u32 = 60;
/// `max-secondary-entries` of a section without it.
const MAX_SECONDARY: usize = 10;
/// Largest `total-max-size`, in MiB.
const MAX_TOTAL: u64 = 4095;
/// Part of the total that `max-object-size` is without its line.
const OBJECT_PART: u64 = 256;
/// Longest name in bytes; longer ones are truncated, as in HAProxy.
const MAX_NAME: usize = 32;

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("coalesce", "<time>", "Longest wait for what another request fetches.", |d, at, _, a| {
        coalesce(&mut d.caches[at], a)
    }),
    own("max-age", "<seconds>", "Longest time that a response is fresh.", |d, at, cx, a| {
        max_age(&mut d.caches[at], cx, a)
    }),
    own("max-object-size", "<bytes>", "Largest response.", |d, at, _, a| {
        d.caches[at].rules.max_object_size = saturated(whole_number(a)?);
        Ok(())
    }),
    own("max-secondary-entries", "<number>", "Most responses of one URL.", |d, at, _, a| {
        max_secondary_entries(&mut d.caches[at], a)
    }),
    own("process-vary", "{ on | off }", "Whether responses with Vary are kept.", |d, at, cx, a| {
        process_vary(&mut d.caches[at], cx, a)
    }),
    own("ranges", "{ on | off }", "Whether ranges are answered.", |d, at, _, a| {
        d.caches[at].ranges = switch(a)?;
        Ok(())
    }),
    own("revalidate", "<seconds>", "How long stale responses are validated.", |d, at, _, a| {
        d.caches[at].rules.keep_for_validation = seconds(a)?;
        Ok(())
    }),
    own("stale-if-error", "<seconds>", "How long they replace errors.", |d, at, _, a| {
        d.caches[at].rules.stale_if_error = seconds(a)?;
        Ok(())
    }),
    own("stale-while-revalidate", "<seconds>", "And serve meanwhile.", |d, at, _, a| {
        d.caches[at].rules.stale_while_revalidate = seconds(a)?;
        Ok(())
    }),
    own("total-max-size", "<megabytes>", "The memory of the cache.", |d, at, _, a| {
        total_max_size(&mut d.caches[at], a)
    }),
];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let given = only_name(cx, args, "'cache' expects a <name> argument");
    let end = given.floor_char_boundary(MAX_NAME);
    let name = &given[..end];
    if name != given {
        let most = MAX_NAME;
        let message = format!("cache name is limited to {most} characters, truncate to '{name}'.");
        cx.warn(args, 1, message);
    }
    if draft.caches.iter().any(|first| first.name == name) {
        cx.alert(args, args.fault(1, format!("Duplicate cache name '{name}'.")));
    }
    let rules = StoreRules {
        max_age: MAX_AGE,
        max_object_size: 0,
        process_vary: false,
        stale_while_revalidate: 0,
        stale_if_error: 0,
        keep_for_validation: 0,
    };
    draft.caches.push(CacheSettings {
        name: name.to_owned(),
        total_max_size: 0,
        max_secondary_entries: MAX_SECONDARY,
        ranges: false,
        coalesce: None,
        rules,
    });
    draft.caches.len() - 1
}

/// Sets `max-object-size` where it is not given, and checks the sizes of each section.
fn finish(draft: &mut Draft, finished: &Finished<'_>, cx: &mut Cx<'_>) {
    // After errors the faulty line may be the one that sets the size.
    if !finished.advise {
        return;
    }
    for cache in &mut draft.caches {
        let half = cache.total_max_size / 2;
        let message = if cache.total_max_size == 0 {
            format!("Size not specified for cache '{}'", cache.name)
        } else if u64::from(cache.rules.max_object_size) > half {
            format!("\"max-object-size\" is limited to an half of \"total-max-size\" => {half}")
        } else {
            if cache.rules.max_object_size == 0 {
                cache.rules.max_object_size = saturated(cache.total_max_size / OBJECT_PART);
            }
            continue;
        };
        cx.diagnostics.push(Diagnostic::general(Severity::Alert, message));
    }
}

/// An argument of digits alone. A number that is too large, or negative (which HAProxy accepts
/// too), becomes the largest number, so that the bounds refuse it.
fn whole_number(args: Args<'_>) -> Parsed<u64> {
    args.no_more_than(1)?;
    let given = args.text(1);
    let digits = given.strip_prefix('-').unwrap_or(given);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(args.fault(1, format!("{} wrong value '{given}'", args.text(0))));
    }
    let number = digits.parse().unwrap_or(u64::MAX);
    Ok(if given.starts_with('-') && number > 0 { u64::MAX } else { number })
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn total_max_size(cache: &mut CacheSettings, args: Args<'_>) -> Parsed {
    let megabytes = whole_number(args)?;
    if megabytes > MAX_TOTAL {
        let (given, most) = (args.text(1), MAX_TOTAL);
        let message = format!("\"total-max-size\" ({given}) must not be greater than {most}");
        return Err(args.fault(1, message));
    }
    cache.total_max_size = megabytes << 20;
    Ok(())
}

fn max_age(cache: &mut CacheSettings, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.no_more_than(1)?;
    match args.wrapped(1) {
        None => cx.warn(args, 1, "'max-age' expects an age parameter in seconds."),
        Some(seconds) => {
            if seconds < 0 {
                args.note(1, format!("'max-age' : '{}' is no limit", args.text(1)));
            }
            cache.rules.max_age = u32::try_from(seconds).unwrap_or(u32::MAX);
        }
    }
    Ok(())
}

/// A number of seconds, for words that HAProxy lacks: nothing but digits is accepted.
fn seconds(args: Args<'_>) -> Parsed<u32> {
    args.no_more_than(1)?;
    let (word, given) = (args.text(0), args.text(1));
    given.parse().map_err(|_| args.fault(1, format!("'{word}' expects a number of seconds")))
}

fn switch(args: Args<'_>) -> Parsed<bool> {
    args.no_more_than(1)?;
    match args.text(1) {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(args.fault(1, format!("'{}' expects \"on\" or \"off\"", args.text(0)))),
    }
}

fn coalesce(cache: &mut CacheSettings, args: Args<'_>) -> Parsed {
    args.no_more_than(1)?;
    let time = time_at(args, 1, Unit::Milliseconds, "'coalesce'")?;
    cache.coalesce = (time > 0).then(|| u32::try_from(time).unwrap_or(u32::MAX));
    Ok(())
}

fn process_vary(cache: &mut CacheSettings, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.no_more_than(1)?;
    match args.text(1) {
        "on" => cache.rules.process_vary = true,
        "off" => cache.rules.process_vary = false,
        _ => {
            let message =
                "'process-vary' expects \"on\" or \"off\" (enable or disable vary processing).";
            cx.warn(args, 1, message);
        }
    }
    Ok(())
}

fn max_secondary_entries(cache: &mut CacheSettings, args: Args<'_>) -> Parsed {
    let number = whole_number(args)?;
    if number == 0 {
        let given = args.text(1);
        return Err(args.fault(1, format!("max-secondary-entries wrong value '{given}'")));
    }
    cache.max_secondary_entries = usize::try_from(number).unwrap_or(usize::MAX);
    Ok(())
}
