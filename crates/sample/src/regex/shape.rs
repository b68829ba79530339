//! An upper bound of the time of a search, derived from the text of the pattern.
//!
//! Repetitions cause backtracking. A pattern whose repetitions cannot take long is searched without
//! counting steps; for others, subjects that may take long are generated and tried, so that a
//! warning can be given.

/// The library's limit on groups that a search enters, for searches that are not counted.
pub(super) const GROUPS: u64 = 10_000;
/// Character steps that a search may take without being counted: some 50 us.
const SIMPLE: u64 = 65_536;
/// The greatest depth of nested groups.
const DEPTH: usize = 64;
/// Bytes of a subject that is made up.
const PROBE: usize = 48;
/// Repetitions from which on a bounded one counts as an unbounded one.
const MANY: u32 = 8;

/// A part of a pattern, as far as it matters for the cost of a search.
#[derive(Debug, Clone)]
struct Node {
    kind: NodeKind,
    min: u32,
    max: u32,
    possessive: bool,
}

#[derive(Debug, Clone)]
enum NodeKind {
    /// A set of characters, represented by one member.
    Char(u8),
    /// Nothing of the subject.
    Zero,
    /// Alternatives.
    Group(Vec<Vec<Node>>),
}

/// The steps that a search may take: `factor` times the length to the power of `degree`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    factor: u64,
    degree: u32,
    /// A group repeats that can match in more than one way.
    loops: bool,
}

/// The shape of a pattern.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// `None`: the pattern has items of unknown cost.
    cost: Option<Cost>,
}

impl Shape {
    pub(super) fn of(pattern: &str) -> Self {
        let Some(alternatives) = parse(pattern) else { return Self { cost: None } };
        let mut cost = alternatives_cost(&alternatives);
        if !alternatives.iter().all(|sequence| is_anchored(sequence, pattern)) {
            cost.degree += 1;
        }
        Self { cost: Some(cost) }
    }

    /// Whether a search in so many bytes takes few steps, for any input.
    #[inline]
    pub(super) fn is_simple(&self, length: usize) -> bool {
        let Some(Cost { factor, degree, loops }) = self.cost else { return false };
        let (start, degree) = match loops {
            true => (factor.saturating_mul(GROUPS), degree.saturating_sub(2)),
            // Any search takes one pass over the subject.
            false if degree <= 1 => return factor <= 64,
            false => (factor, degree),
        };
        let length = length.max(1) as u64;
        (0..degree).fold(start, |steps, _| steps.saturating_mul(length)) <= SIMPLE
    }

    /// Whether the pattern has, or may have, a repeated group that can match in more than one way.
    pub(super) fn may_loop(&self) -> bool {
        self.cost.is_none_or(|cost| cost.loops)
    }
}

/// Subjects that a search may take long for: a start, what repeats, and an end that does not match.
pub(super) fn probes(pattern: &str) -> Vec<Vec<u8>> {
    let Some(alternatives) = parse(pattern) else { return Vec::new() };
    let mut all = Vec::new();
    for sequence in &alternatives {
        let mut found = Vec::new();
        find_loops(sequence, &mut Vec::new(), &mut found);
        // The library gives up at once where a character is absent that every match has.
        let mut whole = Vec::new();
        sequence.iter().for_each(|node| write_least(node, node.min, &mut whole));
        found.iter_mut().for_each(|subject| subject.extend_from_slice(&whole));
        all.append(&mut found);
    }
    all
}

/// Looks for groups that repeat and contain parts that can match in more than one way.
fn find_loops(sequence: &[Node], before: &mut Vec<u8>, found: &mut Vec<Vec<u8>>) {
    let start = before.len();
    for node in sequence {
        if let NodeKind::Group(alternatives) = &node.kind {
            if node.max > 1 && !node.possessive && group_loops(alternatives) {
                alternatives.iter().for_each(|body| pump(body, before, found));
            }
            alternatives.iter().for_each(|sequence| find_loops(sequence, before, found));
        }
        write_least(node, node.min, before);
    }
    before.truncate(start);
}

/// Subjects in which the body of a group is repeated, without what is optional and with it.
fn pump(body: &[Node], before: &[u8], found: &mut Vec<Vec<u8>>) {
    for optional in [0, 1] {
        let mut unit = Vec::new();
        let times = |node: &Node| if node.max > MANY { 1 } else { optional };
        body.iter().for_each(|node| write_least(node, times(node), &mut unit));
        for end in [&b"\x01"[..], b"!\n"].iter().filter(|_| !unit.is_empty()) {
            let mut subject = before.to_vec();
            while subject.len() < before.len() + PROBE {
                subject.extend_from_slice(&unit);
            }
            subject.extend_from_slice(end);
            found.push(subject);
        }
    }
}

/// Writes a text that the node matches, repeated `times`.
fn write_least(node: &Node, times: u32, out: &mut Vec<u8>) {
    let times = times.max(node.min).min(node.max).min(PROBE as u32);
    for _ in 0..times {
        match &node.kind {
            NodeKind::Char(byte) => out.push(*byte),
            NodeKind::Zero => {}
            NodeKind::Group(alternatives) if out.len() < 4_096 => {
                let first = alternatives.first().into_iter().flatten();
                first.for_each(|node| write_least(node, node.min, out));
            }
            NodeKind::Group(_) => {}
        }
    }
}

/// Whether an alternative is tried at the start of the subject, or of lines, only.
fn is_anchored(sequence: &[Node], pattern: &str) -> bool {
    let inner = pattern.trim_start_matches(['(', '?', ':']);
    let anchored = inner.starts_with('^') || inner.starts_with("\\A");
    if inner.len() < pattern.len() {
        return anchored && !pattern.contains('|');
    }
    let any = pattern.starts_with(".*") && !pattern.contains('|');
    any || (anchored && matches!(sequence.first(), Some(Node { kind: NodeKind::Zero, .. })))
}

fn alternatives_cost(alternatives: &[Vec<Node>]) -> Cost {
    let start = Cost { factor: 0, degree: 0, loops: false };
    alternatives.iter().map(|sequence| sequence_cost(sequence)).fold(start, |sum, one| Cost {
        factor: sum.factor.saturating_add(one.factor),
        degree: sum.degree.max(one.degree),
        loops: sum.loops || one.loops,
    })
}

fn sequence_cost(sequence: &[Node]) -> Cost {
    let start = Cost { factor: 1, degree: 0, loops: false };
    sequence.iter().map(node_cost).fold(start, |sum, one| Cost {
        factor: sum.factor.saturating_mul(one.factor),
        degree: sum.degree.saturating_add(one.degree),
        loops: sum.loops || one.loops,
    })
}

fn node_cost(node: &Node) -> Cost {
    let repeats = node.max > MANY && !node.possessive;
    let ways =
        if node.possessive { 1 } else { u64::from(node.max.min(MANY) - node.min.min(MANY)) + 1 };
    match &node.kind {
        NodeKind::Zero => Cost { factor: 1, degree: 0, loops: false },
        NodeKind::Char(_) if repeats => Cost { factor: 1, degree: 1, loops: false },
        NodeKind::Char(_) => Cost { factor: ways, degree: 0, loops: false },
        NodeKind::Group(alternatives) => {
            let inner = alternatives_cost(alternatives);
            let loops = inner.loops || (node.max > 1 && group_loops(alternatives));
            let factor = inner.factor.saturating_mul(ways);
            match repeats {
                // The library's limit counts how often such a group is entered.
                true if loops => Cost { loops, ..inner },
                true => Cost { factor: inner.factor, degree: inner.degree + 1, loops },
                false => Cost { factor, degree: inner.degree, loops },
            }
        }
    }
}

/// Whether a repeated group can match the same text in more than one way.
fn group_loops(alternatives: &[Vec<Node>]) -> bool {
    let varies = |node: &Node| node.min != node.max || matches!(node.kind, NodeKind::Group(_));
    alternatives.len() > 1 || alternatives.iter().flatten().any(varies)
}

/// Reads a pattern; `None` if it has unknown items.
fn parse(pattern: &str) -> Option<Vec<Vec<Node>>> {
    let mut reader = PatternReader { rest: pattern.as_bytes() };
    let all = reader.alternatives(0)?;
    reader.rest.is_empty().then_some(all)
}

struct PatternReader<'p> {
    rest: &'p [u8],
}

impl PatternReader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn alternatives(&mut self, depth: usize) -> Option<Vec<Vec<Node>>> {
        if depth > DEPTH {
            return None;
        }
        let mut all = vec![Vec::new()];
        while let Some(byte) = self.rest.first() {
            match byte {
                b')' => break,
                b'|' => {
                    self.next();
                    all.push(Vec::new());
                }
                _ => {
                    let kind = self.item(depth)?;
                    let node = self.repeated(kind)?;
                    all.last_mut()?.push(node);
                }
            }
        }
        Some(all)
    }

    fn item(&mut self, depth: usize) -> Option<NodeKind> {
        Some(match self.next()? {
            b'^' | b'$' => NodeKind::Zero,
            b'.' => NodeKind::Char(b'a'),
            b'[' => NodeKind::Char(self.class()?),
            b'\\' => self.escape()?,
            b'(' => self.group(depth)?,
            byte => NodeKind::Char(byte),
        })
    }

    fn group(&mut self, depth: usize) -> Option<NodeKind> {
        if self.take(b"?") {
            // A look-around costs as much as a match of its contents.
            let words = [&b":"[..], b">", b"|", b"=", b"!", b"<=", b"<!"];
            if !words.iter().any(|word| self.take(word)) && !self.name_or_flags()? {
                return Some(NodeKind::Zero);
            }
        } else if self.rest.first() == Some(&b'*') {
            return None;
        }
        let inner = self.alternatives(depth + 1)?;
        if !self.take(b")") {
            return None;
        }
        Some(NodeKind::Group(inner))
    }

    /// `?<name>`, `?i:` begin a group; `?i)` and comments are none.
    fn name_or_flags(&mut self) -> Option<bool> {
        if self.take(b"#") {
            while self.next()? != b')' {}
            return Some(false);
        }
        let named = self.take(b"P<") || self.take(b"<") || self.take(b"'");
        loop {
            match self.next()? {
                b'>' | b'\'' if named => return Some(true),
                byte if named && (byte.is_ascii_alphanumeric() || byte == b'_') => {}
                b':' if !named => return Some(true),
                b')' if !named => return Some(false),
                b'i' | b'm' | b's' | b'J' | b'U' | b'n' | b'-' | b'^' if !named => {}
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<NodeKind> {
        Some(match self.next()? {
            b'd' => NodeKind::Char(b'1'),
            b's' | b'h' => NodeKind::Char(b' '),
            b'w' | b'D' | b'S' | b'N' | b'H' | b'V' => NodeKind::Char(b'a'),
            b'W' => NodeKind::Char(b'-'),
            b'v' | b'R' | b'n' => NodeKind::Char(b'\n'),
            b't' => NodeKind::Char(b'\t'),
            b'r' => NodeKind::Char(b'\r'),
            b'f' => NodeKind::Char(12),
            b'e' => NodeKind::Char(27),
            b'a' => NodeKind::Char(7),
            b'b' | b'B' | b'A' | b'z' | b'Z' | b'G' | b'K' => NodeKind::Zero,
            b'x' => NodeKind::Char(self.hex()?),
            byte if !byte.is_ascii_alphanumeric() => NodeKind::Char(byte),
            // References to what was matched, properties, quotations.
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u8> {
        let braced = self.take(b"{");
        let digits = self.rest.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(&self.rest[..digits]).ok()?;
        let byte = u8::from_str_radix(text, 16).unwrap_or(0);
        self.rest = &self.rest[digits..];
        (!braced || self.take(b"}")).then_some(byte)
    }

    /// A class; one of its characters, or `a` for those that exclude.
    fn class(&mut self) -> Option<u8> {
        let excludes = self.take(b"^");
        let mut first = None;
        let mut begins = true;
        loop {
            let byte = match self.next()? {
                b']' if !begins => break,
                b'[' if [&b":"[..], b".", b"="].iter().any(|word| self.rest.starts_with(word)) => {
                    let end = self.rest.windows(2).position(|two| two == b":]")?;
                    self.rest = &self.rest[end + 2..];
                    b'a'
                }
                b'\\' => match self.escape_in_class()? {
                    NodeKind::Char(byte) => byte,
                    _ => b'a',
                },
                byte => byte,
            };
            begins = false;
            first.get_or_insert(byte);
        }
        Some(if excludes { excluded(first) } else { first.unwrap_or(b'a') })
    }

    fn escape_in_class(&mut self) -> Option<NodeKind> {
        match self.rest.first()? {
            b'b' => {
                self.next();
                Some(NodeKind::Char(8))
            }
            b'p' | b'P' | b'Q' | b'E' | b'c' | b'o' | b'0'..=b'9' => None,
            _ => self.escape(),
        }
    }

    fn repeated(&mut self, kind: NodeKind) -> Option<Node> {
        let (min, max) = match self.rest.first() {
            Some(b'*') => (0, u32::MAX),
            Some(b'+') => (1, u32::MAX),
            Some(b'?') => (0, 1),
            Some(b'{') => match self.braces() {
                Some(bounds) => bounds,
                None => return Some(Node { kind, min: 1, max: 1, possessive: false }),
            },
            _ => return Some(Node { kind, min: 1, max: 1, possessive: false }),
        };
        if !matches!(self.rest.first(), Some(b'{')) {
            self.next();
        } else {
            let end = self.rest.iter().position(|byte| *byte == b'}')?;
            self.rest = &self.rest[end + 1..];
        }
        let possessive = self.take(b"+");
        let _lazy = !possessive && self.take(b"?");
        Some(Node { kind, min, max, possessive })
    }

    /// The bounds in braces; `None` if these are characters like others.
    fn braces(&self) -> Option<(u32, u32)> {
        let end = self.rest.iter().position(|byte| *byte == b'}')?;
        let text = std::str::from_utf8(&self.rest[1..end]).ok()?;
        let number = |text: &str| text.trim().parse::<u32>().ok();
        match text.split_once(',') {
            None => number(text).map(|both| (both, both)),
            Some((min, "")) => Some((number(min)?, u32::MAX)),
            Some((min, max)) => Some((number(min)?, number(max)?)),
        }
    }
}

/// A character of a class that excludes this one.
fn excluded(byte: Option<u8>) -> u8 {
    if byte == Some(b'a') { b'b' } else { b'a' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_everyday_are_simple_and_others_are_not() {
        for (pattern, length) in [
            ("^/api/", 16_000),
            ("\\.(jpe?g|png|css|js)$", 16_000),
            ("^/static/.*\\.php$", 16_000),
            ("foo.*bar", 250),
            ("^([a-z0-9-]+\\.)*example\\.com$", 200),
            ("(?i)(curl|wget|bot)", 16_000),
            ("[0-9]{1,3}", 16_000),
            ("^[^/]*+/x", 16_000),
        ] {
            assert!(Shape::of(pattern).is_simple(length), "{pattern}");
        }
        for (pattern, length) in [
            ("foo.*bar", 1_000),
            ("(x+x+)+y", 50),
            ("^(a+)*b*c*$", 50),
            ("x*x*x*y", 100),
            ("^.*a.*a.*a", 300),
            ("(.)\\1*", 10),
            ("(?R)?x", 10),
            ("\\p{L}", 10),
            ("a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?b", 20),
        ] {
            assert!(!Shape::of(pattern).is_simple(length), "{pattern}");
        }
    }

    #[test]
    fn no_pattern_is_too_odd() {
        for pattern in
            ["(", "[", "[]", "[^]]", "a{", "a{,}", "a{2", "\\", "(?", "(?<", "[[:a", ")", "a**"]
        {
            let _ = (Shape::of(pattern), probes(pattern));
        }
        assert!(parse(&"(".repeat(100_000)).is_none());
    }
}
