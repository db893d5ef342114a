//! `deciban serve`: the program as a server, its signals, and the commands of docs/serve.md.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, PROGRAM};
use serde_json::Value;

/// The program as a server in a folder.
pub struct Serving {
    child: Child,
    address: String,
    log: BufReader<std::process::ChildStderr>,
}

impl Serving {
    pub fn begin(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").args(args).current_dir(folder).stderr(Stdio::piped()).envs(variables.iter().copied());
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("{line}")).1.to_string();
        Serving { child, address: address.replace("0.0.0.0", "127.0.0.1"), log }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// The JSON of an answer.
    pub fn get_json(&self, path: &str) -> Value {
        json_of(&self.get(path))
    }

    /// The JSON that answers JSON.
    pub fn post(&self, path: &str, body: &Value) -> Value {
        let (mut stream, body) = (TcpStream::connect(&self.address).unwrap(), body.to_string());
        let head = "Host: localhost\r\nConnection: close\r\nContent-Type: application/json";
        write!(stream, "POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        json_of(&text)
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    /// The exit code, and what was logged, once it has ended.
    fn ended(&mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        (status.code(), log)
    }
}

/// The body of an answer.
fn json_of(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn signals_reload_and_end_it() {
    let folder = Folder::with_model(&[]);
    let mut server = Serving::begin(folder.path(), &["wine.deciban", "--port", "0", "--log-requests"], &[]);
    assert!(server.get("/healthz").ends_with("ok\n"));
    std::fs::write(folder.path().join("wine.deciban"), "nonsense").unwrap();
    server.signal("HUP");
    let begun = Instant::now();
    while !server.get("/readyz").contains("stale") {
        assert!(begun.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
    // A request that has begun is answered after the signal.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = "POST /v1/models/wine/predict?prior=uniform HTTP/1.1\r\nHost: localhost\r\nContent-Length: 17\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"{\"Alcohol\":").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal("TERM");
    std::thread::sleep(Duration::from_millis(200));
    stream.write_all(b"13.21}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"decision\""), "{answer}");
    let (code, log) = server.ended();
    assert_eq!(code, Some(0));
    assert!(log.contains("model `wine` stays as it was"), "{log}");
    assert!(
        log.contains("POST /v1/models/wine/predict 200") && !log.contains("13.21") && !log.contains("prior"),
        "{log}"
    );
}

#[test]
fn containers_are_told_by_variables() {
    let folder = Folder::with_model(&[]);
    let variables = [("DECIBAN_CONTAINER", "1"), ("AIP_HTTP_PORT", "0"), ("AIP_HEALTH_ROUTE", "/h")];
    let server = Serving::begin(folder.path(), &["."], &variables);
    assert!(server.get("/h").starts_with("HTTP/1.1 200"));
    assert!(server.get("/v1/models").contains("wine"));
}

#[test]
fn mistakes_of_usage_are_told() {
    let folder = Folder::with_model(&[]);
    folder.write("short", "abc");
    folder.write("bad.deciban", "nonsense");
    for (args, code, expected) in [
        (&["serve"][..], 2, "give at least one model file, or --container"),
        (&["serve", "wine.deciban", "--host", "0.0.0.0"], 2, "--token-file"),
        (&["serve", "wine.deciban", "--token-file", "short"], 2, "fewer than 16 characters"),
        (&["serve", "wine.deciban", "wine.deciban"], 2, "two models are called `wine`"),
        (&["serve", "a/b=wine.deciban"], 2, "cannot be a name"),
        (&["serve", "none.deciban"], 1, "there is no such file"),
        (&["serve", "bad.deciban"], 1, "bad.deciban"),
    ] {
        let output = Command::new(PROGRAM).args(args).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && said.contains(expected), "{args:?}: {said}");
    }
}

/// What a request takes in memory is at most 64 MB and 20 bytes for each byte of its body behind its compression, and
/// is given back.
#[cfg(target_os = "linux")]
#[test]
fn requests_take_memory_by_their_bodies() {
    let folder = Folder::new();
    folder.ok(&["fit", &crate::common::wine(), "-t", "Type", "--model", "gaussian", "-o", "wine.deciban"]);
    let server = Serving::begin(folder.path(), &["wine.deciban", "--port", "0"], &[]);
    let process = format!("/proc/{}", server.child.id());
    let mib = |what: &str| -> usize {
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() >> 10
    };
    let post = |path: &str, headers: &str, body: &[u8]| -> String {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
        write!(stream, "{head}Content-Length: {}\r\n\r\n", body.len()).unwrap();
        // A server that refuses a body may close before all of it is written.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned()
    };
    let packed = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (list, lines) = (format!("[{}{{}}]", "{},".repeat(4 << 20)), "{}\n".repeat(4 << 20));
    let few = format!("[{}{{}}]", "{},".repeat(99_999));
    let gzip = |media: &str| format!("Content-Encoding: gzip\r\nContent-Type: {media}\r\n");
    let json = "Content-Type: application/json\r\n".to_string();
    let predict = "/v1/models/wine/predict";
    let all = [
        (predict, json.clone(), list.clone().into_bytes(), 0),
        (predict, gzip("application/json"), packed(&list), list.len()),
        (predict, gzip("application/x-ndjson"), packed(&lines), lines.len()),
        (predict, gzip("application/x-ndjson") + "Accept: application/json\r\n", packed(&lines), lines.len()),
        (predict, gzip("text/csv"), packed(&format!("Hue\n{}", "1\n".repeat(1 << 20))), 2 << 20),
        (predict, json.clone(), few.clone().into_bytes(), 0),
        ("/v1/models/wine/explain", json.clone(), format!("[{}{{}}]", "{},".repeat(999)).into_bytes(), 0),
        ("/v1/models/wine:predict", json.clone(), format!("{{\"instances\":{few}}}").into_bytes(), 0),
        ("/v1/models/wine:predict", json.clone(), format!("{{\"instances\":{list}}}").into_bytes(), 0),
        (
            "/invocations",
            json.clone(),
            format!("{{\"dataframe_split\":{{\"columns\":[\"Hue\"],\"data\":[{}[1]]}}}}", "[1],".repeat(2 << 20))
                .into_bytes(),
            0,
        ),
        (
            "/v2/models/wine/infer",
            json.clone(),
            format!(
                "{{\"inputs\":[{{\"name\":\"X\",\"shape\":[90000,13],\"datatype\":\"FP64\",\"data\":[{}1]}}]}}",
                "1,".repeat(90_000 * 13 - 1)
            )
            .into_bytes(),
            0,
        ),
        (predict, json, format!("{{\"Hue\":[{}1]}}", "1,".repeat(4 << 20)).into_bytes(), 0),
    ];
    let before = mib("VmRSS");
    for (place, (path, headers, body, unpacked)) in all.into_iter().enumerate() {
        // Forgets the peak so far.
        std::fs::write(format!("{process}/clear_refs"), "5").unwrap();
        let status = post(path, &headers, &body);
        let (peak, most) = (mib("VmHWM"), 64 + ((20 * body.len().max(unpacked)) >> 20));
        assert!(peak <= most, "request {place}, {path}: {status}: {peak} MiB of {most}");
    }
    let begun = Instant::now();
    while mib("VmRSS") > before + 32 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} MiB are kept, of {before}", mib("VmRSS"));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(server.get("/healthz").ends_with("ok\n"));
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md")
}

/// Equal but for the last digits of numbers, which depend on the processor.
fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(1e-3)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| close(a, b)))
        }
        (a, b) => a == b,
    }
}

/// The commands of the page with their answers below them; `DECIBAN_BLESS=1` writes new ones into it.
#[test]
fn the_commands_of_the_page_are_answered_so() {
    let folder = Folder::new();
    let wine = crate::common::wine();
    let columns = "Alcohol,Hue,Proline";
    folder.ok(&["fit", &wine, "-t", "Type", "--model", "gaussian", "--columns", columns, "-o", "wine.deciban"]);
    let server = Serving::begin(folder.path(), &["wine.deciban", "--port", "0"], &[]);
    let text = std::fs::read_to_string(page()).unwrap();
    let (mut written, mut rest, mut count) = (String::new(), text.as_str(), 0);
    while let Some((before, after)) = rest.split_once("```sh\ncurl ") {
        let (command, after) = after.split_once("\n```\n```json\n").expect("an answer below the command");
        let (said, after) = after.split_once("\n```\n").unwrap();
        let line = format!("curl {command}").replace("127.0.0.1:8080", &server.address);
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        let is = String::from_utf8(output.stdout).unwrap();
        let (found, expected): (Value, Value) = (
            serde_json::from_str(&is).unwrap_or_else(|e| panic!("{line}: {e}: {is}")),
            serde_json::from_str(said).unwrap(),
        );
        let shown = if close(&found, &expected) { said.to_string() } else { format!("{found:#}") };
        written += &format!("{before}```sh\ncurl {command}\n```\n```json\n{shown}\n```\n");
        (rest, count) = (after, count + 1);
    }
    written += rest;
    assert!(count >= 6);
    if std::env::var_os("DECIBAN_BLESS").is_some() {
        return std::fs::write(page(), &written).unwrap();
    }
    assert_eq!(written, text, "DECIBAN_BLESS=1 writes the answers into docs/serve.md");
}

/// The interpreter of an environment with the clients, which is made once for each version of their list.
fn clients() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/release/deps/serve-0123456789abcdef
    let folder = test.ancestors().nth(3).unwrap().join("python/clients");
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/requirements.txt");
    let (python, done) = (folder.join("bin/python"), folder.join("requirements.txt"));
    let list = std::fs::read_to_string(&wanted).unwrap();
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == list) {
        return python;
    }
    let base = std::env::var_os("DECIBAN_PYTHON").unwrap_or_else(|| "python3".into());
    ran(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder));
    let install = ["-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-compile", "-r"];
    ran(Command::new(&python).args(install).arg(&wanted));
    std::fs::write(done, list).unwrap();
    python
}

#[track_caller]
fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}\n{}", told(&output.stdout), told(&output.stderr));
    told(&output.stdout)
}

/// The client of Triton, the calls of MLflow, and a fuzzer that reads the OpenAPI document: it must find no answer
/// that the document does not have, and no failure of the server.
#[test]
fn real_clients_are_answered() {
    let folder = Folder::new();
    folder.ok(&["fit", &crate::common::wine(), "-t", "Type", "--model", "gaussian", "-o", "wine.deciban"]);
    let server = Serving::begin(folder.path(), &["wine.deciban", "--port", "0"], &[]);
    let python = clients();
    let base = format!("http://{}", server.address);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/triton.py");
    ran(Command::new(&python).arg(script).args([&base, &crate::common::wine()]));
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    let document = format!("{base}/openapi.json");
    let fuzz = ["run", &document, "--checks", checks, "--max-examples", "10", "--phases", "fuzzing", "--seed", "1"];
    ran(Command::new(python.with_file_name("schemathesis")).args(fuzz).current_dir(folder.path()));
    assert!(server.get("/healthz").ends_with("ok\n"));
}
