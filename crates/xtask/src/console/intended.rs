//! The intended differences between answers: what is levelled before answers are compared.

/// One intended difference.
pub(super) struct ConsoleDifference {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Whether answers to a command can have it.
    pub(super) applies: fn(&str) -> bool,
    /// Takes it out of both answers, HAProxy's first.
    pub(super) level: fn(&mut [Vec<String>; 2]),
}

/// All differences, in the order in which they are applied; `docs/runtime.md` has the same.
pub(super) const RULES: &[ConsoleDifference] = &[
    ConsoleDifference {
        name: "description",
        about: "what `desc` says about figures is in Weir's own words",
        applies: |command| command.contains("desc"),
        level: |sides| each_line(sides, |line| cut(line, ":\"", ":\"\"")),
    },
    ConsoleDifference {
        name: "columns",
        about: "figures of later versions and of modules stand behind those of 2.7",
        applies: |command| command.contains("show stat"),
        level: columns,
    },
    ConsoleDifference {
        name: "commands",
        about: "help lists what there is; new commands and their words are shown as they are",
        applies: |command| command.starts_with("help"),
        level: commands,
    },
    ConsoleDifference {
        name: "suggestions",
        about: "commands that are like an unknown one are found in another way",
        applies: |_| true,
        level: suggestions,
    },
    ConsoleDifference {
        name: "sessions",
        about: "`show sess` lists traffic alone and tells of it what has a meaning in Weir",
        applies: |command| command.starts_with("show sess"),
        level: |sides| sides.iter_mut().for_each(|side| side.retain(|line| !line.contains(" fe="))),
    },
    ConsoleDifference {
        name: "activity",
        about: "`show activity` has more lines behind HAProxy's",
        applies: |command| command.starts_with("show activity"),
        level: shortest,
    },
    ConsoleDifference {
        name: "traces",
        about: "sources and events are those that Weir has, in its own words and order",
        applies: |command| TRACES.contains(&command),
        level: traces,
    },
    ConsoleDifference {
        name: "internals",
        about: "tasks, threads, descriptors, pools and libraries are those of Weir",
        applies: |command| {
            let words = ["show tasks", "show threads", "show fd", "show pools", "show libs"];
            words.iter().chain(&["show profiling"]).any(|it| command.starts_with(it))
        },
        level: |sides| {
            sides.iter_mut().for_each(|side| side.truncate(1));
            each_line(sides, |line| cut(&cut(line, " : ", ""), ") /", "").replace('*', " "));
        },
    },
    ConsoleDifference {
        name: "startup",
        about: "what is said at the start is in Weir's words, with the line and a mark below it",
        applies: |command| command == "show startup-logs",
        level: |sides| sides.iter_mut().for_each(Vec::clear),
    },
    ConsoleDifference {
        name: "parser",
        about: "`show errors` names the reason where HAProxy names the state of its parser",
        applies: |command| command.starts_with("show errors"),
        level: |sides| {
            each_line(sides, |line| cut(line, "HN msg state ", ""));
            each_line(sides, |line| line.replace("wraps at N", "wraps"));
        },
    },
    ConsoleDifference {
        name: "numbers",
        about: "what is no number is refused, where HAProxy takes it for 0",
        applies: |command| command.contains(" x"),
        level: |sides| {
            let said = |line: &String| line.contains("nteger value");
            sides.iter_mut().for_each(|side| side.retain(|line| !said(line)));
        },
    },
    ConsoleDifference {
        name: "memory",
        about: "the memory budget is shown, and the memory of encoders as by HAProxy with zlib",
        applies: |command| command.contains("show info"),
        level: memory,
    },
    ConsoleDifference {
        name: "client",
        about: "patterns of the HTTP client are not shown, and `@system-ca` is one file of the system",
        applies: |command| ["show acl", "show map", "show ssl ca-file"].contains(&command),
        level: |sides| {
            let own =
                |line: &String| line.contains("'httpclient'") || line.starts_with("@system-ca");
            sides.iter_mut().for_each(|side| side.retain(|line| !own(line)));
        },
    },
];

fn each_line(sides: &mut [Vec<String>; 2], change: impl Fn(&str) -> String) {
    sides.iter_mut().flatten().for_each(|line| *line = change(line));
}

/// The line up to a mark, followed by a replacement.
fn cut(line: &str, mark: &str, instead: &str) -> String {
    match line.find(mark) {
        Some(at) => format!("{}{instead}", &line[..at]),
        None => line.to_owned(),
    }
}

/// Beginnings of values of `show info` about memory that HAProxy with SLZ does not have.
const MEMORY: [&str; 9] = [
    "ZlibMemUsage",
    "MemLimit_",
    "MemUsed_",
    "MemLevel",
    "MemAccepts",
    "MemRequests",
    "MemStreams",
    "MemIdle",
    "MemEntries",
];

/// Takes values about memory out; of one line of JSON, each value is looked at.
fn memory(sides: &mut [Vec<String>; 2]) {
    let of_memory = |value: &&str| MEMORY.iter().any(|name| value.contains(name));
    for side in sides {
        let values = side.iter().flat_map(|line| line.split(",{\"field\":"));
        let others = values.filter(|value| !of_memory(value));
        // The last value closes the list.
        *side = others.map(|value| value.trim_end_matches(']').to_owned()).collect();
    }
}

/// Columns of HAProxy's later versions that Debian's 2.6 has got.
const LATER: [&str; 2] = ["agg_server_status", "agg_check_status"];

/// In CSV, the columns that both have precede the column `-`; otherwise each figure has a line of
/// its own.
fn columns(sides: &mut [Vec<String>; 2]) {
    for side in sides {
        let Some(header) = side.iter().find(|line| line.starts_with("# pxname")).cloned() else {
            let later = |line: &String| LATER.iter().chain(&MODULES).any(|it| line.contains(it));
            side.retain(|line| line.starts_with("[[") || !later(line));
            // The sorted keys in one line.
            side.iter_mut()
                .filter(|line| line.starts_with("[["))
                .for_each(|line| line.truncate(200));
            continue;
        };
        let names: Vec<&str> = header.trim_start_matches("# ").split(',').collect();
        let common = names.iter().position(|name| *name == "-").unwrap_or(names.len());
        for line in side.iter_mut().filter(|line| line.matches(',').count() > 20) {
            let cells = line.split(',').take(common).zip(&names);
            let kept = cells.filter(|(_, name)| !LATER.contains(name)).map(|(cell, _)| cell);
            *line = kept.collect::<Vec<_>>().join(",");
        }
    }
}

/// Parts of the names of figures of modules. Debian's HAProxy is built without QUIC.
const MODULES: [&str; 8] =
    [".ssl_", ".h2_", ".h1_", ".hN_", ".quic_", ".qpack_", ".pack_decompression_", ".weir_"];

/// The commands that both list, by their words; what they are for is each program's own.
fn commands(sides: &mut [Vec<String>; 2]) {
    let words = |line: &String| line.split(" : ").next().unwrap_or(line).trim().to_owned();
    let known = sides.clone().map(|side| side.iter().map(words).collect::<Vec<_>>());
    let both = |line: &String| known.iter().all(|side| side.contains(&words(line)));
    for side in sides {
        side.retain(|line| !line.starts_with("  ") || both(line));
        side.iter_mut().for_each(|line| *line = words(line));
    }
}

/// Commands that list trace sources and events.
const TRACES: [&str; 5] =
    ["trace", "trace h1 event", "trace h1 verbosity", "show trace", "show trace h1"];

/// The sources, events and choices that both list, with their states.
fn traces(sides: &mut [Vec<String>; 2]) {
    let name = |line: &String| line.split(" : ").next().unwrap_or(line).trim().to_owned();
    let known = sides.clone().map(|side| side.iter().map(name).collect::<Vec<_>>());
    for side in sides {
        let both = |line: &String| known.iter().all(|side| side.contains(&name(line)));
        side.retain(|line| !line.starts_with(' ') || both(line));
        for line in side.iter_mut() {
            // Its tags or its description follow the name.
            let about = line.split_once(" : ").is_some_and(|it| it.1.contains(char::is_alphabetic));
            if about {
                *line = name(line);
            }
        }
        side.sort_unstable();
        // `h1` and `h3` have the same shape.
        side.dedup();
    }
}

fn suggestions(sides: &mut [Vec<String>; 2]) {
    for side in sides {
        if let Some(at) = side.iter().position(|line| line.starts_with("Unknown command")) {
            side.truncate(at + 1);
            side[at] = "Unknown command".to_owned();
        }
    }
}

fn shortest(sides: &mut [Vec<String>; 2]) {
    let least = sides.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1);
    sides.iter_mut().for_each(|side| side.truncate(least));
}

#[cfg(test)]
mod tests {
    //! The list is short, and written down.
    use super::*;

    #[test]
    fn the_page_explains_every_difference() {
        let page = include_str!("../../../../docs/runtime.md");
        let page = page.split("\n## ").next().expect("a page has a beginning");
        assert!(RULES.len() <= 15);
        for rule in RULES {
            assert!(page.contains(&format!("- **{}**: ", rule.name)), "{}", rule.name);
        }
        assert_eq!(page.matches("\n- **").count(), RULES.len());
    }

    #[test]
    fn traces_are_levelled_but_not_their_states() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let one =
            lines("Events:\n  + rx_data : any\n  - other : x\n  + rx_head : one\n  s :  +  -");
        let mut sides = [one, lines("Events:\n  + rx_head : two\n  + rx_data : all\n  s :  +  -")];
        traces(&mut sides);
        assert_eq!(sides[0], sides[1]);
        let mut sides = [lines(" [.] h1 -> none\n s :  +"), lines(" [R] h1 -> none\n s :  -")];
        traces(&mut sides);
        assert_ne!(sides[0], sides[1]);
    }

    #[test]
    fn columns_are_levelled() {
        let names = (0..21).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
        let one = vec![format!("# pxname,{names},agg_check_status,-,x,"), ",1".repeat(25)];
        let other = vec![format!("# pxname,{names},-,"), ",1".repeat(23)];
        let mut sides = [one, other];
        columns(&mut sides);
        assert_eq!(sides[0], sides[1]);
    }
}
