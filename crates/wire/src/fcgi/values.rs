//! GET_VALUES and its result: the capacity of an application (FastCGI specification, section 4.1).

use super::pairs::{self, PairError, Pairs};
use super::record::{RecordHeader, RecordType};

const MAX_REQS: &[u8] = b"FCGI_MAX_REQS";
const MPXS_CONNS: &[u8] = b"FCGI_MPXS_CONNS";

/// The longest result that is read: three names are defined, and numbers are short.
pub const MAX_RESULT: u16 = 1_024;

/// Capacity of an application; `None` for a variable that it does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Requests that it processes at the same time.
    pub max_reqs: Option<u32>,
    /// Whether it processes several requests of one connection at the same time.
    pub multiplexes: Option<bool>,
}

impl Capacity {
    /// Reads the content of GET_VALUES_RESULT. Unknown variables, and values that are no numbers,
    /// are ignored.
    ///
    /// # Errors
    /// The pairs are malformed.
    pub fn parse(content: &[u8]) -> Result<Self, PairError> {
        let mut capacity = Self::default();
        for pair in Pairs::new(content) {
            let (name, value) = pair?;
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            match name {
                MAX_REQS => capacity.max_reqs = number,
                MPXS_CONNS => capacity.multiplexes = number.map(|number| number != 0),
                _ => {}
            }
        }
        Ok(capacity)
    }
}

/// Appends the record that asks for the capacity.
pub fn get_values(out: &mut Vec<u8>) {
    let names = [MAX_REQS, MPXS_CONNS];
    let len: usize = names.iter().map(|name| pairs::encoded_len(name.len(), 0)).sum();
    let header = RecordHeader::new(RecordType::GetValues, 0, len as u16);
    out.extend_from_slice(&header.bytes());
    for name in names {
        pairs::put(name, &[], out);
    }
}
