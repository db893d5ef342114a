//! What must not bring a server down: bad bodies, slow clients, cut connections, changed files, an end in the middle.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deciban_serve::{Limits, Options};
use serde_json::{Value, json};

use crate::client::{Answer, Serving, models, wine};
use crate::contracts::chunked;

const PATH: &str = "/v1/models/wine/predict";

fn limited(limits: Limits) -> Serving {
    Serving::with(Options { limits, ..Options::default() })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_limit_has_its_status() {
    let limits =
        Limits { body: 10_000, unpacked: 20_000, stream: 3_000_000, rows: 50, columns: 40, ..Limits::default() };
    let server = limited(limits);
    let rows = |count: usize| json!(vec![json!({ "Hue": 1.0 }); count]);
    assert_eq!(server.post_json(PATH, &rows(50)).status, 200);
    assert!(server.post_json(PATH, &rows(51)).problem(413)["detail"].as_str().unwrap().contains("50 rows"));
    server.post(PATH, "application/json", " ".repeat(10_001)).problem(413);
    let packed = |length: usize| gzip(format!("[{}{{}}]", " ".repeat(length)).as_bytes());
    assert_eq!(server.ask("POST", PATH, "Content-Encoding: gzip", &packed(100)).status, 200);
    assert!(
        server.ask("POST", PATH, "Content-Encoding: gzip", &packed(30_000)).problem(413)["detail"]
            .as_str()
            .unwrap()
            .contains("unpacks")
    );
    // Packed data is found by its first bytes, too, and only once.
    assert_eq!(server.ask("POST", PATH, "", &packed(100)).status, 200);
    server.ask("POST", PATH, "", &gzip(&packed(100))).problem(415);
    server.ask("POST", PATH, "Content-Encoding: gzip", &packed(100)[..20]).problem(400);
    let wide = (0..60).map(|j| format!("c{j}")).collect::<Vec<_>>().join(",") + "\n";
    server.post(PATH, "text/csv", &wide).problem(413);
    // A stream has limits of its own.
    let long = format!("Hue\n{}", "1.0\n".repeat(1_000_000));
    server.post(PATH, "text/csv", &long).problem(413);
    let many = format!("Hue\n{}", "1.05\n".repeat(300_000));
    assert_eq!(server.post(PATH, "text/csv", &many).status, 200);
}

#[test]
fn arrow_batches_cannot_promise_more_than_they_hold() {
    use arrow_array::{ArrayRef, NullArray, RecordBatch};
    let server = limited(Limits { rows: 1000, ..Limits::default() });
    let column = |rows: usize| vec![("Hue", Arc::new(NullArray::new(rows)) as ArrayRef)];
    let written = |rows: usize, options: arrow_ipc::writer::IpcWriteOptions| {
        let batch =
            RecordBatch::try_from_iter_with_nullable(column(rows).into_iter().map(|(n, c)| (n, c, true))).unwrap();
        let mut bytes = Vec::new();
        let mut writer =
            arrow_ipc::writer::StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        bytes
    };
    let media = "application/vnd.apache.arrow.stream";
    let plain = arrow_ipc::writer::IpcWriteOptions::default;
    assert_eq!(server.post(PATH, media, written(10, plain())).json()["predictions"].as_array().unwrap().len(), 10);
    server.post(PATH, media, written(1 << 40, plain())).problem(413);
    let packed = plain().try_with_compression(Some(arrow_ipc::CompressionType::ZSTD)).unwrap();
    server.post(PATH, media, written(10, packed)).problem(415);
    server.post(PATH, media, b"nonsense").problem(400);
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn bodies_that_are_cut_slow_or_nonsense_harm_nobody() {
    let server = limited(Limits { pace: Duration::from_millis(300), ..Limits::default() });
    let head = |more: &str| format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n{more}\r\n");
    // A client that stops in the middle of the body.
    let mut slow = server.connect();
    slow.write_all(head("").as_bytes()).unwrap();
    slow.write_all(b"{\"Hue\": ").unwrap();
    // One that leaves.
    let mut cut = server.connect();
    cut.write_all(head("").as_bytes()).unwrap();
    cut.shutdown(Shutdown::Both).unwrap();
    // One that never says what it wants.
    let mut silent = server.connect();
    // One that speaks no HTTP.
    let mut strange = server.connect();
    strange.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").unwrap();
    // And one that stops in the middle of a stream.
    let mut stream = server.connect();
    let text = "Content-Type: text/csv\r\n";
    stream.write_all(head(text).replace("1000", "99000000").as_bytes()).unwrap();
    stream.write_all(b"Hue\n1.0\n").unwrap();
    // Others are answered meanwhile.
    assert_eq!(server.post_json(PATH, &json!({ "Hue": 1.0 })).status, 200);
    assert_eq!(Answer::read(&mut slow).problem(408)["type"], "urn:deciban:problem:too-slow");
    assert_eq!(Answer::read(&mut stream).status, 408);
    let begun = Instant::now();
    let mut nothing = Vec::new();
    let _ = silent.read_to_end(&mut nothing);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(Answer::read(&mut strange).status, 400);
    assert_eq!(server.post_json(PATH, &json!({ "Hue": 1.0 })).status, 200);
}

/// A client that asks for much and never reads holds its connection for the pace, and no longer.
#[test]
fn who_does_not_read_is_left() {
    let limits = Limits { pace: Duration::from_millis(300), connections: 1, ..Limits::default() };
    let server = limited(limits);
    let rows = vec![json!({ "Hue": 1.0 }); 60_000];
    let body = json!({ "rows": rows, "evidence": true }).to_string();
    let mut deaf = server.connect();
    write!(deaf, "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").unwrap();
    write!(deaf, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    // There is one connection: others come in when it has ended.
    let begun = Instant::now();
    assert_eq!(server.get("/healthz").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let mut read = Vec::new();
    let _ = deaf.read_to_end(&mut read);
    assert!(!read.is_empty() && read.len() < 1 << 23, "{}", read.len());
}

#[test]
fn an_error_in_the_middle_of_a_stream_ends_it_early() {
    let server = Serving::all();
    let wrong = |at: usize| {
        let mut text = String::from("Hue,Alcohol\n");
        (0..600_000).for_each(|i| text += if i == at { "red,13\n" } else { "1.05,13.2\n" });
        server.post(PATH, "text/csv", text)
    };
    // The first rows settle the status.
    let problem = wrong(17).problem(422);
    assert_eq!((&problem["errors"][0]["row"], &problem["errors"][0]["column"]), (&json!(18), &json!("Hue")));
    let late = wrong(590_000);
    assert!((late.status == 200 && !late.whole) || late.status == 422, "{} {}", late.status, late.whole);
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_large_table_streams_through() {
    let server = Serving::all();
    let text = std::fs::read_to_string(wine()).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let table = format!("{header}\n{}", rows.repeat(120));
    let answer = server.post(PATH, "text/csv", &table);
    assert!(answer.status == 200 && answer.whole);
    let few = server.post(PATH, "text/csv", &text);
    let (few_header, few_rows) = few.text().split_once('\n').unwrap();
    assert_eq!(answer.text(), format!("{few_header}\n{}", few_rows.repeat(120)));
    assert_eq!(chunked(&server, PATH, "text/csv", &gzip(table.as_bytes())), answer.text());
    assert_eq!(chunked(&server, PATH, "text/csv", text.as_bytes()), few.text());
}

#[test]
fn too_many_requests_are_told_to_come_again() {
    let server = limited(Limits { requests: 1, ..Limits::default() });
    let mut first = server.connect();
    first
        .write_all(
            format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{")
                .as_bytes(),
        )
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let busy = server.post_json(PATH, &json!({}));
    assert_eq!(
        (busy.problem(503)["type"].as_str(), busy.header("retry-after")),
        (Some("urn:deciban:problem:busy"), "1")
    );
    first.write_all(b"}").unwrap();
    assert_eq!(Answer::read(&mut first).status, 200);
    assert_eq!(server.post_json(PATH, &json!({})).status, 200);
}

#[test]
fn a_changed_model_is_loaded_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.deciban");
    std::fs::copy(models().join("wine.deciban"), &file).unwrap();
    let server = Serving::with(Options { models: vec![file.clone()], ..Options::default() });
    let decision =
        |row: &Value| server.post_json("/v1/models/it/predict", row).json()["predictions"][0]["decision"].clone();
    assert_eq!(decision(&json!({ "Alcohol": 14.2, "Proline": 1200 })), "Barolo");
    let until = |what: &dyn Fn(&Value) -> bool| {
        let begun = Instant::now();
        while !what(&server.get("/readyz").json()["models"][0]) {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    // A file that is cut in the middle.
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    server.handle.reload();
    until(&|state| state["state"] == "stale" && state["problem"].as_str().unwrap().contains("it.deciban"));
    assert_eq!(decision(&json!({ "Alcohol": 14.2, "Proline": 1200 })), "Barolo");
    assert!(server.get("/metrics").text().contains("deciban_model_stale{model=\"it\"} 1"));
    // Another model, while requests go on.
    let (ended, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                let answer = server.post_json("/v1/models/it/predict", &json!({}));
                assert_eq!(answer.status, 200);
                answered.fetch_add(1, Ordering::SeqCst);
            }
        });
        let more = |than: usize| until(&|_| answered.load(Ordering::SeqCst) > than);
        more(0);
        std::fs::copy(models().join("cats.deciban"), &file).unwrap();
        server.handle.reload();
        until(&|state| state["state"] == "current");
        more(answered.load(Ordering::SeqCst));
        ended.store(true, Ordering::SeqCst);
    });
    assert_eq!(decision(&json!({ "fur": "long", "kg": 5.5 })), "persian");
}

#[test]
fn a_server_that_stops_answers_what_it_has_accepted() {
    let mut server = Serving::all();
    let mut begun = server.connect();
    begun
        .write_all(format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{").as_bytes())
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let address = server.address;
    let ending = std::thread::spawn(move || server.end());
    std::thread::sleep(Duration::from_millis(200));
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody is accepted any more");
    begun.write_all(b"}").unwrap();
    assert_eq!(Answer::read(&mut begun).status, 200);
    ending.join().unwrap();
}
