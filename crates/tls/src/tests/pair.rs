//! A client and a server whose records pass through queues.

use crate::setup_error::SetupError;
use crate::{
    Acceptor, BindSettings, Conn, Connector, CrtListEntry, Defaults, Extras, Files, HandshakeError,
    Options, Scratch, ServerSettings, Step, Store, Wire,
};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509NameBuilder};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;

/// Files in memory.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) HashMap<String, Vec<u8>>);

impl Memory {
    pub(crate) fn with(mut self, name: &str, text: impl Into<Vec<u8>>) -> Self {
        self.0.insert(name.to_owned(), text.into());
        self
    }
}

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let name = path.to_str().unwrap();
        self.0.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>> {
        let name = path.to_str().unwrap();
        if self.0.contains_key(name) {
            return Ok(None);
        }
        let prefix = format!("{name}/");
        let inner: Vec<String> =
            self.0.keys().filter_map(|it| Some(it.strip_prefix(&prefix)?.to_owned())).collect();
        if inner.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(Some(inner)) }
    }
}

/// A certificate and its key.
pub(crate) struct Made {
    pub(crate) certificate: X509,
    pub(crate) key: PKey<Private>,
}

impl Made {
    /// Both as a file has them.
    pub(crate) fn pem(&self) -> Vec<u8> {
        let mut text = self.certificate();
        text.extend(self.key());
        text
    }

    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.certificate.to_pem().unwrap()
    }

    pub(crate) fn key(&self) -> Vec<u8> {
        self.key.private_key_to_pem_pkcs8().unwrap()
    }
}

pub(crate) fn ecdsa() -> PKey<Private> {
    on_curve(Nid::X9_62_PRIME256V1)
}

pub(crate) fn on_curve(curve: Nid) -> PKey<Private> {
    let group = EcGroup::from_curve_name(curve).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

pub(crate) fn rsa() -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap()
}

/// A certificate for these names, signed by `by` or by itself.
pub(crate) fn make(names: &[&str], key: PKey<Private>, by: Option<&Made>) -> Made {
    make_for(names[0], names, key, by)
}

/// As [`make`], for a subject whose name need not be among them.
pub(crate) fn make_for(
    common: &str,
    names: &[&str],
    key: PKey<Private>,
    by: Option<&Made>,
) -> Made {
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_nid(Nid::COMMONNAME, common).unwrap();
    let subject = subject.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    let serial = BigNum::from_u32(names.len() as u32 + names[0].len() as u32).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    match by {
        Some(by) => builder.set_issuer_name(by.certificate.subject_name()).unwrap(),
        None => {
            builder.set_issuer_name(&subject).unwrap();
            builder.append_extension(BasicConstraints::new().ca().build().unwrap()).unwrap();
        }
    }
    let mut alternative = SubjectAlternativeName::new();
    for name in names {
        alternative.dns(name);
    }
    let alternative = alternative.build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(alternative).unwrap();
    builder.sign(by.map_or(&key, |by| &by.key), MessageDigest::sha256()).unwrap();
    Made { certificate: builder.build(), key }
}

/// A bind line with these certificates.
pub(crate) fn bind(names: &[&str], options: Options) -> BindSettings {
    let listed = |name: &&str| CrtListEntry { path: (*name).to_owned(), ..CrtListEntry::default() };
    BindSettings { certificates: names.iter().map(listed).collect(), options, ..Default::default() }
}

pub(crate) fn acceptor(
    settings: BindSettings,
    files: &Memory,
) -> Result<Acceptor, Vec<SetupError>> {
    Acceptor::new(settings, Defaults::default(), &Store::new(Extras::default()), files)
}

/// A server line that verifies nothing.
pub(crate) fn trusting() -> ServerSettings {
    ServerSettings { verify: false, ..ServerSettings::default() }
}

pub(crate) fn connector(settings: ServerSettings, files: &Memory) -> Result<Connector, SetupError> {
    Connector::new(settings, Defaults::default(), &Store::new(Extras::default()), files)
}

/// One direction; `room` is how much it takes.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) bytes: VecDeque<u8>,
    pub(crate) room: usize,
    pub(crate) closed: bool,
    /// How often it was read.
    pub(crate) reads: usize,
}

impl Default for Pipe {
    fn default() -> Self {
        Self { bytes: VecDeque::new(), room: usize::MAX, closed: false, reads: 0 }
    }
}

/// One end of the connection: its input pipe and its output pipe.
struct Ends<'a>(&'a mut Pipe, &'a mut Pipe);

impl Wire for Ends<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.reads += 1;
        if self.0.bytes.is_empty() && !self.0.closed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = buffer.len().min(self.0.bytes.len());
        for (to, from) in buffer.iter_mut().zip(self.0.bytes.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.1.room - self.1.bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.1.bytes.extend(&bytes[..count]);
        Ok(count)
    }
}

/// Both sides.
pub(crate) struct Pair {
    pub(crate) client: Conn,
    pub(crate) server: Conn,
    pub(crate) up: Pipe,
    pub(crate) down: Pipe,
    pub(crate) scratch: Scratch,
}

impl Pair {
    pub(crate) fn new(client: Conn, server: Conn) -> Self {
        let (up, down) = Default::default();
        Self { client, server, up, down, scratch: Scratch::default() }
    }

    /// Both handshakes, to their ends.
    pub(crate) fn shake(&mut self) -> (Result<(), HandshakeError>, Result<(), HandshakeError>) {
        let (mut client, mut server) = (None, None);
        for _ in 0..20 {
            if client.is_none() {
                let mut ends = Ends(&mut self.down, &mut self.up);
                client = over(self.client.handshake(&mut ends, &self.scratch));
                self.up.closed |= matches!(client, Some(Err(_)));
            }
            if server.is_none() {
                let mut ends = Ends(&mut self.up, &mut self.down);
                server = over(self.server.handshake(&mut ends, &self.scratch));
                self.down.closed |= matches!(server, Some(Err(_)));
            }
        }
        (client.unwrap(), server.unwrap())
    }

    /// Takes one step of the client's handshake; returns whether it is over.
    pub(crate) fn step_client(&mut self) -> bool {
        let mut ends = Ends(&mut self.down, &mut self.up);
        over(self.client.handshake(&mut ends, &self.scratch)).is_some_and(|end| end.is_ok())
    }

    /// The same of the server's.
    pub(crate) fn step_server(&mut self) -> bool {
        over(self.server_handshake()).is_some_and(|end| end.is_ok())
    }

    pub(crate) fn server_handshake(&mut self) -> Result<Step, HandshakeError> {
        self.server.handshake(&mut Ends(&mut self.up, &mut self.down), &self.scratch)
    }

    pub(crate) fn client_send(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.client.send(&mut Ends(&mut self.down, &mut self.up), &self.scratch, parts)
    }

    pub(crate) fn client_recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.client.recv(&mut Ends(&mut self.down, &mut self.up), &self.scratch, buffer)
    }

    pub(crate) fn client_say_early(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        self.client.say_early(&mut Ends(&mut self.down, &mut self.up), &self.scratch, bytes)
    }

    pub(crate) fn client_is_quiet(&mut self) -> bool {
        self.client.is_quiet(&mut Ends(&mut self.down, &mut self.up), &self.scratch)
    }

    pub(crate) fn server_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let parts = [io::IoSlice::new(bytes)];
        self.server.send(&mut Ends(&mut self.up, &mut self.down), &self.scratch, &parts)
    }

    pub(crate) fn server_recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.server.recv(&mut Ends(&mut self.up, &mut self.down), &self.scratch, buffer)
    }

    pub(crate) fn server_is_quiet(&mut self) -> bool {
        self.server.is_quiet(&mut Ends(&mut self.up, &mut self.down), &self.scratch)
    }

    pub(crate) fn client_close(&mut self) {
        self.client.close(&mut Ends(&mut self.down, &mut self.up), &self.scratch);
    }

    pub(crate) fn server_close(&mut self) {
        self.server.close(&mut Ends(&mut self.up, &mut self.down), &self.scratch);
    }
}

fn over(step: Result<Step, HandshakeError>) -> Option<Result<(), HandshakeError>> {
    match step {
        Ok(Step::Done) => Some(Ok(())),
        Ok(_) => None,
        Err(fault) => Some(Err(fault)),
    }
}

/// A pair over one self-signed certificate, after its handshake.
pub(crate) fn joined() -> Pair {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let acceptor = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
    let connector = connector(trusting(), &files).unwrap();
    let client = connector.connect(0, Some("a.test"), None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    pair
}
