//! Keys of tickets that are the same in many processes (`tls-ticket-keys`).

use crate::key::Secret;
use ffi::{TicketKey, Tickets, Wanted};
use openssl::base64;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslRef};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock, RwLockReadGuard};
use stdx::RwLock;

/// How many keys are in use: the last one is the next one's, the one before seals.
const KEPT: usize = 3;

/// Keys of one file. They are replaced under a lock that each ticket is sealed and opened with.
pub struct TicketKeys {
    name: String,
    keys: RwLock<VecDeque<AgedKey>>,
}

/// A name and two secrets, as a line of a file has them.
struct AgedKey(Secret);

/// Why a text is no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyFlaw {
    /// The text is not base64.
    Encoding,
    /// The key's length is invalid, or differs from that of the other keys.
    Size,
}

/// Why a file of keys is refused. Messages are HAProxy's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TicketFileError {
    /// A line is no key.
    Key {
        /// Why.
        flaw: KeyFlaw,
        /// The line, from 1.
        line: usize,
    },
    /// There are fewer keys than are in use at the same time.
    TooFew,
}

impl fmt::Display for TicketFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { flaw: KeyFlaw::Encoding, line } => {
                write!(f, "unable to decode base64 key on line {line}")
            }
            Self::Key { flaw: KeyFlaw::Size, line } => {
                write!(f, "wrong sized key on line {line}")
            }
            Self::TooFew => write!(f, "please supply at least {KEPT} keys in the tls-tickets-file"),
        }
    }
}

impl std::error::Error for TicketFileError {}

impl AgedKey {
    /// Reads a line: 48 or 80 bytes in base64.
    fn read(line: &str) -> Result<Self, KeyFlaw> {
        let bytes = base64::decode_block(line.trim()).map_err(|_| KeyFlaw::Encoding)?;
        match bytes.len() {
            48 | 80 => Ok(Self(Secret::new(bytes))),
            _ => Err(KeyFlaw::Size),
        }
    }

    fn name(&self) -> Option<&[u8; 16]> {
        self.0.first_chunk()
    }

    fn lend(&self) -> Option<TicketKey<'_>> {
        let (name, rest) = self.0.split_first_chunk()?;
        let (cipher, mac) = match rest.len() {
            32 => rest.split_at(16),
            _ => (rest.get(32..)?, rest.get(..32)?),
        };
        Some(TicketKey { name, cipher, mac })
    }
}

impl fmt::Debug for TicketKeys {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TicketKeys").field(&self.name).finish()
    }
}

impl PartialEq for TicketKeys {
    /// Compares identities: a set of keys equals itself only.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for TicketKeys {}

impl TicketKeys {
    /// Reads the text of the file `name`: a key in each line, the last ones count.
    ///
    /// # Errors
    /// A key is malformed, or there are too few.
    pub fn read(name: &str, text: &str) -> Result<Self, TicketFileError> {
        let mut keys: VecDeque<AgedKey> = VecDeque::new();
        for (number, line) in (1..).zip(text.lines()) {
            let fault = |flaw| TicketFileError::Key { flaw, line: number };
            let key = AgedKey::read(line).map_err(fault)?;
            if keys.front().is_some_and(|first| first.0.len() != key.0.len()) {
                return Err(fault(KeyFlaw::Size));
            }
            keys.push_back(key);
        }
        if keys.len() < KEPT {
            return Err(TicketFileError::TooFew);
        }
        keys.drain(..keys.len() - KEPT);
        Ok(Self { name: name.to_owned(), keys: RwLock::new(keys) })
    }

    /// The file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys in base64, the oldest first: secrets, for the operator alone.
    pub fn texts(&self) -> Vec<String> {
        self.keys().iter().map(|key| base64::encode_block(&key.0)).collect()
    }

    /// Takes one more key, and forgets the oldest (management.txt 9.3, `set ssl tls-key`).
    ///
    /// # Errors
    /// The text is not a key of the right length.
    pub fn push(&self, text: &str) -> Result<(), KeyFlaw> {
        let key = AgedKey::read(text)?;
        let mut keys = self.keys.write();
        if keys.front().is_none_or(|first| first.0.len() != key.0.len()) {
            return Err(KeyFlaw::Size);
        }
        keys.pop_front();
        keys.push_back(key);
        Ok(())
    }

    fn keys(&self) -> RwLockReadGuard<'_, VecDeque<AgedKey>> {
        self.keys.read()
    }

    /// Where a session has them.
    pub(crate) fn index() -> Option<Index<Ssl, Arc<Self>>> {
        static INDEX: OnceLock<Option<Index<Ssl, Arc<TicketKeys>>>> = OnceLock::new();
        *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
    }
}

impl Tickets for TicketKeys {
    fn with<T>(
        ssl: &SslRef,
        wanted: Wanted<'_>,
        act: impl FnOnce(TicketKey<'_>, bool) -> T,
    ) -> Option<T> {
        let keys = ssl.ex_data(Self::index()?)?.keys();
        let sealing = keys.len().checked_sub(2)?;
        let at = match wanted {
            Wanted::Seal => sealing,
            Wanted::Open(name) => keys.iter().position(|key| key.name() == Some(name))?,
        };
        Some(act(keys.get(at)?.lend()?, at < sealing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{Made, Memory, Pair, bind, connector, ecdsa, make, trusting};
    use crate::{Acceptor, Connector, Defaults, Options, Purpose, Store, Verify, Version};

    fn line(number: u8, length: usize) -> String {
        base64::encode_block(&vec![number; length])
    }

    fn keys(numbers: [u8; 3], length: usize) -> Arc<TicketKeys> {
        let text = numbers.map(|number| line(number, length)).join("\n");
        Arc::new(TicketKeys::read("f", &text).unwrap())
    }

    #[test]
    fn the_last_keys_count() {
        let text = [1, 2, 3, 4].map(|number| line(number, 48)).join("\n");
        let keys = TicketKeys::read("f", &text).unwrap();
        assert_eq!(keys.texts(), [2, 3, 4].map(|number| line(number, 48)));
        assert_eq!(keys.push(&line(5, 48)), Ok(()));
        assert_eq!(keys.push(&line(6, 80)), Err(KeyFlaw::Size));
        assert_eq!(keys.push("x"), Err(KeyFlaw::Encoding));
        assert_eq!(keys.texts(), [3, 4, 5].map(|number| line(number, 48)));
        assert!(!format!("{keys:?}").contains(&line(3, 48)));
    }

    #[test]
    fn mistakes_name_their_line() {
        let read =
            |lines: &[String]| TicketKeys::read("f", &lines.join("\n")).unwrap_err().to_string();
        assert!(read(&[line(1, 48), line(2, 48)]).contains("at least 3 keys"));
        assert_eq!(read(&[line(1, 48), line(2, 80), line(3, 48)]), "wrong sized key on line 2");
        assert_eq!(read(&[line(1, 47)]), "wrong sized key on line 1");
        assert!(read(&["!".to_owned()]).starts_with("unable to decode"));
    }

    /// A bind line with keys, as one of many processes has it.
    fn process(keys: &Arc<TicketKeys>, files: &Memory) -> Acceptor {
        process_of(Options::default(), keys, &Store::default(), files)
    }

    fn process_of(
        options: Options,
        keys: &Arc<TicketKeys>,
        store: &Store,
        files: &Memory,
    ) -> Acceptor {
        let mut line = bind(&["a.pem"], options);
        line.ticket_keys = Some(keys.clone());
        Acceptor::new(line, Defaults::default(), store, files).unwrap()
    }

    /// Whether a client's session continues here.
    fn goes_on(client: &Connector, acceptor: &Acceptor) -> bool {
        let session = client.connect(0, Some("a"), None).unwrap();
        let mut pair = Pair::new(session, acceptor.accept().unwrap());
        pair.shake().0.unwrap();
        // The ticket arrives together with the server's data.
        pair.server_send(b"hello").unwrap();
        pair.client_recv(&mut [0; 16]).unwrap();
        pair.server.is_resumed()
    }

    #[test]
    fn tickets_are_good_in_all_processes_with_their_key() {
        let files = Memory::default().with("a.pem", make(&["a"], ecdsa(), None).pem());
        for (length, newest) in [(48, Version::Tls12), (48, Version::Tls13), (80, Version::Tls13)] {
            let mut settings = trusting();
            settings.options.versions.max = Some(newest);
            let client = connector(settings, &files).unwrap();
            let (one, two) = (keys([1, 2, 3], length), keys([1, 2, 3], length));
            let here = process(&one, &files);
            assert!(!goes_on(&client, &here), "the first one");
            assert!(goes_on(&client, &process(&two, &files)), "sealed by the same key");
            two.push(&line(4, length)).unwrap();
            assert!(goes_on(&client, &process(&two, &files)), "an older key opens");
            assert!(!goes_on(&client, &process(&keys([7, 8, 9], length), &files)));
            goes_on(&client, &here);
            for number in [4, 5] {
                one.push(&line(number, length)).unwrap();
            }
            assert!(!goes_on(&client, &here), "the key has been forgotten");
        }
    }

    /// Two processes may differ in nothing but whom they let in.
    #[test]
    fn a_ticket_is_good_where_the_same_authorities_let_in() {
        let made = make(&["a"], ecdsa(), None);
        let (users, admins) = (make(&["users"], ecdsa(), None), make(&["admins"], ecdsa(), None));
        let files = |authority: &Made| {
            Memory::default()
                .with("a.pem", made.pem())
                .with("ca.pem", authority.certificate())
                .with("other.pem", make(&["other"], ecdsa(), None).certificate())
                .with("client.pem", make(&["client"], ecdsa(), Some(&users)).pem())
        };
        let options = || {
            let (verify, ca_file) = (Some(Verify::Optional), Some("ca.pem".to_owned()));
            Options { verify, ca_file, ..Options::default() }
        };
        let keys = keys([1, 2, 3], 48);
        for newest in [Version::Tls12, Version::Tls13] {
            let mut settings = trusting();
            settings.options.versions.max = Some(newest);
            settings.certificate = Some("client.pem".to_owned());
            let client = connector(settings, &files(&users)).unwrap();
            let here = process_of(options(), &keys, &Store::default(), &files(&users));
            assert!(!goes_on(&client, &here), "the first one");
            // A process before this one may have read other files.
            let (store, read) = (Store::default(), files(&users));
            store.load_authorities("other.pem", Purpose::Trust, &read).unwrap();
            assert!(goes_on(&client, &process_of(options(), &keys, &store, &read)));
            assert!(goes_on(&client, &here));
            let there = process_of(options(), &keys, &Store::default(), &files(&admins));
            let session = client.connect(0, Some("a"), None).unwrap();
            let mut pair = Pair::new(session, there.accept().unwrap());
            assert!(pair.shake().1.is_err(), "a full handshake, and no such user");
        }
    }
}
