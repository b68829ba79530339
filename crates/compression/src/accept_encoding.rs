//! The choice of an algorithm from `Accept-Encoding` (RFC 9110, section 12.5.3).

use crate::algorithm::Algorithm;
use crate::list;

/// Quality in thousandths; 0 refuses.
type Quality = u16;

const FULL: Quality = 1000;

/// Most algorithms that one list of `compression algo` has.
pub const MAX_ALGORITHMS: usize = 16;

/// The choice so far. Feed it with every value of `Accept-Encoding` of a request.
///
/// The highest quality wins. Among equal encodings HAProxy chooses the first in the client's list.
/// A list with `br` or `zstd`, which HAProxy does not have, is in order of preference instead:
/// clients name `gzip` first. A token that two algorithms share means the last of them, and `*`
/// means the last algorithm that the client does not name.
#[derive(Clone)]
pub struct Choice<'a> {
    configured: &'a [Algorithm],
    offers: [Offer; MAX_ALGORITHMS],
    rest: Option<Offer>,
    /// Elements parsed so far.
    elements: u32,
}

/// A client's word on one algorithm.
#[derive(Clone, Copy, Default)]
struct Offer {
    quality: Quality,
    /// The number of the element that named it, from 1 on; 0 if there was none.
    element: u32,
}

impl Offer {
    fn is_named(self) -> bool {
        self.element > 0
    }

    /// The client's highest word counts, if it has several.
    fn raise(&mut self, quality: Quality, element: u32) {
        if !self.is_named() || quality > self.quality {
            *self = Self { quality, element };
        }
    }
}

impl<'a> Choice<'a> {
    /// The list is `compression algo`; only its first [`MAX_ALGORITHMS`] count.
    #[must_use]
    pub fn new(configured: &'a [Algorithm]) -> Self {
        let configured = &configured[..configured.len().min(MAX_ALGORITHMS)];
        let offers = [Offer::default(); MAX_ALGORITHMS];
        Self { configured, offers, rest: None, elements: 0 }
    }

    /// Takes one value of `Accept-Encoding`. The cost is linear in its length.
    pub fn value(&mut self, value: &[u8]) {
        for element in list::elements(value) {
            self.elements = self.elements.saturating_add(1);
            let (token, quality) = parse(element);
            if token == b"*" {
                self.rest.get_or_insert_default().raise(quality, self.elements);
            } else if let Some(index) = self.last_with(token) {
                self.offers[index].raise(quality, self.elements);
            }
        }
    }

    fn last_with(&self, token: &[u8]) -> Option<usize> {
        let named =
            |algorithm: &Algorithm| token.eq_ignore_ascii_case(algorithm.token().as_bytes());
        self.configured.iter().rposition(named)
    }

    /// The chosen algorithm, `identity` included if it is configured.
    #[must_use]
    pub fn algorithm(mut self) -> Option<Algorithm> {
        self.offer_rest();
        let ordered = !self.configured.iter().all(|algorithm| algorithm.is_of_haproxy());
        let mut best: Option<(Algorithm, Offer)> = None;
        for (algorithm, offer) in self.configured.iter().zip(self.offers) {
            let wins = |other: Offer| {
                offer.quality > other.quality
                    || !ordered && offer.quality == other.quality && offer.element < other.element
            };
            if offer.quality > 0 && best.is_none_or(|(_, other)| wins(other)) {
                best = Some((*algorithm, offer));
            }
        }
        best.map(|(algorithm, _)| algorithm)
    }

    /// Gives the word on `*` to the last algorithm whose token the client does not name.
    fn offer_rest(&mut self) {
        let Some(rest) = self.rest else { return };
        for index in (0..self.configured.len()).rev() {
            let token = self.configured[index].token();
            let named =
                |(other, offer): (&Algorithm, &Offer)| other.token() == token && offer.is_named();
            if !self.configured.iter().zip(&self.offers).any(named) {
                self.offers[index] = rest;
                return;
            }
        }
    }
}

/// The token of an element and its quality, which is 1 if none can be read.
fn parse(element: &[u8]) -> (&[u8], Quality) {
    let element = element.trim_ascii();
    let end = element.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t'));
    let (token, parameters) = element.split_at(end.unwrap_or(element.len()));
    let quality = parameters.split(|byte| *byte == b';').skip(1).find_map(quality);
    (token, quality.unwrap_or(FULL))
}

/// The quality of a parameter `q=`; more than three digits after the point do not count.
fn quality(parameter: &[u8]) -> Option<Quality> {
    let value = match parameter.trim_ascii() {
        [b'q' | b'Q', b'=', value @ ..] => value,
        _ => return None,
    };
    let Some((b'0', rest)) = value.split_first() else { return Some(FULL) };
    let [b'.', digits @ ..] = rest else { return Some(0) };
    let mut quality = 0;
    let mut weight = FULL;
    for digit in digits.iter().take(3).take_while(|byte| byte.is_ascii_digit()) {
        weight /= 10;
        quality += Quality::from(digit - b'0') * weight;
    }
    Some(quality)
}

#[cfg(test)]
mod tests;
