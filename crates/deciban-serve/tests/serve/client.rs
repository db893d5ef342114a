//! A server with models, and a client that is no more than a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::Duration;

use deciban_data::{Files, Options as Reading, Target};
use deciban_serve::{Handle, Options, Server};
use deciban_tasks::{Learning, learn};
use serde_json::Value;

/// The wines.
pub fn wine() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wine.csv").display().to_string()
}

/// A table of numbers, categories, flags and dates, with gaps.
pub const CATS: &str = "kg,fur,indoor,born,kind\n\
    4.1,short,yes,2019-05-01,siamese\n3.6,short,yes,2020-02-11,siamese\n4.4,long,no,2018-07-21,siamese\n\
    3.9,short,,2021-01-30,siamese\n4.0,long,no,2017-03-04,persian\n5.2,long,yes,2016-12-24,persian\n\
    5.9,short,no,,persian\n5.1,long,no,2015-10-10,persian\n,long,yes,2016-01-01,persian\n";

fn fit(path: &str, target: &str, model: &str, to: &Path) {
    let options = Reading { target: Target::Column(target.into()), ..Reading::default() };
    let mut files = Files::open(&[path.to_string()], options).unwrap();
    let request = Learning { model: model.into(), ..Learning::default() };
    learn(&request, &mut files).unwrap().model.save(to).unwrap();
}

/// The folder with the models of all tests, which are fitted once.
pub fn models() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let cats = folder.path().join("cats.csv");
            std::fs::write(&cats, CATS).unwrap();
            fit(&wine(), "Type", "gaussian", &folder.path().join("wine.deciban"));
            fit(&cats.display().to_string(), "kind", "naive-bayes", &folder.path().join("cats.deciban"));
            fit(&wine(), "Type", "logistic", &folder.path().join("linear.deciban"));
            folder
        })
        .path()
}

/// A server that ends with its test.
pub struct Serving {
    pub address: SocketAddr,
    pub handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// All models, as they are served by default.
    pub fn all() -> Self {
        Serving::with(Options::default())
    }

    /// The models with these options, at a free port; all models where none is named.
    pub fn with(options: Options) -> Self {
        let given: Vec<PathBuf> = match options.models.is_empty() {
            true => ["wine", "cats", "linear"].iter().map(|name| models().join(format!("{name}.deciban"))).collect(),
            false => options.models.clone(),
        };
        let server = Server::bind(Options { port: 0, models: given, ..options }).unwrap();
        let (address, handle) = (server.address(), server.handle());
        let thread = std::thread::spawn(move || server.run().unwrap());
        Serving { address, handle, thread: Some(thread) }
    }

    /// A connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Asks with headers (`Name: value` lines) and a body.
    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let headers: String = headers.lines().map(|line| format!("{}\r\n", line.trim())).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        // A server that refuses a body may close before all of it is written.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        Answer::read(&mut stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", b"")
    }

    pub fn post(&self, path: &str, content_type: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask("POST", path, &format!("Content-Type: {content_type}"), body.as_ref())
    }

    pub fn post_json(&self, path: &str, body: &Value) -> Answer {
        self.post(path, "application/json", body.to_string())
    }

    /// Ends the server and waits until it has.
    pub fn end(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.handle.stop();
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body ended as it should.
    pub whole: bool,
}

impl Answer {
    /// Reads one answer, to the end of the connection.
    pub fn read(stream: &mut TcpStream) -> Answer {
        let mut bytes = Vec::new();
        // A connection that is reset has sent what it has.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("the head of an answer");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let pair = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_string())
        };
        let headers: Vec<(String, String)> = lines.map(pair).collect();
        let rest = bytes[end + 4..].to_vec();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let (body, whole) = if chunked { unchunked(&rest) } else { (rest, true) };
        Answer { status, headers, body, whole }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The JSON of an answer that went well.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The problem document of an answer with this status.
    #[track_caller]
    pub fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], status);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        problem
    }
}

fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|w| w == b"\r\n") else { return (body, false) };
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if length == 0 {
            return (body, true);
        }
        if rest.len() < length + 2 {
            return (body, false);
        }
        body.extend_from_slice(&rest[..length]);
        rest = &rest[length + 2..];
    }
}
