//! A view: the patterns of a dictionary for one match method. Readers take no lock: they load a
//! pointer to its layers.

use super::error::PatternError;
use super::layer::{Found, Layer, shape};
use super::rows::{Order, Rows};
use super::{Match, SharedIndex, Use};
use crate::regex::Regex;
use crate::value::{Type, Value};
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The layers of a view; never empty.
pub(super) type Layers = Vec<Arc<Layer>>;

/// A dictionary compiled for one method. The loaded patterns are one layer; every addition at run
/// time puts a small layer on top, and layers of similar size merge, so that there are few (a
/// logarithm of the additions) and each pattern is compiled again few times. Small layers merge at
/// once, large ones on another thread ([`super::background`]).
#[derive(Debug)]
pub struct View {
    to: Use,
    /// The layer from the configuration. It serves look-ups until the first change, without
    /// reference counts.
    first: Arc<Layer>,
    changed: AtomicBool,
    live: ArcSwap<Layers>,
}

/// The result of a look-up by `get map` or `get acl`.
#[derive(Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The row's number in the dictionary; none when the method matched without a pattern.
    pub row: Option<u64>,
    /// The value as text, and its type.
    pub value: Option<(Vec<u8>, Type)>,
}

impl View {
    /// Compiles the rows of a version. An error names the row.
    pub(super) fn new(to: Use, rows: &Rows) -> Result<View, (Order, PatternError)> {
        let first = Arc::new(Layer::new(to, rows, rows.all().collect(), &[])?);
        let live = ArcSwap::from_pointee(vec![first.clone()]);
        Ok(View { to, first, changed: AtomicBool::new(false), live })
    }

    /// A single pattern that belongs to no dictionary and never changes.
    pub fn fixed(method: Match, ignore_case: bool, pattern: &str) -> Result<View, PatternError> {
        let mut rows = Rows::default();
        // The first row always fits.
        let _ = rows.load(&crate::word::to_bytes(pattern), b"");
        let to = Use { method, ignore_case, values: None };
        View::new(to, &rows).map_err(|(_, error)| error)
    }

    /// The method.
    pub fn method(&self) -> Match {
        self.to.method
    }

    /// Whether case is ignored.
    pub fn ignores_case(&self) -> bool {
        self.to.ignore_case
    }

    /// Whether patterns have values, as those of a map.
    pub fn is_map(&self) -> bool {
        self.to.values.is_some()
    }

    /// `tree` or `list`: whether the most specific pattern wins, or the first.
    pub fn shape(&self) -> &'static str {
        shape(self.to.method, self.to.ignore_case)
    }

    /// An index that can hold the patterns of this view and of similar views; `None` if the
    /// patterns are no texts.
    pub(crate) fn gathering(&self) -> Option<SharedIndex> {
        SharedIndex::like(self.first.index(), self.to.ignore_case)
    }

    /// Puts the patterns of the configuration into `gathering` for `owner`; false when that cannot
    /// be, or when there are others by now.
    pub(crate) fn gather(&self, owner: u32, gathering: &mut SharedIndex) -> bool {
        gathering.add(self.first.index(), owner) && !self.has_changed()
    }

    /// Whether patterns were added since the configuration was read.
    #[inline]
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    pub(super) fn serves(&self, to: Use) -> bool {
        self.to == to
    }

    /// Whether a pattern matches.
    pub fn matches(&self, value: &Value<'_>) -> bool {
        self.look(value, |found| found.is_some())
    }

    /// The value behind the pattern that matches.
    pub fn value(&self, value: &Value<'_>) -> Option<Value<'static>> {
        self.look(value, |found| found?.value().cloned())
    }

    /// The expression that matches and the value behind it.
    pub(crate) fn with_regex<T>(
        &self,
        value: &Value<'_>,
        apply: impl FnOnce(&Regex, &Value<'static>) -> T,
    ) -> Option<T> {
        self.look(value, |found| {
            let found = found?;
            Some(apply(found.regex()?, found.value()?))
        })
    }

    /// The result of a look-up, as text.
    pub fn sight(&self, value: &Value<'_>) -> Option<Sighting> {
        self.look(value, |found| {
            let found = found?;
            let value = found.value().map(|value| {
                let mut text = Vec::new();
                value.write_text(&mut text);
                (text, value.kind())
            });
            Some(Sighting { row: found.order(), value })
        })
    }

    fn look<T>(&self, value: &Value<'_>, then: impl FnOnce(Option<Found<'_>>) -> T) -> T {
        if !self.has_changed() {
            return then(self.first.find(value));
        }
        let layers = self.live.load();
        then(layers.iter().filter_map(|layer| layer.find(value)).reduce(Found::or_better))
    }

    /// Number of patterns.
    pub fn len(&self) -> usize {
        self.live.load().iter().map(|layer| layer.len()).sum()
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Compiles some rows without showing them yet.
    pub(super) fn compile(
        &self,
        rows: &Rows,
        orders: Vec<Order>,
        compiled: &[Arc<Layer>],
    ) -> Result<Layer, (Order, PatternError)> {
        Layer::new(self.to, rows, orders, compiled)
    }

    /// Whether a row with this value would compile.
    pub(super) fn takes_value(&self, text: &[u8]) -> bool {
        self.to.values.is_none_or(|kind| super::layer::value(text, kind).is_some())
    }

    /// The layers that readers see.
    pub(super) fn layers(&self) -> Layers {
        Layers::clone(&self.live.load())
    }

    /// Patterns that may be compiled again at once, within some hundred microseconds.
    fn most_at_once(&self) -> usize {
        match self.to.method {
            Match::Sub | Match::Dir | Match::Dom => 64,
            _ => 1024,
        }
    }

    /// Whether a layer is too large to be made or freed at once.
    pub(super) fn is_large(&self, size: usize) -> bool {
        size > self.most_at_once()
    }

    /// Drops layers without a pattern, and merges small ones from the top down.
    pub(super) fn merge(&self, rows: &Rows, layers: &mut Layers) {
        if layers.iter().any(|layer| layer.len() > 0) {
            layers.retain(|layer| layer.len() > 0);
        }
        while let [.., below, top] = layers.as_slice()
            && below.len() <= top.len() * 2
            && !self.is_large(below.size() + top.size())
        {
            let two = &layers[layers.len() - 2..];
            // These rows were compiled before, so they compile again.
            let Ok(merged) = self.compile(rows, living(two), two) else { break };
            layers.truncate(layers.len() - 2);
            layers.push(Arc::new(merged));
        }
    }

    /// Compiles small layers again that have more deleted patterns than live ones.
    pub(super) fn renew(&self, rows: &Rows, layers: &mut Layers) {
        let worn = |layer: &Arc<Layer>| layer.is_worn() && !self.is_large(layer.size());
        while let Some(at) = layers.iter().position(worn) {
            let one = &layers[at..=at];
            let Ok(fresh) = self.compile(rows, living(one), one) else { return };
            layers[at] = Arc::new(fresh);
        }
    }

    /// The places of layers that are worth merging, but too large to do that at once.
    pub(super) fn mergeable(&self, layers: &Layers) -> Option<std::ops::Range<usize>> {
        let alike = |two: &[Arc<Layer>]| two[0].len() <= two[1].len() * 2;
        if let Some(first) = layers.windows(2).position(alike) {
            // Above these are smaller layers, which are merged into one.
            let large = layers[first..].iter().any(|layer| self.is_large(layer.size()));
            let many = self.is_large(layers[first..].iter().map(|layer| layer.size()).sum());
            return (large || many).then_some(first..layers.len());
        }
        let worn = |layer: &Arc<Layer>| layer.is_worn() && self.is_large(layer.size());
        layers.iter().position(worn).map(|at| at..at + 1)
    }

    /// Shows other layers.
    pub(super) fn show(&self, layers: Layers) {
        self.live.store(Arc::new(layers));
        self.changed.store(true, Ordering::Release);
    }
}

/// The rows of the living patterns of some layers, in order.
pub(super) fn living(layers: &[Arc<Layer>]) -> Vec<Order> {
    let mut orders: Vec<Order> = layers.iter().flat_map(|layer| layer.living()).collect();
    orders.sort_unstable();
    orders
}
