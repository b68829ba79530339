//! The entries that stand for all fetches and converters of scripts, and their arguments.

use crate::args::{self, Arg, Args};
use crate::conv::{self, Converter};
use crate::error::ParseError;
use crate::fetch::{self, Fetch};
use crate::script::ScriptFunction;
use crate::value::Missing;
use std::sync::Arc;

/// The entry of all fetches of scripts.
pub(crate) static FETCH: Fetch = fetch::of_scripts(|args, facts| {
    let (function, texts) = parts(args).ok_or(Missing::Absent)?;
    function.call(None, &texts, facts).ok_or(Missing::Absent)
});

/// The entry of all converters of scripts.
pub(crate) static CONVERTER: Converter = conv::of_scripts(|args, value, facts| {
    let (function, texts) = parts(args)?;
    function.call(Some(value), &texts, facts)
});

fn parts(args: &Args) -> Option<(&dyn ScriptFunction, Vec<&[u8]>)> {
    let [Arg::Script(function), texts @ ..] = &*args.0 else { return None };
    Some((&**function, texts.iter().map(content).collect()))
}

fn content(arg: &Arg) -> &[u8] {
    match arg {
        Arg::Bytes(bytes) => bytes,
        _ => b"",
    }
}

/// The arguments behind the name that ends at `end` of `word`, and where they end.
pub(crate) fn arguments(
    function: Arc<dyn ScriptFunction>,
    word: &str,
    end: usize,
) -> Result<(Args, usize), ParseError> {
    let raw = args::split(word, end).map_err(|message| ParseError::at(0, end, message))?;
    let texts = raw.words.iter().map(|text| Arg::Bytes(crate::word::to_bytes(text).into()));
    let args = std::iter::once(Arg::Script(function)).chain(texts).collect();
    Ok((Args(args), raw.end))
}
