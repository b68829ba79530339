//! Dates as strftime(3) prints them in the C locale, with the flags and widths of its notes on
//! glibc.

use super::{DAYS, DAYS_LONG, Date, MONTHS, MONTHS_LONG};
use std::io::Write;

/// The maximum width of a conversion.
const MAX_WIDTH: usize = 1024;

/// Conversions that are numbers: the zeros or blanks before them are padding.
const NUMBERS: &str = "CdegGHIjklmMSuUVwWyY";

/// The flags and the width between the percent sign and the conversion.
#[derive(Clone, Copy, Default)]
struct Form {
    /// `_`, `-` or `0`: how to pad.
    pad: Option<char>,
    /// `^`: upper case.
    upper: bool,
    /// `#`: the case of letters is changed.
    swap: bool,
    width: usize,
}

impl Form {
    /// Takes it off the front of `text`.
    fn take(text: &mut &str) -> Form {
        let mut form = Form::default();
        let mut chars = text.chars();
        loop {
            match chars.clone().next() {
                Some(pad @ ('_' | '-' | '0')) => form.pad = Some(pad),
                Some('^') => form.upper = true,
                Some('#') => form.swap = true,
                _ => break,
            }
            chars.next();
        }
        let rest = chars.as_str();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        form.width = rest[..end].parse().unwrap_or(0).min(MAX_WIDTH);
        *text = &rest[end..];
        form
    }

    /// Formats the text from `start` on so.
    fn apply(self, conversion: char, start: usize, out: &mut Vec<u8>) {
        let number = NUMBERS.contains(conversion);
        let mut usual = 0;
        let mut fill = b' ';
        if number {
            usual = out.len() - start;
            let padded = out[start..].iter().take(usual.saturating_sub(1));
            let blank = out[start..].first() == Some(&b' ');
            fill = if blank || matches!(conversion, 'e' | 'k' | 'l') { b' ' } else { b'0' };
            let padding = padded.take_while(|byte| matches!(byte, b'0' | b' ')).count();
            out.drain(start..start + padding);
        }
        match self.pad {
            Some('_') => fill = b' ',
            Some('0') => fill = b'0',
            Some(_) => (fill, usual) = (b' ', 0),
            None => {}
        }
        let missing = self.width.max(usual).saturating_sub(out.len() - start);
        out.splice(start..start, std::iter::repeat_n(fill, missing));
        if self.swap && matches!(conversion, 'p' | 'Z') {
            out[start..].make_ascii_lowercase();
        } else if self.upper || (self.swap && "aAbBh".contains(conversion)) {
            out[start..].make_ascii_uppercase();
        }
    }
}

/// Skips `E` or `O` in front of conversions that have such a form, which in the C locale is the
/// plain one.
fn modified(text: &str) -> &str {
    let (known, rest) = match text.split_at_checked(1) {
        Some(("E", rest)) => ("cCxXyY", rest),
        Some(("O", rest)) => ("deHImMSuUVwWy", rest),
        _ => return text,
    };
    if rest.chars().next().is_some_and(|c| known.contains(c)) { rest } else { text }
}

impl Date {
    /// strftime(3) in the C locale. An unknown conversion is copied.
    pub fn write_strftime(&self, format: &str, out: &mut Vec<u8>) {
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            out.extend_from_slice(&rest.as_bytes()[..at]);
            let whole = &rest[at..];
            let mut text = &whole[1..];
            let form = Form::take(&mut text);
            text = modified(text);
            let (start, conversion) = (out.len(), text.chars().next());
            if let Some(conversion) = conversion.filter(|it| self.write_conversion(*it, out)) {
                form.apply(conversion, start, out);
                rest = &text[conversion.len_utf8()..];
            } else {
                out.push(b'%');
                rest = &whole[1..];
            }
        }
        out.extend_from_slice(rest.as_bytes());
    }

    /// Appends the value of a conversion; `false` if the conversion does not exist.
    fn write_conversion(&self, conversion: char, out: &mut Vec<u8>) -> bool {
        let hour12 = (self.hour + 11) % 12 + 1;
        let weekday = self.weekday as u32;
        let composite = match conversion {
            'c' => Some("%a %b %e %H:%M:%S %Y"),
            'D' | 'x' => Some("%m/%d/%y"),
            'F' => Some("%Y-%m-%d"),
            'r' => Some("%I:%M:%S %p"),
            'R' => Some("%H:%M"),
            'T' | 'X' => Some("%H:%M:%S"),
            _ => None,
        };
        if let Some(format) = composite {
            self.write_strftime(format, out);
            return true;
        }
        let _ = match conversion {
            'a' => write!(out, "{}", DAYS[self.weekday]),
            'A' => write!(out, "{}", DAYS_LONG[self.weekday]),
            'b' | 'h' => write!(out, "{}", MONTHS[self.month]),
            'B' => write!(out, "{}", MONTHS_LONG[self.month]),
            'C' => write!(out, "{:02}", self.year.div_euclid(100)),
            'd' => write!(out, "{:02}", self.day),
            'e' => write!(out, "{:2}", self.day),
            'g' => write!(out, "{:02}", self.iso_week().0.rem_euclid(100)),
            'G' => write!(out, "{:04}", self.iso_week().0),
            'H' => write!(out, "{:02}", self.hour),
            'I' => write!(out, "{hour12:02}"),
            'j' => write!(out, "{:03}", self.yearday + 1),
            'k' => write!(out, "{:2}", self.hour),
            'l' => write!(out, "{hour12:2}"),
            'm' => write!(out, "{:02}", self.month + 1),
            'M' => write!(out, "{:02}", self.minute),
            'n' => out.write_all(b"\n"),
            'p' => write!(out, "{}", if self.hour < 12 { "AM" } else { "PM" }),
            'P' => write!(out, "{}", if self.hour < 12 { "am" } else { "pm" }),
            's' => write!(out, "{}", self.epoch),
            'S' => write!(out, "{:02}", self.second),
            't' => write!(out, "\t"),
            'u' => write!(out, "{}", (weekday + 6) % 7 + 1),
            'U' => write!(out, "{:02}", (self.yearday + 7 - weekday) / 7),
            'V' => write!(out, "{:02}", self.iso_week().1),
            'w' => write!(out, "{weekday}"),
            'W' => write!(out, "{:02}", (self.yearday + 7 - (weekday + 6) % 7) / 7),
            'y' => write!(out, "{:02}", self.year.rem_euclid(100)),
            'Y' => write!(out, "{}", self.year),
            'z' => {
                self.write_zone(out);
                Ok(())
            }
            'Z' => write!(out, "{}", if self.offset == 0 { "GMT" } else { "" }),
            '%' => write!(out, "%"),
            _ => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As glibc writes them.
    #[test]
    fn flags_and_widths() {
        for (format, expected) in [
            ("%10Y|%_d|%-d|%^a|%#Z|%05d", "0000001994| 6|6|SUN|gmt|00006"),
            ("%_5d|%03H|%^B|%#B|%#p|%_H", "    6|008|NOVEMBER|NOVEMBER|am| 8"),
            ("%10a|%-10a|%010a|%-e|%0e|%_e", "       Sun|       Sun|0000000Sun|6|06| 6"),
            ("%15T|%015T|%^c", "       08:49:37|000000008:49:37|SUN NOV  6 08:49:37 1994"),
            ("%15s|%3u|%_3S|%-I|%5%", "      784111777|007| 37|8|    %"),
            ("%Od|%Ey|%Ed|%E|%O|%Q|%-", "06|94|%Ed|%E|%O|%Q|%-"),
            ("a%", "a%"),
            ("%k|%l|%C|%-j|%#h", " 8| 8|19|310|NOV"),
        ] {
            let mut out = Vec::new();
            Date::new(784_111_777, 0).write_strftime(format, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{format}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_format_panics(format in "(%|[-_0^#]|[0-9]{1,12}|[A-Za-z]|\\PC){0,12}", secs: i64) {
            Date::new(secs, 0).write_strftime(&format, &mut Vec::new());
        }
    }
}
