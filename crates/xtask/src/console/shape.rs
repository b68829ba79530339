//! An answer without the numbers, addresses and names of the run.

/// Texts that belong to a run: each is replaced by the word beside it.
pub(super) type Own = Vec<(String, &'static str)>;

/// The lines of an answer as shapes.
pub(super) fn of(answer: &str, own: &Own) -> Vec<String> {
    let mut text = answer.to_owned();
    for (from, to) in own {
        text = text.replace(from, to);
    }
    text.lines().map(numbers).collect()
}

/// Runs of digits, hexadecimal ones behind `0x` and fractions included, become `N`.
fn numbers(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let after = match letter {
            _ if rest.starts_with("0x") => {
                rest[2..].trim_start_matches(|it: char| it.is_ascii_hexdigit())
            }
            '0'..='9' => rest.trim_start_matches(|it: char| it.is_ascii_digit()),
            _ => {
                out.push(letter);
                rest = &rest[letter.len_utf8()..];
                continue;
            }
        };
        out.push('N');
        rest = after;
    }
    out
}

/// The lines that only one side has, `-` HAProxy's, `+` Weir's.
pub(super) fn difference([haproxy, weir]: &[Vec<String>; 2]) -> String {
    let mut out = String::new();
    let (mut left, mut right) = (&haproxy[..], &weir[..]);
    while let Some((line, rest)) = left.split_first() {
        match right.iter().position(|other| other == line) {
            Some(place) => {
                right[..place].iter().for_each(|extra| out.push_str(&format!("  + {extra}\n")));
                right = &right[place + 1..];
            }
            None => out.push_str(&format!("  - {line}\n")),
        }
        left = rest;
    }
    right.iter().for_each(|extra| out.push_str(&format!("  + {extra}\n")));
    out
}

#[cfg(test)]
mod tests {
    //! Numbers go, all else stays.
    use super::*;

    #[test]
    fn numbers_are_taken_out() {
        let own = vec![("/tmp/x".to_owned(), "DIR")];
        let shape = of("a1 0x7f:/tmp/x/s 12.5,-3\nb", &own);
        assert_eq!(shape, ["aN N:DIR/s N.N,-N", "b"]);
    }

    #[test]
    fn differences_name_their_side() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(difference(&[lines("a b c"), lines("a x c y")]), "  - b\n  + x\n  + y\n");
    }
}
