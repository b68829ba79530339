//! Record headers and the fixed-size records (FastCGI specification, sections 3.3 and 5).

/// Bytes of a record header.
pub const HEADER_LEN: usize = 8;

const VERSION: u8 = 1;
const RESPONDER: u8 = 1;
const KEEP_CONN: u8 = 1;

/// A record type. Unknown ones are ignored, except by the budget for records without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the record of the same name")]
pub enum RecordType {
    BeginRequest,
    AbortRequest,
    EndRequest,
    Params,
    Stdin,
    Stdout,
    Stderr,
    Data,
    GetValues,
    GetValuesResult,
    UnknownType,
    Other(u8),
}

impl RecordType {
    const KNOWN: [Self; 11] = [
        Self::BeginRequest,
        Self::AbortRequest,
        Self::EndRequest,
        Self::Params,
        Self::Stdin,
        Self::Stdout,
        Self::Stderr,
        Self::Data,
        Self::GetValues,
        Self::GetValuesResult,
        Self::UnknownType,
    ];

    /// The type with this number.
    pub fn of(number: u8) -> Self {
        let index = usize::from(number).wrapping_sub(1);
        Self::KNOWN.get(index).copied().unwrap_or(Self::Other(number))
    }

    /// The number of this type.
    pub fn number(self) -> u8 {
        match self {
            Self::Other(number) => number,
            known => 1 + Self::KNOWN.iter().position(|it| *it == known).unwrap_or_default() as u8,
        }
    }
}

/// Bytes that are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The protocol version is not 1.
    Version,
    /// The content is shorter or longer than the type allows.
    Length,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Type of the record.
    pub kind: RecordType,
    /// Request of the record; 0 is the connection.
    pub request: u16,
    /// Bytes of content.
    pub len: u16,
    /// Bytes of padding after the content.
    pub padding: u8,
}

impl RecordHeader {
    /// Reads a header from the front of `input`; `None` when more bytes are needed.
    ///
    /// # Errors
    /// The version is another one, which the first byte alone shows.
    pub fn parse(input: &[u8]) -> Result<Option<Self>, RecordError> {
        if input.first().is_some_and(|&version| version != VERSION) {
            return Err(RecordError::Version);
        }
        let Some(&[_, kind, id_high, id_low, high, low, padding, _]) = input.first_chunk() else {
            return Ok(None);
        };
        Ok(Some(Self {
            kind: RecordType::of(kind),
            request: u16::from_be_bytes([id_high, id_low]),
            len: u16::from_be_bytes([high, low]),
            padding,
        }))
    }

    /// The header of a record without padding.
    pub fn new(kind: RecordType, request: u16, len: u16) -> Self {
        Self { kind, request, len, padding: 0 }
    }

    /// The header as bytes.
    pub fn bytes(&self) -> [u8; HEADER_LEN] {
        let ([a, b], [c, d]) = (self.request.to_be_bytes(), self.len.to_be_bytes());
        [VERSION, self.kind.number(), a, b, c, d, self.padding, 0]
    }
}

/// The record that begins a request to a responder.
pub fn begin_request(request: u16, keep_conn: bool) -> [u8; 2 * HEADER_LEN] {
    let header = RecordHeader::new(RecordType::BeginRequest, request, HEADER_LEN as u16);
    let mut record = [0; 2 * HEADER_LEN];
    record[..HEADER_LEN].copy_from_slice(&header.bytes());
    record[HEADER_LEN + 1] = RESPONDER;
    record[HEADER_LEN + 2] = if keep_conn { KEEP_CONN } else { 0 };
    record
}

/// The result of a request at the level of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndStatus {
    /// The request was processed.
    Complete,
    /// The application processes one request at a time per connection, and another one is active.
    CantMultiplex,
    /// The application is out of some resource.
    Overloaded,
    /// The application is no responder.
    UnknownRole,
    /// A status that the specification does not define.
    Other(u8),
}

/// The content of END_REQUEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRequest {
    /// Exit status of the application; responders use it as a CGI program does.
    pub app_status: u32,
    /// Result at the level of the protocol.
    pub status: EndStatus,
}

impl EndRequest {
    /// Bytes of content.
    pub const LEN: usize = 8;

    /// Reads the content of a complete record.
    ///
    /// # Errors
    /// The content has another length.
    pub fn parse(content: &[u8]) -> Result<Self, RecordError> {
        let Ok([a, b, c, d, status, ..]) = <[u8; Self::LEN]>::try_from(content) else {
            return Err(RecordError::Length);
        };
        let status = match status {
            0 => EndStatus::Complete,
            1 => EndStatus::CantMultiplex,
            2 => EndStatus::Overloaded,
            3 => EndStatus::UnknownRole,
            other => EndStatus::Other(other),
        };
        Ok(Self { app_status: u32::from_be_bytes([a, b, c, d]), status })
    }
}
