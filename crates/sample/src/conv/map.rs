//! Converters that look a value up in a map.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::pattern::Match;
use crate::pattern::Match::{Beg, Dir, Dom, End, Reg, Sub};
use crate::value::{Bytes, Type, Value};

const STR: (Type, Type) = (Type::Str, Type::Str);
const STR_INT: (Type, Type) = (Type::Str, Type::Int);
const STR_IP: (Type, Type) = (Type::Str, Type::Addr);
const INT_STR: (Type, Type) = (Type::Int, Type::Str);
const INT_INT: (Type, Type) = (Type::Int, Type::Int);
const INT_IP: (Type, Type) = (Type::Int, Type::Addr);
const IP_STR: (Type, Type) = (Type::Addr, Type::Str);
const IP_INT: (Type, Type) = (Type::Addr, Type::Int);
const IP_IP: (Type, Type) = (Type::Addr, Type::Addr);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("map", "string[,string]", STR, "The text behind an equal key.", map).prepare(|a, cx| load(a, cx, Match::Str, Type::Str)),
    conv("map_str", "string[,string]", STR, "The text behind an equal key.", map).prepare(|a, cx| load(a, cx, Match::Str, Type::Str)),
    conv("map_str_int", "string[,integer]", STR_INT, "The integer behind an equal key.", map).prepare(|a, cx| load(a, cx, Match::Str, Type::Int)),
    conv("map_str_ip", "string[,string]", STR_IP, "The address behind an equal key.", map).prepare(|a, cx| load(a, cx, Match::Str, Type::Addr)),
    conv("map_beg", "string[,string]", STR, "The text behind the longest key that begins the input.", map).prepare(|a, cx| load(a, cx, Beg, Type::Str)),
    conv("map_beg_int", "string[,integer]", STR_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Beg, Type::Int)),
    conv("map_beg_ip", "string[,string]", STR_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Beg, Type::Addr)),
    conv("map_end", "string[,string]", STR, "The text behind a key that ends the input.", map).prepare(|a, cx| load(a, cx, End, Type::Str)),
    conv("map_end_int", "string[,integer]", STR_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, End, Type::Int)),
    conv("map_end_ip", "string[,string]", STR_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, End, Type::Addr)),
    conv("map_sub", "string[,string]", STR, "The text behind a key inside the input.", map).prepare(|a, cx| load(a, cx, Sub, Type::Str)),
    conv("map_sub_int", "string[,integer]", STR_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Sub, Type::Int)),
    conv("map_sub_ip", "string[,string]", STR_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Sub, Type::Addr)),
    conv("map_dir", "string[,string]", STR, "The text behind a key between slashes of the input.", map).prepare(|a, cx| load(a, cx, Dir, Type::Str)),
    conv("map_dir_int", "string[,integer]", STR_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Dir, Type::Int)),
    conv("map_dir_ip", "string[,string]", STR_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Dir, Type::Addr)),
    conv("map_dom", "string[,string]", STR, "The text behind a key between dots of the input.", map).prepare(|a, cx| load(a, cx, Dom, Type::Str)),
    conv("map_dom_int", "string[,integer]", STR_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Dom, Type::Int)),
    conv("map_dom_ip", "string[,string]", STR_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Dom, Type::Addr)),
    conv("map_reg", "string[,string]", STR, "The text behind a matching expression.", map).prepare(|a, cx| load(a, cx, Reg, Type::Str)),
    conv("map_reg_int", "string[,integer]", STR_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Reg, Type::Int)),
    conv("map_reg_ip", "string[,string]", STR_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Reg, Type::Addr)),
    conv("map_regm", "string[,string]", STR, "The same with its groups filled in.", map_regm).prepare(|a, cx| load(a, cx, Reg, Type::Str)),
    conv("map_int", "string[,string]", INT_STR, "The text behind a range around it.", map).prepare(|a, cx| load(a, cx, Match::Int, Type::Str)),
    conv("map_int_int", "string[,integer]", INT_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Match::Int, Type::Int)),
    conv("map_int_ip", "string[,string]", INT_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Match::Int, Type::Addr)),
    conv("map_ip", "string[,string]", IP_STR, "The text behind the longest network around it.", map).prepare(|a, cx| load(a, cx, Match::Ip, Type::Str)),
    conv("map_ip_int", "string[,integer]", IP_INT, "The same for integers.", map).prepare(|a, cx| load(a, cx, Match::Ip, Type::Int)),
    conv("map_ip_ip", "string[,string]", IP_IP, "The same for addresses.", map).prepare(|a, cx| load(a, cx, Match::Ip, Type::Addr)),
];

fn load(args: &mut Args, cx: &ParseContext<'_>, method: Match, to: Type) -> Result<(), ArgError> {
    let map = cx.shared.patterns.map(args.text(0), method, to, &cx.place(), cx.shared.files)?;
    args.0[0] = Arg::Map(map);
    if to == Type::Addr && args.some_text(1).is_some() {
        let default = args.text(1);
        args.0[1] = match Value::str(default.as_bytes()).to_addr() {
            Some(std::net::IpAddr::V4(address)) => Arg::V4(address),
            Some(std::net::IpAddr::V6(address)) => Arg::V6(address),
            None => {
                return Err(ArgError::Value(format!(
                    "map: cannot parse default '{default}' as an address"
                )));
            }
        };
    }
    Ok(())
}

fn default(args: &Args) -> Option<Value<'_>> {
    match args.get(1) {
        Arg::Text(_) | Arg::Bytes(_) => Some(Value::str(args.bytes(1))),
        Arg::Int(int) => Some(Value::Int(*int)),
        Arg::V4(address) => Some(Value::Ipv4(*address)),
        Arg::V6(address) => Some(Value::Ipv6(*address)),
        _ => None,
    }
}

fn map<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let Arg::Map(map) = args.get(0) else { return None };
    map.value(&value).or_else(|| default(args))
}

fn map_regm<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let Arg::Map(map) = args.get(0) else { return None };
    let mut out = Vec::new();
    let filled = map.with_regex(&value, |regex, template| {
        let (subject, template) = (value.clone().to_str(), template.clone().to_str());
        regex.expand(&subject.unwrap_or(EMPTY), &template.unwrap_or(EMPTY), &mut out);
    });
    match filled {
        Some(()) => Some(Value::Str(Bytes::Owned(out))),
        None => default(args),
    }
}

const EMPTY: Bytes<'static> = Bytes::Borrowed(b"");
