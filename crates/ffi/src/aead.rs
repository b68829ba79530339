//! Authenticated encryption with contexts that keep a key: one message per call, no allocation.

use crate::flavour::cipher;
use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// Bytes of a nonce.
pub const NONCE: usize = 12;
/// Bytes of an authentication tag.
pub const TAG: usize = 16;

/// `EVP_CTRL_AEAD_GET_TAG`
const GET_TAG: c_int = 0x10;
/// `EVP_CTRL_AEAD_SET_TAG`
const SET_TAG: c_int = 0x11;

/// An algorithm (RFC 5116 and RFC 8439).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aead {
    /// `AEAD_AES_128_GCM`
    Aes128Gcm,
    /// `AEAD_AES_256_GCM`
    Aes256Gcm,
    /// `AEAD_CHACHA20_POLY1305`
    ChaCha20Poly1305,
}

impl Aead {
    /// Bytes of a key.
    pub const fn key_length(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }
}

/// A cipher of the library; it is never freed.
#[derive(Clone, Copy)]
pub(crate) struct CipherHandle(pub(crate) *const openssl_sys::EVP_CIPHER);

// SAFETY: the library counts references to ciphers atomically, and does not change them.
unsafe impl Send for CipherHandle {}
// SAFETY: as above.
unsafe impl Sync for CipherHandle {}

/// The direction in which a context handles messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The context encrypts messages.
    Seal,
    /// The context decrypts messages.
    Open,
}

/// A key in the form that the library computes with. Freeing it wipes the key.
pub struct AeadContext {
    context: NonNull<openssl_sys::EVP_CIPHER_CTX>,
    purpose: Purpose,
}

// SAFETY: the object has one owner, and the library keeps no reference to the thread that made it.
unsafe impl Send for AeadContext {}

impl std::fmt::Debug for AeadContext {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AeadContext").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

impl AeadContext {
    /// A context with a key. `None`: the library lacks the algorithm, the key has another length,
    /// or there is no memory.
    pub fn new(aead: Aead, purpose: Purpose, key: &[u8]) -> Option<Self> {
        // SAFETY: the function has no preconditions.
        let context = NonNull::new(unsafe { openssl_sys::EVP_CIPHER_CTX_new() })?;
        let mut made = Self { context, purpose };
        made.set_key(aead, key).then_some(made)
    }

    /// Replaces the key. `false`: as for [`AeadContext::new`], and the context cannot be used.
    pub fn set_key(&mut self, aead: Aead, key: &[u8]) -> bool {
        let Some(CipherHandle(cipher)) = cipher(aead).filter(|_| key.len() == aead.key_length())
        else {
            return false;
        };
        let seals = c_int::from(self.purpose == Purpose::Seal);
        // SAFETY: the context is valid and exclusively borrowed, the cipher lives for ever, and the
        // key has the length that the cipher reads.
        let done = unsafe {
            openssl_sys::EVP_CipherInit_ex(
                self.context.as_ptr(),
                cipher,
                ptr::null_mut(),
                key.as_ptr(),
                ptr::null(),
                seals,
            )
        };
        done == 1
    }

    /// Encrypts the parts as one message and appends it with its tag to `out`. `false`: the library
    /// has failed, and `out` is as before.
    pub fn seal(
        &mut self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        parts: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        out.reserve(length + TAG);
        if self.purpose != Purpose::Seal || !self.begin(nonce, aad) {
            return false;
        }
        let room = out.spare_capacity_mut();
        let mut to = room.as_mut_ptr().cast::<u8>();
        for part in parts {
            // SAFETY: the parts together are not longer than the room behind `to`.
            if !unsafe { self.update(to, part) } {
                return false;
            }
            // SAFETY: as above: `to` stays within the room.
            to = unsafe { to.add(part.len()) };
        }
        // SAFETY: `to` is followed by room for the tag.
        if !unsafe { self.finish(to) && self.control(GET_TAG, to) } {
            return false;
        }
        let filled = out.len() + length + TAG;
        // SAFETY: the library has written to these bytes, and the capacity was reserved.
        unsafe { out.set_len(filled) };
        true
    }

    /// Decrypts a message with its tag into the beginning of `out`. Returns its length. `None`: it
    /// is not authentic, or does not fit; nothing of it is left in `out`.
    pub fn open(
        &mut self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        message: &[u8],
        out: &mut [u8],
    ) -> Option<usize> {
        let (text, tag) = message.split_last_chunk::<TAG>()?;
        let out = out.get_mut(..text.len())?;
        // SAFETY: `out` has room for the text, and the tag has its length.
        let authentic = unsafe { self.open_raw(nonce, aad, (text.as_ptr(), out), tag) };
        authentic.then_some(text.len())
    }

    /// Decrypts a message with its tag in its place, and returns its length. `None`: it is not
    /// authentic; nothing of it is left.
    pub fn open_in_place(
        &mut self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        message: &mut [u8],
    ) -> Option<usize> {
        let (text, tag) = message.split_last_chunk_mut::<TAG>()?;
        let (from, length) = (text.as_ptr(), text.len());
        // SAFETY: the text is decrypted in its place, which the library allows.
        unsafe { self.open_raw(nonce, aad, (from, text), tag) }.then_some(length)
    }

    /// Decrypts bytes at an address into as many bytes.
    ///
    /// # Safety
    /// There are so many bytes at the address, which are those of `out` or do not overlap with it.
    unsafe fn open_raw(
        &mut self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        (from, out): (*const u8, &mut [u8]),
        tag: &[u8; TAG],
    ) -> bool {
        let to = out.as_mut_ptr();
        // SAFETY: as the caller says; the library only reads the tag.
        let authentic = self.purpose == Purpose::Open
            && self.begin(nonce, aad)
            && unsafe {
                self.control(SET_TAG, tag.as_ptr().cast_mut())
                    && self.update_from(to, from, out.len())
                    && self.finish(to.add(out.len()))
            };
        if !authentic {
            out.fill(0);
        }
        authentic
    }

    fn begin(&mut self, nonce: &[u8; NONCE], aad: &[u8]) -> bool {
        let mut length = 0;
        // SAFETY: the context is valid and exclusively borrowed, and has a key. Output of
        // additional data is only counted. Lengths of additional data are those of headers.
        unsafe {
            openssl_sys::EVP_CipherInit_ex(
                self.context.as_ptr(),
                ptr::null(),
                ptr::null_mut(),
                ptr::null(),
                nonce.as_ptr(),
                -1,
            ) == 1
                && openssl_sys::EVP_CipherUpdate(
                    self.context.as_ptr(),
                    ptr::null_mut(),
                    &mut length,
                    aad.as_ptr(),
                    c_int::try_from(aad.len()).unwrap_or(-1),
                ) == 1
        }
    }

    /// # Safety
    /// There is room for the part at `to`, and does not overlap with it.
    unsafe fn update(&mut self, to: *mut u8, part: &[u8]) -> bool {
        // SAFETY: as the caller says.
        unsafe { self.update_from(to, part.as_ptr(), part.len()) }
    }

    /// # Safety
    /// There is room for so many bytes at `to`, which are at `from`.
    unsafe fn update_from(&mut self, to: *mut u8, from: *const u8, count: usize) -> bool {
        let (mut written, Ok(length)) = (0, c_int::try_from(count)) else { return false };
        if count == 0 {
            return true;
        }
        // SAFETY: the ciphers are streams, which write as many bytes as they read.
        let done = unsafe {
            openssl_sys::EVP_CipherUpdate(self.context.as_ptr(), to, &mut written, from, length)
        };
        done == 1 && written == length
    }

    /// # Safety
    /// `to` is a valid address: nothing is written to it.
    unsafe fn finish(&mut self, to: *mut u8) -> bool {
        let mut written = 0;
        // SAFETY: the ciphers are streams: no bytes are left for the end.
        unsafe {
            openssl_sys::EVP_CipherFinal(self.context.as_ptr(), to, &mut written) == 1
                && written == 0
        }
    }

    /// # Safety
    /// There are `TAG` bytes at the address, to be written for `GET_TAG`.
    unsafe fn control(&mut self, what: c_int, tag: *mut u8) -> bool {
        // SAFETY: as the caller says.
        unsafe {
            openssl_sys::EVP_CIPHER_CTX_ctrl(self.context.as_ptr(), what, TAG as c_int, tag.cast())
                == 1
        }
    }
}

impl Drop for AeadContext {
    fn drop(&mut self) {
        // SAFETY: the context is valid and owned; the library wipes the key before it frees it.
        unsafe { openssl_sys::EVP_CIPHER_CTX_free(self.context.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Aead; 3] = [Aead::Aes128Gcm, Aead::Aes256Gcm, Aead::ChaCha20Poly1305];

    fn sealed(aead: Aead, parts: &[&[u8]]) -> Vec<u8> {
        let mut context =
            AeadContext::new(aead, Purpose::Seal, &vec![7; aead.key_length()]).unwrap();
        let mut out = b"before".to_vec();
        assert!(context.seal(&[1; NONCE], b"head", parts, &mut out));
        out.split_off(6)
    }

    #[test]
    fn messages_are_opened_by_what_they_were_sealed_with() {
        for aead in ALL {
            let message = sealed(aead, &[b"hello ", b"", b"world"]);
            assert_eq!(message, sealed(aead, &[b"hello world"]), "parts do not matter");
            assert_eq!(message.len(), 11 + TAG);
            let mut context =
                AeadContext::new(aead, Purpose::Open, &vec![7; aead.key_length()]).unwrap();
            let mut out = [9; 12];
            assert_eq!(context.open(&[1; NONCE], b"head", &message, &mut out), Some(11));
            assert_eq!(&out, b"hello world\x09");
            let mut place = message.clone();
            assert_eq!(context.open_in_place(&[1; NONCE], b"head", &mut place), Some(11));
            assert_eq!(&place[..11], b"hello world");
        }
    }

    #[test]
    fn what_is_not_authentic_leaves_nothing() {
        for aead in ALL {
            let message = sealed(aead, &[b"hello world"]);
            let mut context =
                AeadContext::new(aead, Purpose::Open, &vec![7; aead.key_length()]).unwrap();
            for place in 0..message.len() {
                let mut changed = message.clone();
                changed[place] ^= 1;
                let mut out = [9; 11];
                assert_eq!(context.open(&[1; NONCE], b"head", &changed, &mut out), None);
                assert_eq!(out, [0; 11]);
                assert_eq!(context.open_in_place(&[1; NONCE], b"head", &mut changed), None);
                assert_eq!(changed[..11], [0; 11]);
            }
            let mut out = [9; 11];
            assert_eq!(context.open(&[2; NONCE], b"head", &message, &mut out), None, "nonce");
            assert_eq!(context.open(&[1; NONCE], b"body", &message, &mut out), None, "header");
            assert_eq!(context.open(&[1; NONCE], b"head", &message, &mut out[..10]), None, "room");
            assert_eq!(context.open(&[1; NONCE], b"head", &message[..15], &mut out), None, "short");
            assert!(context.open(&[1; NONCE], b"head", &message, &mut out).is_some());
        }
    }

    #[test]
    fn keys_are_replaced_and_have_their_length() {
        let mut context = AeadContext::new(Aead::Aes128Gcm, Purpose::Seal, &[7; 16]).unwrap();
        assert!(context.set_key(Aead::ChaCha20Poly1305, &[7; 32]));
        let mut out = Vec::new();
        assert!(context.seal(&[1; NONCE], b"head", &[b"x"], &mut out));
        assert_eq!(out, sealed(Aead::ChaCha20Poly1305, &[b"x"]));
        assert!(!context.set_key(Aead::Aes256Gcm, &[7; 16]));
        assert!(AeadContext::new(Aead::Aes128Gcm, Purpose::Open, &[7; 32]).is_none());
    }
}
