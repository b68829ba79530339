//! The lines of the configuration that count, with their places and without secrets, for operators
//! who look at a running process.

use crate::dump::quote;
use crate::line::Args;
use crate::model::{ShownLine, ShownText};

/// Bytes of text that are kept; further lines are counted.
const MOST: usize = 2 << 20;

/// Lines that hold secrets: their first words, and how many words are shown.
const SECRETS: &[(&[&str], usize)] = &[
    (&["stats", "auth"], 2),
    (&["user"], 2),
    (&["dynamic-cookie-key"], 1),
    (&["cluster-secret"], 1),
    (&["setenv"], 2),
    (&["presetenv"], 2),
];

/// Words whose next word is a secret, wherever they are in a line.
const KEYS: &[&str] = &["password", "insecure-password", "tls-ticket-key", "data-password"];

/// Adds a line.
pub(crate) fn add(shown: &mut ShownText, args: Args<'_>, opens: bool) {
    if shown.bytes >= MOST {
        shown.left_out += 1;
        return;
    }
    let text = text(&args.all_texts(0));
    shown.bytes += text.len() + size_of::<ShownLine>();
    let place = args.place();
    shown.lines.push(ShownLine { file: place.file.clone(), line: place.line, text, opens });
}

fn text(words: &[&str]) -> String {
    let secret = SECRETS.iter().find(|secret| words.starts_with(secret.0));
    let most = secret.map_or(words.len(), |secret| secret.1);
    let mut out = String::new();
    let mut hides = false;
    for (at, word) in words.iter().take(most).enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match std::mem::replace(&mut hides, KEYS.contains(word)) {
            true => out.push_str("[...]"),
            false => quote(&mut out, word),
        }
    }
    if most < words.len() {
        out.push_str(" [...]");
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::load::load;
    use crate::source::Source;
    use crate::tests::setup;

    #[test]
    fn lines_that_count_are_shown_without_secrets() {
        let text = "# a\nuserlist people\n user bob insecure-password sesame\nfrontend shop # b\n mode http\n \
                    timeout client 30s\n bind :8080\n stats auth bob:sesame\nbackend b\n dynamic-cookie-key sesame\n\
                    .if streq(a,b)\n description never\n.endif\n email-alert myhostname \"a b\"\n";
        let loaded = load(&[Source::new("a.cfg", text)], setup());
        let model = loaded.model.expect("a valid configuration");
        let lines = model.text.lines.iter().map(|it| (it.line, it.opens, it.text.as_str()));
        let expected = [
            (2, true, "userlist people"),
            (3, false, "user bob [...]"),
            (4, true, "frontend shop"),
            (5, false, "mode http"),
            (6, false, "timeout client 30s"),
            (7, false, "bind :8080"),
            (8, false, "stats auth [...]"),
            (9, true, "backend b"),
            (10, false, "dynamic-cookie-key [...]"),
            (14, false, "email-alert myhostname 'a b'"),
        ];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
        assert!(model.text.lines.iter().all(|line| &*line.file == "a.cfg"));
        assert_eq!(super::text(&["x", "password", "sesame", "y"]), "x password [...] y");
    }
}
