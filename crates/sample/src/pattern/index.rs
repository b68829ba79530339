//! The index of a pattern set, one shape per match method. Never parses flags.

use super::Match;
use crate::conv::encode::from_hex;
use crate::regex::Regex;
use crate::value::Value;
use memchr::memmem::Finder;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A text with the number of its pattern.
type Numbered = (Box<[u8]>, usize);
/// Networks of one mask with the numbers of their patterns.
type Group<T> = (T, Vec<(T, usize)>);

/// Patterns in the shape that makes their method fast.
#[derive(Debug)]
pub(super) enum Index {
    /// `found`, `bool`: patterns play no part, or just say true or false.
    Flags(bool, Vec<bool>),
    /// `int`, `len`: closed ranges in file order.
    Ranges { on_len: bool, operator: Operator, ranges: Vec<(i64, i64)> },
    /// `ip`
    Nets(Nets),
    /// `str`, `bin`: sorted, with their numbers.
    Exact { hex: bool, texts: Vec<Numbered> },
    /// `beg`: sorted within each length, longest first.
    Prefixes(Vec<(usize, Vec<Numbered>)>),
    /// `sub`
    Substrings(Vec<(Finder<'static>, usize)>),
    /// What has no faster shape: texts in file order with a comparison.
    Texts(Vec<Box<[u8]>>, fn(&[u8], &[u8]) -> bool),
    /// `reg`
    Regexes(Vec<Regex>, bool),
}

/// An integer operator; it stays in force for the patterns behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
}

impl Index {
    pub(super) fn new(method: Match, ignore_case: bool) -> Index {
        let ranges = |on_len| Index::Ranges { on_len, operator: Operator::Eq, ranges: Vec::new() };
        let texts = |compare| Index::Texts(Vec::new(), compare);
        match method {
            Match::Found => Index::Flags(true, Vec::new()),
            Match::Bool => Index::Flags(false, Vec::new()),
            Match::Int => ranges(false),
            Match::Len => ranges(true),
            Match::Ip => Index::Nets(Nets::default()),
            Match::Bin => Index::Exact { hex: true, texts: Vec::new() },
            Match::Str if ignore_case => texts(|value, text| value.eq_ignore_ascii_case(text)),
            Match::Str => Index::Exact { hex: false, texts: Vec::new() },
            Match::Beg if ignore_case => texts(|value, text| {
                value.get(..text.len()).is_some_and(|v| v.eq_ignore_ascii_case(text))
            }),
            Match::Beg => Index::Prefixes(Vec::new()),
            Match::Sub if ignore_case => texts(contains_ignoring_case),
            Match::Sub => Index::Substrings(Vec::new()),
            Match::End if ignore_case => texts(|value, text| {
                value.len() >= text.len()
                    && value[value.len() - text.len()..].eq_ignore_ascii_case(text)
            }),
            Match::End => texts(|value, text| value.ends_with(text)),
            Match::Dir if ignore_case => texts(|value, text| word(value, text, b"/?", true)),
            Match::Dir => texts(|value, text| word(value, text, b"/?", false)),
            Match::Dom if ignore_case => texts(|value, text| word(value, text, b"/?.:", true)),
            Match::Dom => texts(|value, text| word(value, text, b"/?.:", false)),
            Match::Reg => Index::Regexes(Vec::new(), ignore_case),
        }
    }

    pub(super) fn push(&mut self, pattern: &str, number: usize) -> Result<(), String> {
        match self {
            Index::Flags(true, _) => {}
            Index::Flags(false, flags) => flags.push(match pattern {
                "1" | "true" | "yes" | "on" => true,
                "0" | "false" | "no" | "off" => false,
                other => return Err(format!("'{other}' is not a boolean")),
            }),
            Index::Ranges { operator, ranges, .. } => match parse_operator(pattern) {
                Some(found) => *operator = found,
                None => ranges.push(parse_range(pattern, *operator)?),
            },
            Index::Nets(nets) => nets.push(pattern, number)?,
            Index::Exact { hex: true, texts } => {
                let bytes = from_hex(pattern.as_bytes())
                    .ok_or_else(|| format!("'{pattern}' is not an even number of hex digits"))?;
                texts.push((bytes.into(), number));
            }
            Index::Exact { texts, .. } => texts.push((pattern.as_bytes().into(), number)),
            Index::Prefixes(groups) => {
                let text = (Box::from(pattern.as_bytes()), number);
                match groups.iter_mut().find(|(len, _)| *len == pattern.len()) {
                    Some((_, group)) => group.push(text),
                    None => groups.push((pattern.len(), vec![text])),
                }
            }
            Index::Substrings(finders) => {
                finders.push((Finder::new(pattern.as_bytes()).into_owned(), number));
            }
            Index::Texts(texts, _) => texts.push(pattern.as_bytes().into()),
            Index::Regexes(regexes, ignore_case) => {
                regexes.push(Regex::new(pattern, *ignore_case)?)
            }
        }
        Ok(())
    }

    /// Sorts what is searched by halving; among equal keys the first in file order wins.
    pub(super) fn finish(&mut self) {
        let sort = |texts: &mut Vec<Numbered>| {
            texts.sort();
            texts.dedup_by(|later, first| later.0 == first.0);
        };
        match self {
            Index::Exact { texts, .. } => sort(texts),
            Index::Prefixes(groups) => {
                groups.sort_by_key(|(len, _)| std::cmp::Reverse(*len));
                groups.iter_mut().for_each(|(_, group)| sort(group));
            }
            Index::Nets(nets) => nets.finish(),
            _ => {}
        }
    }

    pub(super) fn find(&self, value: &Value<'_>) -> Option<usize> {
        match self {
            Index::Flags(true, _) => Some(0),
            Index::Flags(false, flags) => {
                let truth = value.to_int()? != 0;
                if flags.is_empty() {
                    truth.then_some(0)
                } else {
                    flags.iter().position(|f| *f == truth)
                }
            }
            Index::Ranges { on_len, ranges, .. } => {
                let int = if *on_len {
                    with_text(value, |text| text.len() as i64)?
                } else {
                    value.to_int()?
                };
                ranges.iter().position(|(low, high)| (*low..=*high).contains(&int))
            }
            Index::Nets(nets) => nets.find(value.to_addr()?),
            Index::Exact { hex: true, texts } => {
                let bytes = value.clone().to_bin()?;
                search(texts, &bytes)
            }
            Index::Exact { texts, .. } => with_text(value, |text| search(texts, text))?,
            Index::Prefixes(groups) => with_text(value, |text| {
                groups.iter().find_map(|(len, group)| search(group, text.get(..*len)?))
            })?,
            Index::Substrings(finders) => with_text(value, |text| {
                finders.iter().find(|(finder, _)| finder.find(text).is_some()).map(|(_, n)| *n)
            })?,
            Index::Texts(texts, compare) => {
                with_text(value, |text| texts.iter().position(|pattern| compare(text, pattern)))?
            }
            Index::Regexes(regexes, _) => {
                with_text(value, |text| regexes.iter().position(|regex| regex.is_match(text)))?
            }
        }
    }
}

/// The text of `value`, without a copy when it is one already.
fn with_text<T>(value: &Value<'_>, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match value {
        Value::Str(bytes) | Value::Meth(bytes) => Some(look(bytes)),
        other => Some(look(&other.clone().to_str()?)),
    }
}

fn search(texts: &[Numbered], key: &[u8]) -> Option<usize> {
    let at = texts.binary_search_by(|(text, _)| (**text).cmp(key)).ok()?;
    Some(texts[at].1)
}

fn contains_ignoring_case(value: &[u8], text: &[u8]) -> bool {
    text.is_empty() || value.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text))
}

/// Whether `text` stands in `value` between delimiters, its own outer delimiters ignored.
fn word(value: &[u8], text: &[u8], delimiters: &[u8], ignore_case: bool) -> bool {
    let delimiter = |byte: &u8| delimiters.contains(byte);
    let Some(from) = text.iter().position(|byte| !delimiter(byte)) else { return false };
    let to = text.iter().rposition(|byte| !delimiter(byte)).map_or(from, |at| at + 1);
    let text = &text[from..to];
    let mut start = 0;
    while let Some(part) = value.get(start..start + text.len()) {
        let same = if ignore_case { part.eq_ignore_ascii_case(text) } else { part == text };
        if same && value.get(start + text.len()).is_none_or(delimiter) {
            return true;
        }
        match value[start..].iter().position(delimiter) {
            Some(next) => start += next + 1,
            None => break,
        }
    }
    false
}

fn parse_operator(word: &str) -> Option<Operator> {
    Some(match word {
        "eq" => Operator::Eq,
        "ge" => Operator::Ge,
        "gt" => Operator::Gt,
        "le" => Operator::Le,
        "lt" => Operator::Lt,
        _ => return None,
    })
}

/// `5`, `5:`, `:5`, `3:5`; an operator other than `eq` takes a single number.
fn parse_range(pattern: &str, operator: Operator) -> Result<(i64, i64), String> {
    let number =
        |text: &str| text.parse::<i64>().map_err(|_| format!("'{pattern}' is not a number"));
    let (low, high) = match pattern.split_once(':') {
        Some(("", "")) => return Err(format!("'{pattern}' is not a number")),
        Some(("", high)) => (i64::MIN, number(high)?),
        Some((low, "")) => (number(low)?, i64::MAX),
        Some((low, high)) => (number(low)?, number(high)?),
        None => (number(pattern)?, number(pattern)?),
    };
    if low > high {
        return Err(format!("'{pattern}' is not a valid number range"));
    }
    let never = (1, 0);
    Ok(match operator {
        Operator::Eq => (low, high),
        _ if low != high => return Err(format!("'{pattern}' is a range, which only 'eq' takes")),
        Operator::Ge => (low, i64::MAX),
        Operator::Gt => low.checked_add(1).map_or(never, |low| (low, i64::MAX)),
        Operator::Le => (i64::MIN, high),
        Operator::Lt => high.checked_sub(1).map_or(never, |high| (i64::MIN, high)),
    })
}

/// Networks by prefix length, longest first, each length sorted: a look-up halves once per length
/// in use.
#[derive(Debug, Default)]
pub(super) struct Nets {
    v4: Vec<Group<u32>>,
    v6: Vec<Group<u128>>,
}

impl Nets {
    fn push(&mut self, pattern: &str, number: usize) -> Result<(), String> {
        let invalid = || format!("'{pattern}' is not a valid IPv4 or IPv6 address");
        let (address, mask) = match pattern.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (pattern, None),
        };
        if let Ok(address) = address.parse::<Ipv6Addr>() {
            let mask = match mask {
                None => u128::MAX,
                Some(mask) => mask6(mask).ok_or_else(invalid)?,
            };
            add(&mut self.v6, mask, u128::from(address) & mask, number);
            return Ok(());
        }
        let address = partial_v4(address, mask.is_some()).ok_or_else(invalid)?;
        let mask = match mask {
            None => u32::MAX,
            Some(mask) => mask4(mask).ok_or_else(invalid)?,
        };
        add(&mut self.v4, mask, u32::from(address) & mask, number);
        Ok(())
    }

    fn finish(&mut self) {
        self.v4.sort_by_key(|(mask, _)| std::cmp::Reverse(*mask));
        self.v6.sort_by_key(|(mask, _)| std::cmp::Reverse(*mask));
        self.v4.iter_mut().for_each(|(_, nets)| nets.sort_unstable());
        self.v6.iter_mut().for_each(|(_, nets)| nets.sort_unstable());
    }

    fn find(&self, address: IpAddr) -> Option<usize> {
        match address {
            IpAddr::V4(v4) => self.find4(v4).or_else(|| {
                if self.v6.is_empty() { None } else { self.find6(v4.to_ipv6_mapped()) }
            }),
            IpAddr::V6(v6) => self.find6(v6).or_else(|| self.find4(Value::Ipv6(v6).to_ipv4()?)),
        }
    }

    fn find4(&self, address: Ipv4Addr) -> Option<usize> {
        let address = u32::from(address);
        self.v4.iter().find_map(|(mask, nets)| lookup(nets, address & mask))
    }

    fn find6(&self, address: Ipv6Addr) -> Option<usize> {
        let address = u128::from(address);
        self.v6.iter().find_map(|(mask, nets)| lookup(nets, address & mask))
    }
}

fn add<T: PartialEq>(groups: &mut Vec<Group<T>>, mask: T, net: T, number: usize) {
    match groups.iter_mut().find(|(found, _)| *found == mask) {
        Some((_, nets)) => nets.push((net, number)),
        None => groups.push((mask, vec![(net, number)])),
    }
}

fn lookup<T: Ord + Copy>(nets: &[(T, usize)], net: T) -> Option<usize> {
    let at = nets.partition_point(|(found, _)| *found < net);
    nets.get(at).filter(|(found, _)| *found == net).map(|(_, number)| *number)
}

/// `10.1.2.3`; with a mask behind it, `10` and `10.1` stand for `10.0.0.0` and `10.1.0.0`.
fn partial_v4(text: &str, has_mask: bool) -> Option<Ipv4Addr> {
    if !has_mask {
        return text.parse().ok();
    }
    let mut octets = [0u8; 4];
    for (i, part) in text.split('.').enumerate() {
        *octets.get_mut(i)? = part.parse().ok()?;
    }
    Some(Ipv4Addr::from(octets))
}

fn mask4(text: &str) -> Option<u32> {
    if let Ok(bits) = text.parse::<u32>() {
        return Some(u32::MAX.checked_shl(32u32.checked_sub(bits)?).unwrap_or(0));
    }
    text.parse::<Ipv4Addr>().ok().map(u32::from)
}

fn mask6(text: &str) -> Option<u128> {
    if let Ok(bits) = text.parse::<u32>() {
        return Some(u128::MAX.checked_shl(128u32.checked_sub(bits)?).unwrap_or(0));
    }
    text.parse::<Ipv6Addr>().ok().map(u128::from)
}
