//! Trailers from and to header lists (RFC 9113 section 8.1).

use htx::Fields;

use super::error::MalformedMessage;
use super::fields::{self, ListLimits, ListMeter};
use super::hpack;

/// A trailer section whose fields are being decoded.
#[derive(Debug)]
pub struct TrailersReader {
    meter: ListMeter,
    trouble: Option<MalformedMessage>,
}

impl TrailersReader {
    /// Begins a list.
    pub fn new(limits: ListLimits) -> Self {
        Self { meter: ListMeter::new(limits), trouble: None }
    }

    /// Adds the next field of the list.
    pub fn field(&mut self, name: &[u8], value: &[u8], trailers: &mut Fields) {
        if self.trouble.is_none()
            && let Err(trouble) = self.take(name, value, trailers)
        {
            self.trouble = Some(trouble);
        }
    }

    fn take(
        &mut self,
        name: &[u8],
        value: &[u8],
        out: &mut Fields,
    ) -> Result<(), MalformedMessage> {
        self.meter.count(name, value)?;
        let id = fields::check(name, value)?;
        self.meter.count_field()?;
        out.push_lower(id, name, fields::trimmed(value));
        Ok(())
    }

    /// Ends the list.
    ///
    /// # Errors
    /// The list is not a valid trailer section.
    pub fn finish(self) -> Result<(), MalformedMessage> {
        self.trouble.map_or(Ok(()), Err)
    }
}

/// Writes the header block of trailers, without fields that are not allowed there.
pub fn encode(trailers: &Fields, out: &mut Vec<u8>) {
    for field in trailers.iter().filter(|field| !fields::is_dropped(field.id)) {
        hpack::field(field.id, field.name, field.value, out);
    }
}
