//! `email-alert` lines (section 4.2).
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::line::{Args, Parsed};
use crate::model::{At, LEVELS, LogLevel};

/// One `email-alert` line.
pub(super) fn alert(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let what = args.need(1, "missing argument after 'email-alert'.")?;
    let needed = || args.need(2, format!("missing argument after '{what}'."));
    let value = || match args.get(2) {
        Some(given) => given,
        None => {
            args.note(1, format!("missing argument after '{what}'"));
            ""
        }
    };
    let mail = &mut proxy.settings.mail;
    match what {
        "from" => mail.from = Some(value().to_owned()),
        "to" => mail.to = Some(value().to_owned()),
        "myhostname" => mail.hostname = Some(value().to_owned()),
        "mailers" => {
            mail.mailers = Some(At { value: value().to_owned(), place: args.place().clone() });
        }
        "level" => {
            let given = needed()?;
            let Some(number) = LEVELS.iter().position(|level| *level == given) else {
                let fault = args.fault(2, format!("unknown log level '{given}' after 'level'"));
                return Err(fault.suggest(crate::suggest::nearest(given, LEVELS)));
            };
            mail.level = Some(LogLevel(number as u8));
        }
        other => {
            let fault = args.fault(1, format!("email-alert: unknown argument '{other}'."));
            let known = ["from", "level", "mailers", "myhostname", "to"];
            return Err(fault.suggest(crate::suggest::nearest(other, known)));
        }
    }
    args.ignores_behind(2);
    Ok(())
}
