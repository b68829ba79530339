//! scrypt as crypt(3) writes it: `$7$`, the cost, the block size, the parallelism, a salt, the hash.

use super::{DIGITS, digit};
use yescrypt::{Mode, Params, yescrypt};

/// Bytes of a hash.
const LEN: usize = 32;
/// Digits of a number of 30 bits.
const NUMBER: usize = 5;

/// The hash of a password with the parameters and the salt of another; nothing if these are
/// malformed.
pub(super) fn crypt(password: &[u8], hash: &str) -> Option<String> {
    let (setting, _) = hash.rsplit_once('$')?;
    let rest = setting.strip_prefix("$7$")?.as_bytes();
    let (cost, rest) = rest.split_first()?;
    let (block, rest) = rest.split_at_checked(NUMBER)?;
    let (parallel, salt) = rest.split_at_checked(NUMBER)?;
    let cost = 1_u64.checked_shl(digit(*cost)?)?;
    let params = Params::new(Mode::Classic, cost, number(block)?, number(parallel)?).ok()?;
    let mut out = [0; LEN];
    yescrypt(password, salt, &params, &mut out).ok()?;
    Some(format!("{setting}${}", written(&out)))
}

/// A number in little-endian digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().rev().try_fold(0_u32, |sum, byte| Some(sum << 6 | digit(*byte)?))
}

/// Bytes as digits: three become four, the lowest first.
fn written(bytes: &[u8]) -> String {
    let group = |part: &[u8]| {
        let value = part.iter().rev().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        let digits = (0..=part.len()).map(move |at| DIGITS[(value >> (6 * at) & 63) as usize]);
        digits.map(char::from).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}
