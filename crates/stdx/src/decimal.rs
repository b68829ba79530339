//! Decimal digits of numbers, several times faster than `write!`, for listings of millions of
//! lines.

/// Digits of the largest number.
const MOST: usize = 20;

/// Appends a number.
#[inline]
pub fn push(out: &mut String, mut number: u64) {
    let (mut digits, mut at) = ([b'0'; MOST], MOST);
    loop {
        at -= 1;
        digits[at] += (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    //! The digits are compared with those of `Display`.

    #[test]
    fn numbers_are_written_as_display_writes_them() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        for number in powers.flat_map(|it| [it - 1, it, it + 1]).chain([u64::MAX]) {
            let mut out = String::from("n=");
            super::push(&mut out, number);
            assert_eq!(out, format!("n={number}"));
        }
    }
}
