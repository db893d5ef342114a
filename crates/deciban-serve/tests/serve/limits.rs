//! What requests may take: memory before it is taken, work that nobody waits for, bodies that drip, and how a server
//! stops while clients go on asking.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deciban_serve::{Limits, Options};
use serde_json::{Value, json};

use crate::client::{Answer, Serving, wine};

const PATH: &str = "/v1/models/wine/predict";
const INFER: &str = "/v2/models/wine/infer";

fn limited(limits: Limits) -> Serving {
    Serving::with(Options { limits, ..Options::default() })
}

fn detail(problem: &Value) -> &str {
    problem["detail"].as_str().unwrap()
}

#[test]
fn shapes_are_checked_before_they_are_believed() {
    let server = Serving::all();
    let tensor = |shape: Value, data: Value| {
        let input = json!({ "name": "X", "shape": shape, "datatype": "FP64", "data": data });
        server.post_json(INFER, &json!({ "inputs": [input] }))
    };
    // 72 bytes for each row of no cells would end the process.
    assert!(detail(&tensor(json!([1_000_000_000, 0]), json!([])).problem(400)).contains("no columns"));
    assert!(detail(&tensor(json!([1_000_000_000, 13]), json!([])).problem(413)).contains("100000 rows"));
    assert!(detail(&tensor(json!([u64::MAX, 13]), json!([])).problem(400)).contains("too large"));
    assert!(detail(&tensor(json!([2, 13]), json!([[1, 2]])).problem(400)).contains("its data 2"));
    let twice = json!({ "inputs": [], "outputs": [{ "name": "posterior" }, { "name": "posterior" }] });
    assert!(detail(&server.post_json(INFER, &twice).problem(400)).contains("wanted twice"));
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn bodies_in_memory_have_a_limit_of_rows_and_streams_have_none() {
    let server = Serving::all();
    let many = "{},".repeat(100_000);
    let list = format!("[{many}{{}}]");
    let lines = "{}\n".repeat(100_001);
    let cells = vec!["1"; 100_001].join(",");
    let all: [(&str, &str, String); 9] = [
        (PATH, "application/json", list.clone()),
        (PATH, "application/json", format!("{{\"rows\":{list}}}")),
        ("/v1/models/wine/explain", "application/x-ndjson", lines.clone()),
        ("/v1/models/wine/rank", "text/csv", format!("Hue\n{}", "1\n".repeat(100_001))),
        ("/v1/models/wine/evaluate", "application/x-ndjson", lines.clone()),
        ("/v1/models/wine:predict", "application/json", format!("{{\"instances\":{list}}}")),
        ("/invocations", "application/json", format!("{{\"inputs\":{{\"Hue\":[{cells}]}}}}")),
        (
            "/invocations",
            "application/json",
            format!("{{\"dataframe_split\":{{\"columns\":[\"Hue\"],\"data\":[{}[1]]}}}}", "[1],".repeat(100_000)),
        ),
        (
            INFER,
            "application/json",
            format!(
                "{{\"inputs\":[{{\"name\":\"Hue\",\"shape\":[100001],\"datatype\":\"FP64\",\"data\":[{cells}]}}]}}"
            ),
        ),
    ];
    for (path, media, body) in all {
        let problem = server.post(path, media, &body).problem(413);
        assert!(detail(&problem).contains("100000 rows"), "{path} {media}: {problem}");
    }
    let stream = server.post(PATH, "application/x-ndjson", &lines);
    assert!(stream.status == 200 && stream.whole);
    assert_eq!(stream.text().lines().count(), 100_001);
}

#[test]
fn what_stands_beside_rows_and_in_cells_is_not_kept() {
    let server = Serving::all();
    let long = vec!["1"; 600_000].join(",");
    let beside = server.post(PATH, "application/json", format!("{{\"rows\":{{}},\"prior\":[{long}]}}"));
    assert!(detail(&beside.problem(413)).contains("beside the rows"));
    let cell = server.post(PATH, "application/json", format!("{{\"Hue\":[{long}]}}")).problem(422);
    assert!(detail(&cell).contains("a list cannot be read"), "{cell}");
    let cell = server.post("/invocations", "application/json", r#"{"instances":[{"Hue":{"a":{"b":1}}}]}"#).problem(422);
    assert!(detail(&cell).contains("an object cannot be read"), "{cell}");
}

#[test]
fn repeated_keys_are_refused_on_every_route() {
    let server = Serving::all();
    let tensor = r#""datatype":"FP64","data":[1]"#;
    let all: &[(&str, &str, String)] = &[
        (PATH, "application/json", r#"{"rows":{"Hue":1},"rows":{"Hue":2}}"#.into()),
        (PATH, "application/json", r#"{"rows":{"Hue":1},"r\u006fws":{"Hue":2}}"#.into()),
        (PATH, "application/json", r#"{"rows":{"Hue":1},"prior":{"Barolo":0.1,"Barolo":0.2}}"#.into()),
        (PATH, "application/json", r#"{"rows":{"Hue":1},"reject":0.1,"reject":0.2}"#.into()),
        (PATH, "application/json", r#"{"Hue":1,"Hue":2}"#.into()),
        (PATH, "application/json", r#"[{"Hue":1,"H\u0075e":2}]"#.into()),
        (PATH, "application/x-ndjson", "{\"Hue\":1,\"Hue\":2}\n".into()),
        (PATH, "text/csv", "Hue,Hue\n1,2\n".into()),
        ("/v1/models/wine/explain", "application/json", r#"{"rows":{},"rows":{}}"#.into()),
        ("/v1/models/wine/map", "application/json", r#"{"row":{},"row":{},"columns":["Hue","Alcohol"]}"#.into()),
        ("/v1/models/wine/map", "application/json", r#"{"row":{"Hue":1,"Hue":2},"columns":["Hue","Alcohol"]}"#.into()),
        ("/v1/models/wine/evaluate", "application/x-ndjson", "{\"Hue\":1,\"Hue\":2,\"Type\":\"Barolo\"}\n".into()),
        ("/v1/models/wine:predict", "application/json", r#"{"instances":[{"Hue":1,"Hue":2}]}"#.into()),
        ("/v1/models/wine:predict", "application/json", r#"{"instances":[{}],"instances":[{}]}"#.into()),
        (
            "/v1/models/wine:predict",
            "application/json",
            r#"{"instances":[{}],"parameters":{"prior":{"Barolo":0.1,"Barolo":0.2}}}"#.into(),
        ),
        ("/invocations", "application/json", r#"{"dataframe_records":[{"Hue":1,"Hue":2}]}"#.into()),
        ("/invocations", "application/json", r#"{"dataframe_split":{"columns":["Hue","Hue"],"data":[[1,2]]}}"#.into()),
        ("/invocations", "application/json", r#"{"inputs":{"Hue":[1],"Hue":[2]}}"#.into()),
        (INFER, "application/json", format!(r#"{{"inputs":[],"inputs":[{{"name":"Hue","shape":[1],{tensor}}}]}}"#)),
        (INFER, "application/json", format!(r#"{{"inputs":[{{"name":"Hue","name":"Hue","shape":[1],{tensor}}}]}}"#)),
        (
            INFER,
            "application/json",
            format!(
                r#"{{"inputs":[{{"name":"Hue","shape":[1],{tensor}}}],"parameters":{{"prior":{{"Barolo":0.1,"Barolo":0.2}}}}}}"#
            ),
        ),
        (&format!("{PATH}?reject=0.1&reject=0.2"), "application/json", "{}".into()),
    ];
    let names_it = |detail: &str| detail.contains("twice") || detail.contains("two columns are named");
    for (path, media, body) in all {
        let answer = server.post(path, media, body);
        let problem = answer.problem(answer.status.max(400));
        assert!(matches!(answer.status, 400 | 422) && names_it(detail(&problem)), "{path} {body}: {problem}");
    }
}

#[test]
fn a_request_names_one_host() {
    let server = Serving::all();
    let ask = |version: &str, hosts: &str| {
        let mut stream = server.connect();
        write!(stream, "GET /healthz HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n").unwrap();
        Answer::read(&mut stream)
    };
    assert_eq!(ask("1.1", "Host: localhost\r\n").status, 200);
    assert_eq!(ask("1.0", "").status, 200);
    assert!(detail(&ask("1.1", "").problem(400)).contains("Host"));
    ask("1.1", "Host: localhost\r\nHost: localhost\r\n").problem(400);
    ask("1.0", "Host: localhost\r\nHost: example.com\r\n").problem(400);
}

#[test]
fn reports_have_the_policy_of_the_page() {
    let server = Serving::all();
    let table = std::fs::read(wine()).unwrap();
    let report = server.ask("POST", "/v1/models/wine/evaluate", "Content-Type: text/csv\nAccept: text/html", &table);
    let policy = report.header("content-security-policy");
    for part in ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    let meta = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ";
    assert!(report.text().contains(meta));
}

/// Rows whose ledgers take a while.
fn hard(rows: usize) -> String {
    let text = std::fs::read_to_string(wine()).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let row = |cells: Vec<&str>| -> Value {
        names
            .iter()
            .zip(cells)
            .skip(1)
            .map(|(name, cell)| (name.to_string(), json!(cell.parse::<f64>().unwrap())))
            .collect()
    };
    let all: Vec<Value> = lines.map(row).collect();
    json!(all.iter().cycle().take(rows).collect::<Vec<_>>()).to_string()
}

/// How often the server was busy before it answered.
fn busy(server: &Serving) -> usize {
    let begun = Instant::now();
    (0..)
        .find(|_| {
            let status = server.get("/healthz").status;
            assert!(status == 200 || begun.elapsed() < Duration::from_secs(20), "the work goes on");
            status == 200
        })
        .unwrap()
}

/// Such ledgers take minutes: the work ends at its next part, and counts as a request until then.
#[test]
fn work_that_nobody_waits_for_ends_and_counts_until_then() {
    let server = limited(Limits { requests: 1, time: Duration::from_millis(5), ..Limits::default() });
    let late = server.post("/v1/models/wine/explain", "application/json", hard(99_000));
    assert!(detail(&late.problem(503)).contains("longer than 0.005 seconds"));
    // The rows are being read meanwhile, which takes longer.
    assert!(busy(&server) > 0);
}

#[test]
fn work_ends_when_its_client_leaves() {
    let (server, body) = (Serving::all(), hard(10_000));
    let head = |length: usize| {
        format!("POST /v1/models/wine/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
    };
    // As many as are worked on at the same time.
    let places = 2 * std::thread::available_parallelism().unwrap().get();
    let mut leaving: Vec<TcpStream> = (0..places).map(|_| server.connect()).collect();
    for stream in &mut leaving {
        stream.write_all(head(body.len()).as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    drop(leaving);
    let begun = Instant::now();
    assert_eq!(server.post("/v1/models/wine/explain", "application/json", hard(1)).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_body_that_drips_is_dropped() {
    let server = limited(Limits { coming: Duration::from_millis(400), ..Limits::default() });
    for (media, length) in [("application/json", 1000), ("text/csv", 99_000_000)] {
        let mut stream = server.connect();
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) && stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(stream.shutdown(Shutdown::Write));
        assert_eq!(Answer::read(&mut stream).status, 408, "{media}");
    }
    // One that takes its time, and comes.
    let mut stream = server.connect();
    let body = " ".repeat(200_000) + "{}";
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    for part in body.as_bytes().chunks(20_000) {
        stream.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(60));
    }
    assert_eq!(Answer::read(&mut stream).status, 200);
}

/// Asks on a connection, and returns whether the answer ends it; `None` without an answer.
fn ask_again(stream: &mut BufReader<TcpStream>) -> Option<bool> {
    let request = format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{{\"Hue\":1.}}");
    let request = request.replace("1.}", "1 }");
    stream.get_mut().write_all(request.as_bytes()).ok()?;
    let (mut ends, mut length) = (false, 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        ends |= line == "connection: close";
        if let Some(given) = line.strip_prefix("content-length: ") {
            length = given.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length]).ok()?;
    Some(ends)
}

/// Clients that never pause are all told when to stop, and none of their requests is lost.
#[test]
fn a_server_that_stops_answers_what_has_arrived() {
    let mut server = Serving::all();
    let (asked, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let connections: Vec<TcpStream> = (0..40).map(|_| server.connect()).collect();
    let idle = server.connect();
    let address = server.address;
    std::thread::scope(|scope| {
        for stream in connections {
            let (asked, lost) = (&asked, &lost);
            scope.spawn(move || {
                let mut stream = BufReader::new(stream);
                loop {
                    asked.fetch_add(1, Ordering::SeqCst);
                    match ask_again(&mut stream) {
                        Some(true) => break,
                        Some(false) => {}
                        None => {
                            lost.fetch_add(1, Ordering::SeqCst);
                            break;
                        }
                    }
                }
            });
        }
        while asked.load(Ordering::SeqCst) < 400 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Sent, and not read by the server: the system has taken the connections.
        let mut sent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
        for stream in &mut sent {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            write!(stream, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        }
        server.handle.stop();
        let mut closed = 0;
        for stream in &mut sent {
            let answer = Answer::read(stream);
            // Those that were answered before the signal do not know of it.
            assert_eq!(answer.status, 200);
            closed += usize::from(answer.header("connection") == "close");
        }
        assert!(closed > 0);
    });
    assert_eq!(lost.load(Ordering::SeqCst), 0, "of {}", asked.load(Ordering::SeqCst));
    let begun = Instant::now();
    server.end();
    assert!(begun.elapsed() < Duration::from_secs(5), "an idle connection ends");
    drop(idle);
}
