//! The SETTINGS parameters (RFC 9114 section 7.2.4, RFC 9204 section 5, RFC 9220 section 3).

use super::error::H3ErrorCode;
use super::varint;
use crate::sink::Sink;

const QPACK_MAX_TABLE_CAPACITY: u64 = 0x1;
const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
const QPACK_BLOCKED_STREAMS: u64 = 0x7;
const ENABLE_CONNECT_PROTOCOL: u64 = 0x8;

/// Most parameters of a SETTINGS frame; real peers send fewer than ten.
const MAX_PARAMETERS: usize = 64;

/// The settings of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct H3Settings {
    /// Bytes of dynamic table that the peer's encoder may use.
    pub qpack_max_table_capacity: u64,
    /// Streams that may wait for the peer's encoder stream.
    pub qpack_blocked_streams: u64,
    /// Largest field section accepted, as defined in RFC 9114 section 4.2.2; `None` without a
    /// limit.
    pub max_field_section_size: Option<u64>,
    /// Whether extended CONNECT is accepted.
    pub enable_connect_protocol: bool,
}

impl H3Settings {
    /// Reads a SETTINGS payload. Unknown parameters are ignored.
    ///
    /// # Errors
    /// The connection ends with this code.
    pub fn decode(mut payload: &[u8]) -> Result<Self, H3ErrorCode> {
        let mut settings = Self::default();
        let mut seen = Vec::new();
        while !payload.is_empty() {
            let (id, id_size) = varint::decode(payload).ok_or(H3ErrorCode::FRAME_ERROR)?;
            let rest = &payload[id_size..];
            let (value, value_size) = varint::decode(rest).ok_or(H3ErrorCode::FRAME_ERROR)?;
            payload = &rest[value_size..];
            if seen.contains(&id) {
                return Err(H3ErrorCode::SETTINGS_ERROR);
            }
            if seen.len() == MAX_PARAMETERS {
                return Err(H3ErrorCode::EXCESSIVE_LOAD);
            }
            seen.push(id);
            settings.apply(id, value)?;
        }
        Ok(settings)
    }

    fn apply(&mut self, id: u64, value: u64) -> Result<(), H3ErrorCode> {
        match id {
            QPACK_MAX_TABLE_CAPACITY => self.qpack_max_table_capacity = value,
            MAX_FIELD_SECTION_SIZE => self.max_field_section_size = Some(value),
            QPACK_BLOCKED_STREAMS => self.qpack_blocked_streams = value,
            ENABLE_CONNECT_PROTOCOL if value > 1 => return Err(H3ErrorCode::SETTINGS_ERROR),
            ENABLE_CONNECT_PROTOCOL => self.enable_connect_protocol = value == 1,
            // Settings of HTTP/2 without a successor (RFC 9114 section 7.2.4.1).
            0x0 | 0x2..=0x5 => return Err(H3ErrorCode::SETTINGS_ERROR),
            _ => {}
        }
        Ok(())
    }

    /// Writes the payload: the parameters that differ from the protocol's defaults, then one that
    /// recipients must ignore (RFC 9114 section 7.2.4.1).
    pub fn encode(&self, out: &mut impl Sink) {
        let mut put = |id: u64, value: u64| {
            if value > 0 {
                varint::encode(id, out);
                varint::encode(value, out);
            }
        };
        put(QPACK_MAX_TABLE_CAPACITY, self.qpack_max_table_capacity);
        put(QPACK_BLOCKED_STREAMS, self.qpack_blocked_streams);
        put(MAX_FIELD_SECTION_SIZE, self.max_field_section_size.unwrap_or_default());
        put(ENABLE_CONNECT_PROTOCOL, u64::from(self.enable_connect_protocol));
        put(0x1f * 7 + 0x21, 1);
    }
}
