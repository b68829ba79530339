//! Rust source to lines of code and comment, tokens, test regions and functions.
//! Good enough for code that rustfmt has laid out; never a full parser.

/// One line of a source file, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, with the contents of literals and comments left out.
    pub(crate) code: String,
    /// The text of comments on this line.
    pub(crate) comment: String,
    /// Whether the line belongs to an item under `#[cfg(test)]` or `#[test]`.
    pub(crate) test: bool,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// First line, counted from 1.
    pub(crate) line: usize,
    /// Lines from the one with `fn` to the closing brace, both included.
    pub(crate) length: usize,
}

/// A word (identifier, keyword or number) or a single punctuation character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    Text,
    RawText(usize),
}

/// Takes a source file apart, line by line.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines = split(text);
    mark_tests(&mut lines);
    lines
}

fn split(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut index = 0;
    while index < chars.len() {
        let c = at(index);
        let next = at(index + 1);
        let mut taken = 1;
        if c == '\n' {
            lines.push(Line::default());
            if matches!(state, State::LineComment) {
                state = State::Code;
            }
            index += 1;
            continue;
        }
        let Some(line) = lines.last_mut() else { break };
        match state {
            State::Code => (state, taken) = code_char(&chars, index, line),
            State::LineComment => line.comment.push(c),
            State::BlockComment(depth) if c == '*' && next == '/' => {
                taken = 2;
                state = if depth == 1 { State::Code } else { State::BlockComment(depth - 1) };
            }
            State::BlockComment(depth) if c == '/' && next == '*' => {
                taken = 2;
                state = State::BlockComment(depth + 1);
            }
            State::BlockComment(_) => line.comment.push(c),
            State::Text if c == '\\' && next != '\n' => taken = 2,
            State::Text if c == '"' => {
                line.code.push('"');
                state = State::Code;
            }
            State::RawText(hashes) if c == '"' && (1..=hashes).all(|n| at(index + n) == '#') => {
                line.code.push('"');
                taken = 1 + hashes;
                state = State::Code;
            }
            State::Text | State::RawText(_) => {}
        }
        index += taken;
    }
    lines
}

/// Takes one character of code (or a whole literal's opening); returns the next state and the
/// characters consumed.
fn code_char(chars: &[char], index: usize, line: &mut Line) -> (State, usize) {
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let c = at(index);
    let next = at(index + 1);
    if c == '/' && next == '/' {
        return (State::LineComment, 2);
    }
    if c == '/' && next == '*' {
        return (State::BlockComment(1), 2);
    }
    let starts_word = !is_word(previous(chars, index)) || is_raw_prefix(chars, index);
    if c == 'r' && starts_word {
        let hashes = (1..).take_while(|n| at(index + n) == '#').count();
        if at(index + 1 + hashes) == '"' {
            line.code.push('"');
            return (State::RawText(hashes), hashes + 2);
        }
    }
    line.code.push(c);
    if c == '"' {
        return (State::Text, 1);
    }
    if c == '\'' {
        if next == '\\' {
            // The escape itself may be a quote: look for the closing quote after it.
            let end = (index + 3..chars.len()).find(|&n| at(n) == '\'').unwrap_or(index + 2);
            return (State::Code, end + 1 - index);
        }
        if next != '\'' && at(index + 2) == '\'' {
            return (State::Code, 3);
        }
    }
    (State::Code, 1)
}

fn previous(chars: &[char], index: usize) -> char {
    index.checked_sub(1).and_then(|before| chars.get(before)).copied().unwrap_or('\0')
}

/// Whether the `r` at `index` belongs to `br"` or `cr"`.
fn is_raw_prefix(chars: &[char], index: usize) -> bool {
    matches!(previous(chars, index), 'b' | 'c')
        && !is_word(previous(chars, index.saturating_sub(1)))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of code lines.
pub(crate) fn tokens(lines: &[Line]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut word = String::new();
        for c in line.code.chars().chain([' ']) {
            if is_word(c) {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(Token { text: std::mem::take(&mut word), line: number + 1 });
            }
            if !c.is_whitespace() {
                tokens.push(Token { text: c.to_string(), line: number + 1 });
            }
        }
    }
    tokens
}

/// Marks the lines of items that carry `#[test]` or a `cfg` that asks for `test`.
fn mark_tests(lines: &mut [Line]) {
    let tokens = tokens(lines);
    let mut index = 0;
    while index < tokens.len() {
        if tokens[index].text != "#" {
            index += 1;
            continue;
        }
        let end = closing(&tokens, index + 1, "[", "]");
        if !asks_for_test(&tokens[index..end]) {
            index = end;
            continue;
        }
        let last = item_end(&tokens, end);
        let first_line = tokens[index].line;
        let last_line = tokens.get(last).or(tokens.last()).map_or(first_line, |token| token.line);
        for line in &mut lines[first_line - 1..last_line] {
            line.test = true;
        }
        index = last + 1;
    }
}

fn asks_for_test(attribute: &[Token]) -> bool {
    let words: Vec<&str> = attribute.iter().map(|token| token.text.as_str()).collect();
    match words.as_slice() {
        ["#", "[", "test", "]"] => true,
        ["#", "[", "cfg", "(", rest @ ..] => {
            rest.contains(&"test") && !rest.windows(3).any(|three| three == ["not", "(", "test"])
        }
        _ => false,
    }
}

/// The index after the token that closes the bracket opened at or after `start`.
fn closing(tokens: &[Token], start: usize, open: &str, close: &str) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        if token.text == open {
            depth += 1;
        } else if token.text == close {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// The index of the last token of the item that starts at `start`: its `;` or closing brace.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" if depth == 0 => return closing(tokens, index, "{", "}").saturating_sub(1),
            ";" if depth == 0 => return index,
            _ => {}
        }
    }
    tokens.len()
}

/// Every function with a body, nested ones included.
pub(crate) fn functions(lines: &[Line]) -> Vec<Function> {
    let tokens = tokens(lines);
    let mut functions = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        let named = name.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if keyword.text != "fn" || !named {
            continue;
        }
        let end = item_end(&tokens, index + 2);
        let Some(last) = tokens.get(end).filter(|token| token.text == "}") else { continue };
        let length = last.line + 1 - keyword.line;
        functions.push(Function { name: name.text.clone(), line: keyword.line, length });
    }
    functions
}

#[cfg(test)]
mod tests {
    //! Literals and comments that look like code, test regions, function lengths.
    use super::*;

    fn code(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn blanks_literals() {
        assert_eq!(code(r#"a("x // y", 'c', '\'', b"q\"") ;"#), ["a(\"\", ', ', b\"\") ;"]);
        assert_eq!(code("r#\"un\"safe\"# + br\"x\" + r\"y\""), ["\"\" + b\"\" + \"\""]);
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), ["fn f<'a>(x: &'a str) {}"]);
        assert_eq!(code("let s = \"one\ntwo\"; x"), ["let s = \"", "\"; x"]);
        assert_eq!(code("'\"'; unsafe"), ["'; unsafe"]);
    }

    #[test]
    fn sets_comments_apart() {
        let lines = lines("a // b\n/* c /* d */ e */ f\n");
        assert_eq!((lines[0].code.as_str(), lines[0].comment.as_str()), ("a ", " b"));
        assert_eq!((lines[1].code.as_str(), lines[1].comment.as_str()), (" f", " c  d  e "));
    }

    #[test]
    fn marks_test_items() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n\
                    #[test]\nfn d() {\n}\n#[cfg(test)]\nmod t;\nfn e() {}\n#[cfg(not(test))]\nfn f() {}\n";
        let marked: Vec<usize> = lines(text)
            .iter()
            .enumerate()
            .filter(|(_, line)| line.test)
            .map(|(number, _)| number + 1)
            .collect();
        assert_eq!(marked, [2, 3, 4, 5, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn measures_functions() {
        let text = "impl X {\n    pub fn long(\n        a: [u8; 2],\n    ) -> Y {\n        {\n        }\n    }\n    fn none();\n}\nconst F: fn(u8) = f;\nfn one() {}\n";
        let found = functions(&lines(text));
        let found: Vec<(&str, usize, usize)> =
            found.iter().map(|f| (f.name.as_str(), f.line, f.length)).collect();
        assert_eq!(found, [("long", 2, 6), ("one", 11, 1)]);
    }
}
