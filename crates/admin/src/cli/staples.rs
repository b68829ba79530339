//! `show|set ssl ocsp-response` and `show ssl providers` (management.txt 9.3).

use super::call::{Call, Reply};
use super::certificates::said;
use std::fmt::Write as _;
use tls::runtime::{ShownStaple, StapleRefusal, Unfit};

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

/// `show ssl providers`
pub(super) fn providers(_: &mut Call<'_>) -> Reply {
    let names = tls::providers();
    let names: String = names.iter().map(|name| format!("\t- {name}\n")).collect();
    Reply::Dump(format!("Loaded providers : \n{names}"))
}
