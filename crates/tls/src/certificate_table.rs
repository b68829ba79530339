//! The certificates of a bind line by host name, and the library contexts that serve them.
//!
//! A context holds the options of a line (versions, ciphers, authorities) and no certificate: the
//! lines of a list mostly have the same options, so ten thousand certificates share one context. A
//! session takes the context first, then the certificate. Both are replaced in place under a lock
//! that is held for a few moves of memory; everything slow happens before.
//!
//! The first certificates also have contexts of their own that contain them, because setting a
//! certificate on a session makes the library compare keys. Certificates changed at run time have
//! none.

use crate::certificate::Certificate;
use crate::context::{self, Side, load_trust};
use crate::crt_list::CrtListEntry;
use crate::ecdsa::{self, TlsNumber};
use crate::generated::CertificateGenerator;
use crate::hello::{Hello, KeyKind};
use crate::options::{Options, Verify};
use crate::parallel::parallel_map;
use crate::replay;
use crate::settings::{BindSettings, Defaults};
use crate::setup_error::{CertificateError, SetupError};
use crate::sni::{Names, excludes};
use crate::staple::Unfit;
use crate::store::{CertificateSource, Files, Store};
use crate::version::Version;
use ffi::Prefers;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslOptions, SslRef};
use openssl::x509::{X509, X509Ref};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The options of a line and the context built from them.
pub(crate) struct Terms {
    options: Options,
    /// The enabled suites that need a key of kind ECDSA.
    ecdsa: Vec<TlsNumber>,
    /// Whether TLS 1.3 is among the versions.
    tls13: bool,
    context: SslContext,
}

/// A certificate with its terms.
#[derive(Clone)]
pub(crate) struct Served {
    terms: Arc<Terms>,
    certificate: Arc<Certificate>,
    /// The list line that names the certificate.
    listed: Arc<CrtListEntry>,
    /// A context that already contains the certificate.
    ready: Option<SslContext>,
}

/// All certificates of a bind line.
#[derive(Default)]
pub(crate) struct CertificateTable {
    /// In the order of the lines; a removed certificate leaves a hole.
    places: Vec<Option<Served>>,
    names: Names,
    by_name: HashMap<String, Vec<usize>>,
    /// The most recent terms: successive lines mostly have the same options.
    terms: Vec<Arc<Terms>>,
}

/// The number of recent terms that a line is compared with.
const RECENT: usize = 64;
/// The number of certificates with contexts of their own, which take some ten kilobytes each.
const READY: usize = 16;
/// The number of authorities up to which this holds: a context grows by about a kilobyte for each
/// authority of clients' certificates.
const LIGHT: usize = 32;

/// The inputs from which terms are built.
#[derive(Clone, Copy)]
pub(crate) struct TermsContext<'a> {
    pub(crate) defaults: &'a Defaults,
    pub(crate) store: &'a Store,
    pub(crate) files: &'a dyn Files,
}

/// A context with the options of a line, without a certificate.
fn begun(options: &Options, ground: TermsContext<'_>) -> Result<SslContextBuilder, SetupError> {
    let mut made = context::plain(Side::Server)?;
    if context::versions(options, Side::Server).is_none() {
        return Err(SetupError::NoVersion);
    }
    load_trust(options, ground.store, ground.files)?;
    context::apply(&mut made, options, Side::Server).map_err(SetupError::Option)?;
    context::serve(&mut made, options, ground.defaults);
    if options.verify.unwrap_or_default() != Verify::None {
        if options.ca_file.is_none() && options.ca_verify_file.is_none() {
            return Err(SetupError::NoAuthority);
        }
        context::trust(&mut made, options, ground.store, Side::Server)?;
    }
    let session = context::session_id(options, ground.store);
    made.set_session_id_context(&session)?;
    Ok(made)
}

impl Terms {
    fn new(options: Options, ground: TermsContext<'_>) -> Result<Self, SetupError> {
        let context = begun(&options, ground)?.build();
        let ecdsa = ffi::enabled_ciphers(&context, "ECDSA")?;
        let versions = context::versions(&options, Side::Server);
        let tls13 = versions.is_some_and(|(_, newest)| newest == Version::Tls13);
        Ok(Self { options, ecdsa: ecdsa::numbers(&ecdsa), tls13, context })
    }

    /// A context that contains the certificate; `None` if it would be large, or if building it
    /// fails (the error is reported elsewhere).
    fn ready(&self, certificate: &Certificate, ground: TermsContext<'_>) -> Option<SslContext> {
        if self.trusted(ground.store) > LIGHT {
            return None;
        }
        let mut made = begun(&self.options, ground).ok()?;
        context::present(&mut made, certificate).ok()?;
        Some(made.build())
    }

    /// The number of authorities and revocation lists that verify client certificates.
    fn trusted(&self, store: &Store) -> usize {
        let options = &self.options;
        let checks = options.verify.unwrap_or_default() != Verify::None;
        let named = [&options.ca_file, &options.ca_verify_file, &options.crl_file];
        let all = named.into_iter().flatten().filter(|_| checks);
        all.filter_map(|name| store.authorities(name))
            .map(|it| it.certificates.len() + it.lists.len())
            .sum()
    }

    /// Checks that sessions can be served with a certificate under these terms.
    fn admit(&self, certificate: &Certificate) -> Result<(), SetupError> {
        let name = || certificate.name.clone();
        let reason = |error: &ErrorStack| context::reason(error);
        if certificate.lacks_issuer {
            return Err(SetupError::NoIssuer(name()));
        }
        let refused = |error: ErrorStack| SetupError::RefusedCertificate {
            name: name(),
            reason: reason(&error),
        };
        let mut probe = Ssl::new(&self.context).map_err(refused)?;
        probe.set_certificate(&certificate.leaf).map_err(refused)?;
        for link in certificate.links() {
            ffi::add_chain_cert(&mut probe, link).map_err(|error| SetupError::RefusedChain {
                name: name(),
                error: error.to_string(),
            })?;
        }
        let Some(dh) = &certificate.dh else { return Ok(()) };
        let refused = |error| SetupError::RefusedDh { name: name(), reason: reason(&error) };
        probe.set_tmp_dh(dh).map_err(refused)
    }

    /// Whether client certificates are verified with authorities or lists of this file.
    fn trusts(&self, file: &str) -> bool {
        let options = &self.options;
        let named = [&options.ca_file, &options.ca_verify_file, &options.crl_file];
        options.verify.unwrap_or_default() != Verify::None
            && named.into_iter().flatten().any(|own| own == file)
    }
}

impl Served {
    /// Switches a session to this certificate.
    ///
    /// # Errors
    ///
    /// The library is out of memory, or the key is malformed.
    pub(crate) fn take_over(&self, ssl: &mut SslRef, offered: &[u8]) -> Result<(), ErrorStack> {
        let certificate = &self.certificate;
        match &self.ready {
            Some(context) => ssl.set_ssl_context(context)?,
            None => self.show(ssl, &certificate.leaf, certificate.links())?,
        }
        self.finish(ssl, offered)?;
        if (certificate.staple().is_some() || certificate.sctl.is_some())
            && let Some(index) = context::shown()
        {
            ssl.set_ex_data(index, certificate.clone());
            ffi::attach::<Certificate>(ssl)?;
        }
        Ok(())
    }

    /// As [`Served::take_over`], with a certificate generated for a name.
    ///
    /// # Errors
    ///
    /// As there, or the name cannot be put into a certificate.
    pub(crate) fn take_over_as(
        &self,
        ssl: &mut SslRef,
        offered: &[u8],
        forge: &CertificateGenerator,
        name: &[u8],
    ) -> Result<(), ErrorStack> {
        let forged = forge.certificate(name, &self.certificate)?;
        self.show(ssl, &forged, std::iter::once(forge.authority()))?;
        self.finish(ssl, offered)
    }

    /// Switches a session to these terms and a leaf certificate that belongs to our key.
    fn show<'a>(
        &self,
        ssl: &mut SslRef,
        leaf: &X509Ref,
        links: impl Iterator<Item = &'a X509>,
    ) -> Result<(), ErrorStack> {
        ssl.set_ssl_context(&self.terms.context)?;
        ssl.set_certificate(leaf)?;
        let certificate = &self.certificate;
        ssl.set_private_key(certificate.key.get().ok_or_else(ErrorStack::get)?)?;
        for link in links {
            ffi::add_chain_cert(ssl, link)?;
        }
        Ok(())
    }

    /// Sets the parts of a session that belong to the certificate: parameters, OCSP response, SCT
    /// list.
    fn finish(&self, ssl: &mut SslRef, offered: &[u8]) -> Result<(), ErrorStack> {
        let certificate = &self.certificate;
        if let Some(dh) = &certificate.dh {
            ssl.set_tmp_dh(dh)?;
        } else if let Some(dh) = &certificate.common_dh {
            // The library refuses parameters that are too short for its security level.
            let _ = ssl.set_tmp_dh(dh);
        }
        self.terms.options.impose(ssl, offered)
    }

    /// Whether a client has a cipher in common with its terms that goes with its key (before
    /// TLS 1.3, each cipher goes with one kind of key), and can use the key's curve.
    fn suits(&self, hello: &Hello) -> bool {
        if self.certificate.kind != KeyKind::Ecdsa {
            return true;
        }
        let tls13 = hello.tls13 && self.terms.tls13;
        let common = |number: &TlsNumber| ecdsa::contains(&hello.ciphers, *number);
        (tls13 || self.terms.ecdsa.iter().any(common))
            && self.certificate.curve.is_none_or(|curve| curve.is_supported(hello.curves(), tls13))
    }

    fn is_of(&self, list: &str, line: u32, certificate: &str) -> bool {
        self.listed.list == (list.to_owned(), line) && self.certificate.name == certificate
    }
}

impl Options {
    /// Sets the options that a session does not inherit when its context is switched.
    fn impose(&self, ssl: &mut SslRef, offered: &[u8]) -> Result<(), ErrorStack> {
        if let Some((lowest, highest)) = context::versions(self, Side::Server) {
            ssl.set_min_proto_version(Some(lowest.to_library()))?;
            ssl.set_max_proto_version(Some(highest.to_library()))?;
            if lowest < Version::Tls12 {
                ffi::allow_weak_in(ssl);
            }
        }
        let (ciphers, suites) = (self.ciphers.as_deref(), self.ciphersuites.as_deref());
        let prefers = match self.prefer_client_ciphers {
            true => Prefers::Theirs,
            false => Prefers::Ours(offered),
        };
        ffi::take_ciphers(ssl, ciphers, suites, prefers)?;
        if let Some(curves) = self.curves.as_ref().or(self.ecdhe.as_ref()) {
            ffi::set_groups(ssl, curves);
        }
        if self.early && replay::has_room() {
            ffi::hear_early(ssl)?;
        }
        if self.no_tickets {
            ffi::set_options(ssl, SslOptions::NO_TICKET);
        }
        if self.prefer_client_ciphers {
            ffi::clear_options(ssl, SslOptions::CIPHER_SERVER_PREFERENCE);
        }
        let verify = self.verify.unwrap_or_default();
        context::verify(ssl, verify, (self.ca_ignored, self.crt_ignored));
        Ok(())
    }
}

impl CertificateTable {
    /// Loads the certificates of a bind line.
    ///
    /// # Errors
    ///
    /// Every mistake found.
    pub(crate) fn new(
        settings: &BindSettings,
        ground: TermsContext<'_>,
    ) -> Result<Self, Vec<SetupError>> {
        let (mut table, mut errors) = (Self::default(), Vec::new());
        let TermsContext { store, files, .. } = ground;
        let mut wanted = Vec::new();
        for listed in &settings.certificates {
            match store.meant(&listed.path, files) {
                Ok(meant) => wanted.push((listed, meant)),
                Err(error) => errors.push(in_list(listed, error.into())),
            }
        }
        let names = wanted.iter().flat_map(|(_, meant)| match meant {
            CertificateSource::Files(names) | CertificateSource::Directory(names) => names,
        });
        store.prepare(names.map(String::as_str), files);
        for (listed, meant) in wanted {
            let listed = Arc::new(listed.clone());
            match meant {
                CertificateSource::Files(names) => {
                    for name in names {
                        table.read(&settings.options, &name, &listed, ground, &mut errors);
                    }
                }
                // A directory is a list without options.
                CertificateSource::Directory(names) => {
                    let list = (listed.path.trim_end_matches('/').to_owned(), 0);
                    for name in names {
                        let one = CrtListEntry {
                            path: name,
                            list: list.clone(),
                            ..CrtListEntry::default()
                        };
                        let path = one.path.clone();
                        table.read(&settings.options, &path, &Arc::new(one), ground, &mut errors);
                    }
                }
            }
        }
        errors.extend(table.refused());
        errors.dedup();
        if errors.is_empty() { Ok(table) } else { Err(errors) }
    }

    /// The reasons why certificates cannot be served under their terms.
    fn refused(&self) -> impl Iterator<Item = SetupError> {
        let admitted = parallel_map(&self.places, |place| match place {
            Some(own) => own.terms.admit(&own.certificate),
            None => Ok(()),
        });
        self.places.iter().zip(admitted).filter_map(|(place, admitted)| {
            place.as_ref().zip(admitted.err()).map(|(own, error)| in_list(&own.listed, error))
        })
    }

    fn read(
        &mut self,
        options: &Options,
        name: &str,
        listed: &Arc<CrtListEntry>,
        ground: TermsContext<'_>,
        errors: &mut Vec<SetupError>,
    ) {
        let found = ground.store.load(name, ground.files).map_err(SetupError::from);
        let added = found.and_then(|found| {
            found.into_iter().try_for_each(|it| {
                if !it.takes_update_mode(listed.options.ocsp_update) {
                    return Err(CertificateError::UpdateModes(it.name.clone()).into());
                }
                let terms = self.terms(options, listed, ground)?;
                let few = self.places.len() < READY;
                let ready = few.then(|| terms.ready(&it, ground)).flatten();
                self.add(terms, it, listed.clone());
                if let Some(Some(own)) = self.places.last_mut() {
                    own.ready = ready;
                }
                Ok(())
            })
        });
        if let Err(error) = added {
            errors.push(in_list(listed, error));
        }
    }

    /// The terms of a list line, on a bind line with these options.
    ///
    /// # Errors
    ///
    /// The options cannot be applied.
    pub(crate) fn terms(
        &self,
        options: &Options,
        listed: &CrtListEntry,
        ground: TermsContext<'_>,
    ) -> Result<Arc<Terms>, SetupError> {
        let options = listed.options.or(options);
        let known = self.terms.iter().rev().take(RECENT);
        match known.into_iter().find(|terms| terms.options == options) {
            Some(terms) => Ok(terms.clone()),
            None => Terms::new(options, ground).map(Arc::new),
        }
    }

    /// Adds a certificate behind all others.
    pub(crate) fn add(
        &mut self,
        terms: Arc<Terms>,
        certificate: Arc<Certificate>,
        listed: Arc<CrtListEntry>,
    ) {
        if !self.terms.iter().rev().take(RECENT).any(|own| Arc::ptr_eq(own, &terms)) {
            self.terms.push(terms.clone());
        }
        if terms.options.ocsp_update == Some(true) {
            certificate.begin_updates();
        }
        let place = self.places.len();
        for name in claims(&listed, &certificate) {
            self.names.claim(name, certificate.kind, place);
        }
        self.by_name.entry(certificate.name.clone()).or_default().push(place);
        self.places.push(Some(Served { terms, certificate, listed, ready: None }));
    }

    /// Checks that a certificate can be served under these terms.
    ///
    /// # Errors
    ///
    /// The reason why it cannot.
    pub(crate) fn admit(terms: &Terms, certificate: &Certificate) -> Result<(), SetupError> {
        terms.admit(certificate)
    }

    /// Removes the certificate of a line.
    pub(crate) fn remove(&mut self, list: &str, line: u32, certificate: &str) {
        let Some(places) = self.by_name.get_mut(certificate) else { return };
        let all = &self.places;
        let is = |place: &usize| {
            all[*place].as_ref().is_some_and(|own| own.is_of(list, line, certificate))
        };
        let gone: Vec<usize> = places.iter().copied().filter(is).collect();
        places.retain(|place| !gone.contains(place));
        if places.is_empty() {
            self.by_name.remove(certificate);
        }
        for place in gone {
            if let Some(own) = self.places[place].take() {
                for name in claims(&own.listed, &own.certificate) {
                    self.names.give_up(name, place);
                }
            }
        }
    }

    /// The terms of every line that serves a certificate.
    pub(crate) fn terms_of(&self, certificate: &str) -> Vec<Arc<Terms>> {
        let places = self.by_name.get(certificate).into_iter().flatten();
        places.filter_map(|place| Some(self.places[*place].as_ref()?.terms.clone())).collect()
    }

    /// The number of lines that serve a certificate.
    pub(crate) fn uses(&self, certificate: &str) -> usize {
        self.by_name.get(certificate).map_or(0, Vec::len)
    }

    /// Replaces the certificate of the same name on every line.
    pub(crate) fn replace(&mut self, certificate: &Arc<Certificate>) {
        let places = self.by_name.get(&certificate.name).into_iter().flatten();
        for place in places.copied() {
            let Some(own) = &mut self.places[place] else { continue };
            let same = own.certificate.names == certificate.names
                && own.certificate.kind == certificate.kind;
            if !same {
                for name in claims(&own.listed, &own.certificate) {
                    self.names.give_up(name, place);
                }
                for name in claims(&own.listed, certificate) {
                    self.names.claim(name, certificate.kind, place);
                }
            }
            if own.terms.options.ocsp_update == Some(true) {
                certificate.begin_updates();
            }
            own.certificate = certificate.clone();
            own.ready = None;
        }
    }

    /// The number of certificates whose terms have authorities or lists of this file.
    pub(crate) fn trusting(&self, file: &str) -> usize {
        self.places.iter().flatten().filter(|own| own.terms.trusts(file)).count()
    }

    /// Rebuilds the terms that have authorities or lists of this file.
    ///
    /// # Errors
    ///
    /// A context cannot be built.
    pub(crate) fn renewed(
        &self,
        file: &str,
        ground: TermsContext<'_>,
    ) -> Result<Renewed, SetupError> {
        let mut renewed = Renewed::default();
        for own in self.places.iter().flatten().filter(|own| own.terms.trusts(file)) {
            if !renewed.0.iter().any(|(old, _)| Arc::ptr_eq(old, &own.terms)) {
                let made = Terms::new(own.terms.options.clone(), ground)?;
                renewed.0.push((own.terms.clone(), Arc::new(made)));
            }
        }
        Ok(renewed)
    }

    /// Installs rebuilt terms.
    pub(crate) fn renew(&mut self, renewed: Renewed) {
        let find = |terms: &Arc<Terms>| {
            let is = |(old, _): &&(Arc<Terms>, Arc<Terms>)| Arc::ptr_eq(old, terms);
            renewed.0.iter().find(is).map(|(_, new)| new.clone())
        };
        for own in self.places.iter_mut().flatten() {
            if let Some(new) = find(&own.terms) {
                (own.terms, own.ready) = (new, None);
            }
        }
        for terms in &mut self.terms {
            if let Some(new) = find(terms) {
                *terms = new;
            }
        }
    }

    /// The certificate for the host name of a ClientHello.
    pub(crate) fn find(&self, hello: &Hello) -> Option<Served> {
        let usable = |place: usize| self.places[place].as_ref().is_some_and(|it| it.suits(hello));
        self.names.find(hello, &usable).and_then(|place| self.places[place].clone())
    }

    /// The default certificate.
    pub(crate) fn first(&self) -> Option<Served> {
        self.places.iter().flatten().next().cloned()
    }

    /// Whether some terms accept early data.
    pub(crate) fn hears_early(&self) -> bool {
        self.terms.iter().any(|terms| terms.options.early)
    }

    /// Whether the table has no certificate.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether the certificate of this line is the default one.
    pub(crate) fn falls_back_on(&self, list: &str, line: u32, certificate: &str) -> bool {
        let first = self.places.iter().flatten().next();
        first.is_some_and(|own| own.is_of(list, line, certificate))
    }

    /// The names of the certificates in order, once per line that serves them.
    pub(crate) fn certificates(&self) -> Vec<String> {
        self.places.iter().flatten().map(|own| own.certificate.name.clone()).collect()
    }

    /// The certificates whose OCSP responses are not stapled, each once, with the reason.
    pub(crate) fn unfit(&self) -> BTreeMap<&str, Unfit> {
        let all = self.places.iter().flatten().map(|own| &*own.certificate);
        all.filter_map(|it| Some((it.name(), it.staple()?.unfit?))).collect()
    }

    /// The list lines and directory entries in order, with their certificates.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&Arc<CrtListEntry>, &Arc<Certificate>)> {
        let listed = self.places.iter().flatten().filter(|own| !own.listed.list.0.is_empty());
        listed.map(|own| (&own.listed, &own.certificate))
    }
}

/// Pairs of old and rebuilt terms.
#[derive(Default)]
pub(crate) struct Renewed(Vec<(Arc<Terms>, Arc<Terms>)>);

/// The names that a certificate is for by its line. Names in the certificate are ignored if the
/// line has names of its own or excludes them (manual section 5.1 `crt-list`).
fn claims<'a>(
    listed: &'a CrtListEntry,
    certificate: &'a Certificate,
) -> impl Iterator<Item = &'a str> {
    let own = listed.filters.iter().all(|it| it.starts_with('!') && it != "!*");
    let wants = move |name: &&String| !listed.filters.iter().any(|it| excludes(it, name));
    let names = certificate.names.iter().filter(move |_| own).filter(wants);
    listed.filters.iter().chain(names).map(String::as_str)
}

fn in_list(listed: &CrtListEntry, error: SetupError) -> SetupError {
    match &listed.list {
        // A directory has no lines.
        (_, 0) => error,
        (list, line) => {
            SetupError::Listed { list: list.clone(), line: *line, error: Box::new(error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extras;
    use crate::tests::pair::{Memory, bind, ecdsa, make};

    #[test]
    fn contexts_that_would_be_large_are_not_made_for_each_certificate() {
        let store = Store::new(Extras::default());
        let defaults = Defaults::default();
        for (name, authorities, ready) in [("few", LIGHT, true), ("many", LIGHT + 1, false)] {
            let one = |number| make(&[&format!("{number}.test")], ecdsa(), None).certificate();
            let authorities: Vec<u8> = (0..authorities).flat_map(one).collect();
            let files = Memory::default()
                .with(name, authorities)
                .with("a.pem", make(&["a.test"], ecdsa(), None).pem());
            let ca_file = Some(name.to_owned());
            let verify = Some(Verify::Required);
            let settings = bind(&["a.pem"], Options { ca_file, verify, ..Options::default() });
            let ground = TermsContext { defaults: &defaults, store: &store, files: &files };
            let table = CertificateTable::new(&settings, ground)
                .unwrap_or_else(|errors| panic!("{errors:?}"));
            assert_eq!(table.first().unwrap().ready.is_some(), ready, "{name}");
        }
    }
}
