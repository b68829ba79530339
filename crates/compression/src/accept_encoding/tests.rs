//! Tests of the choice from `Accept-Encoding`; most rows are HAProxy's answers to the same request.

use super::*;

fn configured(names: &str) -> Vec<Algorithm> {
    names.split_whitespace().map(|name| Algorithm::named(name).unwrap()).collect()
}

fn chosen(names: &str, values: &[&str]) -> &'static str {
    let configured = configured(names);
    let mut choice = Choice::new(&configured);
    values.iter().for_each(|value| choice.value(value.as_bytes()));
    choice.algorithm().map_or("-", Algorithm::name)
}

/// Lists of `compression algo`, one for each column of the rows below.
const LISTS: [&str; 6] = [
    "gzip deflate",
    "deflate gzip",
    "identity gzip",
    "gzip identity",
    "gzip deflate raw-deflate",
    "raw-deflate deflate gzip",
];

const ROWS: &[(&str, [&str; 6])] = &[
    ("", ["-", "-", "-", "-", "-", "-"]),
    ("gzip, deflate", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("deflate, gzip", ["deflate", "deflate", "gzip", "gzip", "raw-deflate", "deflate"]),
    ("deflate", ["deflate", "deflate", "-", "-", "raw-deflate", "deflate"]),
    ("*", ["deflate", "gzip", "gzip", "identity", "raw-deflate", "gzip"]),
    (
        "*;q=0.5, gzip;q=0.1",
        ["deflate", "deflate", "identity", "identity", "raw-deflate", "deflate"],
    ),
    ("identity", ["-", "-", "identity", "identity", "-", "-"]),
    ("identity, gzip", ["gzip", "gzip", "identity", "identity", "gzip", "gzip"]),
    ("gzip, identity", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("identity;q=0.5, gzip;q=0.4", ["gzip", "gzip", "identity", "identity", "gzip", "gzip"]),
    ("identity;q=0, gzip", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("identity;q=0", ["-", "-", "-", "-", "-", "-"]),
    ("identity;q=0, *;q=0", ["-", "-", "-", "-", "-", "-"]),
    ("gzip;q=0", ["-", "-", "-", "-", "-", "-"]),
    ("gzip;q=0.000", ["-", "-", "-", "-", "-", "-"]),
    ("gzip;q=0.0009", ["-", "-", "-", "-", "-", "-"]),
    ("gzip;q=0.001", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=abc", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=-1", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    (
        "gzip;x=1;q=0.5,deflate;q=0.7",
        ["deflate", "deflate", "gzip", "gzip", "raw-deflate", "deflate"],
    ),
    (
        "gzip; q=0.5, deflate ; q=0.7",
        ["deflate", "deflate", "gzip", "gzip", "raw-deflate", "deflate"],
    ),
    ("gzip;q=1.5,deflate;q=1", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=.5,deflate;q=.6", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip q=0", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip ;q=0", ["-", "-", "-", "-", "-", "-"]),
    ("gzip\t; \tq=0", ["-", "-", "-", "-", "-", "-"]),
    ("gzip;q =0", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=01", ["-", "-", "-", "-", "-", "-"]),
    (",,gzip", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip deflate", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("GZIP", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("x-gzip", ["-", "-", "-", "-", "-", "-"]),
    ("gzipx", ["-", "-", "-", "-", "-", "-"]),
    ("\"gzip\"", ["-", "-", "-", "-", "-", "-"]),
    ("br, gzip;q=0.001", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=0.5, gzip;q=0", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;q=0, gzip;q=0.5", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
    ("gzip;x=\"a,deflate\";q=0", ["-", "-", "-", "-", "-", "-"]),
    ("*;q=0, gzip", ["gzip", "gzip", "gzip", "gzip", "gzip", "gzip"]),
];

#[test]
fn quality_decides_and_then_the_order_of_the_client() {
    for (value, expected) in ROWS {
        for (list, expected) in LISTS.iter().zip(expected) {
            assert_eq!(chosen(list, &[value]), *expected, "`{value}` of `{list}`");
        }
    }
}

/// HAProxy chooses an algorithm that the client refuses here, against RFC 9110.
#[test]
fn an_asterisk_does_not_stand_for_an_algorithm_that_is_named() {
    for value in ["gzip;q=0, *", "*, gzip;q=0"] {
        assert_eq!(chosen("gzip", &[value]), "-");
        assert_eq!(chosen("deflate gzip", &[value]), "deflate");
        assert_eq!(chosen("gzip deflate", &[value]), "deflate");
    }
    assert_eq!(chosen("gzip raw-deflate deflate", &["deflate;q=0, *"]), "gzip");
}

/// RFC 9110, section 12.4.2: the name of the weight has no case.
#[test]
fn a_weight_in_upper_case_counts() {
    assert_eq!(chosen("gzip deflate", &["gzip;Q=0.3,deflate;q=0.7"]), "deflate");
    assert_eq!(chosen("gzip", &["gzip;Q=0"]), "-");
}

#[test]
fn several_fields_are_one_list() {
    assert_eq!(chosen("gzip deflate", &["deflate", "gzip"]), "deflate");
    assert_eq!(chosen("gzip", &["gzip;q=0", "gzip"]), "gzip");
    assert_eq!(chosen("gzip deflate", &["gzip;q=0.1", "deflate"]), "deflate");
}

#[test]
fn a_list_with_brotli_or_zstandard_is_in_order_of_preference() {
    let browser = "gzip, deflate, br, zstd";
    assert_eq!(chosen("zstd br gzip", &[browser]), "zstd");
    assert_eq!(chosen("br gzip", &[browser]), "br");
    assert_eq!(chosen("gzip br", &[browser]), "gzip");
    assert_eq!(chosen("br gzip", &["gzip, deflate"]), "gzip");
    assert_eq!(chosen("br gzip", &["gzip, br;q=0.9"]), "gzip");
    assert_eq!(chosen("br gzip", &["gzip, br;q=0"]), "gzip");
    assert_eq!(chosen("br zstd", &["gzip"]), "-");
}

#[test]
fn a_field_of_eight_kilobytes_is_read_to_its_end() {
    assert_eq!(chosen("gzip", &[&format!("{}gzip", "a,".repeat(4000))]), "gzip");
    assert_eq!(chosen("gzip", &[&format!("{},gzip", "a".repeat(8000))]), "gzip");
    assert_eq!(chosen("gzip", &[&"gzip;q=0,".repeat(1000)]), "-");
    assert_eq!(chosen("gzip", &[&format!("gzip{}", ";x".repeat(4000))]), "gzip");
}

#[test]
fn a_list_beyond_the_limit_is_cut() {
    let long = vec![Algorithm::Gzip; MAX_ALGORITHMS + 4];
    let mut choice = Choice::new(&long);
    choice.value(b"gzip");
    assert_eq!(choice.algorithm(), Some(Algorithm::Gzip));
}
