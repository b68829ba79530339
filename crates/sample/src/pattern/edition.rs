//! One version of a dictionary: its rows, and their layers for each view.

use super::background::Waste;
use super::error::PatternError;
use super::layer::Layer;
use super::rows::{Order, Rows};
use super::view::{Layers, View, living};
use std::ops::Range;
use std::sync::Arc;

/// Rows that are copied while the lock is held: some microseconds.
const SLICE: usize = 128;
/// Rows that are freed at once.
const FEW: usize = 4096;

/// Rows and layers. The layers of the current version are what its views show.
#[derive(Debug, Default)]
pub(super) struct Edition {
    pub(super) rows: Rows,
    /// For each view.
    pub(super) layers: Vec<Layers>,
    /// Large layers that are not used any more.
    pub(super) waste: Vec<Waste>,
}

impl Edition {
    pub(super) fn new(rows: Rows) -> Edition {
        Edition { rows, ..Edition::default() }
    }

    /// Makes layers for views without layers, as the views of an empty version are.
    pub(super) fn reach(&mut self, views: &[Arc<View>]) {
        for view in views.iter().skip(self.layers.len()) {
            let all = self.rows.all().collect();
            // The rows are valid: they compiled for other views, or there are no rows.
            let layer = view.compile(&self.rows, all, &[]).ok().map(Arc::new);
            self.layers.push(layer.into_iter().collect());
        }
    }

    /// Adds a row, unless a view cannot take it.
    pub(super) fn add(
        &mut self,
        views: &[Arc<View>],
        shown: bool,
        order: Order,
        (key, value): (&[u8], &[u8]),
    ) -> Result<(), PatternError> {
        self.rows.push(order, key, value);
        let compile = |view: &Arc<View>| view.compile(&self.rows, vec![order], &[]);
        match views.iter().map(compile).collect::<Result<Vec<_>, _>>() {
            Err((_, error)) => {
                self.rows.kill(order);
                return Err(error);
            }
            Ok(layers) => {
                for (at, layer) in layers.into_iter().enumerate() {
                    self.grow((at, &views[at]), shown, layer, &[]);
                }
            }
        }
        Ok(())
    }

    /// Puts a layer on top, and ends the patterns of the rows that it replaces.
    fn grow(&mut self, (at, view): (usize, &View), shown: bool, top: Layer, replaced: &[Order]) {
        let mut layers = self.layers[at].clone();
        let below = layers.len();
        layers.push(Arc::new(top));
        if !replaced.is_empty() {
            // For a moment both are there, so that no reader finds neither.
            if shown {
                view.show(layers.clone());
            }
            for old in &layers[..below] {
                replaced.iter().for_each(|order| old.kill(*order));
            }
        }
        view.merge(&self.rows, &mut layers);
        self.put((at, view), shown, layers);
    }

    /// Replaces the layers of a view.
    fn put(&mut self, (at, view): (usize, &View), shown: bool, layers: Layers) {
        if shown {
            view.show(layers.clone());
        }
        let old = std::mem::replace(&mut self.layers[at], layers);
        for layer in old {
            let still = self.layers[at].iter().any(|kept| Arc::ptr_eq(kept, &layer));
            if !still && view.is_large(layer.size()) {
                self.waste.push(layer);
            }
        }
    }

    /// Gives rows another value: the new ones come in a layer above, and the old patterns die.
    pub(super) fn set(&mut self, views: &[Arc<View>], shown: bool, orders: &[Order], value: &[u8]) {
        let changes = |order: &Order| self.rows.value(*order) != value;
        let changed: Vec<Order> = orders.iter().copied().filter(changes).collect();
        changed.iter().for_each(|order| self.rows.set(*order, value));
        if changed.is_empty() {
            return;
        }
        for (at, view) in views.iter().enumerate().filter(|(_, view)| view.is_map()) {
            // The keys compiled before, and the value was tried.
            if let Ok(layer) = view.compile(&self.rows, changed.clone(), &self.layers[at]) {
                self.grow((at, view), shown, layer, &changed);
            }
        }
    }

    /// Removes rows.
    pub(super) fn remove(&mut self, views: &[Arc<View>], shown: bool, orders: &[Order]) {
        for order in orders {
            self.rows.kill(*order);
            self.layers.iter().flatten().for_each(|layer| layer.kill(*order));
        }
        for (at, view) in views.iter().enumerate() {
            let mut layers = self.layers[at].clone();
            view.renew(&self.rows, &mut layers);
            view.merge(&self.rows, &mut layers);
            let same = layers.iter().zip(&self.layers[at]).all(|(new, old)| Arc::ptr_eq(new, old));
            if !same || layers.len() != self.layers[at].len() {
                self.put((at, view), shown, layers);
            }
        }
    }

    /// The parts that take long to free.
    pub(super) fn into_waste(self) -> Vec<Waste> {
        let mut waste = self.waste;
        let layers = self.layers.into_iter().flatten().filter(|layer| layer.size() > FEW);
        waste.extend(layers.map(|layer| layer as Waste));
        if self.rows.len().max(self.rows.count_loaded() as usize) > FEW {
            waste.push(Arc::new(self.rows));
        }
        waste
    }

    /// The next merge of layers that takes too long for the thread that changes an entry.
    pub(super) fn next_merge(&self, version: u32, views: &[Arc<View>]) -> Option<Merge> {
        views.iter().zip(&self.layers).enumerate().find_map(|(at, (view, layers))| {
            let places = view.mergeable(layers)?;
            Some(Merge::new(version, at, view, &layers[places]))
        })
    }
}

/// Layers on their way to be one.
pub(super) struct Merge {
    pub(super) version: u32,
    at: usize,
    view: Arc<View>,
    sources: Layers,
    /// Which patterns of each source were dead at the beginning.
    dead: Vec<Vec<u64>>,
    orders: Vec<Order>,
    /// How many of them were copied.
    copied: usize,
    rows: Rows,
    merged: Option<Arc<Layer>>,
}

impl Merge {
    fn new(version: u32, at: usize, view: &Arc<View>, sources: &[Arc<Layer>]) -> Merge {
        let (view, sources) = (view.clone(), sources.to_vec());
        let (dead, orders, rows) = (Vec::new(), Vec::new(), Rows::default());
        Merge { version, at, view, sources, dead, orders, copied: 0, rows, merged: None }
    }

    /// Reads which rows exist, without a lock.
    pub(super) fn begin(&mut self) {
        self.dead = self.sources.iter().map(|layer| layer.dead()).collect();
        self.orders = living(&self.sources);
    }

    /// Copies some of the rows; `false` when all are copied.
    pub(super) fn copy_some(&mut self, edition: &Edition) -> bool {
        let end = (self.copied + SLICE).min(self.orders.len());
        for order in &self.orders[self.copied..end] {
            if edition.rows.holds(*order) {
                self.rows.push(*order, edition.rows.key(*order), edition.rows.value(*order));
            }
        }
        self.copied = end;
        end < self.orders.len()
    }

    /// Compiles what was copied, without a lock.
    pub(super) fn compile(&mut self) -> bool {
        let orders = self.rows.all().collect();
        let merged = self.view.compile(&self.rows, orders, &self.sources);
        self.merged = merged.ok().map(Arc::new);
        self.merged.is_some()
    }

    /// Puts the merged layer in the place of its sources, if these are there still.
    pub(super) fn show(&mut self, edition: &mut Edition, shown: bool) -> bool {
        let Some(merged) = self.merged.clone() else { return false };
        let mut layers = edition.layers[self.at].clone();
        let first = |layer: &Arc<Layer>| Arc::ptr_eq(layer, &self.sources[0]);
        let Some(from) = layers.iter().position(first) else { return true };
        let places: Range<usize> = from..from + self.sources.len();
        let there = layers.get(places.clone()).is_some_and(|there| {
            there.iter().zip(&self.sources).all(|(one, other)| Arc::ptr_eq(one, other))
        });
        if !there {
            return true;
        }
        for (layer, dead) in self.sources.iter().zip(&self.dead) {
            layer.died_since(dead).for_each(|order| merged.kill(order));
        }
        layers.splice(places, [merged]);
        edition.put((self.at, &self.view), shown, layers);
        true
    }
}
