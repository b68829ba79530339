//! `show|new|set|add|commit|abort|del ssl ca-file`, and the same for `crl-file` (management.txt
//! 9.3).

use super::call::{Call, Reply};
use super::certificates::{aborted, committed, deleted, describe, listing, said, why};
use std::fmt::Write as _;
use tls::runtime::{Content, Refusal, Status};
use tls::{Purpose, Revocations};

/// The subject of a command.
#[derive(Clone, Copy)]
struct AuthorityKind {
    purpose: Purpose,
    /// The third word of the command.
    word: &'static str,
    /// The name of such a file.
    name: &'static str,
    /// Its contents.
    contents: &'static str,
}

const CA: AuthorityKind =
    AuthorityKind { purpose: Purpose::Trust, word: "ca-file", name: "CA", contents: "CAs" };
const CRL: AuthorityKind =
    AuthorityKind { purpose: Purpose::Revocation, word: "crl-file", name: "CRL", contents: "CRLs" };

impl AuthorityKind {
    /// The kind of file that the third word of a command names.
    fn of(call: &Call<'_>) -> Self {
        if call.word(2) == CRL.word { CRL } else { CA }
    }
}

/// `show ssl ca-file|crl-file [<file>[:<index>]]`; `*<file>` shows the result of the open
/// transaction.
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let kind = AuthorityKind::of(call);
    let asked = call.word(3);
    if asked.is_empty() {
        return Reply::Dump(all(call, kind));
    }
    let (drafted, rest) = match asked.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, asked),
    };
    let (name, index) = match rest.rsplit_once(':') {
        None => (rest, None),
        Some((name, index)) => match index.parse::<usize>() {
            Ok(index @ 1..) => (name, Some(index)),
            _ => {
                let text = format!("wrong {} index after colons in '{asked}'!", kind.name);
                return Reply::error(text).bare();
            }
        },
    };
    let runtime = &call.settings.tls;
    let content = match drafted {
        true => runtime.drafted_content(name, kind.purpose),
        false => runtime.content(name, kind.purpose),
    };
    let Some(content) = content else {
        return Reply::error(format!("Can't display the {} file : Not found!", kind.name));
    };
    let shown = if drafted { format!("*{name}") } else { name.to_owned() };
    Reply::Dump(text(kind, &shown, &content, index))
}

/// All files, the file of the transaction first.
fn all(call: &Call<'_>, kind: AuthorityKind) -> String {
    let runtime = &call.settings.tls;
    let written = |(name, count): (String, usize)| match kind.purpose {
        Purpose::Trust => format!("{name} - {count} certificate(s)"),
        Purpose::Revocation => name,
    };
    let names: Vec<_> = runtime.authorities(kind.purpose).into_iter().map(written).collect();
    // The header is written even for an empty list, unlike that of certificates.
    let header = if names.is_empty() { "# filename\n" } else { "" };
    listing(runtime.ongoing_authorities(kind.purpose).map(written), names) + header
}

/// The contents of a file, or the one with this number.
fn text(kind: AuthorityKind, name: &str, content: &Content, index: Option<usize>) -> String {
    let wanted = |at: usize| index.is_none_or(|index| index == at + 1);
    let mut out = format!("Filename: {name}\nStatus: {}\n", content.status.name());
    match kind.purpose {
        Purpose::Trust => {
            let all = content.certificates.iter().enumerate();
            let found: Vec<_> = all.filter(|(at, _)| wanted(*at)).collect();
            if found.is_empty() {
                return String::new();
            }
            for (at, details) in found {
                // Writing to a string cannot fail.
                let _ = write!(out, " \nCertificate #{}:\n", at + 1);
                describe(details, &mut out);
            }
        }
        Purpose::Revocation => {
            let all = content.lists.iter().enumerate();
            let found: Vec<_> = all.filter(|(at, _)| wanted(*at)).collect();
            if found.is_empty() && content.status != Status::Empty {
                return String::new();
            }
            for (at, list) in found {
                let _ = write!(out, " \nCertificate Revocation List #{}:\n", at + 1);
                describe_list(list, &mut out);
            }
        }
    }
    out
}

fn describe_list(list: &Revocations, out: &mut String) {
    let (last, next) = &list.updates;
    let _ = write!(out, "Version {}\nSignature Algorithm: {}\n", list.version, list.signature);
    let _ = write!(out, "Issuer: {}\nLast Update: {last}\nNext Update: {next}\n", list.issuer);
    if list.revoked.is_empty() {
        out.push_str("No Revoked Certificates.\n");
        return;
    }
    out.push_str("Revoked Certificates:\n");
    for (serial, date) in &list.revoked {
        let _ = write!(out, "    Serial Number: {serial}\n        Revocation Date: {date}\n");
    }
}

/// `new ssl ca-file|crl-file <file>`
pub(super) fn new(call: &mut Call<'_>) -> Reply {
    let (kind, name) = (AuthorityKind::of(call), call.word(3));
    if name.is_empty() {
        return Reply::error(format!("'new ssl {}' expects a filename", kind.word));
    }
    match call.settings.tls.new_authorities(name, kind.purpose) {
        Ok(()) => said(format!("New {} file created '{name}'!", kind.name)),
        Err(_) => Reply::error(format!("{} file '{name}' already exists!", kind.name)),
    }
}

/// `set ssl ca-file|crl-file <file> <payload>`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    change(call, false)
}

/// `add ssl ca-file <file> <payload>`
pub(super) fn add(call: &mut Call<'_>) -> Reply {
    change(call, true)
}

fn change(call: &Call<'_>, more: bool) -> Reply {
    let (kind, name) = (AuthorityKind::of(call), call.word(3));
    let (false, Some(payload)) = (name.is_empty(), call.payload) else {
        return Reply::error(format!(
            "'{} ssl {} expects a filename and {} as a payload",
            call.word(0),
            kind.word,
            kind.contents
        ));
    };
    match call.settings.tls.set_authorities(name, kind.purpose, payload, more) {
        Ok(begun) => {
            let what = if begun.new { "created" } else { "updated" };
            said(format!("transaction {what} for {} {name}!", kind.name))
        }
        Err(refusal) => {
            let why = why(&refusal, &format!("a {} file", kind.name), name);
            Reply::error(format!("{why}\nCan't update {name}!"))
        }
    }
}

/// `commit ssl ca-file|crl-file <file>`
pub(super) fn commit(call: &mut Call<'_>) -> Reply {
    let (kind, name) = (AuthorityKind::of(call), call.word(3));
    if name.is_empty() {
        // HAProxy has this text for both kinds.
        return Reply::error("'commit ssl ca-file expects a filename");
    }
    committed(name, call.settings.tls.commit_authorities(name, kind.purpose))
}

/// `abort ssl ca-file|crl-file <file>`
pub(super) fn abort(call: &mut Call<'_>) -> Reply {
    let (kind, name) = (AuthorityKind::of(call), call.word(3));
    if name.is_empty() {
        return Reply::error(format!("'abort ssl {}' expects a filename", kind.word));
    }
    aborted(name, call.settings.tls.abort_authorities(name, kind.purpose))
}

/// `del ssl ca-file|crl-file <file>`
pub(super) fn del(call: &mut Call<'_>) -> Reply {
    let (kind, name) = (AuthorityKind::of(call), call.word(3));
    if name.is_empty() {
        return Reply::error(format!("'del ssl {}' expects a {} file name", kind.word, kind.name));
    }
    let result: Result<(), Refusal> = call.settings.tls.delete_authorities(name, kind.purpose);
    let called = format!("{} file", kind.name);
    if result == Err(Refusal::Otherwise) {
        let other = if kind.word == CA.word { CRL } else { CA };
        let why = format!("'del ssl {}' does not work on {} files!", kind.word, other.name);
        return Reply::error(format!("Can't remove the {called}: {why}"));
    }
    deleted((&called, &called), name, result)
}
