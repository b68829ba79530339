//! `mailers` sections (section 3.6) and `email-alert` lines (section 4.2). Never sends a mail.
use super::values::time_at;
use crate::addr;
use crate::cx::Cx;
use crate::draft::DraftProxy;
use crate::line::{Args, Parsed};
use crate::model::{At, LEVELS, LogLevel, Mailer, Mailers};
use crate::value::Unit;

/// One line of a `mailers` section.
pub(super) fn line(section: &mut Mailers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match args.text(0) {
        "mailer" => mailer(section, cx, args),
        "timeout" => timeout(section, args),
        other => {
            let unknown = format!("unknown keyword '{other}' in 'mailers' section");
            let nearest = crate::suggest::nearest(other, ["mailer", "timeout"]);
            Err(args.fault(0, unknown).suggest(nearest))
        }
    }
}

fn mailer(section: &mut Mailers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'mailer' expects <name> and <addr>[:<port>] as arguments.";
    let name = args.need(1, expected)?;
    let given = cx.address(args.need(2, expected)?);
    args.ignores_behind(2);
    let address = addr::stream(&given, cx.names)
        .map_err(|error| args.fault(2, error).within(&format!("'mailer {name}'")))?;
    section.mailers.push(Mailer { name: name.to_owned(), address });
    Ok(())
}

/// `timeout mail <time>`
fn timeout(section: &mut Mailers, args: Args<'_>) -> Parsed {
    let expected = "'timeout' expects 'mail' and <time> as arguments";
    match args.get(1) {
        None => return Err(args.fault(1, format!("{expected}."))),
        Some("mail") => {}
        Some(other) => return Err(args.fault(1, format!("{expected} got '{other}'."))),
    }
    args.need(2, "'timeout mail' expects <time> as argument.")?;
    args.ignores_behind(2);
    let subject = "argument to <timeout mail>.";
    section.timeout = time_at(args, 2, Unit::Milliseconds, subject)?;
    Ok(())
}

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
