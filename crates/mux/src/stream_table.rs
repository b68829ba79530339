//! The streams of a connection by key and by identifier, for HTTP/2 and HTTP/3.

use stdx::Key;
use stdx::slab::Slab;

/// A stream with the identifier that its peer knows.
pub(crate) trait Identified {
    /// The type of its identifier; identifiers grow.
    type Id: Copy + Ord;

    /// Its identifier.
    fn id(&self) -> Self::Id;
}

/// The streams of a connection.
#[derive(Debug)]
pub(crate) struct StreamTable<S: Identified> {
    slab: Slab<S>,
    /// Keys by identifier, in ascending order.
    index: Vec<(S::Id, Key)>,
}

impl<S: Identified> Default for StreamTable<S> {
    fn default() -> Self {
        Self { slab: Slab::default(), index: Vec::new() }
    }
}

impl<S: Identified> StreamTable<S> {
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<&S> {
        self.slab.get(key)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut S> {
        self.slab.get_mut(key)
    }

    /// The stream with an identifier.
    #[inline]
    pub(crate) fn find(&self, id: S::Id) -> Option<Key> {
        let at = self.index.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.index[at].1)
    }

    /// Adds a stream, usually at the end, because identifiers grow.
    #[inline]
    pub(crate) fn insert(&mut self, stream: S) -> Key {
        let id = stream.id();
        let key = self.slab.insert(stream);
        let at = self.index.partition_point(|(other, _)| *other < id);
        self.index.insert(at, (id, key));
        key
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: Key) -> Option<S> {
        let stream = self.slab.remove(key)?;
        if let Ok(at) = self.index.binary_search_by_key(&stream.id(), |(id, _)| *id) {
            self.index.remove(at);
        }
        Some(stream)
    }

    /// Calls `see` for each stream, in the order of identifiers.
    pub(crate) fn each(&self, see: impl FnMut(&S)) {
        self.index.iter().filter_map(|(_, key)| self.slab.get(*key)).for_each(see);
    }

    /// Keys of the streams for which `holds` is true, in the order of identifiers.
    pub(crate) fn keys_where(&self, holds: impl Fn(&S) -> bool) -> Vec<Key> {
        let keys = self.index.iter().map(|(_, key)| *key);
        keys.filter(|key| self.slab.get(*key).is_some_and(&holds)).collect()
    }
}
