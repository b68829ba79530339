//! Protocol versions: which ones a line allows (manual section 5.1).

use openssl::ssl::SslVersion;

/// A protocol version, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// SSLv3, which the library does not have: as a lower bound it means the library's oldest
    /// version.
    Ssl3,
    /// TLSv1.0
    Tls10,
    /// TLSv1.1
    Tls11,
    /// TLSv1.2
    Tls12,
    /// TLSv1.3
    Tls13,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] = [Self::Ssl3, Self::Tls10, Self::Tls11, Self::Tls12, Self::Tls13];

    /// The oldest that clients may speak where a `bind` line says nothing.
    pub const OLDEST_SERVED: Self = Self::Tls12;

    /// By the name that `ssl-min-ver` has for it.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }

    /// The name that `ssl-min-ver` has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssl3 => "SSLv3",
            Self::Tls10 => "TLSv1.0",
            Self::Tls11 => "TLSv1.1",
            Self::Tls12 => "TLSv1.2",
            Self::Tls13 => "TLSv1.3",
        }
    }

    pub(crate) fn to_library(self) -> SslVersion {
        match self {
            Self::Ssl3 | Self::Tls10 => SslVersion::TLS1,
            Self::Tls11 => SslVersion::TLS1_1,
            Self::Tls12 => SslVersion::TLS1_2,
            Self::Tls13 => SslVersion::TLS1_3,
        }
    }
}

/// The version options of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// `ssl-min-ver`
    pub min: Option<Version>,
    /// `ssl-max-ver`
    pub max: Option<Version>,
    /// `no-sslv3` and so on, by place in [`Version::ALL`].
    pub without: [bool; 5],
}

impl Versions {
    /// Only this one (`force-*`).
    pub fn force(&mut self, version: Version) {
        (self.min, self.max) = (Some(version), Some(version));
    }

    /// Not this one (`no-*`).
    pub fn exclude(&mut self, version: Version) {
        self.without[version as usize] = true;
    }

    /// The limits of `self`, and those of `other` where `self` has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let without = if self.without == [false; 5] { other.without } else { self.without };
        Self { min: self.min.or(other.min), max: self.max.or(other.max), without }
    }

    fn has_bounds(&self) -> bool {
        self.min.is_some() || self.max.is_some()
    }

    fn excludes(&self) -> bool {
        self.without != [false; 5] && !self.has_bounds()
    }

    /// Whether versions are excluded to no effect, because there are bounds.
    pub fn ignores_exclusions(&self) -> bool {
        self.without != [false; 5] && self.has_bounds()
    }

    /// The newest version that is excluded between others, if any is: it and all older ones are
    /// not used.
    pub fn hole(&self) -> Option<Version> {
        let (lowest, _) = self.range(Version::Tls10)?;
        let older = |version: &&Version| **version < lowest && **version != Version::Ssl3;
        let mut older = Version::ALL.iter().filter(older);
        let used = older.any(|version| !self.without[*version as usize]);
        (self.excludes() && used).then(|| Version::ALL[lowest as usize - 1])
    }

    /// Whether a `bind` line has an upper bound only, older than the default lower bound: the bound
    /// is then the lower one too.
    pub fn is_ambiguous(&self) -> bool {
        self.min.is_none() && self.max.is_some_and(|max| max < Version::OLDEST_SERVED)
    }

    /// The oldest and the newest that are left, if any is: the newest, and older ones down to the
    /// first that is excluded. `oldest` is the lower bound unless one is given, or only an upper
    /// one that is still lower; excluding a version does not bring an older one back. With bounds,
    /// exclusions have no effect (as measured, with a warning).
    pub fn range(&self, oldest: Version) -> Option<(Version, Version)> {
        let excludes = self.excludes();
        let highest = self.max.unwrap_or(Version::Tls13);
        let lowest = self.min.unwrap_or(oldest.min(highest));
        let allowed = |version: &Version| {
            let without = excludes && self.without[*version as usize];
            *version >= lowest && *version <= highest && !without
        };
        let usable = Version::ALL.into_iter().filter(|version| *version != Version::Ssl3);
        let newest = usable.clone().rev().find(allowed)?;
        let run = usable.rev().skip_while(|version| *version > newest).take_while(allowed);
        Some((run.last().unwrap_or(newest), newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: Option<Version>, max: Option<Version>, without: &[Version]) -> String {
        let mut versions = Versions { min, max, ..Versions::default() };
        without.iter().for_each(|version| versions.exclude(*version));
        versions
            .range(Version::Tls12)
            .map_or("none".into(), |(low, high)| format!("{} {}", low.name(), high.name()))
    }

    /// The versions that remain with one option.
    fn left(word: &str, value: &str) -> String {
        let mut options = crate::Options::default();
        crate::OptionKeyword::find(word).unwrap().read(&mut options, value).unwrap();
        let Some((low, high)) = options.versions.range(Version::Tls12) else {
            return "none".into();
        };
        format!("{} {}", low.name(), high.name())
    }

    #[test]
    fn version_options_allow_their_versions() {
        for (word, value, expected) in [
            ("ssl-min-ver", "TLSv1.3", "TLSv1.3 TLSv1.3"),
            ("ssl-min-ver", "TLSv1.1", "TLSv1.1 TLSv1.3"),
            ("ssl-min-ver", "SSLv3", "TLSv1.0 TLSv1.3"),
            ("ssl-max-ver", "TLSv1.2", "TLSv1.2 TLSv1.2"),
            ("ssl-max-ver", "TLSv1.0", "TLSv1.0 TLSv1.0"),
            ("ssl-max-ver", "SSLv3", "none"),
            ("force-sslv3", "", "none"),
            ("force-tlsv10", "", "TLSv1.0 TLSv1.0"),
            ("force-tlsv11", "", "TLSv1.1 TLSv1.1"),
            ("force-tlsv12", "", "TLSv1.2 TLSv1.2"),
            ("force-tlsv13", "", "TLSv1.3 TLSv1.3"),
            ("no-sslv3", "", "TLSv1.2 TLSv1.3"),
            ("no-tlsv10", "", "TLSv1.2 TLSv1.3"),
            ("no-tlsv11", "", "TLSv1.2 TLSv1.3"),
            ("no-tlsv12", "", "TLSv1.3 TLSv1.3"),
            ("no-tlsv13", "", "TLSv1.2 TLSv1.2"),
        ] {
            assert_eq!(left(word, value), expected, "{word} {value}");
        }
    }

    #[test]
    fn remaining_versions_are_contiguous() {
        use Version::{Ssl3, Tls10, Tls11, Tls12, Tls13};
        assert_eq!(range(None, None, &[]), "TLSv1.2 TLSv1.3");
        assert_eq!(range(Some(Ssl3), None, &[]), "TLSv1.0 TLSv1.3");
        assert_eq!(range(Some(Tls12), Some(Tls12), &[]), "TLSv1.2 TLSv1.2");
        assert_eq!(range(Some(Tls13), Some(Tls12), &[]), "none");
        assert_eq!(range(None, None, &[Tls13]), "TLSv1.2 TLSv1.2");
        assert_eq!(range(None, None, &[Tls11]), "TLSv1.2 TLSv1.3");
        assert_eq!(range(None, None, &[Tls10, Tls11, Tls12, Tls13]), "none");
        assert_eq!(range(None, None, &[Tls12, Tls13]), "none", "no older one comes back");
        assert_eq!(range(None, Some(Ssl3), &[]), "none");
        assert_eq!(range(None, Some(Tls11), &[]), "TLSv1.1 TLSv1.1");
        assert_eq!(range(Some(Tls12), None, &[Tls13]), "TLSv1.2 TLSv1.3", "bounds alone count");
        assert_eq!(range(Some(Tls13), Some(Tls13), &[Tls13]), "TLSv1.3 TLSv1.3");
    }

    #[test]
    fn holes_are_found() {
        use Version::{Tls10, Tls11, Tls12, Tls13};
        for (without, expected) in [
            (&[Tls12][..], Some(Tls12)),
            (&[Tls11], Some(Tls11)),
            (&[Tls10, Tls12], Some(Tls12)),
            (&[Tls10], None),
            (&[Tls13], None),
            (&[Tls10, Tls11], None),
            (&[], None),
        ] {
            let mut versions = Versions::default();
            without.iter().for_each(|version| versions.exclude(*version));
            assert_eq!(versions.hole(), expected, "{without:?}");
            versions.min = Some(Tls10);
            assert_eq!(versions.hole(), None, "nothing is excluded");
            assert_eq!(versions.ignores_exclusions(), !without.is_empty());
        }
    }
}
