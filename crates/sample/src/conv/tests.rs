//! Every converter with inputs whose output only it gives. Values come from the manual, or were measured.

use super::all;
use crate::Expr;
use crate::testing::{World, parse_error, with_parser};
use crate::value::Value;

#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    ("int(5),add(3)", "8"), ("int(5),add(txn.n)", "15"), ("str(1),add(txn.none)", "undefined"),
    ("int(9223372036854775807),add(1)", "9223372036854775807"), ("int(5),sub(txn.n)", "-5"), ("int(5),mul(-3)", "-15"),
    ("int(7),div(2)", "3"), ("int(7),div(0)", "9223372036854775807"), ("int(-5),mod(3)", "-2"), ("int(7),mod(0)", "0"),
    ("int(-9223372036854775807),sub(9),mod(-1)", "0"), ("int(-9223372036854775807),sub(9),div(-1)", "9223372036854775807"),
    ("int(12),and(10)", "8"), ("int(12),or(3)", "15"), ("int(12),xor(10)", "6"), ("int(5),neg", "-5"), ("int(5),cpl", "-6"),
    ("int(7),bool", "1"), ("int(7),not", "0"), ("int(7),even", "0"), ("int(-5),odd", "1"),
    ("int(1),iif(yes,no)", "yes"), ("int(0),iif(yes,no)", "no"), ("always_true,iif(a,)", "a"),
    ("str(AbC),lower", "abc"), ("str(AbC),upper", "ABC"), ("str(abcd),length", "4"), ("str(12abc),add(0)", "12"),
    ("str(abcd),bytes(1)", "bcd"), ("str(abcd),bytes(1,2)", "bc"), ("str(abc),bytes(5)", ""), ("str(abc),bytes(1,9)", "bc"),
    ("str(f1_f2_f3__f5),field(5,_)", "f5"), ("str(f1_f2_f3__f5),field(2,_,0)", "f2_f3__f5"),
    ("str(f1_f2_f3__f5),field(2,_,2)", "f2_f3"), ("str(f1_f2_f3__f5),field(-2,_,3)", "f2_f3_"),
    ("str(f1_f2_f3__f5),field(-3,_,0)", "f1_f2_f3"), ("str(a),field(2,_)", "undefined"), ("str(a_),field(1,_,0)", "a_"),
    ("str(_a__b),field(-1,_,0)", "_a__b"), ("str(a_b),field(1,_,5)", "a_b"), ("str(a_b),field(-1,_,5)", "a_b"),
    ("str(f1_f2_f3__f5),word(4,_)", "f5"), ("str(f1_f2_f3__f5),word(2,_,0)", "f2_f3__f5"),
    ("str(f1_f2_f3__f5),word(3,_,2)", "f3__f5"), ("str(f1_f2_f3__f5),word(-2,_,3)", "f1_f2_f3"),
    ("str(f1_f2_f3__f5),word(-3,_,0)", "f1_f2"), ("str(/f1/f2/f3/f4),word(1,/)", "f1"), ("str(a_b_),word(1,_,0)", "a_b_"),
    ("str(_a_b_),word(2,_,0)", "b_"), ("str(_a_b_),word(-1,_,0)", "_a_b"), ("str(__a__b__),word(1,_,2)", "a__b"),
    ("str(__a__b__),word(-1,_,2)", "a__b"), ("str(a_b),word(3,_)", ""),
    ("str(a__b),field(2,_)", ""), ("str(_a),field(1,_)", ""), ("str(),field(1,_)", ""), ("str(),field(2,_)", "undefined"),
    ("str(),word(1,_)", ""), ("str(a_b),word(-4,_)", ""), ("str(_a_b_),field(-4,_,0)", ""), ("str(_a_b_),field(-5,_,0)", "undefined"),
    ("str(__a__b__c__),word(-1,_,9)", "__a__b__c"), ("str(__a__b__c__),word(1,_,9)", "a__b__c__"), ("str(__a__b__c__),word(-2,_,2)", "a__b"),
    ("str(abcdef),bytes(-1)", ""), ("str(abcdef),bytes(1,-1)", "bcdef"), ("str(abcdef),bytes(0,-3)", "abcdef"), ("str(abcdef),bytes(9,-1)", ""),
    ("str(abc),ltrim", "abc"), ("str(abc),ltrim,upper", "ABC"), ("str(abc),rtrim", "abc"), ("int(1500000000),utime", ""), ("str(abc),concat", "abc"),
    ("int(5),add", "5"), ("int(5),add(99999999999999999999)", "9223372036854775807"), ("int(-99999999999999999999)", "-9223372036854775808"),
    ("str(abc),crc32(1)", "930845320"), ("str(abc),crc32(2)", "930845320"), ("str(abc),crc32(-1)", "930845320"), ("str(abc),crc32(0)", "891568578"),
    ("str(a:99999),port_only", "99999"), ("str({\"a\":1}),json_query(\"a\")", "undefined"), ("str({\"a\":[1]}),json_query(\"$.a[*]\")", "undefined"),
    ("str(a.b.c),jwt_verify(\"none\",\"\")", "0"), ("str(a.b.),jwt_verify(\"none\",\"\")", "1"), ("str(abc),jwt_verify(\"none\",\"k\")", "-3"),
    ("str(a.b),jwt_verify(\"none\",\"\")", "1"), ("bin(00ff0102),protobuf(0),hex", "FF01"), ("str(5),set-var(txn.once,ifnotexists)", "5"),
    ("str(6),set-var(txn.once,ifnotexists)", "undefined"), ("str(),set-var(txn.y,ifnotempty)", "undefined"), ("str(v),set-var(txn.y,)", "v"),
    ("str(xxaxx),ltrim(x)", "axx"), ("str(xxaxx),rtrim(x)", "xxa"), ("str(xx),rtrim(x)", ""),
    ("str('a\\nb'),cut_crlf", "a\\nb"), ("str(a\\nb),cut_crlf", "a"),
    ("str(a),concat(-,txn.s,>)", "a-text>"), ("str(a),concat(-,txn.none,b)", "a-b"), ("str(),concat(',')", ","),
    ("str(),add_item(x,,y)", "y"), ("str(a),add_item(\",\",txn.n,\"(s)\")", "a,10(s)"), ("str(a),add_item(x,txn.none)", "a"),
    ("str(text),strcmp(txn.s)", "0"), ("str(tex),strcmp(txn.s)", "-1"), ("str(u),strcmp(txn.s)", "1"), ("str(abc),strcmp(txn.s)", "-19"), ("bin(ff),strcmp(txn.s)", "139"), ("str(textual),strcmp(txn.s)", "1"),
    ("str(a),strcmp(txn.none)", "undefined"),
    ("str(/////a///b/c/),regsub('/+','/','g')", "/a/b/c/"), ("str(xFOO12),regsub(\"(foo|bar)([0-9]+)?\",\"\\2\\1\",i)", "x12FOO"),
    ("str(hello),capture-req(1)", "hello"), ("str(hello),capture-res(0)", "hello"), ("str(hello),capture-req(9)", "undefined"),
    ("int(5),hex", "0000000000000005"), ("ipv4(127.0.0.1),hex", "7F000001"), ("str(ff),hex2i", "255"), ("str(zz),hex2i", "undefined"), ("str(),hex2i", "0"), ("str(9223372036854775807),hex2i", "3707029189907929095"), ("str(+5),hex2i", "undefined"),
    ("str(AB),base64", "QUI="), ("str(QUI=),b64dec", "AB"), ("str(QUI),b64dec", "undefined"), ("bin(fbff),ub64enc", "-_8"),
    ("str(-_8),ub64dec,hex", "FBFF"), ("str(a),ub64dec", "undefined"),
    ("bin(01020304050607),be2dec(:,2)", "258:772:1286:7"), ("bin(01020304050607),be2dec(-,2,1)", "258-772-1286"),
    ("bin(01020304050607),be2dec(,2,1)", "2587721286"), ("bin(7f000001),be2dec(.,1)", "127.0.0.1"),
    ("bin(ffffffffffffffff),be2dec(.,8)", "18446744073709551615"),
    ("bin(01020304050607),be2hex", "01020304050607"), ("bin(01020304050607),be2hex(:,2)", "0102:0304:0506:07"),
    ("bin(01020304050607),be2hex(--,2,1)", "0102--0304--0506"), ("bin(0102030405060708),be2hex(,3,1)", "010203040506"),
    ("int(258),htonl,hex", "00000102"),
    ("str(/bla+%20?foo%3Dbar%2B42+42%20),url_dec", "/bla+ ?foo=bar+42 42 "),
    ("str(/bla+%20?foo%3Dbar%2B42+42%20),url_dec(1)", "/bla  ?foo=bar+42 42 "), ("str(%zz),url_dec", "undefined"),
    ("str(foo=bar+42 42 ),url_enc", "foo%3Dbar%2B42%2042%20"), ("str(foo=bar),url_enc(query)", "foo%3Dbar"),
    ("str(WWW.A.b:80),host_only", "www.a.b"), ("str([::1]:80),host_only", "[::1]"), ("str(a:81),port_only", "81"), ("str(a),port_only", "0"),
    ("str(abc),crc32", "891568578"), ("str(abc),crc32c", "910901175"),
    ("str(abc),djb2", "193485963"), ("str(abc),sdbm", "807794786"), ("str(abc),sdbm(0)", "807794786"),
    ("str(abc),wt6", "2483038440"), ("str(abc),wt6(1)", "266135527"),
    ("str(abc),sdbm(1)", "659243622"), ("str(abc),djb2(1)", "2235766107"), ("str(abc),crc32(1)", "930845320"),
    ("str(abc),xxh32", "852579327"), ("str(abc),xxh64", "4952883123889572249"), ("str(abc),xxh64(3)", "3158726716732323587"), ("str(abc),xxh32(3)", "404328719"),
    ("str(abc),xxh3", "8696274497037089104"), ("str(abc),xxh3(5)", "6167986026487092235"),
    ("str(abc),sha1,hex", "A9993E364706816ABA3E25717850C26C9CD0D89D"), ("str(abc),sha2(224),hex", "23097D223405D8228642A477BDA255B32AADBCE4BDA0B3F7E36C9DA7"),
    ("str(abc),sha2,hex", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"), ("int(5),sha1,hex", "216A788021417AD345B1B1EE10753127C457AFC0"),
    ("str(a),digest(blake2s256),hex", "4A0D129873403037C2CD9B9048203687F6233FB6738956E0349BD4320FEC3E90"),
    ("str(a),digest(BLAKE2b512),hex", "333FCB4EE1AA7C115355EC66CEAC917C8BFD815BF7587D325AEC1864EDD24E34D5ABE2C6B1B5EE3FACE62FED78DBEF802F2A85CB91D455A8F5249D330853CB3C"),
    ("str(a),digest(md5-sha1),hex", "0CC175B9C0F1B6A831C399E26977266186F7E437FAA5A7FCE15D1DDCB9EAEAEA377667B8"),
    ("str(a),digest(rmd160),hex", "0BDC9D2D256B3EE9DAAE347BE6F4DC835A467FFE"),
    ("str(a),digest(sha3-256),hex", "80084BF2FBA02475726FEB2CAB2D8215EAB14BC6BDD8BFB2C8151257032ECD8B"),
    ("str(a),digest(sm3),hex", "623476AC18F65A2909E43C7FEC61B49C7E764A91A18CCB82F1917A29C86C5E88"),
    ("str(a),digest(sha-1),hex", "86F7E437FAA5A7FCE15D1DDCB9EAEAEA377667B8"),
    ("str(a),hmac(blake2s256,aw==),hex", "80F90FD4F8082E93B438AA571C02E6980214E9B1075BE47B1B6398DE46BAB052"),
    ("str(a),hmac(sha3-256,aw==),hex", "8FFF5DF388F7BB884579B8BCB3BC2C86CC3AF2EF17B8431C2CB5BF717F2B0EA2"),
    ("str(a),hmac(sm3,aw==),hex", "20AF94A3028844F6D8582F95252E23AAE4E65F2D35E062DC8B27A6E2B655050B"),
    ("str(abc),digest(MD5),hex", "900150983CD24FB0D6963F7D28E17F72"), ("str(abc),digest(sha512-256),hex", "53048E2681941EF99B2E29B76B4C7DABE4C2D0C634FC6D46E0E2F13107E7AF23"),
    ("str(abc),hmac(sha256,a2V5),hex", "9C196E32DC0175F86F4B1CB89289D6619DE6BEE699E4C378E68309ED97A1A6AB"), ("str(abc),hmac(sha256,txn.key),hex", "9C196E32DC0175F86F4B1CB89289D6619DE6BEE699E4C378E68309ED97A1A6AB"),
    ("str(abc),hmac(sha256,txn.none)", "undefined"), ("str(text),secure_memcmp(txn.s)", "1"), ("str(texu),secure_memcmp(txn.s)", "0"), ("str(tex),secure_memcmp(txn.s)", "0"),
    ("bin(089601),protobuf(1,int32)", "150"), ("bin(089601),protobuf(1),hex", "9601"), ("bin(08960110051a03414243),protobuf(3)", "ABC"),
    ("bin(0d0000803f),protobuf(1,float)", "1"), ("bin(0d0000803f),protobuf(1),hex", "0000803F"), ("bin(09000000000000f03f),protobuf(1,double)", "1"),
    ("bin(0dffffffff),protobuf(1,sfixed32)", "-1"), ("bin(0dffffffff),protobuf(1,fixed32)", "4294967295"), ("bin(0803),protobuf(1,sint32)", "-2"),
    ("bin(08ffffffffffffffffff01),protobuf(1,int64)", "-1"), ("bin(0803),protobuf(1,bool)", "3"), ("bin(0a020801),protobuf(1.1,int32)", "1"),
    ("bin(08010802),protobuf(1,int32)", "1"), ("bin(0a03414243),protobuf(1,int32)", "undefined"), ("bin(0801),protobuf(2,int32)", "undefined"),
    ("bin(00000000020801),ungrpc(1,int32)", "1"), ("bin(01000000020801),ungrpc(1,int32)", "undefined"), ("bin(00000000030801),ungrpc(1,int32)", "undefined"),
    ("str(\"fr;q=0.8, en-us;q=0.9, de;q=0\"),language(fr;en)", "en"), ("str(\"fr;q=0.8, en-us;q=0.9\"),language(fr;en-us)", "en-us"),
    ("str(\"fr;q=0.8, de;q=0\"),language(de)", "undefined"), ("str(fr),language(es,it)", "it"), ("str(\"fr, en\"),language(en;fr)", "fr"),
    ("bin(101a00044d51545404c2003c00000004746573740006706173737764),mqtt_is_valid", "1"),
    ("bin(102400064d514973647003c200000008746573745f7375620004746573740006706173737764),mqtt_is_valid", "1"),
    ("bin(d000),mqtt_is_valid", "0"), ("str(abc),mqtt_is_valid", "0"), ("bin(c0),mqtt_is_valid", "undefined"), ("bin(101a00044d51545404c2003c0000000474657374000670617373),mqtt_is_valid", "undefined"),
    ("bin(20020000),mqtt_is_valid", "1"), ("bin(20020000),mqtt_field_value(connack,flags)", "0"), ("bin(20020105),mqtt_field_value(connack,reason_code)", "5"),
    ("bin(20020105),mqtt_field_value(connack,protocol_version)", "4"), ("bin(2003000000),mqtt_field_value(connack,protocol_version)", "5"),
    ("bin(101a00044d51545404c2003c00000004746573740006706173737764),mqtt_field_value(CONNECT,Keepalive)", "60"),
    ("bin(101a00044d51545404c2003c00000004746573740006706173737764),mqtt_field_value(1,username)", "test"),
    ("bin(101a00044d51545404c2003c00000004746573740006706173737764),mqtt_field_value(1,will_topic)", "undefined"),
    ("bin(101a00044d51545404c2003c00000004746573740006706173737764),mqtt_field_value(1,client_identifier)", "undefined"),
    ("bin(101a00044d51545404c2003c00000004746573740006706173737764),mqtt_field_value(2,flags)", "undefined"),
    ("bin(101800044d5154540502003c032100140008746573745f737562),mqtt_field_value(connect,33)", "20"),
    ("bin(383d4649582e342e3401393d350133353d410131303d31383001),fix_is_valid", "1"), ("bin(383d4649582e342e3401393d350133353d410131303d31383101),fix_is_valid", "0"),
    ("bin(393d350133353d4101),fix_is_valid", "0"), ("str(8=FIX.4.4),fix_is_valid", "undefined"),
    ("bin(383d4649582e342e3401393d350133353d410131303d31383001),fix_tag_value(BeginString)", "FIX.4.4"),
    ("bin(383d4649582e342e3401393d350133353d410131303d31383001),fix_tag_value(35)", "A"), ("bin(383d4649582e342e3401),fix_tag_value(49)", "undefined"),
    ("bin(7b2261223a347d),json_query('$.a')", "4"),
    ("bin(7b2261223a342e357d),json_query('$.a')", "4.5"),
    ("bin(7b2261223a342e357d),json_query('$.a',int)", "4"),
    ("bin(7b2261223a3165337d),json_query('$.a')", "1000"),
    ("bin(7b2261223a22785c6e79227d),json_query('$.a')", "x\ny"),
    ("bin(7b2261223a225c7532306163227d),json_query('$.a')", "€"),
    ("bin(7b2261223a5b312c322c7b2262223a747275657d5d7d),json_query('$.a[2].b')", "1"),
    ("bin(7b2261223a5b312c322c7b2262223a6e756c6c7d5d7d),json_query('$.a[2]')", "undefined"),
    ("bin(7b2261223a223132227d),json_query('$.a',int)", "12"),
    ("bin(7b2261223a22227d),json_query('$.a')", "undefined"),
    ("bin(5b312c355d),json_query('$[1]')", "5"),
    ("bin(37),json_query('$')", "7"),
    ("bin(7b2261223a39393939393939393939393939393939393939397d),json_query('$.a',int)", "undefined"),
    ("bin(7b2261223a313233343536372e357d),json_query('$.a')", "1.23457e+06"),
    ("bin(7b2261223a31652d377d),json_query('$.a')", "1e-07"),
    ("bin(7b2261223a2d307d),json_query('$.a')", "-0"),
    ("bin(7b2262223a312c2261223a2d33),json_query('$.a')", "-3"),
    ("bin(7b226d792e6b6579223a2276227d),json_query($.my\\\\.key)", "v"),
    ("str(a/\\\"b),json", "a\\/\\\"b"), ("bin(41c3a9),json(utf8)", "A\\u00e9"), ("bin(41c3),json(utf8)", "undefined"),
    ("bin(41c3),json(utf8s)", "A"), ("bin(c141),json(utf8p)", "undefined"), ("bin(c181),json(utf8p)", "A"), ("bin(c181),json(utf8)", "undefined"),
    ("bin(41c3),json", "A\\u00c3"),
    ("ipv4(1.2.3.4),ipmask(16)", "1.2.0.0"), ("ipv6(::1),ipmask(24)", "undefined"), ("ipv6(1:2::3),ipmask(24,32)", "1:2::"),
    ("ipv6(::ffff:1.2.3.4),ipmask(24,64)", "1.2.3.0"),
    ("str(bk),nbsrv", "1203"), ("str(b/s),srv_queue", "2103"),
    ("int(0),ltime(%H:%M %z)", "01:00 +0100"), ("int(0),utime(%Y%m%d%H%M%S,60)", "19700101000100"),
    ("int(784111777),http_date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("int(784111777000),http_date(1000,ms)", "Sun, 06 Nov 1994 08:49:38.0 GMT"), ("int(1500007),http_date(1,us)", "Thu, 01 Jan 1970 00:00:01.500008 GMT"),
    ("int(3),set-var(txn.new)", "3"), ("int(3),unset-var(txn.n)", "3"),
    ("str(a),map(map)", "1"), ("str(c),map(map)", "undefined"), ("str(c),map(map,dflt)", "dflt"), ("str(ab),map_str(map)", "two words"),
    ("str(a),map_str_int(num)", "17"), ("str(b),map_str_ip(addr)", "::6"), ("str(c),map_str_ip(addr,1.1.1.1)", "1.1.1.1"),
    ("str(abc),map_beg(map)", "two words"), ("str(ax),map_beg(map)", "1"), ("str(ax),map_beg_int(num)", "17"), ("str(bx),map_beg_ip(addr)", "::6"),
    ("str(xab),map_end(map)", "two words"), ("str(xa),map_end_int(num)", "17"), ("str(xb),map_end_ip(addr)", "::6"),
    ("str(xax),map_sub(map)", "1"), ("str(xax),map_sub_int(num)", "17"), ("str(xbx),map_sub_ip(addr)", "::6"),
    ("str(/x/ab/y),map_dir(map)", "two words"), ("str(/a/),map_dir_int(num)", "17"), ("str(/b),map_dir_ip(addr)", "::6"),
    ("str(x.ab.y),map_dom(map)", "two words"), ("str(x.a),map_dom_int(num)", "17"), ("str(b.x),map_dom_ip(addr)", "::6"),
    ("str(xa),map_reg(map)", "1"), ("str(xa),map_reg_int(num)", "17"), ("str(xb),map_reg_ip(addr)", "::6"),
    ("str(1x23),map_regm(regm)", "23-1"),
    ("int(4),map_int(ints)", "10.0.0.1"), ("int(5),map_int_int(intnum)", "17"), ("int(60),map_int_ip(ints)", "::6"),
    ("src,map_ip(ipnum)", "17"), ("src,map_ip_int(ipnum)", "17"), ("src,map_ip_ip(ipaddr)", "192.0.2.1"),
];

#[test]
fn every_converter_converts() {
    World::full().holds(CASES);
}

#[test]
fn every_converter_has_a_case_and_one_entry() {
    // `debug` has a test of its own.
    for conv in all().filter(|conv| conv.name != "debug") {
        let counters = crate::tables::tests::CONVERTERS;
        let covered =
            CASES.iter().chain(counters).chain(super::crypt::tests::CASES).any(|(text, _)| {
                text.match_indices(&format!("),{}", conv.name))
                    .chain(text.match_indices(&format!("c,{}", conv.name)))
                    .chain(text.match_indices(&format!("e,{}", conv.name)))
                    .any(|(at, found)| {
                        let rest = &text[at + found.len()..];
                        rest.is_empty() || rest.starts_with(['(', ','])
                    })
            });
        assert!(covered, "{} has no case", conv.name);
        assert_eq!(all().filter(|other| other.name == conv.name).count(), 1, "{}", conv.name);
        let known = crate::known_keywords::converters().any(|name| name == conv.name);
        assert!(known || crate::known_keywords::is_of_third(conv.name), "{}", conv.name);
    }
}

#[test]
fn debug_writes_values_to_sinks() {
    let world = World::full();
    for (text, value, line) in [
        ("int(5),debug", "5", "buf0 [debug] : type=sint <5>"),
        ("bool(true),debug(b)", "1", "buf0 [debug] b: type=bool <1>"),
        ("ipv6(::1),debug(,stdout)", "::1", "stdout [debug] : type=ipv6 <::1>"),
        ("src,debug(it is,ring)", "10.1.2.3", "ring [debug] it is: type=ipv4 <10.1.2.3>"),
        ("bin(410a00ff),debug(x),hex", "410A00FF", "buf0 [debug] x: type=bin <A...>"),
        ("str(a),debug(x),upper", "A", "buf0 [debug] x: type=str <a>"),
    ] {
        assert_eq!(world.eval(text), value, "{text}");
        assert_eq!(world.told.take(), [line], "{text}");
    }
    assert_eq!(world.eval("req.hdr(none),debug"), "undefined");
    assert_eq!(world.told.take(), [""; 0]);
}

#[test]
fn variables_and_captures_are_written() {
    let world = World::full();
    world.eval("str(v),set-var(txn.a)");
    assert_eq!(world.get("txn.a"), Some(Value::str(b"v")));
    world.eval("str(w),set-var(txn.a,ifnotexists)");
    assert_eq!(world.get("txn.a"), Some(Value::str(b"v")));
    world.eval("int(20),set-var(txn.n,iflt)");
    assert_eq!(world.get("txn.n"), Some(Value::Int(20)));
    world.eval("int(1),unset-var(txn.a)");
    assert_eq!(world.get("txn.a"), None);
    world.eval("str(hello),capture-req(1)");
    assert_eq!(world.eval("capture.req.hdr(1)"), "hello");
    world.eval("str(yo),capture-res(0)");
    assert_eq!(world.eval("capture.res.hdr(0)"), "yo");
}

#[test]
fn conditions_keep_variables_from_being_written() {
    for (condition, before, input, written) in [
        ("ifexists", None, "int(7)", false),
        ("ifexists", Some(1), "int(7)", true),
        ("ifnotexists", Some(1), "int(7)", false),
        ("ifempty", Some(1), "int(7)", false),
        ("ifempty", Some(1), "str()", true),
        ("ifnotempty", Some(1), "str()", false),
        ("ifset", None, "int(7)", false),
        ("ifset", Some(1), "int(7)", true),
        ("ifnotset", Some(1), "int(7)", false),
        ("ifnotset", None, "int(7)", true),
        ("ifgt", Some(1), "int(7)", false),
        ("ifgt", Some(9), "int(7)", true),
        ("iflt", Some(9), "int(7)", false),
        ("iflt", Some(1), "int(7)", true),
    ] {
        let world = World::full();
        if let Some(number) = before {
            world.set("txn.v", Value::Int(number));
        }
        world.eval(&format!("{input},set-var(txn.v,{condition})"));
        let now = world.get("txn.v");
        assert_eq!(
            now != before.map(Value::Int),
            written,
            "{condition} {before:?} {input}: {now:?}"
        );
    }
}

#[test]
fn bad_arguments_are_refused() {
    for (text, expected) in [
        ("int(1),add(x)", "expects an integer or a variable name, got 'x'"),
        ("str(a),field(0,_)", "index must not be zero"),
        ("str(a),regsub((,x)", "is invalid (error=missing closing parenthesis"),
        ("str(a),regsub(a,b,q)", "invalid regex flag 'q'"),
        ("str(a),json(latin)", "unexpected input code type 'latin'"),
        ("str(a),url_enc(path)", "unexpected encode type 'path'"),
        ("bin(01),be2dec(:,9)", "between 1 and 8"),
        ("int(1),http_date(0,h)", "invalid time unit"),
        ("str(a),map(nofile)", "failed to open pattern file <nofile>"),
        ("str(a),map_ip(map)", "'a' is not a valid IPv4 or IPv6 address at line 1 of file 'map'"),
        ("int(1),set-var(foo.x)", "invalid variable name 'foo.x'"),
        ("int(1),set-var(txn.x,ifmaybe)", "unknown condition \"ifmaybe\""),
        ("str(a),add_item(x)", "missing arguments"),
        ("bool(perhaps)", "neither 'true' nor 'false'"),
        ("bin(123)", "even number of hexadecimal digits"),
        ("uuid(7)", "unsupported version"),
        ("str(a),digest(foo)", "algorithm must be a valid OpenSSL message digest name"),
        ("str(a),digest(shake128)", "is not implemented yet"),
        ("str(a),hmac(sha256,**)", "failed to parse key : argument needs to be base64 encoded"),
        ("str(a),sha2(100)", "Unsupported number of bits: '100'"),
        ("str(a),fix_tag_value(foo)", "Unknown FIX tag name 'foo'"),
        ("str(a),mqtt_field_value(foo,x)", "Unknown MQTT type 'foo'"),
        (
            "str(a),mqtt_field_value(connack,username)",
            "Unknown MQTT field name 'username' for packet type 'connack'",
        ),
        ("str(a),json_query('')", "json_path must not be empty"),
        ("str(a),fix_tag_value(0)", "Unknown FIX tag name '0'"),
        ("str(a),fix_tag_value(-1)", "Unknown FIX tag name '-1'"),
        ("str(a),strcmp", "invalid variable name ''"),
        ("str(a),unset-var()", "invalid variable name ''"),
        ("bin()", "even number of hexadecimal digits"),
        ("bin", "even number of hexadecimal digits"),
        ("str(a),map_str_int(map)", "unable to parse 'two words' at line 3 of file 'map'"),
        ("str(a),json_query('$.a',foo)", "output_type only supports \"int\" as argument"),
        ("str(a),protobuf(1,foo)", "Wrong protocol buffer type 'foo'"),
        ("str(a),protobuf(a)", "failed to parse 'a' as type 'Protocol buffers field number'"),
    ] {
        let error = parse_error(text);
        assert!(error.message.contains(expected), "{text}: {}", error.message);
    }
}

#[test]
fn converters_may_be_words_of_their_own() {
    with_parser(|cx| {
        let words = ["str(AB)", "lower", "length", "if", "x"];
        let mut at = 0;
        let expr = Expr::parse(&words, &mut at, cx).expect("valid");
        assert_eq!((at, expr.eval(&crate::NoFacts).ok().and_then(|it| it.to_int())), (3, Some(2)));
    });
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(src|str\\(|req.hdr\\(|int\\(|,|\\)|\\(|lower|field\\(|'|\"|\\\\|\\PC){0,12}") {
        let _ = with_parser(|cx| Expr::parse_word(&text, cx).map(|expr| { let _ = expr.eval(&World::full()); }));
    }

    #[test]
    fn no_input_makes_a_converter_panic(input in "\\PC{0,40}", which in 0usize..200) {
        let (text, _) = CASES[which % CASES.len()];
        let converters = text.split_once("),").map_or("length", |(_, rest)| rest);
        let world = World::full();
        world.set("txn.input", Value::str(input.as_bytes()));
        let _ = with_parser(|cx| {
            Expr::parse_word(&format!("var(txn.input),{converters}"), cx).map(|expr| { let _ = expr.eval(&world); })
        });
    }
}
