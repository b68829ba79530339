//! Arguments that many keywords share: flags, numbers, times, texts.
use crate::line::{Args, Parsed};
use crate::value::{self, Timed, Unit, ValueError};
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

/// The integer at argument `n`, within bounds; other text behind it is ignored with a warning.
pub(crate) fn number_at(args: Args<'_>, n: usize, range: RangeInclusive<u32>) -> Parsed<u32> {
    within(args, n, args.leading(n), range)
}

/// An integer, where HAProxy accepts digits only.
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

/// A limit at argument `n`: what a C program keeps of it as a number without sign, so that a
/// negative one is no limit.
pub(super) fn limit_at(args: Args<'_>, n: usize) -> Parsed<u32> {
    let name = args.text(n.saturating_sub(1));
    let number = args.wrapped(n);
    let number =
        number.ok_or_else(|| args.fault(n, format!("'{name}' expects an integer argument.")))?;
    if number < 0 {
        args.note(n, format!("'{name}' : '{}' is no limit", args.text(n)));
    }
    Ok(u32::try_from(number).unwrap_or(i32::MAX as u32))
}

/// The same where HAProxy reads a missing argument as 0, which is warned of.
pub(super) fn limit_or_zero(args: Args<'_>) -> Parsed<u32> {
    if args.get(1).is_none() {
        args.note(0, format!("'{}' without a number is read as 0", args.text(0)));
        return Ok(0);
    }
    limit_at(args, 1)
}

/// A number at argument `n`, sign and all, with nothing behind it; kept as a C program does.
pub(super) fn whole(args: Args<'_>, n: usize) -> Option<i32> {
    let (digits, rest) = stdx::leading_number::split(args.get(n)?);
    (rest.is_empty() && !digits.is_empty()).then(|| args.wrapped(n)).flatten()
}

/// A custom number of a section, a server or a listener; `expected` is the message for another
/// value.
pub(super) fn id(args: Args<'_>, expected: &str) -> Parsed<u32> {
    let id = args.wrapped(1).and_then(|id| u32::try_from(id).ok()).filter(|id| *id > 0);
    id.ok_or_else(|| args.fault(1, expected))
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
pub(super) fn log_tag(args: Args<'_>) -> Parsed<String> {
    let tag = args.need(1, "'log-tag' expects a tag for use in syslog.")?;
    args.ignores_behind(1);
    Ok(tag.to_owned())
}

/// One time in ms; `subject` ends the sentence "unexpected character 'x' in ...".
pub(super) fn time(args: Args<'_>, subject: &str) -> Parsed<u64> {
    args.need(1, format!("'{}' expects <time> as argument.", args.text(0)))?;
    args.ignores_behind(1);
    time_at(args, 1, Unit::Milliseconds, subject)
}

/// A time in seconds at argument `n`.
///
/// # Errors
/// As [`time_at`].
pub(super) fn seconds_at(args: Args<'_>, n: usize, subject: &str) -> Parsed<u32> {
    let given = args.text(n);
    noted(args, n, value::seconds(given))
        .map_err(|e| args.fault_at(n, e.offset(), e.message(given, subject)))
}

/// The time at argument `n`, in ms.
pub(crate) fn time_at(args: Args<'_>, n: usize, unit: Unit, subject: &str) -> Parsed<u64> {
    let given = args.text(n);
    noted(args, n, value::time(given, unit))
        .map_err(|e| args.fault_at(n, e.offset(), e.message(given, subject)))
}

/// The time of argument `n`; a warning tells what is ignored behind its unit.
pub(super) fn noted<T>(args: Args<'_>, n: usize, read: Timed<T>) -> Result<T, ValueError> {
    let (time, odd) = read?;
    if let Some(odd) = odd {
        args.note(n, odd);
    }
    Ok(time)
}
