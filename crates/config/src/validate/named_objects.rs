//! Proxies, servers, userlists and rings that expressions name must exist.
use crate::context::{Cx, Mentioned};
use crate::diag::Diagnostic;
use crate::model::{Proxy, Ring};
use crate::suggest::nearest;
use rules::UserList;
use sample::ReferenceTarget;
use sample::conv::debug::SINKS;
use std::collections::{BTreeMap, HashMap};

/// An alert for each name that nothing has.
pub(super) fn check(
    proxies: &[Proxy],
    userlists: &BTreeMap<String, UserList>,
    rings: &[Ring],
    cx: &mut Cx<'_>,
) {
    let mentions = std::mem::take(&mut cx.mentions);
    if mentions.is_empty() {
        return;
    }
    let side = |has: fn(&&Proxy) -> bool| -> HashMap<&str, &Proxy> {
        proxies.iter().filter(has).map(|proxy| (&*proxy.name, proxy)).collect()
    };
    let named = Named {
        fronts: side(|proxy| proxy.front.is_some()),
        backs: side(|proxy| proxy.back.is_some()),
        userlists,
        rings,
    };
    for mentioned in mentions {
        let Err((message, suggestion)) = named.find(&mentioned) else { continue };
        let alert = Diagnostic { message, suggestion, ..mentioned.alert };
        // A format of `defaults` is compiled for each proxy; one alert is enough.
        if !cx.diagnostics.iter().any(|told| *told == alert) {
            cx.diagnostics.push(alert);
        }
    }
}

/// Marks the servers that expressions name: they cannot be deleted.
pub(super) fn mark(proxies: &mut [Proxy], cx: &Cx<'_>) {
    for mentioned in &cx.mentions {
        let ReferenceTarget::Server(backend, name) = &mentioned.mention.wanted else { continue };
        let backend = backend.as_deref().unwrap_or(&mentioned.proxy);
        let backs = proxies.iter_mut().filter(|proxy| *proxy.name == *backend);
        let servers = backs.filter_map(|proxy| proxy.back.as_mut()).flat_map(|it| &mut it.servers);
        servers.filter(|server| *server.name == **name).for_each(|it| it.referenced = true);
    }
}

/// Everything that can be named.
struct Named<'m> {
    fronts: HashMap<&'m str, &'m Proxy>,
    backs: HashMap<&'m str, &'m Proxy>,
    userlists: &'m BTreeMap<String, UserList>,
    rings: &'m [Ring],
}

/// The message, and the nearest name.
type Missing = (String, Option<String>);

impl Named<'_> {
    fn find(&self, mentioned: &Mentioned) -> Result<(), Missing> {
        let mention = &mentioned.mention;
        let place = format!(
            "referenced in arg {} of sample fetch keyword '{}' in proxy '{}'",
            mention.number, mention.keyword, mentioned.proxy
        );
        match &mention.wanted {
            ReferenceTarget::Backend(Some(name)) => known(&self.backs, "backend", name, &place),
            ReferenceTarget::Frontend(Some(name)) => known(&self.fronts, "frontend", name, &place),
            ReferenceTarget::Backend(None) => capable(&self.backs, "backend", mentioned, &place),
            ReferenceTarget::Frontend(None) => capable(&self.fronts, "frontend", mentioned, &place),
            ReferenceTarget::Server(backend, server) => {
                self.server(backend.as_deref(), server, mentioned, &place)
            }
            ReferenceTarget::Sink(name) => self.sink(name),
            ReferenceTarget::Group(list, group) => self.group(list, group, mentioned),
            ReferenceTarget::UserList(name) if self.userlists.contains_key(&**name) => Ok(()),
            ReferenceTarget::UserList(name) => Err((
                format!("unable to find userlist '{name}' {place}."),
                nearest(name, self.userlists.keys().map(String::as_str)),
            )),
        }
    }

    fn group(&self, list: &str, group: &str, mentioned: &Mentioned) -> Result<(), Missing> {
        // A missing list has an alert of its own.
        let Some(list) = self.userlists.get(list) else { return Ok(()) };
        if list.groups.iter().any(|known| known == group) {
            return Ok(());
        }
        let proxy = &mentioned.proxy;
        let message = format!("proxy {proxy}: acl http_auth_group(): invalid group '{group}'.");
        Err((message, nearest(group, list.groups.iter().map(String::as_str))))
    }

    fn sink(&self, name: &str) -> Result<(), Missing> {
        let known = self.rings.iter().map(|ring| &*ring.name).chain(SINKS);
        if known.clone().any(|known| known == name) {
            return Ok(());
        }
        let message = format!("invalid args in converter 'debug' : No such sink '{name}'.");
        Err((message, nearest(name, known)))
    }

    fn server(
        &self,
        backend: Option<&str>,
        server: &str,
        mentioned: &Mentioned,
        place: &str,
    ) -> Result<(), Missing> {
        let name = backend.unwrap_or(&mentioned.proxy);
        let proxy = self.backs.get(name);
        if proxy.is_none() && backend.is_some() {
            let known = self.backs.keys().copied();
            return Err((format!("unable to find proxy '{name}' {place}."), nearest(name, known)));
        }
        let servers = proxy.and_then(|proxy| proxy.back.as_ref()).map(|back| &back.servers[..]);
        let servers = servers.unwrap_or_default().iter().map(|known| &*known.name);
        if servers.clone().any(|known| known == server) {
            return Ok(());
        }
        let message = format!("unable to find server '{server}' in proxy '{name}', {place}.");
        Err((message, nearest(server, servers)))
    }
}

fn known(
    proxies: &HashMap<&str, &Proxy>,
    kind: &str,
    name: &str,
    place: &str,
) -> Result<(), Missing> {
    if proxies.contains_key(name) {
        return Ok(());
    }
    let message = format!("unable to find {kind} '{name}' {place}.");
    Err((message, nearest(name, proxies.keys().copied())))
}

/// Without a name the section's own table is used. Rules of `defaults` belong to none.
fn capable(
    proxies: &HashMap<&str, &Proxy>,
    kind: &str,
    mentioned: &Mentioned,
    place: &str,
) -> Result<(), Missing> {
    let name = &*mentioned.proxy;
    if name.is_empty() || proxies.contains_key(name) {
        return Ok(());
    }
    Err((format!("proxy '{name}', {place}, has not {kind} capability."), None))
}
