//! `compression` and `filter` lines, and the limits of compression.
use super::*;
use crate::model::{
    Compression, CompressionDirection, Filter, ProcessCompression, RequestCompression, TraceFilter,
};
use compression::{Algorithm, Limits, Tuning};

fn alerts(lines: &str) -> Vec<String> {
    messages(&listen(lines), Severity::Alert)
}

/// The compression and the filters of the first proxy.
fn of(text: &str) -> (Option<Compression>, Vec<Filter>) {
    let common = model(text).proxies.remove(0).common;
    (common.compression, common.filters)
}

fn defaults(lines: &str, section: &str) -> String {
    listen(section).replacen("defaults\n", &format!("defaults\n{lines}\n"), 1)
}

#[test]
fn compression_lines_accumulate_and_imply_the_filter() {
    let lines = " compression algo gzip deflate\n compression type text/html text/plain\n \
                 compression offload\n compression type application/\n \
                 compression algo raw-deflate identity br zstd gzip";
    let (compression, filters) = of(&listen(lines));
    let expected = Compression {
        algorithms: vec![
            Algorithm::Gzip,
            Algorithm::Deflate,
            Algorithm::RawDeflate,
            Algorithm::Identity,
            Algorithm::Brotli,
            Algorithm::Zstd,
            Algorithm::Gzip,
        ],
        types: ["text/html", "text/plain", "application/"]
            .map(|it| it.as_bytes().to_vec())
            .to_vec(),
        offload: true,
        ..Compression::default()
    };
    assert_eq!((compression, filters), (Some(expected), vec![Filter::Compression]));
    assert_eq!(of(&listen("")), (None, Vec::new()));
    for lines in [" compression type a", " compression offload"] {
        let (compression, filters) = of(&listen(lines));
        assert!(compression.is_some() && filters.is_empty(), "{lines}");
    }
}

#[test]
fn compression_of_requests_and_of_responses_has_words_of_its_own() {
    let (compression, filters) = of(&listen(
        " compression direction both\n compression algo-req gzip\n compression type-req text/\n \
         compression minsize-req 1k\n compression algo-res br\n compression type-res image/svg\n \
         compression minsize-res 200\n compression type text/html",
    ));
    let expected = Compression {
        algorithms: vec![Algorithm::Brotli],
        types: vec![b"image/svg".to_vec(), b"text/html".to_vec()],
        min_size: 200,
        request: RequestCompression {
            algorithm: Some(Algorithm::Gzip),
            types: vec![b"text/".to_vec()],
            min_size: 1_024,
        },
        direction: CompressionDirection::Both,
        ..Compression::default()
    };
    assert_eq!((compression, filters), (Some(expected), vec![Filter::Compression]));
    let (_, filters) = of(&listen(" compression direction request\n compression algo-req gzip"));
    assert_eq!(filters, [Filter::Compression]);
    let said = messages(&listen(" compression algo-req gzip"), Severity::Warning);
    assert!(said.iter().any(|it| it.contains("has no effect without")), "{said:?}");
    for (line, part) in [
        ("direction", "expects 'request', 'response' or 'both'"),
        ("direction up", "expects 'request', 'response' or 'both'"),
        ("algo-req gzip deflate", "unexpected argument 'deflate'"),
        ("algo-req lzma", "'lzma' is not a supported algorithm"),
        ("minsize-req", "'minsize-req' expects a size"),
        ("minsize-res x", "invalid size 'x' for 'minsize-res'"),
    ] {
        let said = alerts(&format!(" compression {line}"));
        assert!(said[0].contains(part), "{line}: {said:?}");
    }
}

#[test]
fn sequences_name_declared_filters_by_their_word_or_their_own_name() {
    let lines = " filter trace name a\n filter trace name b\n filter compression\n \
                 filter-sequence request b,compression\n filter-sequence response trace";
    let model = model(&listen(lines));
    let common = &model.proxies[0].common;
    let [a, b, compression] = [0, 1, 2].map(|at| common.filters[at].clone());
    assert_eq!(common.filter_sequences, [Some(vec![b.clone(), compression]), Some(vec![a, b])]);
    for (line, part) in [
        ("", "expects 'request' or 'response'"),
        ("up trace", "expects 'request' or 'response'"),
        ("request", "expects 'request' or 'response'"),
        ("request trace,", "a name is missing"),
        ("request trace,trace", "'trace' is listed twice"),
        ("request cache", "no filter 'cache' is declared"),
        ("request trace compression", "unexpected argument 'compression'"),
        ("request trace\n filter-sequence request trace", "already set in this section"),
    ] {
        let said = alerts(&format!(" filter trace\n filter-sequence {line}"));
        assert!(said[0].contains(part), "{line}: {said:?}");
    }
}

#[test]
fn sections_add_to_the_compression_of_their_defaults() {
    let text = defaults(
        " compression algo gzip\n compression type text/html",
        " compression algo deflate\n compression type text/plain",
    );
    let (compression, filters) = of(&text);
    let compression = compression.unwrap();
    assert_eq!(compression.algorithms, [Algorithm::Gzip, Algorithm::Deflate]);
    assert_eq!(compression.types, [b"text/html".to_vec(), b"text/plain".to_vec()]);
    assert_eq!(filters, [Filter::Compression]);
}

#[test]
fn offload_is_ignored_in_defaults() {
    let text = defaults(" compression algo gzip\n compression offload", "");
    let warning = "'compression' : 'offload' ignored in 'defaults' section.";
    assert!(messages(&text, Severity::Warning).iter().any(|said| said == warning));
    assert!(!of(&text).0.unwrap().offload);
}

#[test]
fn mistakes_in_compression_lines_are_told_in_haproxys_words() {
    let known = "identity, deflate, raw-deflate, gzip, br, zstd";
    let unsupported = |name: &str| {
        format!(
            "'compression' : '{name}' is not a supported algorithm (supported ones are {known})."
        )
    };
    let verbs = "'compression' expects 'algo', 'type' or 'offload'".to_owned();
    for (line, message) in [
        ("compression", verbs.clone()),
        ("compression foo", verbs),
        ("compression algo", "'compression' expects <algorithm>.".to_owned()),
        ("compression algo gzip lzma", unsupported("lzma")),
        ("compression algo GZIP", unsupported("GZIP")),
        ("compression algo brotli", unsupported("brotli")),
        ("compression type", "'compression' expects <type>.".to_owned()),
    ] {
        assert_eq!(alerts(&format!(" {line}")), [message], "{line}");
    }
}

#[test]
fn algorithms_beyond_the_bound_are_ignored_with_a_warning() {
    let lines = format!(" compression algo{}", " gzip".repeat(17));
    assert_eq!(of(&listen(&lines)).0.unwrap().algorithms.len(), 16);
    let said = messages(&listen(&lines), Severity::Warning);
    assert!(said.iter().any(|it| it == "'gzip' is ignored behind 16 algorithms"), "{said:?}");
}

#[test]
fn compression_without_a_filter_line_needs_one_beside_other_filters() {
    let message = |word: &str| {
        let why = "require an explicit filter declaration to use HTTP compression";
        vec![format!("{word}: {why}")]
    };
    for lines in [
        "compression algo gzip",
        "compression type a",
        "compression offload",
        "mode tcp\n compression algo gzip",
    ] {
        assert_eq!(alerts(&format!(" filter trace\n {lines}")), message("proxy 'l'"), "{lines}");
    }
    let inherited = defaults(" compression algo gzip", " filter trace");
    assert_eq!(messages(&inherited, Severity::Alert), message("proxy 'l'"));
    let backend = listen(" default_backend b\nbackend b\n filter trace\n compression algo gzip");
    assert_eq!(messages(&backend, Severity::Alert), message("backend 'b'"));
    assert_eq!(alerts(" disabled\n filter trace\n compression algo gzip"), [""; 0]);
    let (_, filters) = of(&listen(" compression algo gzip\n filter trace\n filter compression"));
    assert!(matches!(filters[..], [Filter::Trace(_), Filter::Compression]), "{filters:?}");
}

#[test]
fn compression_is_accepted_in_tcp_mode_and_without_algorithms() {
    for lines in [" mode tcp\n compression algo gzip\n filter compression", " filter compression"] {
        let text = listen(lines);
        assert_eq!(messages(&text, Severity::Alert), [""; 0], "{lines}");
        assert_eq!(of(&text).1, [Filter::Compression], "{lines}");
    }
}

#[test]
fn trace_filters_take_their_words() {
    let (_, filters) = of(&listen(
        " filter trace\n filter trace name a name T random-forwarding hexdump quiet quiet",
    ));
    let trace = |name: &str, on: bool| {
        let name = name.to_owned();
        Filter::Trace(TraceFilter { name, random_forwarding: on, hexdump: on, quiet: on })
    };
    assert_eq!(filters, [trace("TRACE", false), trace("T", true)]);
}

#[test]
fn mistakes_in_filter_lines_are_told_in_haproxys_words() {
    let listed = |name: &str| {
        format!(
            "'filter' : unknown keyword '{name}'. Registered keywords :\n    [BWLIM] bwlim-in\n    [BWLIM] bwlim-out\n    [CACHE] cache\n    [COMP] compression\n    [FCGI] fcgi-app\n    [SPOE] spoe\n    [TRACE] trace"
        )
    };
    for (line, message) in [
        ("filter", "missing argument for 'filter' in proxy 'l'.".to_owned()),
        ("filter foo", listed("foo")),
        ("filter TRACE", listed("TRACE")),
        ("filter trace foo", "'filter trace' : unknown keyword 'foo'.".to_owned()),
        ("filter trace name x y", "'filter trace' : unknown keyword 'y'.".to_owned()),
        ("filter trace name", "'filter' : ''trace' : 'name' option without value'".to_owned()),
        ("filter compression x", "'filter compression' : unknown keyword 'x'.".to_owned()),
        (
            "filter compression\n filter compression",
            "'filter' : 'l: Proxy supports only one compression filter'".to_owned(),
        ),
    ] {
        assert_eq!(alerts(&format!(" {line}")), [message], "{line}");
    }
    let forbidden = "filter is not allowed in a 'default' section.";
    for name in ["trace", "compression", "foo"] {
        let text = defaults(&format!(" filter {name}"), "");
        assert_eq!(messages(&text, Severity::Alert), [forbidden], "{name}");
    }
}

#[test]
fn a_spoe_file_that_cannot_be_read_is_named() {
    let message = "'filter' : 'Could not open configuration file f : ";
    assert!(alerts(" filter spoe config f").concat().starts_with(message));
}

#[test]
fn limits_of_compression_are_read() {
    let global = |lines: &str| {
        let text = format!("global\n {lines}\n{}", listen(""));
        model(&text).global.settings.compression
    };
    assert_eq!(global(""), ProcessCompression::default());
    let all = "maxcomprate 10\n maxcompcpuusage 50\n maxzlibmem 20\n tune.comp.maxlevel 9\n \
               tune.zlib.memlevel 1\n tune.zlib.windowsize 8";
    let limits = Limits { rate: 10 << 10, cpu_percent: 50, memory: 20 << 20 };
    let tuning = Tuning { level: 9, window_bits: 8, memory_level: 1 };
    assert_eq!(global(all), ProcessCompression { limits, tuning });
    for (line, rate) in [("maxcomprate x", 0), ("maxcomprate -1", 0), ("maxcomprate 10x", 10)] {
        assert_eq!(global(line).limits.rate, rate << 10, "{line}");
    }
}

#[test]
fn limits_of_compression_out_of_bounds_are_refused() {
    let between = |low, high, end| format!("expects a numeric value between {low} and {high}{end}");
    let percent = "expects an integer argument between 0 and 100.".to_owned();
    for (line, message) in [
        ("maxcompcpuusage", percent.clone()),
        ("maxcompcpuusage 101", percent.clone()),
        ("maxcompcpuusage -1", percent),
        ("maxcomprate", "expects an integer argument in kb/s.".to_owned()),
        ("maxcomprate 1 2", "cannot handle unexpected argument '2'.".to_owned()),
        ("maxzlibmem", "expects an integer argument.".to_owned()),
        ("tune.comp.maxlevel", between(1, 9, "")),
        ("tune.comp.maxlevel 0", between(1, 9, "")),
        ("tune.comp.maxlevel 10", between(1, 9, "")),
        ("tune.comp.maxlevel 300", between(1, 9, "")),
        ("tune.comp.maxlevel x", between(1, 9, "")),
        ("tune.comp.maxlevel 3 4", "cannot handle unexpected argument '4'.".to_owned()),
        ("tune.zlib.memlevel 0", between(1, 9, ".")),
        ("tune.zlib.memlevel 10", between(1, 9, ".")),
        ("tune.zlib.windowsize 7", between(8, 15, ".")),
        ("tune.zlib.windowsize 16", between(8, 15, ".")),
    ] {
        let keyword = line.split(' ').next().unwrap();
        let text = format!("global\n {line}\n");
        let expected = format!("'{keyword}' {message}");
        assert_eq!(messages(&text, Severity::Alert), [expected], "{line}");
    }
}
