//! A short secret in an array of fixed room, wiped when it is dropped or replaced.

use std::sync::atomic::{Ordering, compiler_fence};

/// At most `N` (255) secret bytes.
#[derive(Clone)]
pub struct SecretBytes<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

impl<const N: usize> SecretBytes<N> {
    /// A copy of the bytes; `None` if there are too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut made = Self { bytes: [0; N], length: u8::try_from(bytes.len()).ok()? };
        made.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(made)
    }

    /// Overwrites the bytes with zeroes.
    fn wipe(&mut self) {
        for byte in &mut self.bytes {
            // SAFETY: the byte is exclusively borrowed. A volatile write stays even if nothing
            // reads it any more.
            unsafe { std::ptr::write_volatile(byte, 0) };
        }
        compiler_fence(Ordering::SeqCst);
    }
}

impl<const N: usize> std::ops::Deref for SecretBytes<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<const N: usize> std::fmt::Debug for SecretBytes<N> {
    /// The length only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretBytes").field("length", &self.length).finish_non_exhaustive()
    }
}

impl<const N: usize> Drop for SecretBytes<N> {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn secrets_are_wiped_when_they_are_dropped() {
        let mut place = MaybeUninit::<SecretBytes<8>>::uninit();
        place.write(SecretBytes::new(b"secret").unwrap());
        // SAFETY: the value was written, is dropped once, and its bytes stay initialized.
        let left = unsafe {
            let value = place.as_mut_ptr();
            let bytes = std::ptr::addr_of!((*value).bytes);
            assert_eq!(bytes.read_volatile(), *b"secret\0\0");
            std::ptr::drop_in_place(value);
            bytes.read_volatile()
        };
        assert_eq!(left, [0; 8]);
    }

    #[test]
    fn secrets_have_their_length_and_no_more_than_the_room() {
        assert_eq!(&*SecretBytes::<8>::new(b"secret").unwrap(), b"secret");
        assert_eq!(&*SecretBytes::<8>::new(b"").unwrap(), b"");
        assert!(SecretBytes::<8>::new(b"longer secret").is_none());
        let shown = format!("{:?}", SecretBytes::<8>::new(b"secret").unwrap());
        assert!(!shown.contains("secret") && !shown.contains("115"), "{shown}");
    }
}
