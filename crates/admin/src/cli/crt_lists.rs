//! `show|add|del ssl crt-list` (management.txt 9.3).

use super::call::{Call, Reply};
use super::certificates::said;
use std::fmt::Write as _;
use tls::runtime::ListRefusal;

/// `show ssl crt-list [-n] [<list>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let numbered = call.word(3) == "-n";
    let name = call.word(3 + usize::from(numbered));
    if name.is_empty() && numbered {
        return Reply::error("'show ssl crt-list -n' expects a filename or a directory");
    }
    let runtime = &call.settings.tls;
    if name.is_empty() {
        return Reply::Dump(runtime.lists().iter().map(|name| format!("{name}\n")).collect());
    }
    let Some((name, entries)) = runtime.list(name) else {
        return Reply::error("didn't find the specified filename");
    };
    let mut out = format!("# {name}\n");
    for entry in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", entry.written(numbered));
    }
    Reply::Dump(out)
}

/// `add ssl crt-list <list> <certificate>|<payload>`
pub(super) fn add(call: &mut Call<'_>) -> Reply {
    let (name, certificate) = (call.word(3), call.word(4));
    let line = call.payload.unwrap_or(certificate);
    if name.is_empty() || line.is_empty() {
        return Reply::error("'add ssl crtlist' expects a filename and a certificate name");
    }
    match call.settings.tls.add_to_list(name, line) {
        Ok((certificate, places)) => Reply::Dump(format!(
            "Inserting certificate '{certificate}' in crt-list '{}'{}\nSuccess!\n",
            name.trim_end_matches('/'),
            ".".repeat(places)
        )),
        Err(refusal) => {
            Reply::error(format!("Can't edit the crt-list: {}", why(refusal, name, certificate)))
        }
    }
}

fn why(refusal: ListRefusal, list: &str, certificate: &str) -> String {
    match refusal {
        ListRefusal::NoList => format!("crt-list '{list}' does not exist!"),
        ListRefusal::Lines => "only one line of payload is supported!".to_owned(),
        ListRefusal::Line(error) => error.to_string(),
        ListRefusal::NotLoaded { keyword, file } => format!("'{keyword}' : unable to load {file}"),
        ListRefusal::Impossible(error) => error.to_string(),
        ListRefusal::Elsewhere(path) => format!(
            "'{}' is a directory, certificate path '{path}' must contain the directory path",
            list.trim_end_matches('/')
        ),
        ListRefusal::NoCertificate(name) => format!("certificate '{name}' does not exist!"),
        ListRefusal::Empty(name) => format!("certificate '{name}' is empty!"),
        ListRefusal::Exists => "file already exists in this directory!".to_owned(),
        ListRefusal::NotThere => {
            format!("certificate '{certificate}' can't be found in crt-list '{list}'!")
        }
        ListRefusal::Ambiguous(lines) => format!(
            "found the certificate '{certificate}' in several entries, please specify a line \
             number preceded by colons ({})!",
            joined(&lines)
        ),
        ListRefusal::WrongLine(lines) => format!(
            "found a certificate '{certificate}' but the line number is incorrect, please specify \
             a correct line number preceded by colons ({})!",
            joined(&lines)
        ),
        ListRefusal::Default(places) => {
            let places: String = places.iter().map(|place| format!("\t- {place}\n")).collect();
            format!(
                "certificate '{certificate}' cannot be deleted, it is used as default certificate \
                 by the following frontends:\n{places}"
            )
        }
    }
}

fn joined(lines: &[u32]) -> String {
    lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// `del ssl crt-list <list> <certificate[:line]>`
pub(super) fn del(call: &mut Call<'_>) -> Reply {
    let (name, wanted) = (call.word(3), call.word(4));
    if name.is_empty() || wanted.is_empty() {
        return Reply::error("'del ssl crtlist' expects a filename and a certificate name");
    }
    let (certificate, line) = match wanted.rsplit_once(':') {
        None => (wanted, None),
        Some((certificate, line)) => match line.parse::<i64>() {
            // Entries of a directory are numbered so: as with HAProxy, it says nothing.
            Ok(0) => (certificate, None),
            // No list has as many lines.
            Ok(line) => (certificate, Some(u32::try_from(line).unwrap_or(u32::MAX))),
            Err(_) => {
                let why = format!("wrong line number after colons in '{wanted}'!");
                return Reply::error(format!("Can't delete the entry: {why}"));
            }
        },
    };
    match call.settings.tls.delete_from_list(name, certificate, line) {
        Ok(name) => said(format!("Entry '{certificate}' deleted in crtlist '{name}'!")),
        Err(refusal) => Reply::error(format!(
            "Can't delete the entry: {}",
            why(refusal, name.trim_end_matches('/'), certificate)
        )),
    }
}
