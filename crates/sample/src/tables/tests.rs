//! Every fetch and converter of stick counters, against entries with known values.

use crate::testing::{World, with_parser};
use crate::value::Type;
use crate::{Expr, TableUse};
use table::{DataKind, DataType, Key, KeyKind, Settings, Table, Trackers};

/// The moment at which expressions are evaluated.
pub(crate) const NOW: u64 = 1_000_000;

/// Tables as a configuration could declare them: `tab` stores everything, `arr` arrays, `few` only
/// tags. All have the client's address, the first two tracked as sc0 and sc1.
pub(crate) fn tables() -> (Vec<Table>, Trackers) {
    let mut tab = Settings::new("tab", KeyKind::Ip, 10);
    let mut arr = Settings::new("arr", KeyKind::Ip, 10);
    let mut few = Settings::new("few", KeyKind::Text(32), 10);
    let arrays = [DataType::Gpt, DataType::Gpc, DataType::GpcRate];
    for (data, ..) in DataType::TABLE {
        match arrays.contains(data) {
            true => arr.add(*data, 3, 10_000),
            false => tab.add(*data, 1, 10_000),
        }
    }
    few.add(DataType::Gpt0, 1, 0);
    tab.expire = Some(60_000);
    let tables: Vec<Table> =
        [tab, arr, few].into_iter().enumerate().map(|(at, it)| Table::new(it, at)).collect();
    let trackers = Trackers::default();
    for (slot, table) in tables.iter().enumerate().take(2) {
        let tracker = table.track(&Key::ip([10, 1, 2, 3].into()), NOW - 5_000, &[]);
        trackers.set(slot, tracker.expect("there is room"));
        let entry = trackers.get(slot).expect("just tracked");
        entry.change(NOW, |counters| {
            for (data, _, kind) in DataType::TABLE {
                let value = 101 + *data as u64;
                let value = if *kind == DataKind::Long { value << 33 } else { value };
                (0..3).for_each(|index| {
                    counters.set(*data, index, value + 100 * u64::from(index));
                });
            }
        });
    }
    let few = &tables[2];
    few.enter(b"10.1.2.3", NOW, |_| ()).expect("there is room");
    (tables, trackers)
}

#[rustfmt::skip]
pub(crate) const FETCHES: &[(&str, &str)] = &[
    ("sc_conn_cnt(0)", "105"), ("sc_conn_cnt(2)", "undefined"), ("sc_conn_cnt(3)", "undefined"), ("sc_conn_cnt(-1)", "undefined"),
    ("sc_conn_cnt(1)", "undefined"), ("sc_conn_cnt(1,tab)", "105"), ("sc_conn_cnt(0,arr)", "undefined"), ("sc_conn_cnt(0,few)", "0"),
    ("sc_bytes_in_rate(0)", "115"), ("sc_bytes_out_rate(0)", "117"), ("sc_conn_cur(0)", "107"), ("sc_conn_rate(0)", "106"),
    ("sc_get_gpc0(0)", "103"), ("sc_get_gpc1(0)", "118"), ("sc_get_gpt0(0)", "102"), ("sc_gpc0_rate(0)", "104"), ("sc_gpc1_rate(0)", "119"),
    ("sc_clr_gpc0(0)", "103"), ("sc_clr_gpc1(0)", "118"), ("sc_inc_gpc0(0)", "104"), ("sc_inc_gpc1(0)", "119"),
    ("sc_http_err_cnt(0)", "112"), ("sc_http_err_rate(0)", "113"), ("sc_http_fail_cnt(0)", "121"), ("sc_http_fail_rate(0)", "122"),
    ("sc_http_req_cnt(0)", "110"), ("sc_http_req_rate(0)", "111"), ("sc_kbytes_in(0)", "956301312"), ("sc_kbytes_out(0)", "973078528"),
    ("sc_sess_cnt(0)", "108"), ("sc_sess_rate(0)", "109"), ("sc_tracked(0)", "1"), ("sc_tracked(2)", "0"), ("sc_trackers(0)", "1"), ("sc_trackers(2)", "undefined"),
    ("sc_get_gpc(2,1)", "324"), ("sc_get_gpc(3,1)", "undefined"), ("sc_get_gpc(0,0)", "undefined"), ("sc_get_gpt(1,1)", "223"), ("sc_gpc_rate(0,1)", "125"),
    ("sc_inc_gpc(1,1)", "225"), ("sc_clr_gpc(1,1)", "224"), ("sc_get_gpc0(1)", "124"), ("sc_get_gpc1(1)", "224"), ("sc_inc_gpc(0,0,arr)", "125"),
    ("sc0_bytes_in_rate", "115"), ("sc0_bytes_out_rate", "117"), ("sc0_clr_gpc0", "103"), ("sc0_clr_gpc1", "118"), ("sc0_conn_cnt", "105"),
    ("sc0_conn_cur", "107"), ("sc0_conn_rate", "106"), ("sc0_get_gpc0", "103"), ("sc0_get_gpc1", "118"), ("sc0_get_gpt0", "102"),
    ("sc0_gpc0_rate", "104"), ("sc0_gpc1_rate", "119"), ("sc0_http_err_cnt", "112"), ("sc0_http_err_rate", "113"), ("sc0_http_fail_cnt", "121"),
    ("sc0_http_fail_rate", "122"), ("sc0_http_req_cnt", "110"), ("sc0_http_req_rate", "111"), ("sc0_inc_gpc0", "104"), ("sc0_inc_gpc1", "119"),
    ("sc0_kbytes_in", "956301312"), ("sc0_kbytes_out", "973078528"), ("sc0_sess_cnt", "108"), ("sc0_sess_rate", "109"), ("sc0_tracked", "1"), ("sc0_trackers", "1"),
    ("sc1_bytes_in_rate(tab)", "115"), ("sc1_bytes_out_rate(tab)", "117"), ("sc1_clr_gpc(2)", "324"), ("sc1_clr_gpc0", "124"), ("sc1_clr_gpc1", "224"), ("sc1_conn_cnt(tab)", "105"),
    ("sc1_conn_cur(tab)", "107"), ("sc1_conn_rate(tab)", "106"), ("sc1_get_gpc0", "124"), ("sc1_get_gpc1", "224"), ("sc1_get_gpt0", "123"),
    ("sc1_gpc0_rate", "125"), ("sc1_gpc1_rate", "225"), ("sc1_http_err_cnt(tab)", "112"), ("sc1_http_err_rate(tab)", "113"), ("sc1_http_fail_cnt(tab)", "121"),
    ("sc1_http_fail_rate(tab)", "122"), ("sc1_http_req_cnt(tab)", "110"), ("sc1_http_req_rate(tab)", "111"), ("sc1_inc_gpc0", "125"), ("sc1_inc_gpc1", "225"),
    ("sc1_kbytes_in(tab)", "956301312"), ("sc1_kbytes_out(tab)", "973078528"), ("sc1_sess_cnt(tab)", "108"), ("sc1_sess_rate(tab)", "109"), ("sc1_tracked", "1"), ("sc1_trackers", "1"),
    ("sc2_bytes_in_rate", "undefined"), ("sc2_bytes_out_rate", "undefined"), ("sc2_clr_gpc0", "undefined"), ("sc2_clr_gpc1", "undefined"), ("sc2_conn_cnt", "undefined"),
    ("sc2_conn_cur", "undefined"), ("sc2_conn_rate", "undefined"), ("sc2_get_gpc0", "undefined"), ("sc2_get_gpc1", "undefined"), ("sc2_get_gpt0", "undefined"),
    ("sc2_gpc0_rate", "undefined"), ("sc2_gpc1_rate", "undefined"), ("sc2_http_err_cnt", "undefined"), ("sc2_http_err_rate", "undefined"), ("sc2_http_fail_cnt", "undefined"),
    ("sc2_http_fail_rate", "undefined"), ("sc2_http_req_cnt", "undefined"), ("sc2_http_req_rate", "undefined"), ("sc2_inc_gpc0", "undefined"), ("sc2_inc_gpc1", "undefined"),
    ("sc2_kbytes_in", "undefined"), ("sc2_kbytes_out", "undefined"), ("sc2_sess_cnt", "undefined"), ("sc2_sess_rate", "undefined"), ("sc2_tracked", "0"), ("sc2_trackers", "undefined"),
    ("src_bytes_in_rate(tab)", "115"), ("src_bytes_out_rate(tab)", "117"), ("src_clr_gpc0(tab)", "103"), ("src_clr_gpc1(tab)", "118"), ("src_conn_cnt(tab)", "105"),
    ("src_conn_cur(tab)", "107"), ("src_conn_rate(tab)", "106"), ("src_get_gpc0(tab)", "103"), ("src_get_gpc1(tab)", "118"), ("src_get_gpt0(tab)", "102"),
    ("src_gpc0_rate(tab)", "104"), ("src_gpc1_rate(tab)", "119"), ("src_http_err_cnt(tab)", "112"), ("src_http_err_rate(tab)", "113"), ("src_http_fail_cnt(tab)", "121"),
    ("src_http_fail_rate(tab)", "122"), ("src_http_req_cnt(tab)", "110"), ("src_http_req_rate(tab)", "111"), ("src_inc_gpc0(tab)", "104"), ("src_inc_gpc1(tab)", "119"),
    ("src_kbytes_in(tab)", "956301312"), ("src_kbytes_out(tab)", "973078528"), ("src_sess_cnt(tab)", "108"), ("src_sess_rate(tab)", "109"),
    ("src_get_gpc(2,arr)", "324"), ("src_get_gpt(1,arr)", "223"), ("src_gpc_rate(0,arr)", "125"), ("src_inc_gpc(1,arr)", "225"), ("src_clr_gpc(1,arr)", "224"),
    ("src_updt_conn_cnt(tab)", "106"), ("src_updt_conn_cnt(arr)", "undefined"), ("src_get_gpt0(few)", "0"), ("src_conn_cnt(few)", "undefined"), ("src_conn_cnt(none)", "undefined"),
    ("sc_glitch_cnt(0)", "126"), ("sc_glitch_rate(0)", "127"), ("sc0_glitch_cnt", "126"), ("sc0_glitch_rate", "127"),
    ("sc1_glitch_cnt(tab)", "126"), ("sc1_glitch_rate(tab)", "127"), ("sc2_glitch_cnt", "undefined"), ("sc2_glitch_rate", "undefined"),
    ("src_glitch_cnt(tab)", "126"), ("src_glitch_rate(tab)", "127"),
    ("table_cnt(tab)", "1"), ("table_avl(tab)", "9"), ("table_cnt(none)", "undefined"),
];

#[rustfmt::skip]
pub(crate) const CONVERTERS: &[(&str, &str)] = &[
    ("src,in_table(tab)", "1"), ("str(10.0.0.1),in_table(tab)", "0"), ("str(x),in_table(tab)", "undefined"), ("src,in_table(few)", "1"),
    ("src,table_expire(tab)", "55000"), ("str(1.1.1.1),table_expire(tab)", "undefined"), ("str(1.1.1.1),table_expire(tab,5)", "5"),
    ("src,table_idle(tab)", "5000"), ("str(1.1.1.1),table_idle(tab,6)", "6"), ("src,table_trackers(tab)", "1"), ("str(1.1.1.1),table_trackers(tab)", "0"),
    ("src,table_gpc(2,arr)", "324"), ("src,table_gpc(0,tab)", "undefined"), ("src,table_gpc_rate(0,arr)", "125"), ("src,table_gpt(1,arr)", "223"),
    ("str(1.1.1.1),table_gpt(1,arr)", "0"),
    ("src,table_kbytes_in(tab)", "956301312"), ("src,table_kbytes_out(tab)", "973078528"), ("src,table_bytes_in_rate(tab)", "115"), ("src,table_bytes_out_rate(tab)", "117"),
    ("src,table_conn_cnt(tab)", "105"), ("src,table_conn_cur(tab)", "107"), ("src,table_conn_rate(tab)", "106"), ("src,table_gpc0(tab)", "103"),
    ("src,table_gpc0_rate(tab)", "104"), ("src,table_gpc1(tab)", "118"), ("src,table_gpc1_rate(tab)", "119"), ("src,table_gpt0(tab)", "102"), ("src,table_gpt0(arr)", "123"),
    ("src,table_http_err_cnt(tab)", "112"), ("src,table_http_err_rate(tab)", "113"), ("src,table_http_fail_cnt(tab)", "121"), ("src,table_http_fail_rate(tab)", "122"),
    ("src,table_glitch_cnt(tab)", "126"), ("src,table_glitch_rate(tab)", "127"),
    ("src,table_http_req_cnt(tab)", "110"), ("src,table_http_req_rate(tab)", "111"), ("src,table_server_id(tab)", "101"), ("src,table_sess_cnt(tab)", "108"),
    ("src,table_sess_rate(tab)", "109"), ("str(),in_table(tab)", "undefined"), ("str(),in_table(few)", "0"), ("str(),table_gpt0(few)", "0"),
    ("src,table_conn_cnt(few)", "undefined"), ("str(none),table_conn_cnt(few)", "0"), ("src,table_conn_cnt(none)", "undefined"),
];

#[test]
fn counters_answer() {
    let wrong: Vec<_> = FETCHES
        .iter()
        .chain(CONVERTERS)
        .map(|(text, expected)| (text, World::full().eval(text), expected))
        .filter(|(_, got, expected)| got != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_third_place_answers_like_the_first() {
    let first = FETCHES.iter().filter(|(text, _)| text.starts_with("sc0_"));
    let third: Vec<_> =
        first.map(|(text, expected)| (text.replace("sc0_", "sc2_"), expected)).collect();
    let named = FETCHES.iter().filter(|(text, _)| text.starts_with("sc2_"));
    assert_eq!(third.len(), named.count());
    for (text, expected) in third {
        let world = World::full();
        let tracker = world.tables[0].track(&Key::ip([10, 1, 2, 3].into()), NOW, &[]);
        world.trackers.set(2, tracker.expect("there is room"));
        // Trackers are counted.
        let expected = match text.as_str() {
            "sc2_trackers" => "2",
            "sc2_conn_cur" => "108",
            _ => expected,
        };
        assert_eq!(world.eval(&text), expected, "{text}");
    }
}

#[test]
fn counters_that_change_are_changed() {
    let world = World::full();
    let after = |text: &str| world.eval(text);
    assert_eq!(
        [after("sc0_inc_gpc0"), after("sc0_get_gpc0"), after("sc0_gpc0_rate")],
        ["104", "104", "105"]
    );
    assert_eq!([after("sc0_clr_gpc0"), after("src_get_gpc0(tab)")], ["104", "0"]);
    // A missing entry is created.
    assert_eq!([after("sc0_inc_gpc0(few)"), after("table_cnt(few)")], ["0", "1"]);
    assert_eq!([after("src_inc_gpc(2,arr)"), after("sc_get_gpc(2,1)")], ["325", "325"]);
}

#[test]
fn a_table_left_out_is_that_of_the_section() {
    let mentions = with_parser(|cx| {
        cx.proxy = "px";
        for text in
            ["src_conn_cnt", "src,in_table", "sc0_conn_cnt", "src_get_gpc(1)", "src,table_gpc(0,x)"]
        {
            Expr::parse_word(text, cx).expect(text);
        }
        cx.shared.tables.take()
    });
    let names: Vec<_> = mentions.iter().map(|it| (it.table.name(), it.usage.clone())).collect();
    let argument =
        |number, keyword: &str| TableUse::Argument { number, keyword: keyword.to_owned() };
    assert_eq!(
        names,
        [
            ("px", argument(1, "sample fetch keyword 'src_conn_cnt'")),
            ("px", argument(1, "conversion keyword 'in_table'")),
            ("px", argument(2, "sample fetch keyword 'src_get_gpc'")),
            ("x", argument(2, "conversion keyword 'table_gpc'")),
        ]
    );
}

#[test]
fn keys_are_cast() {
    assert!(super::fits(Type::Ipv4, KeyKind::Ipv6) && super::fits(Type::Str, KeyKind::Ip));
    assert!(!super::fits(Type::Bin, KeyKind::Ip) && !super::fits(Type::Bin, KeyKind::Integer));
}
