//! A view: a dictionary as one match method sees it. Readers take no lock: they load a pointer to its layers.

use super::layer::{Found, Layer, shape};
use super::rows::Rows;
use super::{Gathering, Match, Use};
use crate::regex::Regex;
use crate::value::{Type, Value};
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The layers of a view, in order of their rows; never empty.
type Layers = Vec<Arc<Layer>>;

/// A dictionary compiled for one method. What was loaded is one layer; every addition at run time
/// puts a small layer on top, and layers of like size merge, so that there are few (a logarithm of
/// the additions) and each pattern is compiled again few times.
#[derive(Debug)]
pub struct View {
    to: Use,
    /// What the configuration gave. It serves until the first change, without any counting.
    first: Arc<Layer>,
    changed: AtomicBool,
    live: ArcSwap<Layers>,
}

/// What a look-up by hand found, for `get map` and `get acl`.
#[derive(Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The row's number in the dictionary; none when the method matched without a pattern.
    pub row: Option<u32>,
    /// The value as text, and its type.
    pub value: Option<(Vec<u8>, Type)>,
}

impl View {
    /// Compiles the rows of a version. An error names the row.
    pub(super) fn new(to: Use, rows: &Rows, version: u32) -> Result<View, (u32, String)> {
        let first = Arc::new(Layer::new(to, rows, rows.of(version).collect())?);
        let live = ArcSwap::from_pointee(vec![first.clone()]);
        Ok(View { to, first, changed: AtomicBool::new(false), live })
    }

    /// A single pattern that belongs to no dictionary and never changes.
    pub fn fixed(method: Match, ignore_case: bool, pattern: &str) -> Result<View, String> {
        let mut rows = Rows::default();
        // The first row always fits.
        let _ = rows.push(&crate::word::to_bytes(pattern), b"", 0);
        let to = Use { method, ignore_case, values: None };
        View::new(to, &rows, 0).map_err(|(_, message)| message)
    }

    /// The method.
    pub fn method(&self) -> Match {
        self.to.method
    }

    /// Whether case is ignored.
    pub fn ignores_case(&self) -> bool {
        self.to.ignore_case
    }

    /// Whether it has values: it serves a map.
    pub fn is_map(&self) -> bool {
        self.to.values.is_some()
    }

    /// `tree` or `list`: whether the most specific pattern wins, or the first.
    pub fn shape(&self) -> &'static str {
        shape(self.to.method, self.to.ignore_case)
    }

    /// An index that can take its patterns and those of others like it; none when they are no texts
    /// to be compared.
    pub(crate) fn gathering(&self) -> Option<Gathering> {
        Gathering::like(self.first.index(), self.to.ignore_case)
    }

    /// Puts the patterns of the configuration into `gathering` for `owner`; false when that cannot
    /// be, or when there are others by now.
    pub(crate) fn gather(&self, owner: u32, gathering: &mut Gathering) -> bool {
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

    /// What a look-up finds, as text.
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
    pub(super) fn compile(&self, rows: &Rows, orders: Vec<u32>) -> Result<Layer, (u32, String)> {
        Layer::new(self.to, rows, orders)
    }

    /// Whether a row with this value would compile.
    pub(super) fn takes_value(&self, text: &[u8]) -> bool {
        self.to.values.is_none_or(|kind| super::layer::value(text, kind).is_some())
    }

    /// Shows what [`View::compile`] made on top of what is there, and ends the patterns of the rows
    /// that it replaces. The dictionary's lock is held.
    pub(super) fn add(&self, rows: &Rows, layer: Layer, replaced: &[u32]) {
        let mut layers = Layers::clone(&self.live.load());
        let below = layers.len();
        layers.push(Arc::new(layer));
        if !replaced.is_empty() {
            // For a moment both are there, so that no reader finds neither.
            self.show(layers.clone());
            for old in &layers[..below] {
                replaced.iter().for_each(|order| old.kill(*order));
            }
        }
        layers.retain(|layer| layer.len() > 0);
        while let [.., below, top] = layers.as_slice()
            && below.len() <= top.len() * 2
        {
            let mut orders: Vec<u32> = below.living().chain(top.living()).collect();
            orders.sort_unstable();
            // These rows were compiled before, so they compile again.
            let Ok(merged) = self.compile(rows, orders) else { break };
            layers.truncate(layers.len() - 2);
            layers.push(Arc::new(merged));
        }
        self.show(layers);
    }

    /// Ends the pattern of a row. The dictionary's lock is held.
    pub(super) fn remove(&self, rows: &Rows, order: u32) {
        let layers = self.live.load();
        layers.iter().for_each(|layer| layer.kill(order));
        let Some(worn) = layers.iter().position(|layer| layer.is_worn()) else { return };
        let mut layers = Layers::clone(&layers);
        if let Ok(fresh) = self.compile(rows, layers[worn].living().collect()) {
            layers[worn] = Arc::new(fresh);
            self.show(layers);
        }
    }

    /// Shows a layer alone: a version was committed, or everything was cleared.
    pub(super) fn replace(&self, layer: Layer) {
        self.show(vec![Arc::new(layer)]);
    }

    fn show(&self, layers: Layers) {
        self.live.store(Arc::new(layers));
        self.changed.store(true, Ordering::Release);
    }
}
