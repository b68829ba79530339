//! Contexts of the library, built from options, certificates and authorities.

use crate::authority::{Authorities, Purpose};
use crate::certificate::Certificate;
use crate::ignored::Ignored;
use crate::key_log::KeyLog;
use crate::options::{Options, Verify};
use crate::settings::Defaults;
use crate::setup_error::{RefusedOption, SetupError};
use crate::store::{Files, Store};
use crate::verify_result::VerifyResult;
use crate::version::Version;
use ffi::Attached;
use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::ssl::{
    AlpnError, Ssl, SslContextBuilder, SslMethod, SslMode, SslOptions, SslRef, SslVerifyMode,
};
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509Name, X509StoreContext, X509StoreContextRef, X509VerifyResult};
use std::sync::{Arc, OnceLock};

/// Which side a context is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Server,
    Client,
}

/// The settings common to all contexts.
pub(crate) fn plain(side: Side) -> Result<SslContextBuilder, SetupError> {
    let method = match side {
        Side::Server => SslMethod::tls_server(),
        Side::Client => SslMethod::tls_client(),
    };
    let mut context = SslContextBuilder::new(method)?;
    context.set_mode(
        SslMode::RELEASE_BUFFERS
            | SslMode::ENABLE_PARTIAL_WRITE
            | SslMode::ACCEPT_MOVING_WRITE_BUFFER
            // Authorities that verify clients are not sent: the chain comes from files only.
            | SslMode::NO_AUTO_CHAIN,
    );
    context.set_options(ffi::usual_options());
    ffi::admit_asides(&mut context);
    // The library reads as much as its buffer holds, not record by record.
    context.set_read_ahead(true);
    if side == Side::Server {
        ffi::set_usual_tickets(&mut context);
        ffi::attach_by::<Certificate>(&mut context)?;
    }
    Ok(context)
}

/// The versions that options leave.
pub(crate) fn versions(options: &Options, side: Side) -> Option<(Version, Version)> {
    let oldest = match side {
        Side::Server => Version::OLDEST_SERVED,
        Side::Client => Version::Tls10,
    };
    options.versions.range(oldest)
}

/// Puts options into a context.
///
/// # Errors
///
/// The library refuses one.
pub(crate) fn apply(
    context: &mut SslContextBuilder,
    options: &Options,
    side: Side,
) -> Result<(), RefusedOption> {
    let refused = |what, value: &String| RefusedOption { what, value: value.clone() };
    if let Some((lowest, highest)) = versions(options, side) {
        let _ = context.set_min_proto_version(Some(lowest.to_library()));
        let _ = context.set_max_proto_version(Some(highest.to_library()));
        if lowest < Version::Tls12 {
            // These versions use signatures below the default security level.
            ffi::allow_weak(context);
        }
    }
    if let Some(ciphers) = &options.ciphers {
        let set = context.set_cipher_list(ciphers);
        set.map_err(|_| refused("SSL cipher list", ciphers))?;
    }
    if let Some(suites) = &options.ciphersuites {
        let set = ffi::set_ciphersuites(context, suites);
        set.map_err(|_| refused("TLS 1.3 cipher suites", suites))?;
    }
    if let Some(curves) = &options.curves {
        let set = context.set_groups_list(curves);
        set.map_err(|_| refused("SSL curves list", curves))?;
    } else if let Some(curve) = &options.ecdhe {
        let set = context.set_groups_list(curve);
        set.map_err(|_| refused("elliptic named curve", curve))?;
    }
    if options.no_tickets {
        context.set_options(SslOptions::NO_TICKET);
    }
    if options.prefer_client_ciphers {
        context.clear_options(SslOptions::CIPHER_SERVER_PREFERENCE);
    }
    Ok(())
}

/// Puts a certificate into a context.
pub(crate) fn present(
    context: &mut SslContextBuilder,
    certificate: &Certificate,
) -> Result<(), SetupError> {
    let name = || certificate.name.clone();
    context
        .set_certificate(&certificate.leaf)
        .map_err(|error| SetupError::RefusedCertificate { name: name(), reason: reason(&error) })?;
    let key = certificate.key.get().ok_or_else(ErrorStack::get);
    key.and_then(|key| context.set_private_key(key))
        .map_err(|error| SetupError::RefusedKey { name: name(), reason: reason(&error) })?;
    for link in certificate.links() {
        let added = context.add_extra_chain_cert(link.clone());
        added
            .map_err(|error| SetupError::RefusedChain { name: name(), error: error.to_string() })?;
    }
    Ok(())
}

pub(crate) fn reason(error: &ErrorStack) -> String {
    let first = error.errors().first();
    first.and_then(|error| error.reason()).unwrap_or("unknown").to_owned()
}

/// The slot of a session for the certificate that it sends, if the certificate has further data.
pub(crate) fn shown() -> Option<Index<Ssl, Arc<Certificate>>> {
    static INDEX: OnceLock<Option<Index<Ssl, Arc<Certificate>>>> = OnceLock::new();
    *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
}

/// For clients that ask for it.
impl Attached for Certificate {
    fn staple(ssl: &SslRef) -> Option<Arc<Vec<u8>>> {
        let staple = shown().and_then(|index| ssl.ex_data(index))?.staple()?;
        // Libraries count seconds in different types.
        let now = ssl.session().map(|session| i128::from(session.time()));
        staple.shown_at(now.and_then(|now| now.try_into().ok()))
    }

    fn timestamps(ssl: &SslRef) -> Option<&[u8]> {
        shown().and_then(|index| ssl.ex_data(index))?.sctl.as_deref()
    }
}

/// The settings of a server's context beyond those of a client's.
pub(crate) fn serve(context: &mut SslContextBuilder, options: &Options, defaults: &Defaults) {
    if defaults.keeps_secrets || defaults.protects_records() {
        KeyLog::watch(context);
    }
    if let Some(protocols) = options.alpn.clone() {
        context.set_alpn_select_callback(move |_, offered| {
            // Without a common protocol the connection continues without one (as HAProxy does).
            choose(&protocols, offered).ok_or(AlpnError::NOACK)
        });
    }
    if let Some(protocols) = &options.npn {
        ffi::advertise_protocols(context, protocols);
    }
}

/// The session id context: a session without a client certificate must not be resumed where one is
/// required, nor under other authorities. A client could otherwise carry a session from one host
/// name to another.
pub(crate) fn session_id(options: &Options, store: &Store) -> [u8; 32] {
    let verify = options.verify.unwrap_or_default();
    let mut text = format!("{verify:?}");
    if verify != Verify::None {
        for name in [&options.ca_file, &options.ca_verify_file, &options.crl_file] {
            let authorities = name.as_ref().and_then(|name| store.authorities(name));
            text += &format!(" {:?}", authorities.map(|it| it.digest()));
        }
        text += &format!(" {:?} {:?}", options.ca_ignored, options.crt_ignored);
    }
    openssl::sha::sha256(text.as_bytes())
}

/// The first of our protocols that is offered, as the offer has it (RFC 7301 section 3.2).
fn choose<'a>(ours: &[u8], offered: &'a [u8]) -> Option<&'a [u8]> {
    names_of(ours).find_map(|own| names_of(offered).find(|name| *name == own))
}

/// Names in wire format, as far as they are whole.
fn names_of(mut list: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    std::iter::from_fn(move || {
        let (length, rest) = list.split_first()?;
        let (name, rest) = rest.split_at_checked((*length).into())?;
        list = rest;
        Some(name)
    })
}

/// Adds the authorities and revocation lists that options name.
pub(crate) fn trust(
    context: &mut SslContextBuilder,
    options: &Options,
    store: &Store,
    side: Side,
) -> Result<(), SetupError> {
    let named = |name: &Option<String>| name.as_ref().and_then(|name| store.authorities(name));
    let own = named(&options.ca_file);
    let extra = named(&options.ca_verify_file);
    let lists = named(&options.crl_file);
    let mut trusted = X509StoreBuilder::new()?;
    let sources = own.iter().chain(&extra);
    for certificate in sources.flat_map(|it: &Arc<Authorities>| &it.certificates) {
        // A certificate that is listed twice does no harm.
        let _ = trusted.add_cert(certificate.clone());
    }
    let listed = own.iter().chain(&lists).flat_map(|it| &it.lists);
    for list in listed {
        ffi::add_crl(&mut trusted, list)?;
    }
    let mut flags = X509VerifyFlags::empty();
    if lists.is_some() {
        flags |= X509VerifyFlags::CRL_CHECK | X509VerifyFlags::CRL_CHECK_ALL;
    }
    if !flags.is_empty() {
        trusted.set_flags(flags)?;
    }
    context.set_cert_store(trusted.build());
    if side == Side::Server
        && !options.no_ca_names
        && let Some(own) = own
    {
        context.set_client_ca_list(names(&own)?);
    }
    Ok(())
}

/// The names of authorities, each once.
fn names(authorities: &Authorities) -> Result<Stack<X509Name>, ErrorStack> {
    let mut names = Stack::new()?;
    let mut seen = std::collections::BTreeSet::new();
    for certificate in &authorities.certificates {
        let name = certificate.subject_name();
        if seen.insert(name.to_der()?) {
            names.push(name.to_owned()?)?;
        }
    }
    Ok(names)
}

/// Makes a session verify its peer.
pub(crate) fn verify(
    ssl: &mut SslRef,
    verify: Verify,
    (authorities, certificate): (Ignored, Ignored),
) {
    let mode = match verify {
        Verify::None => return ssl.set_verify(SslVerifyMode::NONE),
        Verify::Optional => SslVerifyMode::PEER,
        Verify::Required => SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT,
    };
    if let Some(index) = VerifyResult::index() {
        ssl.set_ex_data(index, VerifyResult::default());
    }
    ssl.set_verify_callback(mode, move |fine, chain| {
        if let Some(outcome) = outcome_of(chain) {
            outcome.note_certificate();
        }
        fine || is_ignored(chain, authorities, certificate)
    });
}

fn outcome_of(chain: &X509StoreContextRef) -> Option<&VerifyResult> {
    let session = chain.ex_data(X509StoreContext::ssl_idx().ok()?)?;
    session.ex_data(VerifyResult::index()?)
}

/// Records a verification error; returns whether the error is ignored.
fn is_ignored(chain: &mut X509StoreContextRef, authorities: Ignored, certificate: Ignored) -> bool {
    let (error, depth) = (chain.error().as_raw().unsigned_abs(), chain.error_depth());
    if let Some(outcome) = outcome_of(chain) {
        outcome.note(depth, error);
        if let Some(first) = ffi::verified(chain) {
            outcome.keep(first);
        }
    }
    let ignored = if depth > 0 { authorities } else { certificate };
    let ignores = ignored.has(error) && chain.error() != X509VerifyResult::OK;
    if ignores {
        // The library has queued errors of its own, too.
        ffi::forget_errors();
    }
    ignores
}

/// Reads the files with authorities and revocation lists that options name.
///
/// # Errors
///
/// The mistake, with its file.
pub fn load_trust(options: &Options, store: &Store, files: &dyn Files) -> Result<(), SetupError> {
    let named = [
        (&options.ca_file, "ca-file", Purpose::Trust),
        (&options.ca_verify_file, "ca-verify-file", Purpose::Trust),
        (&options.crl_file, "crl-file", Purpose::Revocation),
    ];
    for (name, keyword, purpose) in named {
        if let Some(name) = name {
            let fault = |error| SetupError::Authorities { keyword, name: name.clone(), error };
            store.load_authorities(name, purpose, files).map_err(fault)?;
        }
    }
    Ok(())
}
