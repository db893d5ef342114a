//! A headless Chromium, asked over WebDriver: JSON over plain HTTP to chromedriver. What is not there is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The key of an element in WebDriver's JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// How long a browser may take for one step, on a machine that others use, too.
const PATIENCE: Duration = Duration::from_secs(120);

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Debian's packages, where they are not there; by one test, and the others wait.
fn install() {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    if has("chromium") && has("chromedriver") {
        return;
    }
    let apt = |arguments: &[&str]| Command::new("apt-get").args(arguments).output();
    let _ = apt(&["update"]);
    let _ = apt(&["install", "-y", "chromium", "chromium-driver"]);
    assert!(
        has("chromium") && has("chromedriver"),
        "the page is tested in Chromium: apt-get install chromium chromium-driver"
    );
}

/// axe-core, which finds what is hard to use without eyes or hands; fetched once, however many tests ask for it.
pub fn axe() -> &'static str {
    static SOURCE: LazyLock<String> = LazyLock::new(fetch_axe);
    &SOURCE
}

fn fetch_axe() -> String {
    const PACKAGE: &str = "axe-core@4.10.3";
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{PACKAGE}.js"));
    if !kept.exists() {
        if !has("npm") {
            let _ = Command::new("apt-get").args(["install", "-y", "npm"]).output();
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let packed =
            Command::new("npm").args(["pack", "--silent", PACKAGE]).current_dir(&folder).output().expect("npm");
        assert!(packed.status.success(), "npm pack: {}", String::from_utf8_lossy(&packed.stderr));
        let name = String::from_utf8(packed.stdout).unwrap();
        let done = Command::new("tar").args(["xzf", name.trim(), "package/axe.min.js"]).current_dir(&folder).status();
        assert!(done.is_ok_and(|status| status.success()), "{name}");
        // Whoever sees the file sees all of it.
        std::fs::rename(folder.path().join("package/axe.min.js"), &kept).unwrap();
    }
    std::fs::read_to_string(kept).unwrap()
}

pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Chromium's own folder, new and empty.
    _folder: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.try_ask("DELETE", "", None);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    pub fn open() -> Self {
        install();
        let mut driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        // "ChromeDriver was started successfully on port 12345."
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("successfully on port ")?;
            rest.trim_end_matches('.').parse().ok()
        });
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let folder = tempfile::tempdir().unwrap();
        let profile = format!("--user-data-dir={}", folder.path().display());
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--window-size=1280,1000",
            &profile,
        ];
        let options = json!({ "args": flags, "binary": "/usr/bin/chromium" });
        let wanted = json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let mut browser = Browser { driver, port: port.expect("a port"), session: String::new(), _folder: folder };
        let answer = browser.try_ask("POST", "", Some(json!({ "capabilities": { "alwaysMatch": wanted } }))).unwrap();
        browser.session = answer["sessionId"].as_str().unwrap().to_string();
        let patience = PATIENCE.as_millis() as u64;
        browser.ask("POST", "/timeouts", json!({ "script": patience, "pageLoad": patience }));
        browser
    }

    fn try_ask(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, String> {
        let session = if self.session.is_empty() { String::new() } else { format!("/{}", self.session) };
        let body = body.map_or(String::new(), |body| body.to_string());
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|e| e.to_string())?;
        stream.set_read_timeout(Some(2 * PATIENCE)).map_err(|e| e.to_string())?;
        let request = format!(
            "{method} /session{session}{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
        let mut answer = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while answer.read_line(&mut line).map_err(|e| e.to_string())? > 2 {
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut bytes = vec![0; length];
        answer.read_exact(&mut bytes).map_err(|e| e.to_string())?;
        let found: Value = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
        // An error of WebDriver has these three; what a script returns may have any of them.
        let value = &found["value"];
        match ["error", "message", "stacktrace"].iter().all(|key| value.get(key).is_some()) {
            true => Err(format!("{}: {}", value["error"], value["message"])),
            false => Ok(value.clone()),
        }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        self.try_ask(method, path, (method == "POST").then_some(body)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Opens an address and waits until the page is ready.
    #[track_caller]
    pub fn go(&self, url: &str) {
        // Another fragment alone would not load the page again.
        self.ask("POST", "/url", json!({ "url": "about:blank" }));
        self.ask("POST", "/url", json!({ "url": url }));
        self.wait("the page is ready", "return document.documentElement.dataset.ready === 'true'");
    }

    /// Runs a script; `arguments` are its arguments.
    #[track_caller]
    pub fn run(&self, script: &str, arguments: Value) -> Value {
        self.ask("POST", "/execute/sync", json!({ "script": script, "args": arguments }))
    }

    /// Runs a script whose promise is waited for.
    #[track_caller]
    pub fn run_async(&self, script: &str) -> Value {
        let script =
            format!("const done = arguments[0]; (async () => {{ {script} }})().then(done, (e) => done(String(e)));");
        self.ask("POST", "/execute/async", json!({ "script": script, "args": [] }))
    }

    /// Waits until a script says true.
    #[track_caller]
    pub fn wait(&self, what: &str, script: &str) {
        let start = Instant::now();
        while self.run(script, json!([])) != json!(true) {
            assert!(start.elapsed() < PATIENCE, "waited in vain until {what}: {:?}", self.console());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// An element by its CSS selector.
    #[track_caller]
    fn find(&self, css: &str) -> String {
        let found = self.ask("POST", "/element", json!({ "using": "css selector", "value": css }));
        found[ELEMENT].as_str().unwrap().to_string()
    }

    /// Types into an element as a person does.
    #[track_caller]
    pub fn keys(&self, css: &str, text: &str) {
        let element = self.find(css);
        self.ask("POST", &format!("/element/{element}/value"), json!({ "text": text }));
    }

    /// Replaces the text of a field.
    #[track_caller]
    pub fn fill(&self, css: &str, text: &str) {
        let element = self.find(css);
        self.ask("POST", &format!("/element/{element}/clear"), json!({}));
        self.ask("POST", &format!("/element/{element}/value"), json!({ "text": text }));
    }

    #[track_caller]
    pub fn click(&self, css: &str) {
        let element = self.find(css);
        self.ask("POST", &format!("/element/{element}/click"), json!({}));
    }

    /// Presses keys one after the other, wherever the focus is.
    #[track_caller]
    pub fn press(&self, keys: &[&str]) {
        let strokes: Vec<Value> = keys
            .iter()
            .flat_map(|key| [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })])
            .collect();
        self.ask("POST", "/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] }));
    }

    /// Drags from the middle of an element by so many pixels.
    #[track_caller]
    pub fn drag(&self, css: &str, by: (i32, i32)) {
        let origin = json!({ ELEMENT: self.find(css) });
        let moves = json!([
            { "type": "pointerMove", "duration": 0, "origin": origin, "x": 0, "y": 0 },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerMove", "duration": 60, "origin": "pointer", "x": by.0 / 2, "y": by.1 / 2 },
            { "type": "pointerMove", "duration": 60, "origin": "pointer", "x": by.0 - by.0 / 2, "y": by.1 - by.1 / 2 },
            { "type": "pointerUp", "button": 0 },
        ]);
        self.ask("POST", "/actions", json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": moves }] }));
    }

    /// A command of Chromium's own protocol.
    #[track_caller]
    pub fn chromium(&self, command: &str, parameters: Value) -> Value {
        self.ask("POST", "/goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    /// The size of the window, as of a phone or a desk, and light or dark.
    pub fn look(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.chromium("Emulation.setDeviceMetricsOverride", size);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.chromium("Emulation.setEmulatedMedia", features);
    }

    /// What the console has said since the last call: warnings and errors.
    pub fn console(&self) -> Vec<String> {
        let entries = self.ask("POST", "/se/log", json!({ "type": "browser" }));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let is_bad = |entry: &&Value| ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap_or(""));
        entries.iter().filter(is_bad).map(|entry| entry["message"].to_string()).collect()
    }

    /// What axe-core finds wrong, with WCAG 2.2 AA and best practices.
    pub fn violations(&self, axe: &str) -> Vec<String> {
        self.run(&format!("{axe}; return true"), json!([]));
        let found = self.run_async(
            "const found = await axe.run(document, { resultTypes: ['violations'] });
             return found.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.failureSummary}`));",
        );
        found
            .as_array()
            .unwrap_or_else(|| panic!("{found}"))
            .iter()
            .map(|v| v.as_str().unwrap_or("").to_string())
            .collect()
    }

    /// The page as a picture, if `DECIBAN_SHOTS` names a folder for it.
    pub fn shot(&self, name: &str) {
        let Some(folder) = std::env::var_os("DECIBAN_SHOTS").map(PathBuf::from) else { return };
        let size =
            self.run("return [document.documentElement.clientWidth, document.documentElement.scrollHeight]", json!([]));
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let shot = self.chromium(
            "Page.captureScreenshot",
            json!({ "format": "png", "clip": clip, "captureBeyondViewport": true }),
        );
        let file = folder.join(format!("{name}.base64"));
        std::fs::write(&file, shot["data"].as_str().unwrap()).unwrap();
        let png = Command::new("base64").arg("-d").arg(&file).output().unwrap().stdout;
        std::fs::write(folder.join(format!("{name}.png")), png).unwrap();
        std::fs::remove_file(file).unwrap();
    }
}
