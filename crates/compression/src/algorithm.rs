//! The algorithms of `compression algo`.

use crate::framing::Framing;

/// One word of `compression algo`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Algorithm {
    /// A choice that compresses nothing.
    Identity,
    /// Deflate in a gzip framing.
    Gzip,
    /// Deflate in a zlib framing, which is what RFC 9110 calls `deflate`.
    Deflate,
    /// Deflate without a framing, for clients that take the word literally.
    RawDeflate,
    /// Brotli, RFC 7932.
    Brotli,
    /// Zstandard, RFC 8878 and RFC 9659.
    Zstd,
}

/// One row of the table.
pub struct AlgorithmEntry {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The word in a configuration, and the value of the fetch `res.comp_algo`.
    pub name: &'static str,
    /// The token in `Accept-Encoding` and `Content-Encoding`.
    pub token: &'static str,
    /// Help text.
    pub documentation: &'static str,
}

/// All algorithms; the first four are HAProxy's, in the order of its `-vv`.
pub const ALGORITHMS: &[AlgorithmEntry] = &[
    AlgorithmEntry {
        algorithm: Algorithm::Identity,
        name: "identity",
        token: "identity",
        documentation: "compresses nothing; for debugging",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Deflate,
        name: "deflate",
        token: "deflate",
        documentation: "deflate with a zlib header (RFC 1950), the meaning of the token in RFC 9110",
    },
    AlgorithmEntry {
        algorithm: Algorithm::RawDeflate,
        name: "raw-deflate",
        token: "deflate",
        documentation: "deflate without a header (RFC 1951), for clients that expect it under the name deflate",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Gzip,
        name: "gzip",
        token: "gzip",
        documentation: "deflate with a gzip header (RFC 1952)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Brotli,
        name: "br",
        token: "br",
        documentation: "brotli (RFC 7932) with a window of 128 KiB",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Zstd,
        name: "zstd",
        token: "zstd",
        documentation: "zstandard (RFC 8878) with a window of 64 KiB",
    },
];

impl Algorithm {
    /// The algorithm with a name of `compression algo`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALGORITHMS.iter().find(|entry| entry.name == name).map(|entry| entry.algorithm)
    }

    /// The word in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The token in `Accept-Encoding` and `Content-Encoding`.
    #[must_use]
    pub fn token(self) -> &'static str {
        self.entry().token
    }

    /// The framing of the algorithms that are deflate.
    #[must_use]
    pub fn framing(self) -> Option<Framing> {
        match self {
            Self::Gzip => Some(Framing::Gzip),
            Self::Deflate => Some(Framing::Zlib),
            Self::RawDeflate => Some(Framing::Raw),
            Self::Identity | Self::Brotli | Self::Zstd => None,
        }
    }

    /// Whether HAProxy 2.7 has it.
    pub(crate) fn is_of_haproxy(self) -> bool {
        !matches!(self, Self::Brotli | Self::Zstd)
    }

    fn entry(self) -> &'static AlgorithmEntry {
        let found = ALGORITHMS.iter().find(|entry| entry.algorithm == self);
        found.expect("every algorithm has a row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Algorithm; 6] = [
        Algorithm::Identity,
        Algorithm::Gzip,
        Algorithm::Deflate,
        Algorithm::RawDeflate,
        Algorithm::Brotli,
        Algorithm::Zstd,
    ];

    #[test]
    fn every_algorithm_has_one_row_and_is_found_by_its_name() {
        assert_eq!(ALGORITHMS.len(), ALL.len());
        for algorithm in ALL {
            assert_eq!(Algorithm::named(algorithm.name()), Some(algorithm));
        }
        assert_eq!(Algorithm::named("x-gzip"), None);
        assert_eq!(Algorithm::named("GZIP"), None);
    }

    #[test]
    fn both_forms_of_deflate_have_one_token() {
        assert_eq!(Algorithm::Deflate.token(), "deflate");
        assert_eq!(Algorithm::RawDeflate.token(), "deflate");
    }
}
