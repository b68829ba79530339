//! `user`, `group`, `uid`, `gid`: names and numbers of accounts.
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::value;
use std::path::Path;

/// `uid` or `gid`: a number.
pub(super) fn id(args: Args<'_>, other: &str) -> Parsed<Option<u32>> {
    args.no_more_than(1)?;
    let name = args.text(0);
    let given = args.need(1, format!("'{name}' expects an integer argument."))?;
    let id = value::number(given);
    if id.is_none() {
        // As in HAProxy, the line has no effect then.
        let message = format!(
            "{name}: string '{given}' is not a number. You might want to use the '{other}' parameter to use a system {other} name."
        );
        args.note(1, message);
    }
    Ok(id)
}

/// `user`: the number of an account.
pub(crate) fn user(cx: &Cx<'_>, args: Args<'_>) -> Parsed<u32> {
    account(cx, args, "/etc/passwd", "user")
}

/// `group`: the number of a group.
pub(crate) fn group(cx: &Cx<'_>, args: Args<'_>) -> Parsed<u32> {
    account(cx, args, "/etc/group", "group")
}

fn account(cx: &Cx<'_>, args: Args<'_>, file: &str, what: &str) -> Parsed<u32> {
    let expected = format!("'{}' expects a {what} name as an argument.", args.text(0));
    let name = args.need(1, expected)?;
    lookup(cx, file, name)
        .ok_or_else(|| args.fault(1, format!("cannot find {what} id for '{name}'")))
}

/// The third field of the line that starts with the name: both files have it there.
fn lookup(cx: &Cx<'_>, file: &str, name: &str) -> Option<u32> {
    let bytes = cx.files.read(Path::new(file)).ok()?;
    String::from_utf8_lossy(&bytes).lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1).and_then(value::number)).flatten()
    })
}
