//! Responses from and to header lists (RFC 9113 section 8.3.2).

use htx::{Head, Version, start};

use super::error::MalformedMessage;
use super::fields::{self, ListLimits, ListMeter};
use super::hpack;

/// A response whose fields are being decoded.
#[derive(Debug)]
pub struct ResponseReader {
    meter: ListMeter,
    begun: bool,
    status: Option<u16>,
    trouble: Option<MalformedMessage>,
}

impl ResponseReader {
    /// Begins a list.
    pub fn new(limits: ListLimits) -> Self {
        Self { meter: ListMeter::new(limits), begun: false, status: None, trouble: None }
    }

    /// Adds the next field of the list to `head`, which was cleared before the first one.
    #[inline]
    pub fn field(&mut self, name: &[u8], value: &[u8], head: &mut Head) {
        if self.trouble.is_none()
            && let Err(trouble) = self.take(name, value, head)
        {
            self.trouble = Some(trouble);
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8], head: &mut Head) -> Result<(), MalformedMessage> {
        self.meter.count(name, value)?;
        if name.first() == Some(&b':') {
            if name != b":status" || self.begun || self.status.is_some() {
                return Err(MalformedMessage::Stream("invalid pseudo-field in a response"));
            }
            self.status = Some(status(value).ok_or(MalformedMessage::Stream("invalid :status"))?);
            return Ok(());
        }
        let id = fields::check(name, value)?;
        self.meter.count_field()?;
        self.start_line(head)?;
        head.as_fields_mut().push_lower(id, name, fields::trimmed(value));
        Ok(())
    }

    fn start_line(&mut self, head: &mut Head) -> Result<(), MalformedMessage> {
        if !std::mem::replace(&mut self.begun, true) {
            let status = self.status.ok_or(MalformedMessage::Stream("no :status"))?;
            head.set_response(Version::Http2, status, start::reason(status).as_bytes());
        }
        Ok(())
    }

    /// Ends the list; returns the announced length of the body.
    ///
    /// # Errors
    /// The list is not a valid response. The decoder is in step: the connection may continue.
    pub fn finish(mut self, head: &mut Head) -> Result<Option<u64>, MalformedMessage> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        self.start_line(head)?;
        if head.status() == 101 {
            return Err(MalformedMessage::Stream("101 in HTTP/2"));
        }
        fields::content_length(head)
    }
}

fn status(text: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b, c] = text else { return None };
    if !b.is_ascii_digit() || !c.is_ascii_digit() {
        return None;
    }
    let digit = |byte: &u8| u16::from(byte - b'0');
    Some(digit(a) * 100 + digit(b) * 10 + digit(c))
}

/// Writes the header block of a response with this status.
pub fn encode(head: &Head, status: u16, out: &mut Vec<u8>) {
    hpack::status(status, out);
    for field in head.fields() {
        if !fields::is_dropped(field.id) {
            hpack::field(field.id, field.name, field.value, out);
        }
    }
}
