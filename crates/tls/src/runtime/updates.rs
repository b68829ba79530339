//! Updates of OCSP responses from their authorities (`ocsp-update`): which responses are due, the
//! queries about them, and what came of each.

use super::Runtime;
use crate::certificate_text::hex;
use crate::der::SEQUENCE;
use crate::staple::{self, Staple};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest path of a GET; a longer query is a POST (RFC 6960 appendix A.1).
const MOST_OF_GET: usize = 255;

/// Doublings of the delay after failures in a row.
const MOST_DOUBLINGS: u32 = 16;

/// The bounds between two updates of a response, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateDelays {
    /// `ocsp-update.mindelay`
    pub min: u32,
    /// `ocsp-update.maxdelay`
    pub max: u32,
}

impl Default for UpdateDelays {
    fn default() -> Self {
        Self { min: 300, max: 3_600 }
    }
}

impl UpdateDelays {
    /// The moment of the next update of a response that holds until then.
    fn next(self, until: Option<i64>, now: i64) -> i64 {
        let latest = now + i64::from(self.max);
        let wanted = until.map_or(latest, |until| until.min(latest));
        wanted.max(now + i64::from(self.min.max(1)))
    }

    /// The moment of the next attempt after so many failures in a row.
    fn retry(self, failures: u32, now: i64) -> i64 {
        let doublings = failures.saturating_sub(1).min(MOST_DOUBLINGS);
        let delay = (u64::from(self.min.max(1)) << doublings).min(u64::from(self.max.max(1)));
        now + delay as i64
    }
}

/// The end of an update, with HAProxy's numbers and words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateStatus {
    /// There was none yet.
    #[default]
    Unknown,
    /// The response is sent to clients from now on.
    Successful,
    /// The responder could not be reached, or its status is not 200.
    Http,
    /// The content of the answer is not of type `application/ocsp-response`.
    ContentType,
    /// The response is malformed, not signed by the authority, about another certificate or does
    /// not hold.
    Check,
    /// The certificate is not there any more.
    Insertion,
}

impl UpdateStatus {
    /// Its number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Its words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Successful => "Update successful",
            Self::Http => "HTTP error",
            Self::ContentType => "Missing \"ocsp-response\" header",
            Self::Check => "OCSP response check failure",
            Self::Insertion => "Error during insertion",
        }
    }
}

/// A question to an authority about one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StapleQuery {
    /// The certificate id, DER.
    id: Vec<u8>,
    /// The certificate that it is about: the first one by name.
    pub path: String,
    /// The URL of the responder, with the query in its path if the body is empty.
    pub url: String,
    /// The query, DER, for a POST; empty for a GET.
    pub body: Vec<u8>,
}

impl StapleQuery {
    /// The certificate id in hexadecimal, lower case.
    pub fn shown_id(&self) -> String {
        hex(&self.id).to_ascii_lowercase()
    }
}

/// Updates of a response so far.
#[derive(Debug)]
pub(super) struct UpdateRecord {
    /// The first certificate with the response, by name.
    path: String,
    /// The moment of the next update, in seconds since 1970; nothing while one is under way.
    next: Option<i64>,
    /// The moment of the last successful update.
    last: Option<i64>,
    successes: u32,
    failures: u32,
    /// Failures since the last success.
    in_a_row: u32,
    status: UpdateStatus,
}

/// Updates of a response, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownUpdate {
    /// The certificate id in hexadecimal, lower case.
    pub id: String,
    /// The first certificate with the response, by name.
    pub path: String,
    /// The moment of the next update, in seconds since 1970.
    pub next: Option<i64>,
    /// The moment of the last successful update.
    pub last: Option<i64>,
    /// Successful updates.
    pub successes: u32,
    /// Failed updates.
    pub failures: u32,
    /// The end of the last update.
    pub status: UpdateStatus,
}

impl Runtime {
    /// Queries that are due in this second since 1970, and the moment of the next one.
    pub fn due_updates(&self, now: i64) -> (Vec<StapleQuery>, Option<i64>) {
        let (updated, delays) = (self.updated_staples(), self.update_delays);
        let mut records = self.updates.lock();
        records.retain(|id, _| updated.contains_key(id));
        let (mut due, mut next) = (Vec::new(), None);
        for (id, (path, staple)) in updated {
            let first = || match staple.response().is_empty() {
                true => now,
                false => delays.next(staple.until(), now),
            };
            let record = records.entry(id).or_insert_with(|| UpdateRecord::new(&path, first()));
            let Some(at) = record.next else { continue };
            if at > now {
                next = Some(next.map_or(at, |next: i64| next.min(at)));
            } else if let Some(query) = query(&path, &staple) {
                record.next = None;
                due.push(query);
            }
        }
        (due, next)
    }

    /// Whether OCSP responses are fetched: of certificates that are there, or may come into lists.
    pub fn fetches_responses(&self) -> bool {
        !self.updated_staples().is_empty() || !self.lists.lock().is_empty()
    }

    /// The query about the certificate of a file that has an OCSP response; nothing without a
    /// responder.
    pub fn staple_query(&self, name: &str) -> Option<StapleQuery> {
        query(name, self.store.certificate(name)?.staple()?)
    }

    /// Takes the answer to a query, or why there is none, and returns how the update has ended and
    /// the counts of its failures and successes.
    pub fn finish_update(
        &self,
        query: &StapleQuery,
        answer: Result<&[u8], UpdateStatus>,
        now: i64,
    ) -> (UpdateStatus, u32, u32) {
        let staples = self.all_staples().remove(&query.id).unwrap_or_default();
        let status = match answer {
            Ok(der) => insert(&staples, der),
            Err(status) => status,
        };
        let delays = self.update_delays;
        let until = staples.first().and_then(|staple| staple.until());
        let mut records = self.updates.lock();
        let mut once = UpdateRecord::new(&query.path, now);
        // An operator may ask for a response that is not updated otherwise.
        let record = records.get_mut(&query.id).unwrap_or(&mut once);
        record.status = status;
        if status == UpdateStatus::Successful {
            (record.successes, record.in_a_row, record.last) =
                (record.successes.saturating_add(1), 0, Some(now));
            record.next = Some(delays.next(until, now));
        } else {
            record.failures = record.failures.saturating_add(1);
            record.in_a_row = record.in_a_row.saturating_add(1);
            record.next = Some(delays.retry(record.in_a_row, now));
        }
        (status, record.failures, record.successes)
    }

    /// All updates, the next one first.
    pub fn updates(&self) -> Vec<ShownUpdate> {
        let records = self.updates.lock();
        let show = |(id, record): (&Vec<u8>, &UpdateRecord)| ShownUpdate {
            id: hex(id).to_ascii_lowercase(),
            path: record.path.clone(),
            next: record.next,
            last: record.last,
            successes: record.successes,
            failures: record.failures,
            status: record.status,
        };
        let mut all: Vec<_> = records.iter().map(show).collect();
        all.sort_by_key(|update| update.next);
        all
    }

    /// The responses that are fetched, by certificate id, with the first certificate of each.
    fn updated_staples(&self) -> BTreeMap<Vec<u8>, (String, Arc<Staple>)> {
        let mut all = BTreeMap::new();
        for certificate in self.store.all() {
            let Some(staple) = certificate.staple().filter(|it| it.is_updated()) else { continue };
            all.entry(staple.id().to_vec())
                .or_insert_with(|| (certificate.name.clone(), staple.clone()));
        }
        all
    }
}

impl UpdateRecord {
    fn new(path: &str, next: i64) -> Self {
        Self {
            path: path.to_owned(),
            next: Some(next),
            last: None,
            successes: 0,
            failures: 0,
            in_a_row: 0,
            status: UpdateStatus::Unknown,
        }
    }
}

/// Gives a response to all staples of its certificate.
fn insert(staples: &[Arc<Staple>], der: &[u8]) -> UpdateStatus {
    let Ok(response) = staple::read(der) else { return UpdateStatus::Check };
    let Some(first) = staples.first() else { return UpdateStatus::Insertion };
    if !first.is_signed(&response) {
        return UpdateStatus::Check;
    }
    match staples.iter().all(|own| own.take(&response, der).is_ok()) {
        true => UpdateStatus::Successful,
        false => UpdateStatus::Check,
    }
}

fn query(path: &str, staple: &Staple) -> Option<StapleQuery> {
    let (mut url, id) = (staple.responder()?, staple.id().to_vec());
    let mut body = request(&id);
    let text = escaped(&openssl::base64::encode_block(&body));
    if text.len() < MOST_OF_GET {
        if !url.ends_with('/') {
            url.push('/');
        }
        url.push_str(&text);
        body.clear();
    }
    Some(StapleQuery { id, path: path.to_owned(), url, body })
}

/// An `OCSPRequest` without a nonce, as servers of prepared responses ignore it (RFC 6960 section
/// 4.1.1, RFC 5019 section 2.1.1).
fn request(id: &[u8]) -> Vec<u8> {
    // Request, requestList, TBSRequest, OCSPRequest.
    (0..4).fold(id.to_vec(), |inner, _| sequence(&inner))
}

/// A SEQUENCE of these contents.
fn sequence(contents: &[u8]) -> Vec<u8> {
    let length = contents.len() as u32;
    let bytes = length.to_be_bytes();
    let bytes = &bytes[(length.leading_zeros() / 8).min(3) as usize..];
    let mut all = vec![SEQUENCE];
    match length < 0x80 {
        true => all.push(length as u8),
        false => {
            all.push(0x80 | bytes.len() as u8);
            all.extend_from_slice(bytes);
        }
    }
    all.extend_from_slice(contents);
    all
}

/// Base64 as part of a URL's path.
fn escaped(base64: &str) -> String {
    let mut all = String::with_capacity(base64.len());
    for byte in base64.chars() {
        match byte {
            '+' => all.push_str("%2B"),
            '/' => all.push_str("%2F"),
            '=' => all.push_str("%3D"),
            other => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_come_within_their_delays() {
        let delays = UpdateDelays { min: 300, max: 3_600 };
        assert_eq!(delays.next(None, 1_000), 4_600);
        assert_eq!(delays.next(Some(2_000), 1_000), 2_000);
        assert_eq!(delays.next(Some(1_001), 1_000), 1_300);
        assert_eq!(delays.next(Some(9_000), 1_000), 4_600);
    }

    #[test]
    fn failures_in_a_row_double_the_delay_up_to_the_most() {
        let delays = UpdateDelays { min: 300, max: 3_600 };
        let waits: Vec<_> = [1, 2, 3, 4, 5, 1_000].map(|it| delays.retry(it, 0)).into();
        assert_eq!(waits, [300, 600, 1_200, 2_400, 3_600, 3_600]);
        assert_eq!(UpdateDelays { min: 0, max: 0 }.retry(1, 0), 1);
    }

    #[test]
    fn requests_are_sequences_of_a_certificate_id() {
        assert_eq!(sequence(&[1, 2]), [0x30, 2, 1, 2]);
        assert_eq!(sequence(&[0; 0x80])[..3], [0x30, 0x81, 0x80]);
        assert_eq!(sequence(&[0; 0x1234])[..4], [0x30, 0x82, 0x12, 0x34]);
        assert_eq!(escaped("a+b/c="), "a%2Bb%2Fc%3D");
    }
}
