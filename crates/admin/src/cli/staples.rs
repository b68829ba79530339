//! `show|set|update ssl ocsp-response`, `show ssl ocsp-updates` and `show ssl providers` (management.txt 9.3).

use super::call::{Call, Reply};
use super::certificates::said;
use sample::calendar::Date;
use std::fmt::Write as _;
use tls::Runtime;
use tls::runtime::{ShownStaple, StapleQuery, StapleRefusal, Unfit, UpdateStatus};

/// `show ssl ocsp-response [<id>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let runtime = &call.settings.tls;
    let id = call.word(3);
    if !id.is_empty() {
        return match runtime.staple_by_id(id) {
            Some(der) => response(&der),
            None => Reply::error("Certificate ID does not match any certificate."),
        };
    }
    let staples = runtime.staples();
    let mut out = String::new();
    if !staples.is_empty() {
        out.push_str("# Certificate IDs\n");
    }
    for ShownStaple { id, name_hash, key_hash, serial } in staples {
        // Writing to a string cannot fail.
        let _ = write!(out, "Certificate ID key : {id}\n Certificate ID:\n");
        let _ = write!(out, "   Issuer Name Hash: {name_hash}\n   Issuer Key Hash: {key_hash}\n");
        let _ = writeln!(out, "   Serial Number: {serial}");
    }
    Reply::Dump(out)
}

/// An answer of an authority, as people read it. An empty line would end that of the command.
pub(super) fn response(der: &[u8]) -> Reply {
    let Some(text) = tls::response_text(der) else { return Reply::Done };
    let lines = text.lines().map(|line| if line.is_empty() { " " } else { line });
    Reply::Dump(lines.fold(String::new(), |all, line| all + line + "\n"))
}

/// `set ssl ocsp-response <response|payload>`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let given = call.payload.unwrap_or(call.word(3));
    if given.is_empty() {
        return Reply::error("'set ssl ocsp-response' expects response in base64 encoding.");
    }
    match call.settings.tls.set_staple(given) {
        Ok(()) => said("OCSP Response updated!".to_owned()),
        Err(StapleRefusal::Encoding) => {
            Reply::error("'set ssl ocsp-response' received invalid base64 encoded response.")
        }
        Err(StapleRefusal::Unfit(Unfit::Foreign)) => Reply::error(
            "OCSP single response: Certificate ID does not match any certificate or issuer.",
        ),
        Err(StapleRefusal::Unfit(unfit)) => Reply::error(format!("{unfit}.")),
    }
}

/// `update ssl ocsp-response <certfile>`
pub(super) fn update(call: &mut Call<'_>) -> Reply {
    let file = call.word(3);
    if file.is_empty() {
        return Reply::error("'update ssl ocsp-response' expects the file of a certificate.");
    }
    match call.settings.tls.staple_query(file) {
        Some(query) => Reply::Staple(Box::new(query)),
        None => Reply::error(format!(
            "'update ssl ocsp-response': '{file}' has no OCSP response, or names no responder."
        )),
    }
}

/// The end of an update: the response as people read it.
pub(super) fn updated(runtime: &Runtime, query: &StapleQuery, status: UpdateStatus) -> Reply {
    match (status, runtime.staple_by_id(&query.shown_id())) {
        (UpdateStatus::Successful, Some(der)) => response(&der),
        _ => Reply::error(format!("Can't update the OCSP response: {}.", status.text())),
    }
}

/// `show ssl ocsp-updates`
pub(super) fn show_updates(call: &mut Call<'_>) -> Reply {
    let mut out = "OCSP Certid | Path | Next Update | Last Update | Successes | Failures | Last \
                   Update Status | Last Update Status (str)\n"
        .to_owned();
    for update in call.settings.tls.updates() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} | {} | {} | {} | {} | {} | {} | {}",
            update.id,
            update.path,
            date(update.next),
            date(update.last),
            update.successes,
            update.failures,
            update.status.number(),
            update.status.text()
        );
    }
    Reply::Dump(out)
}

/// A moment in seconds since 1970, as log lines in the common format have it.
fn date(seconds: Option<i64>) -> String {
    let Some(seconds) = seconds else { return "-".to_owned() };
    let mut out = Vec::new();
    Date::new(seconds, 0).write_clf(&mut out);
    String::from_utf8_lossy(&out).into_owned() + " +0000"
}

/// `show ssl providers`
pub(super) fn providers(_: &mut Call<'_>) -> Reply {
    let names = tls::providers();
    let names: String = names.iter().map(|name| format!("\t- {name}\n")).collect();
    Reply::Dump(format!("Loaded providers : \n{names}"))
}
