//! Sample expressions: a fetch and the converters behind it, type-checked once.

use crate::args::{self, Args};
use crate::context::ParseContext;
use crate::conv::{self, Converter};
use crate::error::ParseError;
use crate::facts::Facts;
use crate::facts::Side;
use crate::fetch::{self, Fetch};
use crate::place::Places;
use crate::script::{self, ScriptFunction};
use crate::script_call;
use crate::value::{Bytes, Missing, Outcome, Type, Value};
use std::sync::Arc;

/// Longest chain of converters; each costs a stack frame and a cast, and none is useful beyond a
/// few.
const MAX_CONVERTERS: usize = 64;

/// A compiled expression such as `req.hdr(host),lower` (manual section 7.3).
#[derive(Debug)]
pub struct Expr {
    fetch: &'static Fetch,
    args: Args,
    steps: Vec<(&'static Converter, Args)>,
    output: Type,
}

impl Expr {
    /// Parses the expression that begins at `words[*at]`; converters may follow in the same word
    /// behind commas or as words of their own. `*at` ends up after the last word used. The
    /// expression must be valid in one of the context's places.
    pub fn parse(
        words: &[&str],
        at: &mut usize,
        cx: &ParseContext<'_>,
    ) -> Result<Expr, ParseError> {
        let first = *at;
        let mut expr = Expr::parse_chain(words, at, cx)?;
        while let Some(word) = words.get(*at) {
            let name = &word[..keyword_end(word, 0)];
            if conv::find(name).is_none() && script_converter(name, cx).is_none() {
                break;
            }
            expr.parse_converters(word, 0, cx).map_err(|error| error.shifted(*at))?;
            *at += 1;
        }
        expr.check_place(words[first], cx).map_err(|error| error.shifted(first))?;
        Ok(expr)
    }

    /// Whether its sample consists of all bytes of a stream that have arrived so far.
    pub(crate) fn grows(&self, facts: &dyn Facts) -> bool {
        let (is_len, is_payload) = match self.fetch.name {
            "req.len" | "req_len" | "res.len" => (true, false),
            "req.payload" | "payload" | "res.payload" => (false, true),
            _ => return false,
        };
        let side = if self.fetch.name.starts_with("res") { Side::Response } else { Side::Request };
        let endless = is_payload && self.args.int(1).unwrap_or(0) == 0;
        // The result of these converters on a prefix is final, whatever bytes follow.
        let settled = self
            .steps
            .iter()
            .any(|(converter, _)| matches!(converter.name, "fix_is_valid" | "mqtt_is_valid"));
        let grows = (is_len || endless) && !settled;
        grows && facts.payload(side).is_some()
    }

    /// Parses the one word `text`, without looking at the places of use.
    pub fn parse_word(text: &str, cx: &ParseContext<'_>) -> Result<Expr, ParseError> {
        Expr::parse_chain(&[text], &mut 0, cx)
    }

    fn parse_chain(
        words: &[&str],
        at: &mut usize,
        cx: &ParseContext<'_>,
    ) -> Result<Expr, ParseError> {
        let Some(word) = words.get(*at) else {
            return Err(ParseError::new(*at, "missing fetch method"));
        };
        let (mut expr, end) = Expr::parse_fetch(word, cx).map_err(|error| error.shifted(*at))?;
        match word.as_bytes().get(end) {
            None => {}
            Some(b',') => {
                expr.parse_converters(word, end + 1, cx).map_err(|error| error.shifted(*at))?
            }
            Some(_) => {
                let message = format!("missing comma after fetch keyword '{}'", &word[..end]);
                return Err(ParseError::at(*at, end, message));
            }
        }
        *at += 1;
        Ok(expr)
    }

    fn parse_fetch(word: &str, cx: &ParseContext<'_>) -> Result<(Expr, usize), ParseError> {
        let end = keyword_end(word, 0);
        let name = &word[..end];
        if name.is_empty() {
            return Err(ParseError::new(0, "missing fetch method"));
        }
        if let Some(function) = script_fetch(name, cx) {
            let (args, end) = script_call::arguments(function, word, end)
                .map_err(|error| error.context(format!("fetch method '{name}' : ")))?;
            let (fetch, steps) = (&script_call::FETCH, Vec::new());
            return Ok((Expr { fetch, args, steps, output: fetch.out }, end));
        }
        let fetch = fetch::find(name).ok_or_else(|| ParseError::new(0, fetch::unknown(name)))?;
        let context = || format!("fetch method '{name}' : ");
        let raw = args::split(word, end)
            .map_err(|message| ParseError::at(0, end, message).context(context()))?;
        let mut args = args::check(&raw, word, fetch.args)
            .map_err(|(offset, message)| ParseError::at(0, offset, message).context(context()))?;
        args.refer_tables(fetch.args, &format!("sample fetch keyword '{name}'"), cx);
        cx.note_mentions(fetch.args, fetch.name, &args);
        if let Some(prepare) = fetch.prepare {
            prepare(&mut args, cx).map_err(|message| {
                let context = format!("invalid args in fetch method '{name}' : ");
                ParseError::at(0, end, message).context(context)
            })?;
        }
        Ok((Expr { fetch, args, steps: Vec::new(), output: fetch.out }, raw.end))
    }

    /// Parses `conv(args),conv...` from `start` to the end of `word`.
    fn parse_converters(
        &mut self,
        word: &str,
        start: usize,
        cx: &ParseContext<'_>,
    ) -> Result<(), ParseError> {
        let mut at = start;
        loop {
            // Commas may be doubled or trail, as HAProxy allows.
            while word.as_bytes().get(at) == Some(&b',') {
                at += 1;
            }
            if at >= word.len() {
                return Ok(());
            }
            at = self.parse_converter(word, at, cx)?;
            match word.as_bytes().get(at) {
                None => return Ok(()),
                Some(b',') => at += 1,
                Some(_) => {
                    let name = self.steps.last().map_or("", |(converter, _)| converter.name);
                    let message = format!("missing comma after converter '{name}'");
                    return Err(ParseError::at(0, at, message));
                }
            }
        }
    }

    fn parse_converter(
        &mut self,
        word: &str,
        start: usize,
        cx: &ParseContext<'_>,
    ) -> Result<usize, ParseError> {
        let end = keyword_end(word, start);
        let name = &word[start..end];
        let fail = |offset, message: String| ParseError::at(0, offset, message);
        let function = script_converter(name, cx);
        let converter = match function {
            Some(_) => &script_call::CONVERTER,
            None => conv::find(name).ok_or_else(|| fail(start, conv::unknown(name)))?,
        };
        if !self.output.casts_to(converter.from) {
            return Err(fail(start, format!("converter '{name}' cannot be applied")));
        }
        if self.steps.len() >= MAX_CONVERTERS {
            return Err(fail(start, format!("more than {MAX_CONVERTERS} converters")));
        }
        if let Some(function) = function {
            let (args, end) = script_call::arguments(function, word, end)?;
            self.output = converter.to;
            self.steps.push((converter, args));
            return Ok(end);
        }
        let raw = args::split(word, end)
            .map_err(|message| fail(end, format!("converter '{name}' : {message}")))?;
        let mut args = args::check(&raw, word, converter.args).map_err(|(offset, message)| {
            let number = raw.offsets.iter().filter(|arg| **arg <= offset).count();
            let number = if offset == raw.end { raw.words.len() + 1 } else { number };
            fail(offset, format!("invalid arg {number} in converter '{name}' : {message}"))
        })?;
        let keyword = format!("conversion keyword '{name}'");
        args.refer_tables(converter.args, &keyword, cx);
        if let Some(prepare) = converter.prepare {
            prepare(&mut args, cx).map_err(|message| {
                fail(end, format!("invalid args in converter '{name}' : {message}"))
            })?;
        }
        if converter.to != Type::Any {
            self.output = converter.to;
        } else if converter.from != Type::Any {
            self.output = Type::Any;
        }
        self.steps.push((converter, args));
        Ok(raw.end)
    }

    fn check_place(&self, word: &str, cx: &ParseContext<'_>) -> Result<(), ParseError> {
        if self.valid_in(cx.places) {
            return Ok(());
        }
        let name = &word[..keyword_end(word, 0)];
        let needs = self.fetch.needs();
        Err(ParseError::new(
            0,
            format!(
                "fetch method '{name}' extracts information from '{needs}', \
                 none of which is available here"
            ),
        ))
    }

    /// Whether the fetch can find anything in one of `places`.
    pub fn valid_in(&self, places: Places) -> bool {
        self.fetch.valid.meets(places)
    }

    /// The name of the data that the fetch needs, in the words of HAProxy's messages.
    pub fn needs(&self) -> &'static str {
        self.fetch.needs()
    }

    /// Whether the sample is not what the fetch finds.
    pub(crate) fn has_converters(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Name of the fetch.
    pub fn keyword(&self) -> &'static str {
        self.fetch.name
    }

    /// The text of the fetch's first argument, if there are no converters behind it.
    pub(crate) fn only_argument(&self) -> Option<&str> {
        self.args.some_text(0).filter(|_| self.steps.is_empty())
    }

    /// The type of the samples, [`Type::Any`] when only evaluation will tell.
    pub fn output(&self) -> Type {
        self.output
    }

    /// Whether it reads the raw bytes of a stream, which HTTP mode does not have.
    pub fn wants_unparsed(&self) -> bool {
        self.fetch.unparsed
    }

    /// Whether the samples depend on the arguments and the request's head, and on nothing else.
    pub(crate) fn depends_on_head_only(&self) -> bool {
        self.fetch.pure && self.steps.iter().all(|(converter, _)| converter.input_only)
    }

    /// Whether `other` yields the same samples at the same time.
    pub(crate) fn is_like(&self, other: &Expr) -> bool {
        let step = |(a, b): (&(&Converter, Args), &(&Converter, Args))| {
            std::ptr::eq(a.0, b.0) && a.1.are_like(&b.1)
        };
        std::ptr::eq(self.fetch, other.fetch)
            && self.args.are_like(&other.args)
            && self.steps.len() == other.steps.len()
            && self.steps.iter().zip(&other.steps).all(step)
    }

    /// The sample now.
    pub fn eval<'e>(&'e self, facts: &'e dyn Facts) -> Outcome<'e> {
        let value = self.fetch.eval(&self.args, facts)?;
        self.convert(value, facts).ok_or(Missing::Absent)
    }

    /// The sample now as type `to`.
    pub fn eval_as<'e>(&'e self, to: Type, facts: &'e dyn Facts) -> Outcome<'e> {
        self.eval(facts)?.cast(to).ok_or(Missing::Absent)
    }

    /// The sample's text now, if there is any.
    pub fn eval_str<'e>(&'e self, facts: &'e dyn Facts) -> Option<Bytes<'e>> {
        self.eval(facts).ok()?.to_str()
    }

    /// Offers every sample to `visit` until it returns true: all the values of a header, of a
    /// cookie. True when `visit` was satisfied.
    ///
    /// # Errors
    /// There is nothing to offer, or nothing yet.
    pub fn any<'e>(
        &'e self,
        facts: &'e dyn Facts,
        visit: &mut dyn FnMut(Value<'e>) -> bool,
    ) -> Result<bool, Missing> {
        let Some(each) = self.fetch.each else {
            return Ok(visit(self.eval(facts)?));
        };
        let mut ended = false;
        let found = each(&self.args, facts, &mut |value| match self.convert(value, facts) {
            Some(value) => visit(value),
            // As in HAProxy, a sample that cannot be converted ends the search.
            None => {
                ended = true;
                true
            }
        }) && !ended;
        if !found
            && (self.fetch.slow || !facts.is_final())
            && let Err(Missing::NotYet) = self.eval(facts)
        {
            return Err(Missing::NotYet);
        }
        Ok(found)
    }

    /// The converters alone, applied to `input`.
    pub fn apply<'e>(&'e self, input: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
        self.convert(input, facts)
    }

    fn convert<'e>(&'e self, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
        self.steps.iter().try_fold(value, |value, (converter, args)| {
            (converter.eval)(args, value.cast(converter.from)?, facts)
        })
    }
}

/// The function of a fetch `lua.NAME`.
fn script_fetch(name: &str, cx: &ParseContext<'_>) -> Option<Arc<dyn ScriptFunction>> {
    cx.shared.scripts?.fetch(name.strip_prefix(script::PREFIX)?)
}

/// The function of a converter `lua.NAME`.
fn script_converter(name: &str, cx: &ParseContext<'_>) -> Option<Arc<dyn ScriptFunction>> {
    cx.shared.scripts?.converter(name.strip_prefix(script::PREFIX)?)
}

/// Offset of the first byte after the keyword that begins at `start`.
pub(crate) fn keyword_end(word: &str, start: usize) -> usize {
    word[start..].find(['(', ',', ')', ' ']).map_or(word.len(), |end| start + end)
}
