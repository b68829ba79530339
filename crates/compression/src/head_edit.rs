//! The changes to the heads of messages, as data.

use crate::decision::Plan;

/// One change to the fields of a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeadEdit {
    /// Removes every field with this name.
    Remove {
        /// The name, in lower case.
        name: &'static str,
    },
    /// Puts a text in front of the value of the field with this name, which stays in its place.
    Prefix {
        /// The name, in lower case.
        name: &'static str,
        /// The text.
        prefix: &'static str,
    },
    /// Adds a field at the end, whether or not there is one with this name.
    Add {
        /// The name, in lower case.
        name: &'static str,
        /// The value.
        value: &'static str,
    },
}

/// The change to a request under `compression offload`, once its algorithm is known.
pub const OFFLOAD: HeadEdit = HeadEdit::Remove { name: "accept-encoding" };

impl Plan {
    /// The changes to the response, in HAProxy's order. `transfer-encoding` is for HTTP/1.1 clients
    /// only; a chunked response keeps the field that it has.
    pub fn edits(&self) -> impl Iterator<Item = HeadEdit> {
        let etag = HeadEdit::Prefix { name: "etag", prefix: "W/" };
        let length = HeadEdit::Remove { name: "content-length" };
        let coding = HeadEdit::Add { name: "content-encoding", value: self.algorithm.token() };
        let chunked = HeadEdit::Add { name: "transfer-encoding", value: "chunked" };
        // A field of its own: merged into another one, it could hide `Vary: *`.
        let vary = HeadEdit::Add { name: "vary", value: "Accept-Encoding" };
        let edits = [
            self.weaken_etag.then_some(etag),
            self.has_length.then_some(length),
            Some(coding),
            self.has_length.then_some(chunked),
            Some(vary),
        ];
        edits.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;

    fn names(plan: Plan) -> Vec<&'static str> {
        let name = |edit| match edit {
            HeadEdit::Remove { name }
            | HeadEdit::Prefix { name, .. }
            | HeadEdit::Add { name, .. } => name,
        };
        plan.edits().map(name).collect()
    }

    #[test]
    fn the_coding_comes_before_the_chunks_and_vary() {
        let plan = Plan { algorithm: Algorithm::Gzip, weaken_etag: true, has_length: true };
        assert_eq!(
            names(plan),
            ["etag", "content-length", "content-encoding", "transfer-encoding", "vary"]
        );
    }

    #[test]
    fn a_chunked_response_keeps_its_chunks_and_a_weak_tag_stays() {
        let plan = Plan { algorithm: Algorithm::Gzip, weaken_etag: false, has_length: false };
        assert_eq!(names(plan), ["content-encoding", "vary"]);
    }

    #[test]
    fn raw_deflate_says_deflate() {
        let plan = Plan { algorithm: Algorithm::RawDeflate, weaken_etag: false, has_length: false };
        let expected = HeadEdit::Add { name: "content-encoding", value: "deflate" };
        assert!(plan.edits().any(|edit| edit == expected));
    }
}
