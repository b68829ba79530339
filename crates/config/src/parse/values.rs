//! Arguments that many keywords share: flags, numbers, times, texts. Never knows which keyword asked.
use crate::cx::Cx;
use crate::line::{Args, Parsed};
use crate::value::{self, Unit};
use std::ops::RangeInclusive;

/// A keyword without argument sets a flag.
pub(super) fn flag(args: Args<'_>, to: &mut bool) -> Parsed {
    args.no_more_than(0)?;
    *to = true;
    Ok(())
}

/// One integer within bounds.
pub(super) fn integer(args: Args<'_>, range: RangeInclusive<u32>) -> Parsed<u32> {
    args.no_more_than(1)?;
    number_at(args, 1, range)
}

/// The integer at argument `n`, within bounds; what does not belong to it is ignored and told.
pub(super) fn number_at(args: Args<'_>, n: usize, range: RangeInclusive<u32>) -> Parsed<u32> {
    within(args, n, args.leading(n), range)
}

/// The same where HAProxy takes nothing but digits.
pub(super) fn digits_at(args: Args<'_>, n: usize, range: RangeInclusive<u32>) -> Parsed<u32> {
    within(args, n, args.get(n).and_then(value::number), range)
}

fn within(
    args: Args<'_>,
    n: usize,
    number: Option<u32>,
    range: RangeInclusive<u32>,
) -> Parsed<u32> {
    let name = args.text(n - 1);
    let number =
        number.ok_or_else(|| args.fault(n, format!("'{name}' expects an integer argument.")))?;
    if range.contains(&number) {
        return Ok(number);
    }
    let (low, high) = range.into_inner();
    Err(args.fault(n, format!("'{name}' value must be between {low} and {high} (was {number})")))
}

/// `on` or `off`.
pub(super) fn on_off(args: Args<'_>) -> Parsed<bool> {
    args.no_more_than(1)?;
    match args.text(1) {
        "on" => Ok(true),
        "off" => Ok(false),
        other => {
            let name = args.text(0);
            Err(args.fault(1, format!("'{name}' expects either 'on' or 'off' but got '{other}'.")))
        }
    }
}

/// One text; `expected` ends the sentence "'keyword' expects ...".
pub(super) fn text(args: Args<'_>, expected: &str) -> Parsed<String> {
    let message = format!("'{}' expects {expected}", args.text(0));
    let text = args.need(1, message)?.to_owned();
    args.no_more_than(1)?;
    Ok(text)
}

/// The tag of `log-tag`; a second word has no effect, as a warning says.
pub(super) fn log_tag(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed<String> {
    let tag = args.need(1, "'log-tag' expects a tag for use in syslog.")?.to_owned();
    if let Some(extra) = args.get(2) {
        cx.warn(args, 2, format!("'log-tag' takes one word: '{extra}' is ignored."));
    }
    Ok(tag)
}

/// One time in ms; `subject` ends the sentence "unexpected character 'x' in ...".
pub(super) fn time(args: Args<'_>, subject: &str) -> Parsed<u64> {
    args.need(1, format!("'{}' expects <time> as argument.", args.text(0)))?;
    args.no_more_than(1)?;
    time_at(args, 1, Unit::Milliseconds, subject)
}

/// A time in seconds at argument `n`.
///
/// # Errors
/// As [`time_at`].
pub(super) fn seconds_at(args: Args<'_>, n: usize, subject: &str) -> Parsed<u32> {
    let given = args.text(n);
    value::seconds(given).map_err(|e| args.fault_at(n, e.offset(), e.message(given, subject)))
}

/// The time at argument `n`, in ms.
pub(super) fn time_at(args: Args<'_>, n: usize, unit: Unit, subject: &str) -> Parsed<u64> {
    let given = args.text(n);
    value::time(given, unit).map_err(|e| args.fault_at(n, e.offset(), e.message(given, subject)))
}
