//! `fcgi-app` sections (section 10.1.1).
use super::{Lines, PLAIN, ReadLine, SectionKind, only_name, own};
use crate::context::{Cx, Prefix};
use crate::diag::{Diagnostic, Severity};
use crate::draft::{Draft, DraftFcgiApp, DraftKind, DraftProxy, Settings};
use crate::keyword::Keyword;
use crate::line::{Args, Parsed};
use crate::model::{BackendApp, Mode};
use crate::parse::{language, log};
use crate::suggest;
use crate::validate::logs;
use rules::FcgiApp;
use rules::fcgi::{PassHeader, SetParam};
use sample::regex::Regex;
use sample::word::to_bytes;
use sample::{LogFormat, LogStyle};
use std::sync::Arc;

pub(super) const KIND: SectionKind = SectionKind {
    name: "fcgi-app",
    doc: "A FastCGI application.",
    open,
    title: |draft, index| &draft.fcgi_apps[index].app.name,
    lines: Lines::Own(KEYWORDS),
    complete,
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own(
        "acl",
        "<name> <criterion> ...",
        "A condition for lines of this section.",
        |d, at, cx, a| language::acl(&mut d.fcgi_apps[at].scope, cx, a),
    ),
    own("docroot", "<path>", "Where scripts are, on the machine of the server.", |d, at, _, a| {
        d.fcgi_apps[at].app.docroot = only_word(a, "'docroot' expects <path> as argument.")?;
        Ok(())
    }),
    own("index", "<script-name>", "The script of paths that end with a slash.", |d, at, _, a| {
        d.fcgi_apps[at].app.index = only_word(a, "'index' expects <filename> as argument.")?;
        Ok(())
    }),
    own(
        "log-stderr",
        "global | <address> [len <length>] [format <format>] [sample <ranges>:<size>] <facility> [<level> [<minlevel>]]",
        "Where lines of the application's error output are logged.",
        |d, at, cx, a| log::section(&mut d.fcgi_apps[at].logs, cx, a),
    ),
    own(
        "option",
        "{ get-values | keep-conn | max-reqs <reqs> | mpxs-conns }",
        "How connections to the application are used.",
        |d, at, cx, a| option(&mut d.fcgi_apps[at].app, cx, a),
    ),
    own(
        "pass-header",
        "<name> [ { if | unless } <condition> ]",
        "Passes a header that is hidden otherwise.",
        |d, at, cx, a| pass_header(&mut d.fcgi_apps[at], cx, a),
    ),
    own("path-info", "<regex>", "Splits paths into script and path info.", |d, at, _, a| {
        path_info(&mut d.fcgi_apps[at].app, a)
    }),
    own(
        "set-param",
        "<name> <fmt> [ { if | unless } <condition> ]",
        "Sets a parameter.",
        |d, at, cx, a| set_param(&mut d.fcgi_apps[at], cx, a),
    ),
];

/// The options of the section.
const OPTIONS: [&str; 4] = ["get-values", "keep-conn", "max-reqs", "mpxs-conns"];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = only_name(cx, args, "'fcgi-app' expects <name> as argument.");
    if let Some(first) = draft.fcgi_apps.iter().find(|first| first.app.name == name) {
        let message = format!(
            "fcgi-app section '{name}' has the same name as another one declared at {}.",
            first.scope.place
        );
        cx.alert(args, args.fault(1, message));
    }
    let settings = Settings { mode: Mode::Http, ..Settings::default() };
    let scope = DraftProxy::new(name, DraftKind::Defaults, args.place().clone(), settings);
    let app = FcgiApp {
        name: name.to_owned(),
        docroot: Vec::new(),
        index: Vec::new(),
        path_info: None,
        pass_headers: Vec::new(),
        set_params: Vec::new(),
        get_values: false,
        keep_conn: true,
        multiplexes: false,
        max_reqs: 1,
    };
    draft.fcgi_apps.push(DraftFcgiApp { scope, app, logs: Vec::new() });
    draft.fcgi_apps.len() - 1
}

/// The only argument of a line.
fn only_word(args: Args<'_>, missing: &str) -> Parsed<Vec<u8>> {
    let word = args.need(1, missing)?;
    args.no_more_than(1)?;
    Ok(to_bytes(word).into_owned())
}

fn option(app: &mut FcgiApp, cx: &Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'option' expects an option name.")?;
    let on = cx.prefix != Prefix::No;
    if cx.prefix != Prefix::None && name == "max-reqs" {
        let message = "negation/default is not supported for option 'max-reqs'.";
        return Err(args.fault(1, message));
    }
    match name {
        "get-values" => app.get_values = on,
        "keep-conn" => app.keep_conn = on || cx.prefix == Prefix::Default,
        "mpxs-conns" => app.multiplexes = on,
        "max-reqs" => return max_reqs(app, args),
        _ => {
            let fault = args.fault(1, format!("unknown option '{name}'."));
            return Err(fault.suggest(suggest::nearest(name, OPTIONS)));
        }
    }
    if cx.prefix == Prefix::Default && name != "keep-conn" {
        (app.get_values, app.multiplexes) = match name {
            "get-values" => (false, app.multiplexes),
            _ => (app.get_values, false),
        };
    }
    match args.get(2) {
        None => Ok(()),
        Some(extra) => {
            let message = format!("'option {name}' cannot handle unexpected argument '{extra}'.");
            Err(args.fault(2, message))
        }
    }
}

fn max_reqs(app: &mut FcgiApp, args: Args<'_>) -> Parsed {
    args.need(2, "option 'max-reqs' expects an integer argument.")?;
    let number = args.leading::<u64>(2).filter(|number| *number > 0).ok_or_else(|| {
        args.fault(2, "option 'max-reqs' expects a strictly positive integer argument.")
    })?;
    if let Some(extra) = args.get(3) {
        let message = format!("'option max-reqs' cannot handle unexpected argument '{extra}'.");
        return Err(args.fault(3, message));
    }
    // The ids of requests have 16 bits.
    app.max_reqs = u16::try_from(number).unwrap_or(u16::MAX);
    Ok(())
}

fn pass_header(draft: &mut DraftFcgiApp, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = to_bytes(args.need(1, "'pass-header' expects <name> as arguments.")?).into_owned();
    let condition = language::fcgi_condition(&draft.scope, cx, args, 2)?;
    draft.app.pass_headers.push(PassHeader { name, condition });
    Ok(())
}

fn path_info(app: &mut FcgiApp, args: Args<'_>) -> Parsed {
    let text = args.need(1, "'path-info' expects <regex> as argument.")?;
    args.no_more_than(1)?;
    let regex = Regex::from_bytes(&to_bytes(text), false);
    app.path_info = Some(regex.map_err(|error| args.fault(1, format!("'{text}' : {error}")))?);
    Ok(())
}

fn set_param(draft: &mut DraftFcgiApp, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'set-param' expects <name> and <value> as arguments.";
    let name = to_bytes(args.need(1, expected)?).into_owned();
    let text = args.need(2, expected)?.to_owned();
    let value = language::fcgi_words(&draft.scope, cx, args, 2, |parser| {
        LogFormat::parse(&text, LogStyle::Header, &parser.context)
    })?;
    let condition = language::fcgi_condition(&draft.scope, cx, args, 3)?;
    draft.app.set_params.push(SetParam { name, value, condition });
    Ok(())
}

/// Makes the sections ready for the backends that use them.
fn complete(draft: &mut Draft, cx: &mut Cx<'_>) {
    let global = &draft.global.logs;
    for section in std::mem::take(&mut draft.fcgi_apps) {
        let DraftFcgiApp { app, logs: own, scope } = section;
        if app.docroot.is_empty() && !cx.diagnostics.failed() {
            let message = format!("fcgi-app '{}': no docroot configured.", app.name);
            cx.diagnostics.push(Diagnostic::about(Severity::Alert, &scope.place, message));
        }
        if app.max_reqs > 1 && !app.multiplexes {
            let name = &app.name;
            let message = format!(
                "fcgi-app '{name}': multiplexing not supported, ignore the option 'max-reqs'."
            );
            cx.diagnostics.push(Diagnostic::about(Severity::Warning, &scope.place, message));
        }
        let logs = logs(own, global).into();
        draft.applications.push(BackendApp { app: Arc::new(app), logs });
    }
}
