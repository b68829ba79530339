//! Rules for the fields of all HTTP/2 messages (RFC 9113 section 8.2).

use htx::{Head, HeaderId, list};

use super::error::MalformedMessage;

/// Limits of a header list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// Bytes of names and values, plus 32 per field (RFC 9113 section 6.5.2).
    pub bytes: u32,
    /// Fields, pseudo-fields not counted.
    pub fields: u16,
}

/// Counts a header list while it is decoded. Fields beyond the limits are dropped, but still
/// decoded, to keep the table in step.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListMeter {
    left: u32,
    fields: u16,
}

impl ListMeter {
    pub(super) fn new(limits: ListLimits) -> Self {
        Self { left: limits.bytes, fields: limits.fields }
    }

    /// Counts the text of a field.
    #[inline]
    pub(super) fn count(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedMessage> {
        let size = name.len() + value.len() + super::hpack::ENTRY_OVERHEAD;
        match u32::try_from(size).ok().and_then(|size| self.left.checked_sub(size)) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Err(MalformedMessage::TooLarge("header list too large"));
            }
        }
        Ok(())
    }

    /// Counts a field that is not a pseudo-field.
    #[inline]
    pub(super) fn count_field(&mut self) -> Result<(), MalformedMessage> {
        self.fields =
            self.fields.checked_sub(1).ok_or(MalformedMessage::TooLarge("too many fields"))?;
        Ok(())
    }
}

/// The identity of a field's name, if the field is allowed in HTTP/2 messages.
#[inline]
pub(super) fn check(name: &[u8], value: &[u8]) -> Result<HeaderId, MalformedMessage> {
    let id = HeaderId::from_lower(name);
    if id == HeaderId::Other && !is_lower_token(name) {
        return Err(MalformedMessage::Stream("invalid field name"));
    }
    if !is_text(value) {
        return Err(MalformedMessage::Stream("invalid character in a field value"));
    }
    match id {
        HeaderId::Connection
        | HeaderId::KeepAlive
        | HeaderId::ProxyConnection
        | HeaderId::TransferEncoding
        | HeaderId::Upgrade => Err(MalformedMessage::Stream("connection-specific field")),
        HeaderId::Te if !value.eq_ignore_ascii_case(b"trailers") => {
            Err(MalformedMessage::Stream("te is not trailers"))
        }
        id => Ok(id),
    }
}

/// Whether a field of an outgoing message is dropped: HTTP/1 connection fields, and `Host`, which
/// is in pseudo-fields.
#[inline]
pub(crate) fn is_dropped(id: HeaderId) -> bool {
    matches!(
        id,
        HeaderId::Connection
            | HeaderId::KeepAlive
            | HeaderId::ProxyConnection
            | HeaderId::TransferEncoding
            | HeaderId::Upgrade
            | HeaderId::Http2Settings
            | HeaderId::Host
    )
}

/// The value without surrounding blanks.
#[inline]
pub(super) fn trimmed(value: &[u8]) -> &[u8] {
    list::trim(value)
}

/// Whether a value has no NUL, CR or LF (RFC 9113 section 8.2.1).
#[inline]
fn is_text(value: &[u8]) -> bool {
    // Without an early exit, the compiler can vectorise the loop.
    !value.iter().fold(false, |found, byte| found | matches!(byte, 0 | b'\r' | b'\n'))
}

fn is_lower_token(name: &[u8]) -> bool {
    let allowed = |byte: &u8| {
        matches!(
            byte,
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'!' | b'#' | b'$' | b'%' | b'&'
                | b'\'' | b'*' | b'+' | b'^' | b'`' | b'|' | b'~'
        )
    };
    !name.is_empty() && name.iter().all(allowed)
}

/// A method token (RFC 9110 section 9.1).
pub(super) fn is_method(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| is_lower_token(&[byte.to_ascii_lowercase()]))
}

/// The announced length; equal values are merged, and leading zeros removed.
pub(super) fn content_length(head: &mut Head) -> Result<Option<u64>, MalformedMessage> {
    const BAD: MalformedMessage = MalformedMessage::Stream("invalid content-length");
    if !head.has(HeaderId::ContentLength) {
        return Ok(None);
    }
    let (mut agreed, mut kept, mut usual) = (None, None, true);
    for field in head.by_id(HeaderId::ContentLength) {
        kept = kept.or(Some(field.index));
        for item in field.value.split(|byte| *byte == b',').map(list::trim) {
            let value = decimal(item).ok_or(BAD)?;
            if agreed.is_some_and(|before| before != value) {
                return Err(BAD);
            }
            usual &= agreed.is_none() && (item.len() == 1 || item[0] != b'0');
            agreed = Some(value);
        }
    }
    if let (Some(value), Some(kept)) = (agreed, kept.filter(|_| !usual)) {
        head.replace_value(kept, value.to_string().as_bytes());
        head.as_fields_mut().remove_where(|f| f.id == HeaderId::ContentLength && f.index != kept);
    }
    Ok(agreed)
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
