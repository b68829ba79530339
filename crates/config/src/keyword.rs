//! The shape of all keyword tables: one entry per user-visible word.
use crate::line::{Args, Parsed};

/// One keyword.
pub(crate) struct Keyword<F: 'static> {
    /// The word.
    pub(crate) name: &'static str,
    /// Its arguments as the manual writes them.
    pub(crate) arguments: &'static str,
    /// Sections that may have it; unused by tables of words within a line.
    pub(crate) places: Places,
    /// One sentence for the reference page.
    pub(crate) doc: &'static str,
    /// Its parser.
    pub(crate) parse: F,
}

/// The entry of a keyword, in the order of the columns of the tables.
pub(crate) const fn entry<F: Copy>(
    name: &'static str,
    arguments: &'static str,
    places: Places,
    doc: &'static str,
    parse: F,
) -> Keyword<F> {
    Keyword { name, arguments, places, doc, parse }
}

/// The entry of a word within a line.
pub(crate) const fn word<F: Copy>(
    name: &'static str,
    arguments: &'static str,
    doc: &'static str,
    parse: F,
) -> Keyword<F> {
    entry(name, arguments, Places::WORD, doc, parse)
}

/// The entry of a keyword of `global`.
pub(crate) const fn global<F: Copy>(
    name: &'static str,
    arguments: &'static str,
    doc: &'static str,
    parse: F,
) -> Keyword<F> {
    entry(name, arguments, Places::GLOBAL, doc, parse)
}

impl<F> Keyword<F> {
    /// The entry of a word.
    pub(crate) fn find<'t>(table: &'t [Self], name: &str) -> Option<&'t Self> {
        table.iter().find(|keyword| keyword.name == name)
    }

    /// How many words the entry takes after its name.
    pub(crate) fn takes(&self) -> usize {
        usize::from(!self.arguments.is_empty())
    }
}

/// The sections in which a keyword is legal: a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places(u8);

impl Places {
    /// `global`.
    pub(crate) const GLOBAL: Self = Self(1);
    /// Any `defaults`.
    pub(crate) const DEFAULTS: Self = Self(2);
    /// Named `defaults` only: "(!)" in the matrix of section 4.1.
    pub(crate) const NAMED: Self = Self(4);
    /// Sections with a client side.
    pub(crate) const FRONT: Self = Self(8);
    /// Sections with a server side.
    pub(crate) const BACK: Self = Self(16);
    /// Within a line.
    pub(crate) const WORD: Self = Self(0);

    /// `defaults`, and both sides.
    pub(crate) const ALL: Self = Self::DEFAULTS.and(Self::FRONT).and(Self::BACK);
    /// `defaults`, and sections with a client side.
    pub(crate) const D_FRONT: Self = Self::DEFAULTS.and(Self::FRONT);
    /// `defaults`, and sections with a server side.
    pub(crate) const D_BACK: Self = Self::DEFAULTS.and(Self::BACK);
    /// Frontends, backends and named `defaults` sections.
    pub(crate) const RULES: Self = Self::NAMED.and(Self::FRONT).and(Self::BACK);
    /// Both sides.
    pub(crate) const SIDES: Self = Self::FRONT.and(Self::BACK);

    /// The union.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when the sets share a section.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A parser that fills `T`.
pub(crate) type Fill<T> = fn(&mut T, &mut crate::context::Cx<'_>, Args<'_>) -> Parsed;
