//! `stick-table` lines (section 4.2).
use super::values::noted;
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::line::{Args, Fault, Parsed};
use crate::model::At;
use crate::value::{self, Unit, ValueError};
use std::sync::Arc;
use table::{Aggregate, DataKind, DataType, KeyKind, MAX_ARRAY, ServerKey, Settings};

/// The arguments of a line read so far.
struct TableLine {
    settings: Settings,
    has_type: bool,
    /// The keyword that messages begin with.
    keyword: &'static str,
}

/// `stick-table`
pub(super) fn parse(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let settings = read(proxy.name.clone(), "stick-table", 1, cx, args)?;
    if let Some(first) = &proxy.stick_table {
        let (name, word, place) = (&proxy.name, proxy.word(), &first.place);
        let message = format!(
            "stick-table name '{name}' conflicts with table declared in {word} '{name}' at {place}."
        );
        return Err(args.fault(0, message));
    }
    proxy.stick_table = Some(At { value: settings, place: args.place().clone() });
    Ok(())
}

/// A table by its name: its arguments are those from `n`. Only a `stick-table` line names the
/// `peers` section that shares it.
pub(crate) fn read(
    name: Arc<str>,
    keyword: &'static str,
    mut n: usize,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Parsed<Settings> {
    let settings = Settings::new(name, KeyKind::Ip, 0);
    let mut line = TableLine { settings, has_type: false, keyword };
    while let Some(word) = args.get(n) {
        n = match word {
            "type" => line.kind(args, n + 1)?,
            "size" => line.size(args, n + 1)?,
            "expire" => line.expire(args, n + 1)?,
            "nopurge" => {
                line.settings.nopurge = true;
                n + 1
            }
            "recv-only" => {
                line.settings.recv_only = true;
                n + 1
            }
            "srvkey" => line.server_key(args, n + 1)?,
            "store" => line.store(cx, args, n + 1)?,
            "write-to" => {
                line.settings.write_to = Some(line.need(args, n + 1)?.into());
                n + 2
            }
            "aggregate" => line.aggregate(args, n + 1)?,
            "peers" if keyword == "stick-table" => {
                line.settings.peers = Some(line.need(args, n + 1)?.into());
                n + 2
            }
            other => {
                return Err(args.fault(n, format!("{keyword}: unknown argument '{other}'.")));
            }
        };
    }
    if line.settings.size == 0 {
        return Err(args.fault(0, format!("{keyword}: missing size.")));
    }
    if !line.has_type {
        return Err(args.fault(0, format!("{keyword}: missing type.")));
    }
    overridden(&line.settings, keyword, args)?;
    aggregates(&line.settings, keyword, args)?;
    Ok(line.settings)
}

/// A table that adds up the copies of peers has peers, and is changed here.
fn aggregates(settings: &Settings, keyword: &str, args: Args<'_>) -> Parsed {
    let message = match (settings.aggregate, settings.recv_only, &settings.write_to) {
        (None, ..) => return Ok(()),
        (_, true, _) => format!("{keyword}: 'aggregate' and 'recv-only' exclude each other."),
        (_, _, Some(_)) => format!("{keyword}: 'aggregate' and 'write-to' exclude each other."),
        _ if settings.peers.is_none() && keyword == "stick-table" => {
            format!("{keyword}: 'aggregate' needs 'peers'.")
        }
        _ => return Ok(()),
    };
    let (at, _) = args.find(1, "aggregate");
    Err(args.fault(at, message))
}

/// Arrays and what they replace cannot be together.
fn overridden(settings: &Settings, keyword: &str, args: Args<'_>) -> Parsed {
    use DataType::{Gpc, Gpc0, Gpc0Rate, Gpc1, Gpc1Rate, GpcRate, Gpt, Gpt0};
    let groups: [(DataType, &[DataType], &str); 3] = [
        (Gpt, &[Gpt0], "gpt0"),
        (Gpc, &[Gpc0, Gpc1], "gpc[0/1]"),
        (GpcRate, &[Gpc0Rate, Gpc1Rate], "gpc[0/1]_rate"),
    ];
    for (array, single, shown) in groups {
        if settings.stores(array) && single.iter().any(|data| settings.stores(*data)) {
            let array = array.name();
            return Err(args.fault(
                0,
                format!("{keyword}: simultaneous usage of '{array}' and '{shown}' in a same table is not permitted as '{array}' overrides '{shown}'."),
            ));
        }
    }
    Ok(())
}

impl TableLine {
    /// The argument behind the word before `n`.
    fn need<'l>(&self, args: Args<'l>, n: usize) -> Parsed<&'l str> {
        let keyword = self.keyword;
        args.need(n, format!("{keyword}: missing argument after '{}'.", args.text(n - 1)))
    }

    fn unexpected(&self, args: Args<'_>, n: usize, at: usize, what: &str) -> Fault {
        let found = args.text(n)[at..].chars().next().unwrap_or(' ');
        let keyword = self.keyword;
        let message = format!("{keyword}: unexpected character '{found}' in argument of '{what}'.");
        args.fault_at(n, at, message)
    }

    fn kind(&mut self, args: Args<'_>, n: usize) -> Parsed<usize> {
        let keyword = self.keyword;
        let word = args.text(n);
        let kind = match word {
            "ip" => KeyKind::Ip,
            "ipv6" => KeyKind::Ipv6,
            "integer" => KeyKind::Integer,
            "string" => KeyKind::Text(KeyKind::DEFAULT_LEN),
            "binary" => KeyKind::Binary(KeyKind::DEFAULT_LEN),
            _ => return Err(args.fault(n, format!("{keyword}: unknown type '{word}'."))),
        };
        self.has_type = true;
        self.settings.kind = kind;
        if args.text(n + 1) != "len" || !matches!(kind, KeyKind::Text(_) | KeyKind::Binary(_)) {
            return Ok(n + 1);
        }
        let given = args.text(n + 2);
        let len = args.leading::<usize>(n + 2).filter(|len| (1..=1 << 20).contains(len));
        let len =
            len.ok_or_else(|| args.fault(n + 2, format!("{keyword}: unknown type '{given}'.")))?;
        self.settings.kind = match kind {
            KeyKind::Text(_) => KeyKind::Text(len),
            _ => KeyKind::Binary(len),
        };
        Ok(n + 3)
    }

    fn size(&mut self, args: Args<'_>, n: usize) -> Parsed<usize> {
        let given = self.need(args, n)?;
        self.settings.size =
            value::size(given).map_err(|at| self.unexpected(args, n, at, "size"))?;
        Ok(n + 1)
    }

    fn expire(&mut self, args: Args<'_>, n: usize) -> Parsed<usize> {
        let given = self.need(args, n)?;
        let read = noted(args, n, value::time(given, Unit::Milliseconds));
        let ms = read.map_err(|error| match error {
            ValueError::Unexpected { at, .. } => self.unexpected(args, n, at, "expire"),
            ValueError::Overflow | ValueError::TooManySeconds => args.fault(
                n,
                format!("{}: timer overflow in argument <{given}> to <expire>, maximum value is 2147483647 ms (~24.8 days).", self.keyword),
            ),
        })?;
        self.settings.expire = u32::try_from(ms).ok().filter(|ms| *ms > 0);
        Ok(n + 1)
    }

    fn aggregate(&mut self, args: Args<'_>, n: usize) -> Parsed<usize> {
        let given = self.need(args, n)?;
        let kind = Aggregate::named(given).ok_or_else(|| {
            let names = Aggregate::TABLE.iter().map(|(name, _)| *name);
            let message = format!(
                "{}: 'aggregate' expects 'sum', 'max' or 'last', not '{given}'.",
                self.keyword
            );
            args.fault(n, message).suggest(crate::suggest::nearest(given, names))
        })?;
        self.settings.aggregate = Some(kind);
        Ok(n + 1)
    }

    fn server_key(&mut self, args: Args<'_>, n: usize) -> Parsed<usize> {
        self.settings.server_key = match args.text(n) {
            "name" => ServerKey::Name,
            "addr" => ServerKey::Address,
            other => {
                let message = format!("{} : unknown server key type '{other}'.", self.keyword);
                return Err(args.fault(n, message));
            }
        };
        Ok(n + 1)
    }

    fn store(&mut self, cx: &mut Cx<'_>, args: Args<'_>, n: usize) -> Parsed<usize> {
        let given = args.text(n);
        let mut at = 0;
        while at < given.len() {
            at += self.store_one(cx, args, n, at)?;
        }
        Ok(n + 1)
    }

    /// Parses one data type with its arguments and the comma behind it; returns their length.
    fn store_one(&mut self, cx: &mut Cx<'_>, args: Args<'_>, n: usize, at: usize) -> Parsed<usize> {
        let rest = &args.text(n)[at..];
        let end = rest.find(['(', ',']).unwrap_or(rest.len());
        let name = &rest[..end];
        let keyword = self.keyword;
        let fault = |message: String| args.fault_at(n, at, format!("{keyword}: {message}"));
        let (given, mut used) = match rest[end..].strip_prefix('(') {
            None => (None, end),
            Some(inner) => {
                let close = inner.find(')').ok_or_else(|| {
                    fault(format!("missing closing parenthesis after store option '{name}'."))
                })?;
                (Some(&inner[..close]), end + close + 2)
            }
        };
        used += usize::from(rest[used..].starts_with(','));
        if name.is_empty() && given.is_none() {
            return Ok(used.max(1));
        }
        let data = DataType::named(name).ok_or_else(|| {
            let names = DataType::TABLE.iter().map(|(_, name, _)| *name);
            fault(format!("unknown store option '{name}'."))
                .suggest(crate::suggest::nearest(name, names))
        })?;
        let (count, period) = arguments(data, given, |odd| args.note(n, odd))
            .map_err(|error| fault(error.about(name)))?;
        if self.settings.stores(data) {
            let message = format!("{keyword}: store option '{name}' already enabled, ignored.");
            cx.warn(args, n, message);
        }
        self.settings.add(data, count, period);
        Ok(used)
    }
}

/// Why the arguments of a data type are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataTypeError {
    /// An argument is missing.
    Missing,
    /// The data type takes fewer arguments.
    Unexpected,
    /// The size of an array is out of bounds.
    ArraySize,
    /// The period is no time.
    Period,
}

impl DataTypeError {
    /// The message about the data type of this name.
    fn about(self, name: &str) -> String {
        let what = match self {
            Self::Missing => "missing argument to".to_owned(),
            Self::Unexpected => "unexpected argument to".to_owned(),
            Self::ArraySize => format!("array size is out of allowed range (1-{MAX_ARRAY}) for"),
            Self::Period => "error when processing".to_owned(),
        };
        format!("{what} store option '{name}'.")
    }
}

/// Number of elements and period of a data type.
fn arguments(
    data: DataType,
    given: Option<&str>,
    note: impl FnOnce(String),
) -> Result<(u32, u32), DataTypeError> {
    let rate = data.kind() == DataKind::Rate;
    let takes = usize::from(data.is_array()) + usize::from(rate);
    let Some(given) = given else {
        return if takes == 0 { Ok((1, 0)) } else { Err(DataTypeError::Missing) };
    };
    if takes == 0 {
        return Err(DataTypeError::Unexpected);
    }
    let mut words = given.split(',');
    let mut count = 1;
    if data.is_array() {
        let word = words.next().unwrap_or("");
        let number = value::number::<u32>(word).filter(|_| !word.is_empty());
        let within = number.filter(|n| (1..=MAX_ARRAY).contains(n));
        count = within.ok_or(DataTypeError::ArraySize)?;
    }
    let mut period = 0;
    if rate {
        let word = words.next().map(str::trim).filter(|word| !word.is_empty());
        let read = value::time(word.ok_or(DataTypeError::Missing)?, Unit::Milliseconds);
        let (ms, odd) = read.map_err(|_| DataTypeError::Period)?;
        if let Some(odd) = odd {
            note(odd);
        }
        // A rate over no time at all is one over the shortest time.
        period = u32::try_from(ms).unwrap_or(u32::MAX).max(1);
    }
    match words.next() {
        None => Ok((count, period)),
        Some(_) => Err(DataTypeError::Unexpected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_types_take_what_they_need() {
        assert_eq!(arguments(DataType::Gpc0, None, drop), Ok((1, 0)));
        assert_eq!(arguments(DataType::ConnRate, Some("10s"), drop), Ok((1, 10_000)));
        assert_eq!(arguments(DataType::GpcRate, Some("3,1m"), drop), Ok((3, 60_000)));
        assert_eq!(arguments(DataType::Gpt, Some("100"), drop), Ok((100, 0)));
        for (data, given) in [
            (DataType::Gpc0, Some("1")),
            (DataType::ConnRate, None),
            (DataType::ConnRate, Some("x")),
            (DataType::Gpc, Some("0")),
            (DataType::Gpc, Some("101")),
            (DataType::Gpc, None),
            (DataType::GpcRate, Some("2")),
            (DataType::GpcRate, Some("2,1s,3")),
        ] {
            assert!(arguments(data, given, drop).is_err(), "{data:?} {given:?}");
        }
    }
}
