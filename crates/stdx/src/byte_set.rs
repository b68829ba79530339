//! Sets of bytes as tables built at compile time.

/// Letters and digits of ASCII, and the bytes of `marks`.
pub const fn alphanumeric_and(marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    let mut byte = 0u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = true;
        }
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::alphanumeric_and;

    #[test]
    fn marks_letters_and_digits_are_members() {
        let set = alphanumeric_and(b"-\xff");
        let members = (0..=255u8).filter(|byte| set[usize::from(*byte)]);
        assert!(members.eq(
            (0..=255).filter(|byte: &u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | 0xff)
            })
        ));
    }
}
