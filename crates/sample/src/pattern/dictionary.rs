//! A dictionary: the rows of one pattern file, map or ACL line, and every view of them. Never reads a file.

use super::rows::Rows;
use super::view::{Sighting, View};
use super::{Match, Use};
use crate::value::Value;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why a change was refused: always the asker's fault, and a retry would fail again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The pattern or the value does not fit a method in use; HAProxy's words.
    Invalid(String),
    /// No such row.
    NoEntry,
    /// The version was never prepared.
    FutureVersion,
    /// The version is not between the current and the newest one.
    NoVersion,
}

#[derive(Debug, Default)]
struct State {
    rows: Rows,
    views: Vec<Arc<View>>,
    /// The version that views show.
    current: u32,
    /// The version last prepared.
    newest: u32,
    /// What is added to the number of a row where it is shown. It goes up when rows get other
    /// numbers, so that nobody names one row and means another.
    base: u32,
    /// Where it is used, for listings.
    users: Vec<String>,
}

/// Gets a row's number, key and value.
pub type RowVisitor<'v> = &'v mut dyn FnMut(u32, &[u8], &[u8]);

/// Versions and size, for listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// The version in use.
    pub current: u32,
    /// The version last prepared.
    pub newest: u32,
    /// Patterns over all views.
    pub entries: usize,
}

/// One dictionary, shared by all who name its file and by the runtime socket. Writers take a lock,
/// readers never do.
#[derive(Debug)]
pub struct Dictionary {
    file: Option<Box<str>>,
    id: AtomicU32,
    /// Whether rows have a value behind their key.
    two_columns: bool,
    state: Mutex<State>,
}

/// The id of a dictionary that has none yet.
pub(super) const NO_ID: u32 = u32::MAX;

impl Dictionary {
    pub(super) fn new(file: Option<&str>, two_columns: bool, rows: Rows) -> Dictionary {
        Dictionary {
            file: file.map(Box::from),
            id: AtomicU32::new(NO_ID),
            two_columns,
            state: Mutex::new(State { rows, ..State::default() }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves rows and views that readers can still use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file's name as the configuration gives it; none for the patterns of an ACL line.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The number that the runtime socket takes behind `#`.
    pub fn id(&self) -> u32 {
        self.id.load(Ordering::Relaxed)
    }

    pub(super) fn set_id(&self, id: u32) {
        self.id.store(id, Ordering::Relaxed);
    }

    /// Whether rows have a value behind their key.
    pub fn has_values(&self) -> bool {
        self.two_columns
    }

    /// Whether an ACL uses it.
    pub fn is_acl(&self) -> bool {
        self.state().views.iter().any(|view| !view.is_map())
    }

    /// Whether a map uses it, or may.
    pub fn is_map(&self) -> bool {
        self.two_columns
    }

    /// Where it is used, in the words of HAProxy's listings.
    pub fn description(&self) -> String {
        let users = &self.state().users;
        let Some(file) = &self.file else { return users.concat() };
        let kind = if self.two_columns { "map" } else { "acl" };
        let users: Vec<String> =
            users.iter().map(|place| format!("by {kind} at {place}")).collect();
        format!("pattern loaded from file '{file}' used {}", users.join(", "))
    }

    pub(super) fn add_user(&self, user: String) {
        self.state().users.push(user);
    }

    /// Versions and size.
    pub fn totals(&self) -> Totals {
        let state = self.state();
        let entries = state.rows.all().count() * state.views.len();
        Totals { current: state.current, newest: state.newest, entries }
    }

    /// The view for one use, made when it is the first of its kind. An error names the row.
    pub(super) fn view(&self, to: Use) -> Result<Arc<View>, (u32, String)> {
        let mut state = self.state();
        if let Some(view) = state.views.iter().find(|view| view.serves(to)) {
            return Ok(view.clone());
        }
        let view = Arc::new(View::new(to, &state.rows, state.current)?);
        state.views.push(view.clone());
        Ok(view)
    }

    /// All the views.
    pub fn views(&self) -> Vec<Arc<View>> {
        self.state().views.clone()
    }

    /// Key and value of the rows of `version` (of the current one without) among the `most` rows
    /// from `from` on, of whatever version these are. Holds its lock meanwhile; returns where to go
    /// on.
    pub fn rows(
        &self,
        version: Option<u32>,
        (from, most): (u32, u32),
        visit: RowVisitor<'_>,
    ) -> Option<u32> {
        let state = self.state();
        let (version, end) = (version.unwrap_or(state.current), from.saturating_add(most));
        let (rows, more) = state.rows.among(version, from..end);
        let shown = |order: u32| order.wrapping_add(state.base);
        rows.for_each(|order| visit(shown(order), state.rows.key(order), state.rows.value(order)));
        more.then_some(end)
    }

    /// The key of a row.
    pub fn key(&self, row: u32) -> Option<Vec<u8>> {
        let state = self.state();
        state.order(row).map(|order| state.rows.key(order).to_vec())
    }

    /// What every view finds for the text `key`.
    pub fn sight(&self, key: &[u8]) -> Vec<(Arc<View>, Option<Sighting>)> {
        let look = |view: Arc<View>| {
            let value = Value::str(key).cast(view.method().input());
            let found = value.and_then(|value| view.sight(&value));
            // `found` only says that there is a sample, and a typed text is none.
            (view.clone(), found.filter(|_| view.method() != Match::Found))
        };
        self.views().into_iter().map(look).collect()
    }

    /// Adds a row to `version` (the current one without): `add map`, `add acl`.
    pub fn add(&self, version: Option<u32>, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        let version = version.unwrap_or(state.current);
        if version > state.newest {
            return Err(Refusal::FutureVersion);
        }
        state.add(version, key, value)
    }

    /// Gives all the rows of `key` another value: `set map`.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.state().set(key, value)
    }

    /// Gives one row another value: `set map #row`.
    pub fn set_row(&self, row: u32, value: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        let order = state.order(row).ok_or(Refusal::NoEntry)?;
        state.set_rows(&[order], value)
    }

    /// Removes all the rows of `key`: `del map`, `del acl`.
    pub fn remove(&self, key: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        let current = state.current;
        let orders = state.rows.by_key(key, current);
        state.remove(&orders)
    }

    /// Removes one row: `del map #row`.
    pub fn remove_row(&self, row: u32) -> Result<(), Refusal> {
        let mut state = self.state();
        let order = state.order(row).ok_or(Refusal::NoEntry)?;
        state.remove(&[order])
    }

    /// What the action `set-map` does: another value for the rows of `key`, or a new row.
    pub fn assign(&self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        match state.set(key, value) {
            Err(Refusal::NoEntry) => {
                let current = state.current;
                state.add(current, key, value)
            }
            done => done,
        }
    }

    /// What the action `add-acl` does: a row for `key`, unless there is one.
    pub fn ensure(&self, key: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        let current = state.current;
        if state.rows.by_key(key, current).is_empty() {
            state.add(current, key, b"")?;
        }
        Ok(())
    }

    /// Opens a new version for [`Dictionary::add`]; nobody sees it before its commit.
    pub fn prepare(&self) -> u32 {
        let mut state = self.state();
        state.newest = state.newest.wrapping_add(1);
        state.newest
    }

    /// Shows `version` and forgets the older ones.
    pub fn commit(&self, version: u32) -> Result<(), Refusal> {
        let mut state = self.state();
        if version <= state.current || version > state.newest {
            return Err(Refusal::NoVersion);
        }
        state.show(version)
    }

    /// Removes the rows of `version` (of the current one without).
    pub fn clear(&self, version: Option<u32>) {
        let mut state = self.state();
        let version = version.unwrap_or(state.current);
        let rows: Vec<u32> = state.rows.of(version).collect();
        rows.into_iter().for_each(|order| state.rows.kill(order));
        if version == state.current {
            let current = state.current;
            // Nothing to compile, so nothing to fail.
            let _ = state.show(current);
        }
    }
}

impl State {
    /// The number of a row that has been shown, if it is there.
    fn order(&self, shown: u32) -> Option<u32> {
        Some(shown.wrapping_sub(self.base)).filter(|order| self.rows.holds(*order))
    }

    fn add(&mut self, version: u32, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let full = || Refusal::Invalid("too many patterns".to_owned());
        let order = self.rows.push(key, value, version).ok_or_else(full)?;
        let compile = |view: &Arc<View>| view.compile(&self.rows, vec![order]);
        match self.views.iter().map(compile).collect::<Result<Vec<_>, _>>() {
            Err((_, message)) => {
                self.rows.kill(order);
                return Err(Refusal::Invalid(message));
            }
            Ok(layers) if version == self.current => {
                for (view, layer) in self.views.iter().zip(layers) {
                    view.add(&self.rows, layer, &[]);
                }
            }
            Ok(_) => {}
        }
        self.tidy();
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let orders = self.rows.by_key(key, self.current);
        self.set_rows(&orders, value)
    }

    /// The new values come in a layer above, and the old patterns die.
    fn set_rows(&mut self, orders: &[u32], value: &[u8]) -> Result<(), Refusal> {
        if orders.is_empty() {
            return Err(Refusal::NoEntry);
        }
        if self.views.iter().any(|view| !view.takes_value(value)) {
            let shown = String::from_utf8_lossy(value);
            return Err(Refusal::Invalid(format!("unable to parse '{shown}'")));
        }
        let changes = |order: &u32| self.rows.value(*order) != value;
        let changed: Vec<u32> = orders.iter().copied().filter(changes).collect();
        changed.iter().for_each(|order| self.rows.set(*order, value));
        let shows = |order: &u32| self.rows.version(*order) == self.current;
        let shown: Vec<u32> = changed.into_iter().filter(shows).collect();
        if shown.is_empty() {
            return Ok(());
        }
        for view in self.views.iter().filter(|view| view.is_map()) {
            // The keys compiled before, and the value was tried above.
            if let Ok(layer) = view.compile(&self.rows, shown.clone()) {
                view.add(&self.rows, layer, &shown);
            }
        }
        self.tidy();
        Ok(())
    }

    fn remove(&mut self, orders: &[u32]) -> Result<(), Refusal> {
        if orders.is_empty() {
            return Err(Refusal::NoEntry);
        }
        for order in orders {
            self.rows.kill(*order);
            self.views.iter().for_each(|view| view.remove(&self.rows, *order));
        }
        self.tidy();
        Ok(())
    }

    /// Compiles `version` for every view and shows it; older rows die.
    fn show(&mut self, version: u32) -> Result<(), Refusal> {
        let compile = |view: &Arc<View>| view.compile(&self.rows, self.rows.of(version).collect());
        let layers = self.views.iter().map(compile).collect::<Result<Vec<_>, _>>();
        let layers = layers.map_err(|(_, message)| Refusal::Invalid(message))?;
        for (view, layer) in self.views.iter().zip(layers) {
            view.replace(layer);
        }
        let older: Vec<u32> =
            self.rows.all().filter(|order| self.rows.version(*order) < version).collect();
        older.into_iter().for_each(|order| self.rows.kill(order));
        self.current = version;
        self.tidy();
        Ok(())
    }

    /// Drops the memory of what is gone, once that is most of it.
    fn tidy(&mut self) {
        if !self.rows.is_worn() {
            return;
        }
        let rows = self.rows.compacted();
        let compile = |view: &Arc<View>| view.compile(&rows, rows.of(self.current).collect());
        if let Ok(layers) = self.views.iter().map(compile).collect::<Result<Vec<_>, _>>() {
            for (view, layer) in self.views.iter().zip(layers) {
                view.replace(layer);
            }
            self.base = self.base.wrapping_add(self.rows.count());
            self.rows = rows;
        }
    }
}
