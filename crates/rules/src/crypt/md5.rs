//! The `$1$` hash: a thousand rounds of MD5 over password and salt, as FreeBSD made it.

use super::DIGITS;
use md5::{Digest as _, Md5};

/// Longest salt that counts, in bytes.
const LONGEST_SALT: usize = 8;

/// The hash of `password` with the salt of `hash`, which begins with `$1$`.
pub(super) fn crypt(password: &[u8], hash: &str) -> Option<String> {
    let salt = hash.strip_prefix("$1$")?.split('$').next()?;
    let salt = salt.get(..salt.len().min(LONGEST_SALT))?;
    let digest = rounds(password, salt.as_bytes(), first(password, salt.as_bytes()));
    let mut text = format!("$1${salt}$");
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        digits(&mut text, [digest[a], digest[b], digest[c]], 4);
    }
    digits(&mut text, [0, 0, digest[11]], 2);
    Some(text)
}

/// The digest that the rounds start with.
fn first(password: &[u8], salt: &[u8]) -> [u8; 16] {
    let inner: [u8; 16] = digest(&[password, salt, password]);
    let mut context = Md5::new();
    context.update(password);
    context.update(b"$1$");
    context.update(salt);
    for left in (1..=password.len()).rev().step_by(inner.len()) {
        context.update(&inner[..left.min(inner.len())]);
    }
    let mut bits = password.len();
    while bits > 0 {
        context.update([if bits & 1 == 1 { 0 } else { password[0] }]);
        bits >>= 1;
    }
    context.finalize().into()
}

fn rounds(password: &[u8], salt: &[u8], mut last: [u8; 16]) -> [u8; 16] {
    for round in 0..1000 {
        let odd = round % 2 == 1;
        let salt = if round % 3 == 0 { &[] } else { salt };
        let again = if round % 7 == 0 { &[] } else { password };
        last = if odd {
            digest(&[password, salt, again, &last])
        } else {
            digest(&[&last, salt, again, password])
        };
    }
    last
}

fn digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut context = Md5::new();
    for part in parts {
        context.update(part);
    }
    context.finalize().into()
}

/// Appends `count` digits of a number of three bytes, the lowest first.
fn digits(text: &mut String, bytes: [u8; 3], count: usize) {
    let mut number = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
    for _ in 0..count {
        text.push(char::from(DIGITS[number as usize & 63]));
        number >>= 6;
    }
}
