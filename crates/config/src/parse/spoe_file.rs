//! Files of `filter spoe` lines: scopes, and the sections of agents, messages and groups (SPOE.txt,
//! sections 2.1 to 2.4).
use super::language::with_parser;
use super::spoe;
use super::values::time_at;
use crate::context::{Cx, Prefix};
use crate::diag::Place;
use crate::draft::{DraftLog, DraftProxy};
use crate::keyword::{Keyword, word};
use crate::lex::{self, Surroundings};
use crate::line::{Args, Line, Parsed};
use crate::model::At;
use crate::parse::log;
use crate::suggest;
use crate::value::Unit;
use rules::{SpoeAgent, SpoeEvent};
use sample::{AclTable, Condition, Expr, Places};
use std::sync::Arc;

/// The smallest `max-frame-size`.
const MIN_FRAME_SIZE: u32 = 256;
/// The largest one, without `tune.bufsize`.
const MAX_FRAME_SIZE: u32 = 16_380;
/// `max-waiting-frames` without its line.
const MAX_WAITING: usize = 20;
/// Arguments that a message may have.
const MAX_ARGUMENTS: usize = 255;

/// A file as it is read.
#[derive(Default)]
pub(super) struct FileDraft {
    pub(super) agent: Option<AgentDraft>,
    pub(super) messages: Vec<MessageDraft>,
    pub(super) groups: Vec<GroupDraft>,
}

/// `spoe-agent`
pub(super) struct AgentDraft {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) settings: SpoeAgent,
    pub(super) backend: Option<String>,
    pub(super) messages: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) logs: Vec<DraftLog>,
    pub(super) max_frame_size: Option<At<u32>>,
    pub(super) prefix: Option<String>,
    pub(super) names: Vec<String>,
    pub(super) any_variable: bool,
    pub(super) on_error: Option<String>,
    pub(super) process_time: Option<String>,
    pub(super) total_time: Option<String>,
}

/// `spoe-message`
pub(super) struct MessageDraft {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) arguments: Vec<(Box<str>, Expr)>,
    pub(super) event: Option<SpoeEvent>,
    pub(super) condition: Option<Condition>,
    acls: AclTable,
}

/// `spoe-group`
pub(super) struct GroupDraft {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) messages: Vec<String>,
}

/// The section of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileSection {
    None,
    Agent,
    Message,
    Group,
}

type ReadWord<T> = fn(&mut T, &mut DraftProxy, &mut Cx<'_>, Args<'_>) -> Parsed;

/// Lines of `spoe-agent`, alphabetical.
pub(super) const AGENT: &[Keyword<ReadWord<AgentDraft>>] = &[
    word("groups", "<name>*", "Groups that rules send.", |agent, _, _, args| {
        names(args, &mut agent.groups, "spoe-group")
    }),
    word("log", "global | <target>", "Where the engine logs.", |agent, _, cx, args| {
        log_line(agent, cx, args)
    }),
    word("max-frame-size", "<bytes>", "The largest frame.", |agent, _, _, args| {
        frame_size(agent, args)
    }),
    word("max-waiting-frames", "<number>", "Payloads in flight.", |agent, _, _, args| {
        agent.settings.max_waiting = positive(args)? as usize;
        args.no_more_than(1)
    }),
    word("maxconnrate", "<number>", "Connections per second.", |agent, _, _, args| {
        agent.settings.max_connections_per_s = rate(args)?;
        args.no_more_than(1)
    }),
    word("maxerrrate", "<number>", "Errors per second.", |agent, _, _, args| {
        agent.settings.max_errors_per_s = rate(args)?;
        args.no_more_than(1)
    }),
    word("messages", "<name>*", "Messages that are sent at events.", |agent, _, _, args| {
        names(args, &mut agent.messages, "spoe-message")
    }),
    word("option", "<option>", "An option of the agent.", |agent, _, cx, args| {
        option(agent, cx, args)
    }),
    word("register-var-names", "<name>*", "Variables that it may set.", |agent, _, _, args| {
        agent.names.extend(args.texts(1).into_iter().map(str::to_owned));
        Ok(())
    }),
    word("timeout", "{ hello | idle | processing } <time>", "A time-out.", |agent, _, _, args| {
        timeout(agent, args)
    }),
    word("use-backend", "<name>", "The backend of the agent.", |agent, _, _, args| {
        let name = args.need(1, "'use-backend' expects a backend name.")?;
        agent.backend = Some(name.to_owned());
        args.no_more_than(1)
    }),
];

/// Lines of `spoe-message`, alphabetical.
pub(super) const MESSAGE: &[Keyword<ReadWord<MessageDraft>>] = &[
    word("acl", "<name> <test>", "An ACL for the condition of the event.", acl),
    word("args", "[<name>=]<sample>*", "Arguments.", arguments),
    word("event", "<name> [{ if | unless } <condition>]", "The event that sends it.", event),
];

/// Lines of `spoe-group`, alphabetical.
pub(super) const GROUP: &[Keyword<ReadWord<GroupDraft>>] =
    &[word("messages", "<name>*", "The messages of the group.", |group, _, _, args| {
        names(args, &mut group.messages, "spoe-message")
    })];

/// Options that are on or off, and their fields.
type Flag = fn(&mut SpoeAgent) -> &mut bool;

/// Options that can be negated.
const FLAGS: &[(&str, Flag)] = &[
    ("async", |agent| &mut agent.is_async),
    ("dontlog-normal", |agent| &mut agent.logs_errors_only),
    ("pipelining", |agent| &mut agent.pipelining),
    ("send-frag-payload", |agent| &mut agent.fragments),
];

/// Options that cannot.
const OTHER_OPTIONS: [&str; 6] = [
    "continue-on-error",
    "force-set-var",
    "set-on-error",
    "set-process-time",
    "set-total-time",
    "var-prefix",
];

/// Reads the lines of a file that are in the scope of an engine; without an engine, those in no
/// scope. Mistakes are reported with their place in the file.
pub(super) fn read(
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    (file, bytes): (&str, &[u8]),
    engine: Option<&str>,
) -> FileDraft {
    let (name, text): (Arc<str>, _) = (file.into(), String::from_utf8_lossy(bytes));
    let mut reader = FileReader {
        draft: FileDraft::default(),
        section: FileSection::None,
        active: engine.is_none(),
    };
    for (index, raw) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let around = Surroundings { env: &cx.env, file, line: number, section: "" };
        let place = Place::new(&name, number);
        let words = match lex::split(raw, &around) {
            Ok(words) => words,
            Err(error) => {
                let line = Line::new(Vec::new(), raw, place);
                cx.alert(line.args(), line.args().fault(0, error.message));
                continue;
            }
        };
        if words.is_empty() {
            continue;
        }
        let line = Line::new(words, raw, place);
        cx.note_variables(line.words.iter().map(|word| &*word.text));
        let args = line.args();
        match reader.line(proxy, cx, args, engine) {
            Ok(()) => {
                for note in line.notes() {
                    cx.diagnostics.push(line.diagnostic(crate::diag::Severity::Warning, note));
                }
            }
            Err(fault) => cx.alert(args, fault),
        }
        cx.prefix = Prefix::None;
    }
    reader.draft
}

struct FileReader {
    draft: FileDraft,
    section: FileSection,
    /// The scope is that of the engine.
    active: bool,
}

impl FileReader {
    fn line(
        &mut self,
        proxy: &mut DraftProxy,
        cx: &mut Cx<'_>,
        args: Args<'_>,
        engine: Option<&str>,
    ) -> Parsed {
        if args.text(0).starts_with('[') {
            let name = scope(args)?;
            self.section = FileSection::None;
            self.active = engine == Some(name);
            return Ok(());
        }
        if !self.active {
            return Ok(());
        }
        match args.text(0) {
            "spoe-agent" => self.open_agent(args),
            "spoe-message" => self.open_message(args),
            "spoe-group" => self.open_group(args),
            _ => self.statement(proxy, cx, args),
        }
    }

    /// A line within a section.
    fn statement(&mut self, proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
        let FileDraft { agent, messages, groups } = &mut self.draft;
        let args = match (args.text(0), self.section) {
            ("no", FileSection::Agent) if matches!(args.text(1), "option" | "log") => {
                cx.prefix = Prefix::No;
                args.from(1)
            }
            ("no", FileSection::Agent) => {
                let message = "negation/default currently supported only for options and log.";
                return Err(args.fault(1, message));
            }
            _ => args,
        };
        match (self.section, agent, messages.last_mut(), groups.last_mut()) {
            (FileSection::Agent, Some(agent), ..) => {
                apply(AGENT, agent, "spoe-agent", proxy, cx, args)
            }
            (FileSection::Message, _, Some(message), _) => {
                apply(MESSAGE, message, "spoe-message", proxy, cx, args)
            }
            (FileSection::Group, .., Some(group)) => {
                apply(GROUP, group, "spoe-group", proxy, cx, args)
            }
            _ => Err(args.fault(0, format!("unknown keyword '{}' out of section.", args.text(0)))),
        }
    }

    fn open_agent(&mut self, args: Args<'_>) -> Parsed {
        let name = section_name(args)?;
        if self.draft.agent.is_some() {
            return Err(args.fault(0, "another spoe-agent section previously defined."));
        }
        let settings = SpoeAgent {
            max_waiting: MAX_WAITING,
            pipelining: true,
            is_async: true,
            fragments: true,
            ..SpoeAgent::default()
        };
        self.draft.agent = Some(AgentDraft {
            name,
            place: args.place().clone(),
            settings,
            backend: None,
            messages: Vec::new(),
            groups: Vec::new(),
            logs: Vec::new(),
            max_frame_size: None,
            prefix: None,
            names: Vec::new(),
            any_variable: false,
            on_error: None,
            process_time: None,
            total_time: None,
        });
        self.section = FileSection::Agent;
        Ok(())
    }

    fn open_message(&mut self, args: Args<'_>) -> Parsed {
        let name = section_name(args)?;
        let known = self.draft.messages.iter().find(|message| message.name == name);
        is_new(args, &name, known.map(|message| &message.place))?;
        self.draft.messages.push(MessageDraft {
            name,
            place: args.place().clone(),
            arguments: Vec::new(),
            event: None,
            condition: None,
            acls: AclTable::default(),
        });
        self.section = FileSection::Message;
        Ok(())
    }

    fn open_group(&mut self, args: Args<'_>) -> Parsed {
        let name = section_name(args)?;
        let known = self.draft.groups.iter().find(|group| group.name == name);
        is_new(args, &name, known.map(|group| &group.place))?;
        let place = args.place().clone();
        self.draft.groups.push(GroupDraft { name, place, messages: Vec::new() });
        self.section = FileSection::Group;
        Ok(())
    }
}

/// The name in the line of a scope.
fn scope(args: Args<'_>) -> Parsed<&str> {
    let word = args.text(0);
    let name = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or("");
    if name.is_empty() {
        return Err(args.fault(0, "empty scope name is forbidden."));
    }
    if let Some(bad) = name.chars().find(|c| !permitted(*c)) {
        let message = format!("character '{bad}' is not permitted in a scope name.");
        return Err(args.fault(0, message));
    }
    args.no_more_than(0)?;
    Ok(name)
}

fn permitted(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.:".contains(c)
}

fn section_name(args: Args<'_>) -> Parsed<String> {
    let section = args.text(0);
    let name = args.need(1, format!("missing name for {section} section."))?;
    if let Some(bad) = name.chars().find(|c| !permitted(*c)) {
        let message = format!("character '{bad}' is not permitted in '{section}' name '{name}'.");
        return Err(args.fault(1, message));
    }
    args.no_more_than(1)?;
    Ok(name.to_owned())
}

fn is_new(args: Args<'_>, name: &str, known: Option<&Place>) -> Parsed {
    let Some(place) = known else { return Ok(()) };
    let section = args.text(0);
    let message =
        format!("{section} section '{name}' has the same name as another one declared at {place}.");
    Err(args.fault(1, message))
}

fn apply<T>(
    table: &[Keyword<ReadWord<T>>],
    to: &mut T,
    section: &str,
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Parsed {
    match Keyword::find(table, args.text(0)) {
        Some(keyword) => (keyword.parse)(to, proxy, cx, args),
        None => {
            let names = table.iter().map(|keyword| keyword.name);
            let names = names.chain(["spoe-agent", "spoe-message", "spoe-group"]);
            Err(spoe::unknown(args, section).suggest(suggest::nearest(args.text(0), names)))
        }
    }
}

/// Names of messages or groups, each once.
fn names(args: Args<'_>, to: &mut Vec<String>, kind: &str) -> Parsed {
    for (n, name) in args.texts(1).into_iter().enumerate() {
        if to.iter().any(|known| known == name) {
            return Err(args.fault(n + 1, format!("{kind} '{name}' already used.")));
        }
        to.push(name.to_owned());
    }
    Ok(())
}

fn log_line(agent: &mut AgentDraft, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if cx.prefix != Prefix::None {
        agent.logs.clear();
        return args.no_more_than(0);
    }
    log::section(&mut agent.logs, cx, args)
}

fn rate(args: Args<'_>) -> Parsed<u32> {
    let message = format!("'{}' expects an integer argument.", args.text(0));
    args.need(1, message.clone())?;
    args.leading(1).ok_or_else(|| args.fault(1, message))
}

fn positive(args: Args<'_>) -> Parsed<u32> {
    let number = args.leading::<u32>(1).filter(|number| *number > 0);
    let message = format!("'{}' expects a positive integer argument.", args.text(0));
    number.ok_or_else(|| args.fault(1, message))
}

fn frame_size(agent: &mut AgentDraft, args: Args<'_>) -> Parsed {
    let size = args.leading::<u32>(1).filter(|size| *size >= MIN_FRAME_SIZE);
    let size = size.ok_or_else(|| args.fault(1, frame_size_range(MAX_FRAME_SIZE)))?;
    args.no_more_than(1)?;
    agent.max_frame_size = Some(At { value: size, place: args.place().clone() });
    Ok(())
}

/// The error for a `max-frame-size` out of its range.
pub(crate) fn frame_size_range(most: u32) -> String {
    format!(
        "'max-frame-size' expects a positive integer argument in the range [{MIN_FRAME_SIZE}, {most}]."
    )
}

fn timeout(agent: &mut AgentDraft, args: Args<'_>) -> Parsed {
    let which = args.text(1);
    let settings = &mut agent.settings;
    let to = match which {
        "hello" => &mut settings.hello,
        "idle" => &mut settings.idle,
        "processing" => &mut settings.processing,
        _ => {
            let message =
                format!("'timeout' supports 'hello', 'idle' or 'processing' (got {which}).");
            return Err(args.fault(1, message));
        }
    };
    args.need(2, format!("'timeout {which}' expects an integer value (in milliseconds)."))?;
    args.from(1).no_more_than(1)?;
    let subject = format!("argument to <timeout {which}>.");
    let time = time_at(args, 2, Unit::Milliseconds, &subject)?;
    *to = (time > 0).then(|| u32::try_from(time).unwrap_or(u32::MAX));
    Ok(())
}

fn option(agent: &mut AgentDraft, cx: &Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(1);
    if let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == name) {
        args.from(1).no_more_than(0).map_err(|_| too_many(args, 2))?;
        *flag(&mut agent.settings) = cx.prefix == Prefix::None;
        return Ok(());
    }
    if OTHER_OPTIONS.contains(&name) && cx.prefix != Prefix::None {
        return Err(args.fault(1, format!("negation is not supported for option '{name}'.")));
    }
    let to = match name {
        "continue-on-error" => {
            agent.settings.continues = true;
            return args.from(1).no_more_than(0).map_err(|_| too_many(args, 2));
        }
        "force-set-var" => {
            agent.any_variable = true;
            return args.from(1).no_more_than(0).map_err(|_| too_many(args, 2));
        }
        "set-on-error" => &mut agent.on_error,
        "set-process-time" => &mut agent.process_time,
        "set-total-time" => &mut agent.total_time,
        "var-prefix" => &mut agent.prefix,
        _ => {
            let known = FLAGS.iter().map(|(name, _)| *name).chain(OTHER_OPTIONS);
            let fault = args.fault(1, format!("option '{name}' is not supported."));
            return Err(fault.suggest(suggest::nearest(name, known)));
        }
    };
    let value = args.need(2, format!("'option {name}' expects a value."))?;
    if !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return Err(args.fault(2, format!("'option {name}' only supports [a-zA-Z0-9_.] chars.")));
    }
    args.from(1).no_more_than(1).map_err(|_| too_many(args, 3))?;
    *to = Some(value.to_owned());
    Ok(())
}

fn too_many(args: Args<'_>, n: usize) -> crate::line::Fault {
    args.fault(n, format!("'option' cannot handle unexpected argument '{}'.", args.text(n)))
}

/// Runs a parser with the ACLs of a message.
fn with_acls<T>(
    message: &mut MessageDraft,
    proxy: &mut DraftProxy,
    run: impl FnOnce(&mut MessageDraft, &mut DraftProxy) -> T,
) -> T {
    std::mem::swap(&mut message.acls, &mut proxy.acls);
    let result = run(message, proxy);
    std::mem::swap(&mut message.acls, &mut proxy.acls);
    result
}

fn acl(
    message: &mut MessageDraft,
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Parsed {
    with_acls(message, proxy, |_, proxy| {
        let words = args.all_texts(1);
        with_parser(proxy, cx, args, 1, Places::ALL, |parser| parser.acls.define(&words, parser))
    })
}

fn arguments(
    message: &mut MessageDraft,
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Parsed {
    let mut n = 1;
    while let Some(given) = args.get(n) {
        // A sample may have the sign too, behind its name.
        let name = given.split_once('=').map(|(name, _)| name).filter(|name| is_name(name));
        let start = name.map_or(0, |name| name.len() + 1);
        let mut words = args.all_texts(n);
        words[0] = &given[start..];
        let parsed = with_parser(proxy, cx, args, n, Places::ALL, |parser| {
            let mut used = 0;
            Expr::parse(&words, &mut used, parser).map(|expr| (expr, used))
        });
        let (expr, used) = parsed.map_err(|fault| {
            let message = format!("'args': {}.", fault.message);
            args.fault(n, message)
        })?;
        if message.arguments.len() == MAX_ARGUMENTS {
            let message = format!("'args': a message has at most {MAX_ARGUMENTS} arguments.");
            return Err(args.fault(n, message));
        }
        message.arguments.push((name.unwrap_or("").into(), expr));
        n += used.max(1);
    }
    Ok(())
}

/// Whether a sign of equality behind this text ends a name: it can also be in an argument.
fn is_name(text: &str) -> bool {
    !text.contains(['(', ','])
}

fn event(
    message: &mut MessageDraft,
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Parsed {
    let name = args.need(1, "missing event name.")?;
    let found = SpoeEvent::TABLE.iter().find(|(known, _)| *known == name);
    let Some((_, event)) = found else {
        let known = SpoeEvent::TABLE.iter().map(|(known, _)| *known);
        let fault = args.fault(1, format!("unknown event '{name}'."));
        return Err(fault.suggest(suggest::nearest(name, known)));
    };
    let words = args.all_texts(2);
    if let Some(other) = words.first().filter(|word| !matches!(**word, "if" | "unless" | "")) {
        let message = format!(
            "'event {name}' expects either 'if' or 'unless' followed by a condition but found '{other}'."
        );
        return Err(args.fault(2, message));
    }
    let condition = with_acls(message, proxy, |_, proxy| {
        with_parser(proxy, cx, args, 2, Places::ALL, |parser| {
            Condition::parse_clause(&words, parser)
        })
    });
    let context = format!("error detected while parsing an 'event {name}' condition");
    message.condition = condition.map_err(|fault| fault.within(&context))?;
    message.event = Some(*event);
    Ok(())
}
