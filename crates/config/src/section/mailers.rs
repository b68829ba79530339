//! `mailers` sections (section 3.6).
use crate::addr;
use crate::cx::Cx;
use crate::line::{Args, Parsed};
use crate::model::{Mailer, Mailers};
use crate::parse::values::time_at;
use crate::value::Unit;

/// One line of a `mailers` section.
pub(crate) fn line(section: &mut Mailers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
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
