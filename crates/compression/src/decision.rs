//! The decision whether a response is compressed, and with which algorithm.
//!
//! A caller feeds [`RequestFacts`] and [`ResponseFacts`] with the fields of both heads and calls
//! [`decide`]. The rules are those of HAProxy's manual under `compression algo`.

use crate::accept_encoding::Choice;
use crate::algorithm::Algorithm;
use crate::user_agent;

/// The properties of a request that count.
pub struct RequestFacts<'a> {
    /// The version is HTTP/1.1 or above.
    pub is_http11: bool,
    /// The method is HEAD.
    pub is_head: bool,
    has_user_agent: bool,
    unreliable: bool,
    choice: Choice<'a>,
}

impl<'a> RequestFacts<'a> {
    /// A request without fields, for a list of `compression algo`.
    #[must_use]
    pub fn new(is_http11: bool, is_head: bool, configured: &'a [Algorithm]) -> Self {
        let choice = Choice::new(configured);
        Self { is_http11, is_head, has_user_agent: false, unreliable: false, choice }
    }

    /// Takes a field; any but `accept-encoding` and the first `user-agent` is ignored.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"accept-encoding") {
            self.choice.value(value);
        } else if name.eq_ignore_ascii_case(b"user-agent") && !self.has_user_agent {
            self.has_user_agent = true;
            self.unreliable = user_agent::is_unreliable(value);
        }
    }

    /// Whether `compression offload` hides `accept-encoding` from servers: a configured algorithm,
    /// `identity` among them, suits the client, whatever else forbids to compress.
    #[must_use]
    pub fn is_offloaded(&self) -> bool {
        !self.unreliable && self.choice.clone().algorithm().is_some()
    }

    /// The algorithm for the answers to this request.
    ///
    /// # Errors
    ///
    /// If none is to be compressed.
    pub fn algorithm(self) -> Result<Algorithm, Refusal> {
        if !self.is_http11 {
            return Err(Refusal::RequestVersion);
        }
        if self.unreliable {
            return Err(Refusal::UserAgent);
        }
        if self.is_head {
            return Err(Refusal::Head);
        }
        match self.choice.algorithm() {
            Some(Algorithm::Identity) => Err(Refusal::Identity),
            Some(algorithm) => Ok(algorithm),
            None => Err(Refusal::AcceptEncoding),
        }
    }
}

/// The delimitation of a response's body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// `content-length`.
    Length(u64),
    /// Chunks of HTTP/1, or a stream of HTTP/2 without `content-length`.
    Delimited,
    /// The end of the connection, or a tunnel.
    UntilClose,
}

/// The properties of a response that count.
pub struct ResponseFacts<'a> {
    /// The status.
    pub status: u16,
    /// The version is HTTP/1.1 or above.
    pub is_http11: bool,
    /// The delimitation of the body.
    pub body: Body,
    content_type: Option<&'a [u8]>,
    etag: ETags,
    has_coding: bool,
    no_transform: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ETags {
    None,
    Strong,
    Weak,
    /// A malformed one, or several.
    Invalid,
}

impl<'a> ResponseFacts<'a> {
    /// A response without fields.
    #[must_use]
    pub fn new(status: u16, is_http11: bool, body: Body) -> Self {
        Self {
            status,
            is_http11,
            body,
            content_type: None,
            etag: ETags::None,
            has_coding: false,
            no_transform: false,
        }
    }

    /// Reads a field; fields without a meaning for compression are ignored.
    pub fn field(&mut self, name: &[u8], value: &'a [u8]) {
        // The length is compared first: it excludes most fields.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"etag") => self.etag = self.etag.and(value),
            12 if name.eq_ignore_ascii_case(b"content-type") => {
                self.content_type.get_or_insert(value);
            }
            13 if name.eq_ignore_ascii_case(b"cache-control") => {
                self.no_transform |= forbids_transformation(value);
            }
            16 if name.eq_ignore_ascii_case(b"content-encoding") => self.has_coding = true,
            _ => {}
        }
    }
}

impl ETags {
    fn and(self, value: &[u8]) -> Self {
        match (self, value) {
            (Self::None, [b'"', .., b'"']) => Self::Strong,
            (Self::None, [b'W', b'/', b'"', .., b'"']) => Self::Weak,
            _ => Self::Invalid,
        }
    }
}

/// Whether a value of `cache-control` has `no-transform` (RFC 9111, section 5.2.2.6).
fn forbids_transformation(value: &[u8]) -> bool {
    let is = |directive: &[u8]| directive.trim_ascii().eq_ignore_ascii_case(b"no-transform");
    crate::list::elements(value).any(is)
}

/// The reason why a response is not compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The client speaks HTTP/1.0.
    RequestVersion,
    /// The client is a browser with a known fault.
    UserAgent,
    /// The answer to HEAD has no body.
    Head,
    /// The client takes none of the algorithms.
    AcceptEncoding,
    /// The choice is `identity`.
    Identity,
    /// The status is none of 200, 201, 202 and 203.
    Status,
    /// The server speaks HTTP/1.0.
    ResponseVersion,
    /// The body is empty, or only the end of the connection ends it.
    Body,
    /// The body has a coding already.
    ContentEncoding,
    /// `cache-control: no-transform`.
    NoTransform,
    /// The type is `multipart`, or none of `compression type`.
    ContentType,
    /// A malformed entity tag, or several.
    ETag,
}

/// The plan for a response that is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The algorithm of the body.
    pub algorithm: Algorithm,
    /// The entity tag is strong and becomes weak: RFC 9110, section 8.8.1.
    pub weaken_etag: bool,
    /// The head has `content-length`.
    pub has_length: bool,
}

/// Decides on a response. `types` is the list of `compression type`; an empty one allows every
/// type. `algorithm` is the result of [`RequestFacts::algorithm`].
///
/// # Errors
///
/// The reason if the response stays as it is.
pub fn decide(
    algorithm: Algorithm,
    response: &ResponseFacts<'_>,
    types: &[impl AsRef<[u8]>],
) -> Result<Plan, Refusal> {
    let has_length = match response.body {
        Body::Length(0) | Body::UntilClose => return Err(Refusal::Body),
        Body::Length(_) => true,
        Body::Delimited => false,
    };
    if !response.is_http11 {
        return Err(Refusal::ResponseVersion);
    }
    if !matches!(response.status, 200..=203) {
        return Err(Refusal::Status);
    }
    if response.has_coding {
        return Err(Refusal::ContentEncoding);
    }
    if response.no_transform {
        return Err(Refusal::NoTransform);
    }
    if !allows(types, response.content_type) {
        return Err(Refusal::ContentType);
    }
    let weaken_etag = match response.etag {
        ETags::Invalid => return Err(Refusal::ETag),
        ETags::Strong => true,
        ETags::None | ETags::Weak => false,
    };
    Ok(Plan { algorithm, weaken_etag, has_length })
}

fn allows(types: &[impl AsRef<[u8]>], content_type: Option<&[u8]>) -> bool {
    let Some(content_type) = content_type else { return types.is_empty() };
    let begins_with = |prefix: &[u8]| {
        content_type.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if begins_with(b"multipart") {
        return false;
    }
    types.is_empty() || types.iter().any(|prefix| begins_with(prefix.as_ref()))
}

#[cfg(test)]
mod tests;
