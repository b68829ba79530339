//! A response while it is stored: invisible until it is whole, and without a trace if it is dropped
//! before.

use crate::hit::Hit;
use crate::key::CacheKey;
use crate::object::ObjectRecord;
use crate::response::{Storable, is_kept};
use crate::shard::PublishFault;
use crate::store::{BLOCK, Cache};
use htx::{Fields, Head, HeaderId};
use std::sync::Arc;
use stdx::BlockChain;

/// Why a response is not stored, or not stored any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// The same response is being stored already, or too many responses are being stored.
    Busy,
    /// The object is larger than `max-object-size`.
    TooLarge,
    /// All blocks hold objects that are being served or stored.
    Full,
    /// The content was shorter or longer than its announced length.
    WrongLength,
    /// Its key was invalidated, or the cache cleared, while it was stored.
    Outdated,
    /// The primary key has `max-secondary-entries` entries already.
    Crowded,
}

/// Times that a piece which does not fit is tried again after objects were evicted: other threads
/// can take the blocks that became free.
const ATTEMPTS: usize = 8;

/// A response that is being stored. Dropping it is the way to give up.
#[derive(Debug)]
pub struct Storing {
    cache: Arc<Cache>,
    /// `None` after a fault: the blocks are free again.
    chain: Option<BlockChain>,
    /// Its number among the objects that are being stored; 0 after the end.
    filling: u64,
    key: CacheKey,
    record: ObjectRecord,
    declared_len: Option<u64>,
    fault: StoreFault,
}

impl Storing {
    /// Begins to store a response: its head, without the fields that are not kept. Content follows
    /// by
    /// [`Storing::payload`].
    pub fn begin(
        cache: &Arc<Cache>,
        key: &CacheKey,
        response: &Head,
        storable: &Storable,
        now: u64,
    ) -> Result<Self, StoreFault> {
        let begun = cache.with_shard(key.hash(), |shard| shard.begin(key.hash(), storable.variant));
        let filling = begun.ok_or(StoreFault::Busy)?;
        let mut record = ObjectRecord {
            modified: storable.modified,
            variant: storable.variant,
            is_chunked: response.has(HeaderId::TransferEncoding),
            key_len: key.text().len() as u32,
            ..ObjectRecord::default()
        };
        record.set_times(&storable.lifetime, now);
        let chain = Some(cache.chain());
        let mut storing = Self {
            chain,
            filling,
            key: key.clone(),
            record,
            declared_len: storable.declared_len,
            fault: StoreFault::Full,
            cache: cache.clone(),
        };
        storing.put(&record.encode())?;
        storing.put(key.text())?;
        storing.put_head(response)?;
        Ok(storing)
    }

    /// Writes status line and fields in HTTP/1 form.
    fn put_head(&mut self, response: &Head) -> Result<(), StoreFault> {
        let status = [100, 10, 1].map(|unit| b'0' + (response.status() / unit % 10) as u8);
        for piece in [b"HTTP/1.1 ", &status[..], b" ", response.reason(), b"\r\n"] {
            self.put_to(|record| &mut record.head_len, piece)?;
        }
        for field in response.fields().filter(|field| is_kept(response, field)) {
            if field.id == HeaderId::ETag && self.record.etag_len == 0 {
                self.record.etag_at = self.record.head_len + (field.name.len() + 2) as u32;
                self.record.etag_len = field.value.len() as u32;
            }
            self.put_line(|record| &mut record.head_len, field.name, field.value)?;
        }
        Ok(())
    }

    fn put_line(
        &mut self,
        part: fn(&mut ObjectRecord) -> &mut u32,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), StoreFault> {
        for piece in [name, b": ", value, b"\r\n"] {
            self.put_to(part, piece)?;
        }
        Ok(())
    }

    /// Appends to a part of the object, which counts towards `max-object-size`.
    fn put_to(
        &mut self,
        part: fn(&mut ObjectRecord) -> &mut u32,
        bytes: &[u8],
    ) -> Result<(), StoreFault> {
        let most = u64::from(self.cache.settings().rules.max_object_size);
        if self.record.size() + bytes.len() as u64 > most {
            return Err(self.fail(StoreFault::TooLarge));
        }
        self.put(bytes)?;
        *part(&mut self.record) += bytes.len() as u32;
        Ok(())
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), StoreFault> {
        let Some(chain) = &mut self.chain else { return Err(self.fault) };
        for _ in 0..ATTEMPTS {
            bytes = &bytes[chain.append(bytes)..];
            if bytes.is_empty() {
                return Ok(());
            }
            let missing = bytes.len().div_ceil(BLOCK).min(self.cache.blocks() as usize) as u32;
            if self.cache.make_room(missing) == 0 {
                break;
            }
        }
        Err(self.fail(StoreFault::Full))
    }

    /// Gives the blocks back: nothing will be stored.
    fn fail(&mut self, fault: StoreFault) -> StoreFault {
        self.chain = None;
        self.fault = fault;
        fault
    }

    /// Appends content. After a fault nothing is stored: drop it.
    pub fn payload(&mut self, bytes: &[u8]) -> Result<(), StoreFault> {
        if self.chain.is_none() {
            return Err(self.fault);
        }
        let len = u64::from(self.record.body_len) + bytes.len() as u64;
        if self.declared_len.is_some_and(|declared| len > declared) {
            return Err(self.fail(StoreFault::WrongLength));
        }
        self.put_to(|record| &mut record.body_len, bytes)
    }

    /// The time at which it began to be stored, from which on its age is counted.
    pub fn received_at(&self) -> u64 {
        self.record.received_ms
    }

    /// The cache.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Copies the framing of a stored response, whose content follows.
    pub fn frame_as(&mut self, stored: &Hit) {
        self.record.is_chunked = stored.is_chunked();
    }

    /// Bytes of content so far.
    pub fn len(&self) -> usize {
        self.record.body_len as usize
    }

    /// Whether the object has no content yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes the response visible: call it at the end of a whole message only. The new object
    /// replaces the one that was stored before.
    pub fn finish(mut self, trailers: Option<&Fields>, now: u64) -> Result<(), StoreFault> {
        if self.declared_len.is_some_and(|declared| declared != u64::from(self.record.body_len)) {
            return Err(self.fail(StoreFault::WrongLength));
        }
        for field in trailers.into_iter().flat_map(Fields::iter) {
            self.put_line(|record| &mut record.trailer_len, field.name, field.value)?;
        }
        let Some(mut chain) = self.chain.take() else { return Err(self.fault) };
        chain.overwrite_front(&self.record.encode());
        let Some(object) = chain.share() else { return Err(StoreFault::Full) };
        // Evicted objects are dropped after the lock is released.
        let mut gone = Vec::new();
        let most = self.cache.settings().max_secondary_entries;
        let filling = std::mem::take(&mut self.filling);
        let published = self.cache.with_shard(self.key.hash(), |shard| {
            if shard.end(filling) {
                gone.push(object);
                return Err(PublishFault::Outdated);
            }
            shard.publish(&self.key, object, most, now, &mut gone)
        });
        published.map_err(|fault| match fault {
            PublishFault::Outdated => StoreFault::Outdated,
            PublishFault::Crowded => StoreFault::Crowded,
            PublishFault::Full => StoreFault::Full,
        })
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        if self.filling != 0 {
            self.cache.with_shard(self.key.hash(), |shard| shard.end(self.filling));
        }
    }
}
