//! A layer: some of a dictionary's rows, compiled for one use. Its patterns never change; they only die.

use super::error::PatternError;
use super::index::{Hit, Index};
use super::rows::{Order, Rows};
use super::{Match, Use};
use crate::cast::integer;
use crate::regex::Regex;
use crate::value::{Bytes, Type, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Compiled patterns with the values behind them.
#[derive(Debug)]
pub(super) struct Layer {
    index: Index,
    /// The row of each pattern, rising.
    orders: Vec<Order>,
    /// The value of each pattern; none at all in a layer of an ACL.
    values: Vec<Value<'static>>,
    /// One bit per pattern.
    dead: Vec<AtomicU64>,
    deaths: AtomicUsize,
}

/// A match in a layer.
pub(super) struct Found<'l> {
    pub(super) layer: &'l Layer,
    hit: Hit,
}

impl Layer {
    /// Compiles the rows `orders` for `to`. An error names the row. Expressions that layers of the
    /// same use have compiled already are taken from there.
    pub(super) fn new(
        to: Use,
        rows: &Rows,
        orders: Vec<Order>,
        compiled: &[Arc<Layer>],
    ) -> Result<Layer, (Order, PatternError)> {
        let mut index = Index::new(to.method, to.ignore_case);
        index.reserve(orders.len());
        let mut values = Vec::new();
        values.reserve_exact(if to.values.is_some() { orders.len() } else { 0 });
        for (number, order) in orders.iter().enumerate() {
            let fail = |message| (*order, message);
            match compiled.iter().find_map(|layer| layer.regex_of(*order)) {
                Some(regex) => index.push_regex(regex.clone()),
                None => index.push(rows.key(*order), number as u32).map_err(fail)?,
            }
            if let Some(kind) = to.values {
                let text = rows.value(*order);
                let shown = || String::from_utf8_lossy(text).into_owned();
                let value = value(text, kind).ok_or_else(|| fail(PatternError::Value(shown())))?;
                values.push(value);
            }
        }
        index.finish().map_err(|message| (orders.first().copied().unwrap_or(0), message))?;
        let dead = (0..orders.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Layer { index, orders, values, dead, deaths: AtomicUsize::new(0) })
    }

    /// The expression of a row.
    fn regex_of(&self, order: Order) -> Option<&Arc<Regex>> {
        let regexes = self.index.regexes()?;
        regexes.get(self.orders.binary_search(&order).ok()?)
    }

    fn is_alive(&self, number: u32) -> bool {
        let Some(word) = self.dead.get(number as usize / 64) else {
            // `found` matches without any pattern.
            return true;
        };
        word.load(Ordering::Acquire) >> (number % 64) & 1 == 0
    }

    /// The index of all patterns, deleted ones included.
    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// Number of patterns, the dead ones too.
    pub(super) fn size(&self) -> usize {
        self.orders.len()
    }

    /// Number of living patterns.
    pub(super) fn len(&self) -> usize {
        self.orders.len() - self.deaths.load(Ordering::Relaxed).min(self.orders.len())
    }

    /// Whether more than half of the patterns are dead.
    pub(super) fn is_worn(&self) -> bool {
        self.len() * 2 < self.orders.len()
    }

    /// Ends the pattern of row `order`, if it is here: readers skip it from now on.
    pub(super) fn kill(&self, order: Order) {
        let Ok(number) = self.orders.binary_search(&order) else { return };
        let bit = 1 << (number % 64);
        if self.dead[number / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            self.deaths.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The rows of the living patterns.
    pub(super) fn living(&self) -> impl Iterator<Item = Order> {
        self.orders.iter().zip(0..).filter(|(_, number)| self.is_alive(*number)).map(|pair| *pair.0)
    }

    /// Which patterns are dead now, one bit each.
    pub(super) fn dead(&self) -> Vec<u64> {
        self.dead.iter().map(|word| word.load(Ordering::Acquire)).collect()
    }

    /// The rows of patterns that have died since [`Layer::dead`] said which were.
    pub(super) fn died_since<'l>(&'l self, before: &'l [u64]) -> impl Iterator<Item = Order> + 'l {
        let words = self.dead.iter().zip(before).zip(self.orders.chunks(64));
        words.flat_map(|((now, before), orders)| {
            let new = now.load(Ordering::Acquire) & !before;
            let is_new = move |(_, bit): &(&Order, u32)| new >> bit & 1 == 1;
            orders.iter().zip(0..).filter(is_new).map(|(order, _)| *order)
        })
    }

    /// The best living pattern that matches.
    pub(super) fn find(&self, value: &Value<'_>) -> Option<Found<'_>> {
        let hit = if self.deaths.load(Ordering::Acquire) == 0 {
            self.index.find(value, &|_| true)
        } else {
            self.index.find(value, &|number| self.is_alive(number))
        }?;
        Some(Found { layer: self, hit })
    }
}

impl<'l> Found<'l> {
    /// The better one of two matches from layers of the same use.
    pub(super) fn or_better(self, other: Found<'l>) -> Found<'l> {
        let rank = |found: &Found<'_>| {
            let specific = if found.layer.index.is_tree() { found.hit.0 } else { 0 };
            (std::cmp::Reverse(specific), found.order())
        };
        if rank(&other) < rank(&self) { other } else { self }
    }

    /// The row; `found` and an ACL without patterns have none.
    pub(super) fn order(&self) -> Option<Order> {
        self.layer.orders.get(self.hit.1 as usize).copied()
    }

    /// The value behind the pattern.
    pub(super) fn value(&self) -> Option<&'l Value<'static>> {
        self.layer.values.get(self.hit.1 as usize)
    }

    /// The expression that matched.
    pub(super) fn regex(&self) -> Option<&'l Regex> {
        self.layer.index.regex(self.hit.1)
    }
}

/// A value of a map from its text.
pub(super) fn value(text: &[u8], to: Type) -> Option<Value<'static>> {
    match to {
        Type::Int if text.is_empty() => Some(Value::Int(0)),
        Type::Int => integer(std::str::from_utf8(text).ok()?).map(Value::Int),
        Type::Addr => Value::str(text).to_addr().map(Value::from),
        _ => Some(Value::Str(Bytes::Shared(text.into()))),
    }
}

/// The method's name as the runtime socket shows it, and the shape of its index.
pub(super) fn shape(method: Match, ignore_case: bool) -> &'static str {
    match method {
        Match::Ip | Match::Bin => "tree",
        Match::Str | Match::Beg if !ignore_case => "tree",
        _ => "list",
    }
}
