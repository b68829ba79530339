//! Variables: names, scopes, stores and the conditions of `set-var`.

use self::entries::{Entries, Variable};
use crate::value::Value;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use stdx::RwLock;

mod entries;
mod limits;
pub mod references;

pub use limits::VarLimits;

/// The life time of a variable (manual section 7.3.1, `set-var`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Shared by the whole process.
    Proc,
    /// One client connection.
    Sess,
    /// One transaction, request and response.
    Txn,
    /// The request.
    Req,
    /// The response.
    Res,
    /// One health check.
    Check,
}

impl Scope {
    /// Every scope with the prefix that names it.
    pub const TABLE: &[(&'static str, Scope)] = &[
        ("proc", Scope::Proc),
        ("sess", Scope::Sess),
        ("txn", Scope::Txn),
        ("req", Scope::Req),
        ("res", Scope::Res),
        ("check", Scope::Check),
    ];
}

/// A variable's name, hashed once at load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VarName {
    scope: Scope,
    hash: u64,
    name: Arc<str>,
}

/// Why a text is no name of a variable; the message is HAProxy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarNameError {
    /// The text does not begin with a scope.
    Scope(String),
    /// The name is empty or has other characters than letters, digits, `.` and `_`.
    Syntax {
        /// The text with its scope.
        text: String,
        /// The name behind the scope.
        name: String,
    },
}

impl fmt::Display for VarNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope(text) => write!(
                f,
                "invalid variable name '{text}'. A variable name must be start by its scope. \
                 The scope can be 'proc', 'sess', 'txn', 'req', 'res' or 'check'"
            ),
            Self::Syntax { text, name } => write!(
                f,
                "invalid syntax at char '{name}' of variable name '{text}'. \
                 Only letters, digits, '.' and '_' are allowed"
            ),
        }
    }
}

impl std::error::Error for VarNameError {}

impl VarName {
    /// Parses `scope.name`.
    ///
    /// # Errors
    ///
    /// The text is no name of a variable.
    pub fn parse(text: &str) -> Result<VarName, VarNameError> {
        let Some((scope, name)) = text.split_once('.').and_then(|(prefix, name)| {
            let found = Scope::TABLE.iter().find(|(word, _)| *word == prefix)?;
            Some((found.1, name))
        }) else {
            return Err(VarNameError::Scope(text.to_owned()));
        };
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        if name.is_empty() || !name.chars().all(valid) {
            return Err(VarNameError::Syntax { text: text.to_owned(), name: name.to_owned() });
        }
        if scope == Scope::Proc {
            references::add(name);
        }
        Ok(VarName { scope, hash: crate::hash::xxh64(name.as_bytes(), 0), name: name.into() })
    }

    /// The scope.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The variable of the same name in another scope.
    #[must_use]
    pub fn in_scope(&self, scope: Scope) -> VarName {
        VarName { scope, hash: self.hash, name: self.name.clone() }
    }

    /// Whether the configuration mentions this variable of the process.
    pub fn is_mentioned(&self) -> bool {
        references::contains(&self.name)
    }

    /// The name without its scope.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The state of a variable in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarState {
    /// The variable is unknown.
    Absent,
    /// Declared, or set once and unset since.
    Unset,
    /// Set.
    Set,
}

/// The variables of one scope, which keeps its allocation when cleared. A store that never held a
/// variable takes one word of memory.
#[derive(Debug, Default)]
pub struct VarStore(OnceCell<Rc<Store>>);

#[derive(Debug, Default)]
struct Store {
    entries: RefCell<Entries>,
    /// The process-wide account of its variables, when those are limited.
    owner: OnceCell<Arc<SharedVars>>,
}

impl VarStore {
    /// A store that shares the variables of another one: several transactions of a session read and
    /// change the same variables.
    pub fn shared(with: &Self) -> Self {
        Self(OnceCell::from(with.0.get_or_init(Rc::default).clone()))
    }

    /// Names and values of the variables that are set.
    pub fn values(&self) -> Vec<(VarName, Value<'static>)> {
        let Some(store) = self.known() else { return Vec::new() };
        let set = |it: &Variable| Some((it.name.clone(), it.value.clone()?));
        store.entries.borrow().iter().filter_map(set).collect()
    }

    /// Where the variables are, if there ever were any.
    fn known(&self) -> Option<&Store> {
        self.0.get().map(|it| &**it)
    }

    /// Where the variables are or will be.
    fn place(&self) -> &Store {
        self.0.get_or_init(Rc::default)
    }

    /// The value, if set. Text is shared, not copied.
    pub fn get(&self, name: &VarName) -> Option<Value<'static>> {
        self.known()?.entries.borrow().find(name)?.value.clone()
    }

    /// Whether the variable exists and is set.
    pub fn state(&self, name: &VarName) -> VarState {
        self.known().map_or(VarState::Absent, |it| it.entries.borrow().state(name))
    }

    /// Sets the variable, or unsets it while remembering that it existed.
    pub fn set(&self, name: &VarName, value: Option<Value<'static>>) {
        self.place().entries.borrow_mut().store(name, value);
    }

    /// Whether there is no variable, not even an unset one.
    pub fn is_empty(&self) -> bool {
        self.known().is_none_or(|it| it.entries.borrow().iter().next().is_none())
    }

    /// Forgets everything; called when the scope ends.
    pub fn clear(&self) {
        if let Some(it) = self.known() {
            it.release();
            it.entries.borrow_mut().clear();
        }
    }

    /// The memory of its variables, as [`VarLimits`] counts it.
    fn size(&self) -> usize {
        self.known().map_or(0, Store::size)
    }

    /// The memory of one variable; 0 if it does not exist.
    fn size_of(&self, name: &VarName) -> usize {
        self.known().map_or(0, |it| {
            it.entries.borrow().find(name).map_or(0, |entry| limits::size(entry.value.as_ref()))
        })
    }
}

impl Store {
    fn size(&self) -> usize {
        self.entries.borrow().iter().map(|entry| limits::size(entry.value.as_ref())).sum()
    }

    fn release(&self) {
        if let Some(owner) = self.owner.get() {
            owner.total.release(self.size());
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.release();
    }
}

/// The `proc` scope: one for the process, shared by its threads. A reader takes a shared lock for
/// one look-up.
#[derive(Debug, Default)]
pub struct SharedVars {
    entries: RwLock<Entries>,
    /// How much the variables of the process may take; set while nothing runs yet.
    pub limits: VarLimits,
    total: limits::Total,
}

impl SharedVars {
    /// The value, if set.
    pub fn get(&self, name: &VarName) -> Option<Value<'static>> {
        self.entries.read().find(name)?.value.clone()
    }

    /// Whether the variable is set; it exists in any case, because what names it made it exist
    /// when that was parsed (manual section 7.3.1, `set-var`).
    pub fn state(&self, name: &VarName) -> VarState {
        match self.entries.read().state(name) {
            VarState::Absent => VarState::Unset,
            known => known,
        }
    }

    /// Sets or unsets the variable; what there is no room for is unset.
    pub fn set(&self, name: &VarName, value: Option<Value<'static>>) {
        let mut entries = self.entries.write();
        let found = entries.find(name).map(|entry| limits::size(entry.value.as_ref()));
        let before = found.unwrap_or(0);
        if self.admits(before, limits::size(value.as_ref())) {
            entries.store(name, value);
        } else if found.is_some() {
            self.admits(before, limits::size(None));
            entries.store(name, None);
        }
    }
}

/// All the scopes that one evaluation sees; a transaction owns one, with the session's and the
/// process's inside.
#[derive(Debug, Default)]
pub struct Variables {
    /// `proc`
    pub process: Arc<SharedVars>,
    /// `sess`
    pub session: VarStore,
    /// `txn`
    pub transaction: VarStore,
    /// `req`
    pub request: VarStore,
    /// `res`
    pub response: VarStore,
    /// `check`
    pub check: VarStore,
}

impl Variables {
    fn store(&self, scope: Scope) -> Option<&VarStore> {
        match scope {
            Scope::Proc => None,
            Scope::Sess => Some(&self.session),
            Scope::Txn => Some(&self.transaction),
            Scope::Req => Some(&self.request),
            Scope::Res => Some(&self.response),
            Scope::Check => Some(&self.check),
        }
    }

    /// The value, if set.
    pub fn get(&self, name: &VarName) -> Option<Value<'static>> {
        match self.store(name.scope) {
            Some(store) => store.get(name),
            None => self.process.get(name),
        }
    }

    /// Whether the variable exists and is set.
    pub fn state(&self, name: &VarName) -> VarState {
        match self.store(name.scope) {
            Some(store) => store.state(name),
            None => self.process.state(name),
        }
    }

    /// Sets or unsets the variable; what there is no room for is unset.
    pub fn set(&self, name: &VarName, value: Option<Value<'static>>) {
        let Some(store) = self.store(name.scope) else { return self.process.set(name, value) };
        match value {
            Some(value) if self.admits(store, name, &value) => store.set(name, Some(value)),
            _ if store.state(name) == VarState::Absent => {}
            _ => {
                self.process.admits(store.size_of(name), limits::size(None));
                store.set(name, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_a_scope_and_plain_letters() {
        assert_eq!(VarName::parse("txn.a.b_1").expect("valid").name(), "a.b_1");
        assert!(
            VarName::parse("foo.a").unwrap_err().to_string().contains("must be start by its scope")
        );
        assert!(VarName::parse("txn").is_err());
        assert!(VarName::parse("txn.").is_err());
        assert!(VarName::parse("txn.a-b").is_err());
    }

    #[test]
    fn stores_remember_unset_variables() {
        let vars = Variables::default();
        for scope in ["proc", "sess", "txn", "req", "res", "check"] {
            let name = VarName::parse(&format!("{scope}.x")).expect("valid");
            let born = if scope == "proc" { VarState::Unset } else { VarState::Absent };
            assert_eq!(vars.state(&name), born, "a name makes a variable of the process exist");
            vars.set(&name, Some(Value::Int(3)));
            assert_eq!(vars.get(&name), Some(Value::Int(3)));
            vars.set(&name, None);
            assert_eq!((vars.get(&name), vars.state(&name)), (None, VarState::Unset));
        }
    }
}
