//! The commands `show|new|set|add|commit|abort|del ssl ca-file`, and the same for `crl-file`.

use super::{OpenTransaction, Refusal, Runtime, Status, abort, other};
use crate::authority::{Authorities, Purpose};
use crate::certificate_table::Renewed;
use crate::certificate_text::{Details, Revocations};
use crate::setup_error::SetupError;
use std::sync::Arc;

/// The content of a file.
#[derive(Clone, Debug)]
pub struct Content {
    /// Whether the file is in use.
    pub status: Status,
    /// Its certificates, in order.
    pub certificates: Vec<Details>,
    /// Its lists, in order.
    pub lists: Vec<Revocations>,
}

impl Content {
    fn of(status: Status, authorities: &Authorities) -> Self {
        let lists = authorities.lists.iter();
        Self {
            status,
            certificates: authorities.certificates.iter().map(|it| Details::of(it)).collect(),
            lists: lists.map(|list| Revocations::of(list)).collect(),
        }
    }
}

impl Runtime {
    /// The file that a transaction is about, if one is under way, and how many certificates it
    /// will have.
    pub fn ongoing_authorities(&self, purpose: Purpose) -> Option<(String, usize)> {
        let ongoing = self.ongoing(purpose);
        ongoing.as_ref().map(|(name, own)| (name.clone(), own.certificates.len()))
    }

    /// All files of a purpose, and how many certificates each has.
    pub fn authorities(&self, purpose: Purpose) -> Vec<(String, usize)> {
        let all = self.store.all_authorities(purpose);
        all.into_iter().map(|(name, own)| (name, own.certificates.len())).collect()
    }

    /// The committed content of a file.
    pub fn content(&self, name: &str, purpose: Purpose) -> Option<Content> {
        let own = self.store.authorities(name).filter(|own| own.purpose == purpose)?;
        let status = match own.certificates.is_empty() && own.lists.is_empty() {
            true => Status::Empty,
            false if self.places(name) > 0 => Status::Used,
            false => Status::Unused,
        };
        Some(Content::of(status, &own))
    }

    /// The content of a file in the open transaction.
    pub fn drafted_content(&self, name: &str, purpose: Purpose) -> Option<Content> {
        let ongoing = self.ongoing(purpose);
        let (_, own) = ongoing.as_ref().filter(|(about, _)| about == name)?;
        Some(Content::of(Status::Unused, own))
    }

    /// How many lines have to do with a file.
    fn places(&self, name: &str) -> usize {
        let servers = self.servers().iter().filter(|server| server.trusts(name)).count();
        servers + self.acceptors().map(|it| it.table().trusting(name)).sum::<usize>()
    }

    /// Makes room for a file.
    ///
    /// # Errors
    /// The name exists already.
    pub fn new_authorities(&self, name: &str, purpose: Purpose) -> Result<(), Refusal> {
        if self.store.authorities(name).is_some() {
            return Err(Refusal::Exists);
        }
        self.store.put_authorities(name, Authorities::none(purpose));
        Ok(())
    }

    /// Takes the text of a file into a transaction; With `more` they join those that the
    /// transaction already has.
    ///
    /// # Errors
    /// There is no such file, another transaction is under way, or the text is not good.
    pub fn set_authorities(
        &self,
        name: &str,
        purpose: Purpose,
        text: &str,
        more: bool,
    ) -> Result<OpenTransaction, Refusal> {
        let known = self.store.authorities(name).ok_or(Refusal::Unknown)?;
        let mut ongoing = self.ongoing(purpose);
        other(&ongoing, name)?;
        let mut read = Authorities::read(text.as_bytes(), known.purpose)
            .map_err(|_| Refusal::Unreadable("Invalid payload".to_owned()))?;
        let fits = match purpose {
            Purpose::Trust => !read.certificates.is_empty(),
            Purpose::Revocation => !read.lists.is_empty(),
        };
        if !fits {
            return Err(Refusal::Unreadable("Invalid payload".to_owned()));
        }
        let before = ongoing.take();
        let new = before.is_none();
        if more {
            let there = before.map_or_else(|| Authorities::clone(&known), |(_, there)| there);
            let added = std::mem::replace(&mut read, there);
            read.extend(added);
        }
        *ongoing = Some((name.to_owned(), read));
        Ok(OpenTransaction { name: name.to_owned(), new })
    }

    /// Ends a transaction without a change.
    ///
    /// # Errors
    /// No transaction is under way, or it is about another file.
    pub fn abort_authorities(&self, name: &str, purpose: Purpose) -> Result<(), Refusal> {
        abort(&mut self.ongoing(purpose), name)
    }

    /// Replaces the file by the content of its transaction in all lines; returns their number.
    ///
    /// # Errors
    /// Nothing has been changed; the transaction continues.
    pub fn commit_authorities(&self, name: &str, purpose: Purpose) -> Result<usize, Refusal> {
        let mut ongoing = self.ongoing(purpose);
        other(&ongoing, name)?;
        let (_, fresh) = ongoing.as_ref().ok_or(Refusal::Nothing)?;
        let before = self.store.authorities(name);
        let places = self.places(name);
        self.store.put_authorities(name, Arc::new(fresh.clone()));
        if let Err(error) = self.renew(name) {
            match before {
                Some(before) => drop(self.store.put_authorities(name, before)),
                None => self.store.remove_authorities(name),
            }
            return Err(Refusal::Impossible(error));
        }
        *ongoing = None;
        Ok(places)
    }

    /// Applies the new file to all lines that use it.
    fn renew(&self, name: &str) -> Result<(), SetupError> {
        let servers = self.servers();
        let servers = servers.iter().filter(|server| server.trusts(name));
        let remade: Vec<_> = servers
            .map(|server| Ok((server, server.remade(&self.store)?)))
            .collect::<Result<_, SetupError>>()?;
        let renewed: Vec<(_, Renewed)> = self
            .acceptors()
            .map(|it| Ok((it, it.table().renewed(name, it.ground(&self.store))?)))
            .collect::<Result<_, SetupError>>()?;
        for (server, remade) in remade {
            server.adopt(remade);
        }
        for (acceptor, renewed) in renewed {
            acceptor.table_mut().renew(renewed);
        }
        Ok(())
    }

    /// Forgets a file.
    ///
    /// # Errors
    /// The file does not exist, a line uses it, a transaction changes it, or it has another
    /// purpose.
    pub fn delete_authorities(&self, name: &str, purpose: Purpose) -> Result<(), Refusal> {
        if self.ongoing(purpose).as_ref().is_some_and(|(about, _)| about == name) {
            return Err(Refusal::Ongoing(name.to_owned()));
        }
        if self.store.authorities(name).ok_or(Refusal::Unknown)?.purpose != purpose {
            return Err(Refusal::Otherwise);
        }
        if self.places(name) > 0 {
            return Err(Refusal::InUse);
        }
        self.store.remove_authorities(name);
        Ok(())
    }
}
