//! The text of a server-state file (management.txt 9.3, `show servers state`, format 1).

use balance::{Admin, CheckStatus, OpState};
use std::fmt;
use std::net::IpAddr;

/// Columns that a line has at least.
const LEAST: usize = 20;

/// The reason why a text is not a state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The file does not begin with the number of a known format.
    Version,
    /// A line has too few columns; lines are counted from the one after the version.
    Line(usize),
}

/// The lines about servers, and the faults of other lines.
pub(crate) fn lines(text: &str) -> (Vec<StateLine<'_>>, Vec<Broken>) {
    let mut all = text.lines();
    if all.next() != Some("1") {
        return (Vec::new(), vec![Broken::Version]);
    }
    let (mut lines, mut broken) = (Vec::new(), Vec::new());
    for (place, text) in all.enumerate() {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words.len() {
            0 => {}
            _ if text.starts_with('#') => {}
            count if count < LEAST => broken.push(Broken::Line(place + 1)),
            _ => lines.push(StateLine { words }),
        }
    }
    (lines, broken)
}

/// One line, by columns.
#[derive(Clone, Debug)]
pub(crate) struct StateLine<'t> {
    words: Vec<&'t str>,
}

/// The fields that the line has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    pub(crate) address: Option<IpAddr>,
    pub(crate) op: OpState,
    pub(crate) admin: Admin,
    pub(crate) user_weight: u32,
    pub(crate) initial_weight: u32,
    /// Seconds since the last change.
    pub(crate) since: u64,
    pub(crate) status: CheckStatus,
    pub(crate) health: u32,
    /// Masks of `show servers state`.
    pub(crate) check: u8,
    pub(crate) agent: u8,
    pub(crate) fqdn: Option<String>,
    pub(crate) port: u16,
    pub(crate) service: Option<String>,
}

/// The columns of a line that have invalid values, by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StateLineError(Vec<(String, String)>);

impl fmt::Display for StateLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.0.iter().map(|(name, value)| format!("invalid {name} value '{value}'"));
        f.write_str(&columns.collect::<Vec<_>>().join(", "))
    }
}

impl<'t> StateLine<'t> {
    pub(crate) fn backend(&self) -> &'t str {
        self.words[1]
    }

    pub(crate) fn server(&self) -> &'t str {
        self.words[3]
    }

    /// The word of a column from `srv_check_port` on, unless it says nothing.
    pub(crate) fn late(&self, column: Late) -> Option<&'t str> {
        let word = self.words.get(column as usize).copied()?;
        (word != "-" && word != "0").then_some(word)
    }

    /// Its fields.
    ///
    /// # Errors
    /// Columns have invalid values.
    pub(crate) fn read(&self) -> Result<Saved, StateLineError> {
        let mut wrong = Vec::new();
        let words = &self.words;
        let mut number = |at: usize, name: &str, most: u64| {
            let found = words[at].parse::<u64>().ok().filter(|number| *number <= most);
            if found.is_none() {
                wrong.push((name.to_owned(), words[at].to_owned()));
            }
            found.unwrap_or(0)
        };
        let op = number(5, "srv_op_state", 3) as u8;
        let admin = number(6, "srv_admin_state", 0x7f) as u8;
        let user_weight = number(7, "srv_uweight", 256) as u32;
        let initial_weight = number(8, "srv_iweight", 256) as u32;
        let since = number(9, "srv_last_time_change", u64::from(u32::MAX));
        let status = number(10, "srv_check_status", CheckStatus::ProcessOk as u64) as u8;
        number(11, "srv_check_result", 4);
        let health = number(12, "srv_check_health", u64::from(u32::MAX)) as u32;
        let check = number(13, "srv_check_state", 0x1f) as u8;
        let agent = number(14, "srv_agent_state", 0x1f) as u8;
        number(15, "bk_f_forced_id", 1);
        number(16, "srv_f_forced_id", 1);
        let port = number(18, "srv_port", 65_535) as u16;
        let admin = Admin(admin);
        if admin.any(Admin::FORCED_MAINT) && admin.any(Admin::FORCED_DRAIN) {
            wrong.push(("srv_admin_state".to_owned(), admin.0.to_string()));
        }
        if !wrong.is_empty() {
            return Err(StateLineError(wrong));
        }
        let text = |at: usize| (words[at] != "-").then(|| words[at].to_owned());
        Ok(Saved {
            address: words[4].parse().ok(),
            op: OpState::from_number(op).unwrap_or(OpState::Running),
            admin,
            user_weight,
            initial_weight,
            since,
            status: CheckStatus::from_number(status).unwrap_or(CheckStatus::Unknown),
            health,
            check,
            agent,
            fqdn: text(17),
            port,
            service: text(19),
        })
    }
}

/// Columns that older lines do not have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Late {
    CheckPort = 21,
    CheckAddr = 22,
    AgentAddr = 23,
    AgentPort = 24,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = "2 bk 1 s 127.0.0.1 2 8 5 11 100 15 3 4 6 0 0 0 - 80 - 0 82 10.0.0.1 - 0";

    #[test]
    fn a_line_is_read_by_columns() {
        let text = format!("1\n# be_id ...\n{LINE}\n");
        let (lines, broken) = lines(&text);
        assert_eq!((lines.len(), broken), (1, Vec::new()));
        let line = &lines[0];
        assert_eq!((line.backend(), line.server()), ("bk", "s"));
        let saved = line.read().unwrap();
        assert_eq!((saved.op, saved.admin), (OpState::Running, Admin::FORCED_DRAIN));
        assert_eq!((saved.user_weight, saved.initial_weight, saved.since), (5, 11, 100));
        assert_eq!((saved.status, saved.health, saved.check), (CheckStatus::L7Ok, 4, 6));
        assert_eq!((saved.address, saved.port), (Some([127, 0, 0, 1].into()), 80));
        assert_eq!((saved.fqdn, saved.service), (None, None));
        assert_eq!(line.late(Late::CheckPort), Some("82"));
        assert_eq!(line.late(Late::CheckAddr), Some("10.0.0.1"));
        assert_eq!((line.late(Late::AgentAddr), line.late(Late::AgentPort)), (None, None));
    }

    #[test]
    fn nonsense_is_told_in_the_measured_words() {
        let with = |column: usize, word: &str| {
            let mut words: Vec<&str> = LINE.split(' ').collect();
            words[column] = word;
            let line = StateLine { words };
            line.read().err().map(|error| error.to_string())
        };
        for (column, word, name) in [
            (5, "7", "srv_op_state"),
            (6, "9", "srv_admin_state"),
            (7, "300", "srv_uweight"),
            (8, "300", "srv_iweight"),
            (9, "x", "srv_last_time_change"),
            (10, "99", "srv_check_status"),
            (11, "9", "srv_check_result"),
            (13, "99", "srv_check_state"),
            (14, "99", "srv_agent_state"),
            (15, "x", "bk_f_forced_id"),
            (18, "99999", "srv_port"),
        ] {
            assert_eq!(with(column, word), Some(format!("invalid {name} value '{word}'")));
        }
        assert_eq!(lines("2\n").1, [Broken::Version]);
        assert_eq!(lines("").1, [Broken::Version]);
        assert_eq!(lines("1\n# x\n2 bk 1 s\n").1, [Broken::Line(2)]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC*", words in "1\n([-a-z0-9.]{1,6} ){19,26}") {
            for text in [text, words] {
                let (lines, _) = lines(&text);
                for line in lines {
                    let _ = (line.read(), line.late(Late::AgentPort));
                }
            }
        }
    }
}
