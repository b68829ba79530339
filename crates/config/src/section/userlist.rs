//! `userlist` sections (section 3.4): users, groups, passwords.
use super::{Lines, PLAIN, ReadLine, SectionKind, check_chars, only_name, own};
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::{Draft, DraftUserList, Group};
use crate::keyword::Keyword;
use crate::line::{Args, Parsed};
use rules::userlist::is_supported;
use rules::{Password, User, UserList};

pub(super) const KIND: SectionKind = SectionKind {
    name: "userlist",
    doc: "Users, their passwords and groups.",
    open,
    title: |draft, index| &draft.userlists[index].name,
    lines: Lines::Own(KEYWORDS),
    complete,
    build: |draft, model| model.userlists = std::mem::take(&mut draft.complete_userlists),
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("group", "<name> [users <user>,...]", "A group of users.", |d, at, cx, a| {
        group(&mut d.userlists[at], cx, a)
    }),
    own(
        "user",
        "<name> [password <hash> | insecure-password <text>] [groups <group>,...]",
        "A user.",
        |d, at, cx, a| user(&mut d.userlists[at], cx, a),
    ),
];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = only_name(cx, args, "'userlist' expects <name> as arguments.");
    check_chars(cx, args, "userlist", name);
    if let Some(at) = draft.userlists.iter().position(|first| first.name == name) {
        cx.warn(args, 1, format!("ignoring duplicated userlist '{name}'."));
        return at;
    }
    let place = args.place().clone();
    let list = Default::default();
    draft.userlists.push(DraftUserList { name: name.into(), place, list, groups: Vec::new() });
    draft.userlists.len() - 1
}

fn group(list: &mut DraftUserList, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'group' expects <name> as an argument.")?.to_owned();
    let users = match args.get(2) {
        None => Vec::new(),
        Some("users") => names(args.need(3, "'users' expects a list of users.")?),
        Some(other) => {
            let message = format!("'group' only supports 'users' option, got '{other}'.");
            return Err(args.fault(2, message));
        }
    };
    args.no_more_than(3)?;
    if list.groups.iter().any(|group| group.name == name) {
        let message = format!("ignoring duplicated group '{name}' in userlist '{}'.", list.name);
        cx.warn(args, 1, message);
        return Ok(());
    }
    list.groups.push(Group { name, users, place: args.place().clone() });
    Ok(())
}

fn user(list: &mut DraftUserList, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'user' expects <name> as an argument.")?;
    let user = account(name, args);
    if list.list.users.contains_key(name) {
        let message = format!("ignoring duplicated user '{name}' in userlist '{}'.", list.name);
        cx.warn(args, 1, message);
        return user.map(drop);
    }
    // Groups may name the user even if the line is wrong.
    let (user, parsed) = match user {
        Ok(user) => (user, Ok(())),
        Err(fault) => (User::default(), Err(fault)),
    };
    list.list.users.insert(name.to_owned(), user);
    parsed
}

/// The account of a `user` line.
fn account(name: &str, args: Args<'_>) -> Parsed<User> {
    let mut user = User::default();
    let mut n = 2;
    while let Some(word) = args.get(n) {
        let value = args.need(n + 1, format!("'{word}' expects an argument."))?;
        match word {
            "password" => {
                if !is_supported(value) {
                    let message = format!(
                        "no password matches this hash of user '{name}': it is of none of the methods SHA-256, SHA-512, MD5, bcrypt, yescrypt, scrypt, DES"
                    );
                    args.note(n + 1, message);
                }
                user.password = Some(Password::Hashed(value.into()));
            }
            "insecure-password" => {
                user.password = Some(Password::Plain(sample::word::to_bytes(value).into()))
            }
            "groups" => user.groups = names(value),
            other => {
                let message = format!("unknown option '{other}' of 'user'.");
                let known = ["password", "insecure-password", "groups"];
                let nearest = crate::suggest::nearest(other, known);
                return Err(args.fault(n, message).suggest(nearest));
            }
        }
        n += 2;
    }
    Ok(user)
}

fn names(text: &str) -> Vec<String> {
    text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Makes the lists, in which groups and users refer to each other.
fn complete(draft: &mut Draft, cx: &mut Cx<'_>) {
    for list in std::mem::take(&mut draft.userlists) {
        let name = list.name.clone();
        let (list, faults) = resolve(list);
        for (place, message) in faults {
            cx.diagnostics.push(Diagnostic::about(Severity::Alert, &place, message));
        }
        draft.complete_userlists.insert(name, list);
    }
}

/// Groups and users refer to each other in both directions; what does not exist is reported as
/// message and place.
fn resolve(draft: DraftUserList) -> (UserList, Vec<(Place, String)>) {
    let DraftUserList { name: list_name, place, mut list, groups } = draft;
    let mut faults = Vec::new();
    list.groups = groups.iter().map(|group| group.name.clone()).collect();
    for (name, user) in &list.users {
        for group in user.groups.iter().filter(|g| groups.iter().all(|known| known.name != **g)) {
            let message = format!(
                "userlist '{list_name}': no such group '{group}' specified in user '{name}'"
            );
            faults.push((place.clone(), message));
        }
    }
    for group in &groups {
        for name in &group.users {
            match list.users.get_mut(name) {
                Some(user) if !user.groups.contains(&group.name) => {
                    user.groups.push(group.name.clone());
                }
                Some(_) => {}
                None => {
                    let message = format!(
                        "userlist '{list_name}': no such user '{name}' specified in group '{}'",
                        group.name
                    );
                    faults.push((group.place.clone(), message));
                }
            }
        }
    }
    (list, faults)
}
