//! Defines the object of a wrong line all the same, so that lines that name it are not reported too.
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::lex::Word;
use crate::line::{Args, Line};
use crate::parse::proxy;

/// Defines the settings of the line in a section.
pub(crate) fn define(section: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) {
    let Some(words) = instead(section, args) else { return };
    let words = words.into_iter().map(Word::plain).collect();
    let line = Line::new(words, "", args.place().clone());
    let told = std::mem::take(&mut cx.diagnostics);
    // Mistakes of this line were reported with the wrong one.
    let _ = proxy::line(section, cx, line.args());
    cx.diagnostics = told;
}

/// A line that is right and defines the same name.
fn instead<'a>(section: &DraftProxy, args: Args<'a>) -> Option<Vec<&'a str>> {
    let name = args.get(1)?;
    match args.text(0) {
        "acl" => Some(vec!["acl", name, "always_false"]),
        "server" if !section.server_names.contains_key(name) => {
            Some(vec!["server", name, "127.0.0.1:1", "check"])
        }
        "stick-table" if section.stick_table.is_none() => {
            Some(vec!["stick-table", "type", "ip", "size", "1"])
        }
        "declare" => Some(vec!["declare", name, args.text(2), "len", "1"]),
        _ => None,
    }
}
