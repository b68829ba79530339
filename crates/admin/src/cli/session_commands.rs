//! Commands about the session itself.

use super::call::{Call, Reply, Severity};
use crate::settings::{Level, Reload, SeverityOutput};

pub(super) fn prompt(call: &mut Call<'_>) -> Reply {
    call.state.interactive = !call.state.interactive;
    Reply::Done
}

pub(super) fn quit(call: &mut Call<'_>) -> Reply {
    call.state.quitting = true;
    Reply::Done
}

pub(super) fn level(call: &mut Call<'_>) -> Reply {
    Reply::Message(Severity::Info, call.state.level.name().to_owned())
}

pub(super) fn operator(call: &mut Call<'_>) -> Reply {
    lower(call, Level::Operator)
}

pub(super) fn user(call: &mut Call<'_>) -> Reply {
    lower(call, Level::User)
}

fn lower(call: &mut Call<'_>, to: Level) -> Reply {
    if call.state.level < to {
        return Reply::error("Permission denied");
    }
    call.state.level = to;
    quietly(call, 1)
}

/// A master, which puts a dash behind the commands that it sends for its client, gets no answer.
fn quietly(call: &Call<'_>, at: usize) -> Reply {
    if call.word(at) == "-" { Reply::Silence } else { Reply::Done }
}

pub(super) fn expert(call: &mut Call<'_>) -> Reply {
    let (word, done) = (call.word(1).to_owned(), quietly(call, 2));
    toggle("expert-mode", &word, &mut call.state.expert, done)
}

pub(super) fn experimental(call: &mut Call<'_>) -> Reply {
    let (word, done) = (call.word(1).to_owned(), quietly(call, 2));
    toggle("experimental-mode", &word, &mut call.state.experimental, done)
}

fn toggle(name: &str, word: &str, mode: &mut bool, done: Reply) -> Reply {
    if word.is_empty() {
        let now = if *mode { "ON" } else { "OFF" };
        return Reply::Message(Severity::Info, format!("{name} is {now}"));
    }
    *mode = word == "on";
    done
}

/// `_signal`: a master that the system forbids to signal this process has it raise the signal.
pub(super) fn signal(call: &mut Call<'_>) -> Reply {
    if !call.state.of_master {
        return Reply::error("Only the master's connection takes signals.");
    }
    let Ok(number) = call.word(1).parse() else {
        return Reply::error("A signal number is expected.");
    };
    match (call.settings.raise)(number) {
        Ok(()) => Reply::Message(Severity::Info, format!("Signal {number} raised.")),
        Err(error) => Reply::error(format!("Cannot raise signal {number}: {error}")),
    }
}

/// `_reload_failed`: a master tells the worker that goes on of a reload that failed, for the
/// dashboard. The message is one word, whose blanks are underscores.
pub(super) fn reload_failed(call: &mut Call<'_>) -> Reply {
    if !call.state.of_master {
        return Reply::error("Only the master's connection tells of reloads.");
    }
    let (Ok(at), Ok(pid)) = (call.word(1).parse(), call.word(2).parse()) else {
        return Reply::error("A date, a process and a message are expected.");
    };
    let text = call.word(3).replace('_', " ");
    call.settings.reloads.add(Reload { at, pid, failed: true, text });
    Reply::Done
}

pub(super) fn severity(call: &mut Call<'_>) -> Reply {
    call.state.severity = match call.word(2) {
        "none" => SeverityOutput::None,
        "number" => SeverityOutput::Number,
        "string" => SeverityOutput::Text,
        _ => return Reply::error("one of 'none', 'number', 'string' is a required argument"),
    };
    Reply::Done
}

pub(super) fn timeout(call: &mut Call<'_>) -> Reply {
    if call.word(2) != "cli" {
        return Reply::error("'set timeout' only supports 'cli'.");
    }
    if call.word(3).is_empty() {
        return Reply::error("Expects an integer value.");
    }
    match milliseconds(call.word(3)) {
        Some(time) => {
            call.state.timeout_ms = Some(time);
            Reply::Done
        }
        None => Reply::error("Invalid timeout value."),
    }
}

/// A time of some length, in seconds or in another unit if one is named (configuration manual,
/// section 2.5). Text behind the unit is ignored, as in HAProxy.
fn milliseconds(text: &str) -> Option<u32> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let value: u64 = text[..digits].parse().ok()?;
    let ms = match &text.as_bytes()[digits..] {
        [b'u', b's', ..] => value.div_ceil(1_000),
        [b'm', b's', ..] => value,
        [] | [b's', ..] => value.checked_mul(1_000)?,
        [b'm', ..] => value.checked_mul(60_000)?,
        [b'h', ..] => value.checked_mul(3_600_000)?,
        [b'd', ..] => value.checked_mul(86_400_000)?,
        _ => return None,
    };
    u32::try_from(ms).ok().filter(|ms| (1..=i32::MAX as u32).contains(ms))
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times_have_units() {
        assert_eq!(milliseconds("10"), Some(10_000));
        assert_eq!(milliseconds("10ms"), Some(10));
        assert_eq!(milliseconds("2m"), Some(120_000));
        assert_eq!(milliseconds("15min"), Some(900_000));
        assert_eq!(milliseconds("1h30m"), Some(3_600_000));
        assert_eq!(milliseconds("1500us"), Some(2));
        for bad in ["", "0", "0s", "x", "1x", "99999999999999999999", "9999999d", "-1"] {
            assert_eq!(milliseconds(bad), None, "{bad}");
        }
    }
}
