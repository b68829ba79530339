//! Arguments that name variables: the conditional write of `set-var`, and a number or the variable that holds it.

use crate::facts::Facts;
use crate::value::{Type, Value};
use crate::vars::{VarName, VarNameError, VarState};
use std::fmt;

/// One condition of `set-var(name,cond)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetIf {
    /// The variable existed.
    Exists,
    /// The variable did not exist.
    NotExists,
    /// The input is an empty text.
    Empty,
    /// The input is not an empty text.
    NotEmpty,
    /// The variable was set.
    Set,
    /// The variable was not set.
    NotSet,
    /// The variable is greater than the input.
    Greater,
    /// The variable is less than the input.
    Less,
}

impl SetIf {
    /// Every condition with its word.
    pub const TABLE: &[(&'static str, SetIf)] = &[
        ("ifexists", SetIf::Exists),
        ("ifnotexists", SetIf::NotExists),
        ("ifempty", SetIf::Empty),
        ("ifnotempty", SetIf::NotEmpty),
        ("ifset", SetIf::Set),
        ("ifnotset", SetIf::NotSet),
        ("ifgt", SetIf::Greater),
        ("iflt", SetIf::Less),
    ];

    /// Parses one condition word.
    ///
    /// # Errors
    ///
    /// [`SetVarError::Condition`].
    pub fn parse(word: &str) -> Result<SetIf, SetVarError> {
        let found = Self::TABLE.iter().find(|(name, _)| *name == word);
        found.map(|(_, cond)| *cond).ok_or_else(|| SetVarError::Condition(word.to_owned()))
    }

    /// Whether the condition lets `input` through.
    pub fn holds(
        self,
        before: VarState,
        current: Option<&Value<'_>>,
        input: Option<&Value<'_>>,
    ) -> bool {
        match self {
            SetIf::Exists => before != VarState::Absent,
            SetIf::NotExists => before == VarState::Absent,
            SetIf::Empty => is_empty(input),
            SetIf::NotEmpty => !is_empty(input),
            SetIf::Set => before == VarState::Set,
            SetIf::NotSet => before != VarState::Set,
            SetIf::Greater => compare(current, input, |var, input| var > input),
            SetIf::Less => compare(current, input, |var, input| var < input),
        }
    }
}

/// Scalars are never empty (manual: "regardless of the input's contents").
fn is_empty(input: Option<&Value<'_>>) -> bool {
    match input {
        None => true,
        Some(Value::Str(bytes) | Value::Bin(bytes) | Value::Meth(bytes)) => bytes.is_empty(),
        Some(_) => false,
    }
}

/// True unless both are integers and `holds` refuses them.
fn compare(
    var: Option<&Value<'_>>,
    input: Option<&Value<'_>>,
    holds: fn(i64, i64) -> bool,
) -> bool {
    match (var, input) {
        (Some(Value::Int(var)), Some(Value::Int(input))) => holds(*var, *input),
        _ => true,
    }
}

/// Why the arguments of `set-var` are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetVarError {
    /// The name of the variable is none.
    Name(VarNameError),
    /// No condition has this name.
    Condition(String),
    /// There are more than four conditions.
    Conditions,
}

impl From<VarNameError> for SetVarError {
    fn from(error: VarNameError) -> Self {
        Self::Name(error)
    }
}

impl fmt::Display for SetVarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Condition(word) => {
                let hint = crate::error::hint(word, SetIf::TABLE.iter().map(|(name, _)| *name));
                write!(f, "unknown condition \"{word}\"{hint}")
            }
            Self::Conditions => f.write_str("at most four conditions are allowed"),
        }
    }
}

impl std::error::Error for SetVarError {}

/// A variable and the conditions under which it is written: the argument list of `set-var`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetVar {
    /// The variable.
    pub name: VarName,
    conditions: Vec<SetIf>,
}

impl SetVar {
    /// Parses the arguments of `set-var`: the name, then up to four conditions.
    ///
    /// # Errors
    ///
    /// The name or a condition is refused.
    pub fn parse<'w>(mut words: impl Iterator<Item = &'w str>) -> Result<SetVar, SetVarError> {
        let name = VarName::parse(words.next().unwrap_or(""))?;
        let words = words.filter(|word| !word.is_empty());
        let conditions = words.map(SetIf::parse).collect::<Result<Vec<_>, _>>()?;
        if conditions.len() > 4 {
            return Err(SetVarError::Conditions);
        }
        Ok(SetVar { name, conditions })
    }

    /// Writes `value` into the variable when every condition holds; an undefined value unsets
    /// nothing.
    pub fn store(&self, facts: &dyn Facts, value: &Value<'_>) -> bool {
        let before = facts.var_state(&self.name);
        let needs_current =
            self.conditions.iter().any(|c| matches!(c, SetIf::Greater | SetIf::Less));
        let current = if needs_current { facts.var(&self.name) } else { None };
        let holds = self.conditions.iter().all(|c| c.holds(before, current.as_ref(), Some(value)));
        if holds {
            facts.set_var(&self.name, Some(value.clone().into_shared()));
        }
        holds
    }
}

/// A number or the variable that will hold it: the argument of the arithmetic converters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntOrVar {
    /// A constant.
    Int(i64),
    /// A variable, read at each evaluation.
    Var(VarName),
}

impl IntOrVar {
    /// The number at present, if any.
    pub fn value(&self, facts: &dyn Facts) -> Option<i64> {
        match self {
            IntOrVar::Int(int) => Some(*int),
            IntOrVar::Var(name) => match facts.var(name)?.cast(Type::Int)? {
                Value::Int(int) => Some(int),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_follow_the_manual() {
        let (one, two) = (Value::Int(1), Value::Int(2));
        let empty = Value::str(b"");
        assert!(SetIf::Exists.holds(VarState::Unset, None, Some(&one)));
        assert!(!SetIf::Exists.holds(VarState::Absent, None, Some(&one)));
        assert!(SetIf::NotExists.holds(VarState::Absent, None, Some(&one)));
        assert!(SetIf::Empty.holds(VarState::Absent, None, Some(&empty)));
        assert!(!SetIf::Empty.holds(VarState::Absent, None, Some(&one)));
        assert!(SetIf::NotEmpty.holds(VarState::Absent, None, Some(&one)));
        assert!(!SetIf::Set.holds(VarState::Unset, None, Some(&one)));
        assert!(SetIf::NotSet.holds(VarState::Unset, None, Some(&one)));
        assert!(SetIf::Greater.holds(VarState::Set, Some(&two), Some(&one)));
        assert!(!SetIf::Greater.holds(VarState::Set, Some(&one), Some(&two)));
        assert!(SetIf::Less.holds(VarState::Set, Some(&one), Some(&two)));
        assert!(SetIf::Less.holds(VarState::Set, Some(&one), Some(&empty)), "not both integers");
        assert!(SetIf::parse("ifexist").unwrap_err().to_string().contains("ifexists"));
    }
}
