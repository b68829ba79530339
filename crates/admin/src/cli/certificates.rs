//! `show|new|set|commit|abort|del ssl cert` (management.txt 9.3).

use super::call::{Call, Reply, Severity};
use std::fmt::Write as _;
use tls::runtime::{Refusal, ShownCertificate};
use tls::{Details, Link};

/// `show ssl cert [<file>]`; `*<file>` is what a transaction will make of it, and `<file>.ocsp` the
/// answer of its authority.
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let runtime = &call.settings.tls;
    let asked = call.word(3);
    if asked.is_empty() {
        return Reply::Dump(listing(runtime.ongoing_certificate(), runtime.certificates()));
    }
    let (drafted, name) = match asked.strip_prefix('*') {
        Some(name) => (true, name),
        None => (false, asked),
    };
    let find = |name: &str| match drafted {
        true => runtime.drafted_certificate(name),
        false => runtime.certificate(name),
    };
    if let Some(shown) = find(name) {
        return Reply::Dump(format!("Filename: {asked}\n{}", text(&shown)));
    }
    match name.strip_suffix(".ocsp").filter(|name| find(name).is_some()) {
        Some(name) => match runtime.staple(name, drafted) {
            Some(der) => super::staples::response(&der),
            None => Reply::Done,
        },
        None => {
            Reply::error("Can't display the certificate: Not found or the certificate is a bundle!")
        }
    }
}

/// Names of files, that of a transaction first.
pub(super) fn listing(ongoing: Option<String>, names: Vec<String>) -> String {
    let mut out = String::new();
    if let Some(name) = ongoing {
        // Writing to a string cannot fail.
        let _ = write!(out, "# transaction\n*{name}\n");
    }
    if !names.is_empty() {
        out.push_str("# filename\n");
    }
    for name in names {
        let _ = writeln!(out, "{name}");
    }
    out
}

fn text(shown: &ShownCertificate) -> String {
    let mut out = format!("Status: {}\n", shown.status.name());
    if let Some(file) = &shown.chain_file {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "Chain Filename: {file}");
    }
    if let Some(details) = &shown.certificate {
        describe(details, &mut out);
    }
    for Link { subject, issuer } in &shown.chain {
        let _ = write!(out, "Chain Subject: {subject}\nChain Issuer: {issuer}\n");
    }
    let _ = writeln!(out, "OCSP Response Key: {}", shown.staple.as_deref().unwrap_or(""));
    out
}

/// The fields of a certificate.
pub(super) fn describe(details: &Details, out: &mut String) {
    let (start, end) = &details.period;
    let Link { subject, issuer } = &details.names;
    let _ = write!(out, "Serial: {}\nnotBefore: {start}\nnotAfter: {end}\n", details.serial);
    let _ = writeln!(out, "Subject Alternative Name: {}", details.alternative);
    let _ = write!(out, "Algorithm: {}\nSHA1 FingerPrint: ", details.algorithm);
    let _ = write!(out, "{}\nSubject: {subject}\nIssuer: {issuer}\n", details.sha1);
}

/// `new ssl cert <file>`
pub(super) fn new(call: &mut Call<'_>) -> Reply {
    let name = call.word(3);
    if name.is_empty() {
        return Reply::error("'new ssl cert' expects a filename");
    }
    match call.settings.tls.new_certificate(name) {
        Ok(()) => said(format!("New empty certificate store '{name}'!")),
        Err(_) => Reply::error(format!("Certificate '{name}' already exists!")),
    }
}

/// `set ssl cert <file> <payload>`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let name = call.word(3);
    let (false, Some(payload)) = (name.is_empty(), call.payload) else {
        return Reply::error("'set ssl cert expects a filename and a certificate as a payload");
    };
    match call.settings.tls.set_certificate(name, payload) {
        Ok(begun) => {
            let what = if begun.new { "created" } else { "updated" };
            said(format!("Transaction {what} for certificate {}!", begun.name))
        }
        Err(Refusal::Unreadable(why)) => {
            Reply::error(format!("{why}Can't load the payload\nCan't update {name}!"))
        }
        Err(refusal) => {
            let why = why(&refusal, "a certificate", name);
            Reply::error(format!("{why}\nCan't update {name}!"))
        }
    }
}

/// Why something cannot be set or committed.
pub(super) fn why(refusal: &Refusal, what: &str, name: &str) -> String {
    match refusal {
        Refusal::Ongoing(about) => {
            format!("The ongoing transaction is about '{about}' but you are trying to set '{name}'")
        }
        Refusal::Nothing => "No ongoing transaction! !".to_owned(),
        Refusal::Incomplete => {
            "The transaction must contain at least a certificate and a private key!".to_owned()
        }
        Refusal::Foreign => {
            format!("inconsistencies between private key and certificate loaded '{name}'.")
        }
        Refusal::Impossible(error) => error.to_string(),
        Refusal::Unreadable(why) => why.clone(),
        Refusal::Exists | Refusal::Unknown | Refusal::InUse | Refusal::Otherwise => {
            format!("Can't replace {what} which is not referenced by the configuration!")
        }
    }
}

/// Why a script cannot replace a certificate.
pub(crate) fn why_refused(refusal: &Refusal, name: &str) -> String {
    why(refusal, "a certificate", name)
}

/// `commit ssl cert <file>`
pub(super) fn commit(call: &mut Call<'_>) -> Reply {
    let name = call.word(3);
    if name.is_empty() {
        return Reply::error("'commit ssl cert expects a filename");
    }
    committed(name, call.settings.tls.commit_certificate(name))
}

/// The answer to a commit.
pub(super) fn committed(name: &str, result: Result<usize, Refusal>) -> Reply {
    match result {
        Ok(places) => Reply::Dump(format!("Committing {name}{}\nSuccess!\n", ".".repeat(places))),
        Err(refusal) => {
            let why = why(&refusal, "a certificate", name);
            Reply::error(format!("{why}\nCan't commit {name}!"))
        }
    }
}

/// `abort ssl cert <file>`
pub(super) fn abort(call: &mut Call<'_>) -> Reply {
    let name = call.word(3);
    if name.is_empty() {
        return Reply::error("'abort ssl cert' expects a filename");
    }
    aborted(name, call.settings.tls.abort_certificate(name))
}

/// The answer to an abort.
pub(super) fn aborted(name: &str, result: Result<(), Refusal>) -> Reply {
    match result {
        Ok(()) => said(format!("Transaction aborted for certificate '{name}'!")),
        Err(Refusal::Ongoing(about)) => Reply::error(format!(
            "The ongoing transaction is about '{about}' but you are trying to abort a \
             transaction for '{name}'"
        )),
        Err(_) => Reply::error("No ongoing transaction!"),
    }
}

/// `del ssl cert <file>`
pub(super) fn del(call: &mut Call<'_>) -> Reply {
    let name = call.word(3);
    if name.is_empty() {
        return Reply::error("'del ssl cert' expects a certificate name");
    }
    deleted(("Certificate", "certificate"), name, call.settings.tls.delete_certificate(name))
}

/// The reply to a deletion; `first` names the object at the beginning of a sentence, `within`
/// inside of one.
pub(super) fn deleted(
    (first, within): (&str, &str),
    name: &str,
    result: Result<(), Refusal>,
) -> Reply {
    let why = match result {
        Ok(()) => return said(format!("{first} '{name}' deleted!")),
        Err(Refusal::Ongoing(_)) => format!("ongoing transaction for the {within} '{name}'"),
        Err(Refusal::InUse) => format!("{within} '{name}' in use, can't be deleted!\n"),
        Err(_) => format!("{within} '{name}' doesn't exist!\n"),
    };
    Reply::error(format!("Can't remove the {within}: {why}"))
}

/// A change that is made.
pub(super) fn said(text: String) -> Reply {
    Reply::Message(Severity::Info, text)
}
