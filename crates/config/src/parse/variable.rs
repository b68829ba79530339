//! `set-var` and `set-var-fmt` of `global` (section 3.1): variables of the process that exist from the start.
use crate::addr::Family;
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::model::Global;
use sample::args::SetVar;
use sample::vars::VarName;
use sample::{
    Captures, Expr, LogFormat, LogStyle, ParseContext, ParseError, Place, Places, Scope, Shared,
    Value,
};
use std::path::Path;

pub(super) fn set(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    store(cx, args, |words, parser| {
        let mut used = 0;
        let expr = Expr::parse(words, &mut used, parser)?;
        match words.get(used) {
            None => Ok(ValueSource::Expression(expr)),
            Some(extra) => Err(ParseError::new(used, format!("unexpected argument '{extra}'"))),
        }
    })
}

pub(super) fn set_format(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    store(cx, args, |words, parser| match words {
        [text] => LogFormat::parse(text, LogStyle::Header, parser).map(ValueSource::Format),
        _ => Err(ParseError::new(0, "expects exactly 1 argument <format>")),
    })
}

/// The source of the value.
enum ValueSource {
    Expression(Expr),
    Format(LogFormat),
}

fn store(
    cx: &mut Cx<'_>,
    args: Args<'_>,
    parse: impl FnOnce(&[&str], &ParseContext<'_>) -> Result<ValueSource, ParseError>,
) -> Parsed {
    let (keyword, name) = (args.text(0), args.need(1, "expects a variable name and a value")?);
    let target = SetVar::parse(name.split(','));
    let target = target.map_err(|e| args.fault(1, format!("'{keyword}': {e}")))?;
    let scope = VarName::parse(name.split(',').next().unwrap_or("")).map(|name| name.scope());
    if scope.ok() != Some(Scope::Proc) {
        let message = format!("'{keyword}': only 'proc' variables exist in 'global': '{name}'");
        return Err(args.fault(1, message));
    }
    args.need(2, format!("'{keyword}': missing value for variable '{name}'"))?;
    let words = args.all_texts(2);
    let from = &args.place().file;
    let patterns = std::mem::take(&mut cx.patterns);
    let seen: &Cx<'_> = cx;
    let files = |path: &Path| seen.read(&path.to_string_lossy(), from);
    let env = |name: &str| seen.env.get(name).map(str::to_owned);
    let names = |name: &str| seen.names.resolve(name, Family::Any);
    let shared = Shared { names: &names, patterns, ..Shared::new(&files, &env) };
    let captures = Captures::default();
    let places = Places::of(Place::ConfigParser);
    let parser = ParseContext { places, ..ParseContext::new(&shared, &captures) };
    let parsed = parse(&words, &parser);
    cx.patterns = shared.patterns;
    let source = parsed
        .map_err(|e| args.fault_at(2 + e.word, e.offset, format!("'{keyword}': {}", e.message)))?;
    let facts = &cx.variables;
    match source {
        ValueSource::Expression(expr) => {
            if let Ok(value) = expr.eval(facts) {
                target.store(facts, &value);
            }
        }
        ValueSource::Format(format) => {
            let mut text = Vec::new();
            format.write(facts, &mut text);
            target.store(facts, &Value::str(&text));
        }
    }
    Ok(())
}
