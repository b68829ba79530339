//! A dictionary: the rows of one pattern file, map or ACL line, and every view of them.

use super::background;
use super::edition::{Edition, Merge};
use super::error::PatternError;
use super::rows::{Order, Rows};
use super::view::{Sighting, View};
use super::{Match, Use};
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use stdx::Mutex;

/// Why a change was refused: always the asker's fault, and a retry would fail again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The pattern or the value does not fit a method in use; HAProxy's words.
    Invalid(PatternError),
    /// No such row.
    NoEntry,
    /// Memory is short, and a rule asks for more.
    Memory,
    /// The version was never prepared.
    FutureVersion,
    /// The version is not between the current and the newest one.
    NoVersion,
}

#[derive(Debug, Default)]
struct State {
    /// Its versions.
    editions: BTreeMap<u32, Edition>,
    views: Vec<Arc<View>>,
    /// The version that views show.
    current: u32,
    /// The version last prepared.
    newest: u32,
    /// The number of the next row.
    next: Order,
    /// Memory to be freed elsewhere.
    waste: Vec<background::Waste>,
    /// Where it is used, for listings.
    users: Vec<String>,
}

/// Memory is short: rules change rows, and add none.
static FULL: AtomicBool = AtomicBool::new(false);
/// Rows that rules have not added because memory was short.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Sets whether rules may add rows (`set-map`, `add-acl`).
pub fn let_rules_add(may: bool) {
    FULL.store(!may, Ordering::Relaxed);
}

/// Rows that rules could not add because of a limit.
pub fn rows_refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// Gets a row's number, key and value.
pub type RowVisitor<'v> = &'v mut dyn FnMut(u64, &[u8], &[u8]);

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

/// One dictionary, shared by all lines that name its file and by the runtime socket. Writers take a
/// lock, readers never do.
#[derive(Debug)]
pub struct Dictionary {
    file: Option<Box<str>>,
    id: AtomicU32,
    /// Whether rows have a value behind their key.
    two_columns: bool,
    state: Mutex<State>,
    /// Whether its layers wait for the background thread to merge them.
    tidies: AtomicBool,
    itself: Weak<Dictionary>,
}

/// The id of a dictionary that has none yet.
pub(super) const NO_ID: u32 = u32::MAX;

impl Dictionary {
    /// A dictionary with the rows of its file.
    pub(super) fn new(file: Option<&str>, two_columns: bool, mut rows: Rows) -> Arc<Dictionary> {
        rows.finish();
        let next = rows.count_loaded();
        let editions = BTreeMap::from([(0, Edition::new(rows))]);
        Arc::new_cyclic(|itself| Dictionary {
            file: file.map(Box::from),
            id: AtomicU32::new(NO_ID),
            two_columns,
            state: Mutex::new(State { editions, next, ..State::default() }),
            tidies: AtomicBool::new(false),
            itself: itself.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves rows and views that readers can still use.
        self.state.lock()
    }

    /// Changes the dictionary, and leaves slow work to the background thread.
    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let result = how(&mut state);
        let (waste, merges) = (state.take_waste(), state.next_merge().is_some());
        drop(state);
        background::free(waste);
        if merges && !self.tidies.swap(true, Ordering::AcqRel) {
            background::tidy(self.itself.clone());
        }
        result
    }

    /// Merges layers as long as that is worth it. The lock is held for moments only.
    pub(super) fn tidy(&self) {
        self.tidies.store(false, Ordering::Release);
        loop {
            let Some(mut merge) = self.state().next_merge() else { return };
            merge.begin();
            while self.copy_some(&mut merge) {}
            if !merge.compile() || !self.show_merge(&mut merge) {
                return;
            }
        }
    }

    /// Copies some rows that are merged; `false` when all are copied.
    fn copy_some(&self, merge: &mut Merge) -> bool {
        let mut state = self.state();
        state.existing(merge.version).is_some_and(|(edition, _)| merge.copy_some(edition))
    }

    fn show_merge(&self, merge: &mut Merge) -> bool {
        let mut state = self.state();
        let Some((edition, shown)) = state.existing(merge.version) else { return true };
        let shows = merge.show(edition, shown);
        let waste = std::mem::take(&mut edition.waste);
        drop(state);
        background::free(waste);
        shows
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
        let rows: usize = state.editions.values().map(|edition| edition.rows.len()).sum();
        let entries = rows * state.views.len();
        Totals { current: state.current, newest: state.newest, entries }
    }

    /// The view for one use, made when it is the first of its kind. An error names the row.
    pub(super) fn view(&self, to: Use) -> Result<Arc<View>, (Order, PatternError)> {
        let mut state = self.state();
        if let Some(view) = state.views.iter().find(|view| view.serves(to)) {
            return Ok(view.clone());
        }
        let current = state.current;
        let edition = state.editions.entry(current).or_default();
        let view = Arc::new(View::new(to, &edition.rows)?);
        edition.layers.push(view.layers());
        state.views.push(view.clone());
        Ok(view)
    }

    /// All the views.
    pub fn views(&self) -> Vec<Arc<View>> {
        self.state().views.clone()
    }

    /// Key and value of the rows of `version` (of the current one without) among the `most` places
    /// from `from` on. Holds its lock meanwhile; returns where to continue.
    pub fn rows(
        &self,
        version: Option<u32>,
        (from, most): (u64, u32),
        visit: RowVisitor<'_>,
    ) -> Option<u64> {
        let state = self.state();
        let rows = &state.editions.get(&version.unwrap_or(state.current))?.rows;
        let (found, next) = rows.among(from, most);
        found.into_iter().for_each(|order| visit(order, rows.key(order), rows.value(order)));
        next
    }

    /// The key of a row.
    pub fn key(&self, row: u64) -> Option<Vec<u8>> {
        let mut state = self.state();
        state.edition_of(row).map(|(_, edition)| edition.rows.key(row).to_vec())
    }

    /// The result of a look-up of `key` in every view.
    pub fn sight(&self, key: &[u8]) -> Vec<(Arc<View>, Option<Sighting>)> {
        let look = |view: Arc<View>| {
            let value = Value::str(key).cast(view.method().input());
            let found = value.and_then(|value| view.sight(&value));
            // `found` matches any sample, and a text that an operator types is no sample.
            (view.clone(), found.filter(|_| view.method() != Match::Found))
        };
        self.views().into_iter().map(look).collect()
    }

    /// Adds a row to `version` (the current one without): `add map`, `add acl`.
    pub fn add(&self, version: Option<u32>, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.change(|state| {
            let version = version.unwrap_or(state.current);
            if version > state.newest {
                return Err(Refusal::FutureVersion);
            }
            state.add(version, key, value)
        })
    }

    /// Gives all the rows of `key` another value: `set map`.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.change(|state| state.set(key, value))
    }

    /// Changes the value of one row: `set map #row`.
    pub fn set_row(&self, row: u64, value: &[u8]) -> Result<(), Refusal> {
        self.change(|state| {
            let version = state.edition_of(row).ok_or(Refusal::NoEntry)?.0;
            state.set_rows(version, &[row], value)
        })
    }

    /// Removes all the rows of `key`: `del map`, `del acl`.
    pub fn remove(&self, key: &[u8]) -> Result<(), Refusal> {
        self.change(|state| {
            let (current, orders) = (state.current, state.by_key(key));
            state.remove(current, &orders)
        })
    }

    /// Removes one row: `del map #row`.
    pub fn remove_row(&self, row: u64) -> Result<(), Refusal> {
        self.change(|state| {
            let version = state.edition_of(row).ok_or(Refusal::NoEntry)?.0;
            state.remove(version, &[row])
        })
    }

    /// The action `set-map`: replaces the value of the rows of `key`, or adds a row.
    pub fn assign(&self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.change(|state| match state.set(key, value) {
            Err(Refusal::NoEntry) => state.add_of_rule(key, value),
            done => done,
        })
    }

    /// The action `add-acl`: adds a row for `key`, unless there is one.
    pub fn ensure(&self, key: &[u8]) -> Result<(), Refusal> {
        self.change(|state| match state.by_key(key).is_empty() {
            true => state.add_of_rule(key, b""),
            false => Ok(()),
        })
    }

    /// Opens a new version for [`Dictionary::add`]; look-ups use it after its commit.
    pub fn prepare(&self) -> u32 {
        let mut state = self.state();
        state.newest = state.newest.wrapping_add(1);
        state.newest
    }

    /// Shows `version` and forgets the older ones.
    pub fn commit(&self, version: u32) -> Result<(), Refusal> {
        self.change(|state| {
            if version <= state.current || version > state.newest {
                return Err(Refusal::NoVersion);
            }
            state.show(version);
            Ok(())
        })
    }

    /// Removes the rows of `version` (of the current one without).
    pub fn clear(&self, version: Option<u32>) {
        self.change(|state| {
            let version = version.unwrap_or(state.current);
            state.forget(version);
            if version == state.current {
                state.show(version);
            }
        });
    }
}

impl State {
    /// Memory that is not used any more, and takes long to free.
    fn take_waste(&mut self) -> Vec<background::Waste> {
        let mut waste = std::mem::take(&mut self.waste);
        self.editions.values_mut().for_each(|edition| waste.append(&mut edition.waste));
        waste
    }

    /// The version that has a row.
    fn edition_of(&mut self, row: Order) -> Option<(u32, &mut Edition)> {
        let found = self.editions.iter_mut().find(|(_, edition)| edition.rows.holds(row));
        found.map(|(version, edition)| (*version, edition))
    }

    /// A version, created if it does not exist, and the views.
    fn edition(&mut self, version: u32) -> (&mut Edition, &[Arc<View>]) {
        let edition = self.editions.entry(version).or_default();
        edition.reach(&self.views);
        (edition, &self.views)
    }

    /// The rows of the current version with a key.
    fn by_key(&self, key: &[u8]) -> Vec<Order> {
        let edition = self.editions.get(&self.current);
        edition.map(|edition| edition.rows.by_key(key)).unwrap_or_default()
    }

    fn add(&mut self, version: u32, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let (order, shown) = (self.next, version == self.current);
        self.next += 1;
        let (edition, views) = self.edition(version);
        edition.add(views, shown, order, (key, value)).map_err(Refusal::Invalid)
    }

    fn add_of_rule(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        if FULL.load(Ordering::Relaxed) {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::Memory);
        }
        self.add(self.current, key, value)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let (current, orders) = (self.current, self.by_key(key));
        self.set_rows(current, &orders, value)
    }

    fn set_rows(&mut self, version: u32, orders: &[Order], value: &[u8]) -> Result<(), Refusal> {
        if orders.is_empty() {
            return Err(Refusal::NoEntry);
        }
        if self.views.iter().any(|view| !view.takes_value(value)) {
            let shown = String::from_utf8_lossy(value).into_owned();
            return Err(Refusal::Invalid(PatternError::Value(shown)));
        }
        let shown = version == self.current;
        let (edition, views) = self.edition(version);
        edition.set(views, shown, orders, value);
        Ok(())
    }

    fn remove(&mut self, version: u32, orders: &[Order]) -> Result<(), Refusal> {
        if orders.is_empty() {
            return Err(Refusal::NoEntry);
        }
        let shown = version == self.current;
        let (edition, views) = self.edition(version);
        edition.remove(views, shown, orders);
        Ok(())
    }

    /// Shows a version; older ones go.
    fn show(&mut self, version: u32) {
        self.current = version;
        let (edition, views) = self.edition(version);
        for (view, layers) in views.iter().zip(&edition.layers) {
            view.show(layers.clone());
        }
        let older: Vec<u32> = self.editions.range(..version).map(|edition| *edition.0).collect();
        older.into_iter().for_each(|version| self.forget(version));
    }

    /// Removes a version, or all of its rows.
    fn forget(&mut self, version: u32) {
        self.waste.extend(self.editions.remove(&version).into_iter().flat_map(Edition::into_waste));
    }

    /// The next merge that takes too long for the thread that changes an entry.
    fn next_merge(&self) -> Option<Merge> {
        let mut all = self.editions.iter();
        all.find_map(|(version, edition)| edition.next_merge(*version, &self.views))
    }

    /// A version if it still exists, and whether it is the current one.
    fn existing(&mut self, version: u32) -> Option<(&mut Edition, bool)> {
        let shown = version == self.current;
        Some((self.editions.get_mut(&version)?, shown))
    }
}
