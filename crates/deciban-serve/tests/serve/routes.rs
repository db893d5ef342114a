//! Our own routes.

use std::io::Write;

use deciban_serve::Options;
use serde_json::{Value, json};

use crate::client::{Answer, Serving, wine};

/// The first wine, as a row.
fn barolo() -> Value {
    let text = std::fs::read_to_string(wine()).unwrap();
    let mut lines = text.lines();
    let (names, cells) = (lines.next().unwrap().split(','), lines.next().unwrap().split(','));
    let cell = |text: &str| text.parse::<f64>().map_or(json!(text), |x| json!(x));
    names.zip(cells).skip(1).map(|(name, text)| (name.to_string(), cell(text))).collect()
}

#[test]
fn a_model_says_what_it_takes() {
    let server = Serving::all();
    assert_eq!(server.get("/v1/models").json()["models"], json!(["wine", "cats", "linear"]));
    let card = server.get("/v1/models/cats").json();
    assert_eq!((&card["name"], &card["ready"], &card["rows"]), (&json!("cats"), &json!(true), &json!(9.0)));
    assert_eq!(card["classes"], json!(["persian", "siamese"]));
    let column = |i: usize| &card["columns"][i];
    assert_eq!((&column(0)["kind"], &column(0)["range"]), (&json!("number"), &json!([3.6, 5.9])));
    assert_eq!((&column(1)["kind"], &column(1)["levels"]), (&json!("category"), &json!(["short", "long"])));
    assert_eq!(column(2)["kind"], "flag");
    assert_eq!((&column(3)["kind"], &column(3)["range"]), (&json!("date"), &json!(["2015-10-10", "2021-01-30"])));
    assert!((column(0)["missing"].as_f64().unwrap() - 1.0 / 9.0).abs() < 1e-15);
    // A typical row can be asked about.
    let answer = server.post_json("/v1/models/cats/predict", &card["typical"]).json();
    assert_eq!(answer["predictions"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/v1/models/dogs").problem(404)["type"], "urn:deciban:problem:not-found");
}

#[test]
fn rows_come_in_every_form_and_in_any_order() {
    let server = Serving::all();
    let path = "/v1/models/cats/predict";
    let one = server.post_json(path, &json!({ "fur": "long", "kg": 5.5 })).json();
    let prediction = &one["predictions"][0];
    assert_eq!(prediction["decision"], "persian");
    let sum = ["persian", "siamese"].iter().map(|class| prediction["posterior"][class].as_f64().unwrap()).sum::<f64>();
    assert!((sum - 1.0).abs() < 1e-12);
    let same = [
        server.post(path, "application/json", r#"[{"kg": 5.5, "fur": "long", "indoor": null}]"#).json(),
        server.post_json(path, &json!({ "rows": { "kg": 5.5, "fur": "long", "born": null } })).json(),
        server.post_json(path, &json!({ "rows": [{ "kg": 5.5, "fur": "long" }] })).json(),
        server.ask("POST", path, "Content-Type: text/csv\nAccept: application/json", b"fur,kg\nlong,5.5\n").json(),
        server
            .ask(
                "POST",
                path,
                "Content-Type: application/x-ndjson\nAccept: application/json",
                b"{\"kg\":5.5,\"fur\":\"long\"}\n",
            )
            .json(),
    ];
    for answer in same {
        assert_eq!(answer, one);
    }
    // What comes as a table goes as a table.
    let csv = server.post(path, "text/csv", "fur,kg\nlong,5.5\nshort,\n");
    assert_eq!((csv.status, csv.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert!(csv.text().starts_with("decision,p(persian),p(siamese)\npersian,"), "{}", csv.text());
    let lines = server.post(path, "application/x-ndjson", "{\"kg\":5.5,\"fur\":\"long\"}\n{}\n");
    assert_eq!(lines.text().lines().count(), 2);
    let first: Value = serde_json::from_str(lines.text().lines().next().unwrap()).unwrap();
    assert_eq!(first["p(persian)"], prediction["posterior"]["persian"]);
    // A level that was not seen is told.
    let unseen = server.post_json(path, &json!({ "fur": "curly" })).json();
    assert!(unseen["warnings"][0].as_str().unwrap().contains("`curly`"));
    assert_eq!(server.post_json(path, &json!([])).json()["predictions"], json!([]));
}

#[test]
fn prior_and_costs_come_with_the_request() {
    let server = Serving::all();
    let path = "/v1/models/cats/predict";
    let row = json!({ "fur": "short", "kg": 4.4 });
    let plain = server.post_json(&format!("{path}?evidence"), &row).json();
    let siamese = &plain["predictions"][0];
    assert_eq!(siamese["decision"], "siamese");
    let asked = json!({ "rows": row, "evidence": true, "prior": { "siamese": 0.01 }, "costs": { "siamese>persian": 2 }, "reject": 0.5 });
    let there = server.post_json(path, &asked).json();
    let persian = &there["predictions"][0];
    assert_eq!((persian["decision"].as_str(), &persian["evidence"]), (Some("persian"), &siamese["evidence"]));
    assert!(persian["risk"].as_f64().unwrap() > 0.0 && siamese.get("risk").is_none());
    let query = format!("{path}?prior=siamese%3D0.01&costs=siamese%3Epersian%3D2&reject=0.5&evidence=true");
    assert_eq!(server.post_json(&query, &row).json(), there);
    let rejected = server.post_json(&format!("{path}?reject=0"), &row).json();
    assert_eq!(rejected["predictions"][0]["decision"], "reject");
}

#[test]
fn a_case_is_explained_ranked_mapped_and_drawn() {
    let server = Serving::all();
    let row = barolo();
    let ledger = &server.post_json("/v1/models/wine/explain", &row).json()["predictions"][0]["ledger"];
    assert_eq!(ledger["of"], "Barolo");
    let features = ledger["features"].as_array().unwrap();
    let sum: f64 = features.iter().map(|line| line["decibans"].as_f64().unwrap()).sum();
    assert!((ledger["prior"].as_f64().unwrap() + sum - ledger["total"].as_f64().unwrap()).abs() < 1e-9);
    let named = server.post_json("/v1/models/wine/predict?explain=Barbera,Barolo", &row).json();
    assert_eq!((named["predictions"][0]["ledger"]["of"].as_str(), features.len()), (Some("Barbera"), 13));

    let rank = &server.post_json("/v1/models/wine/rank", &row).json()["predictions"][0];
    assert!((0.0..=1.0).contains(&rank["rank"].as_f64().unwrap()) && rank["log_density"].is_number());
    assert_eq!(server.post_json("/v1/models/linear/rank", &row).problem(422)["errors"][0]["pointer"], "#/density");

    let asked = json!({ "row": row, "columns": ["Alcohol", "Hue"], "steps": [5, 4], "prior": "uniform" });
    let map = server.post_json("/v1/models/wine/map", &asked).json();
    assert_eq!((map["decisions"].as_array().unwrap().len(), map["ellipses"].as_array().unwrap().len()), (20, 3));
    // A point of the map is the case with these two cells.
    let mut moved = row.clone();
    (moved["Alcohol"], moved["Hue"]) = (map["x"]["values"][3].clone(), map["y"]["values"][2].clone());
    let there = server.post_json("/v1/models/wine/predict?evidence&prior=uniform", &moved).json();
    let (place, there) = (2 * 5 + 3, &there["predictions"][0]);
    let action = map["decisions"][place].as_u64().unwrap() as usize;
    assert_eq!(map["actions"][action], there["decision"]);
    let nats = |class: usize| map["evidence"][place][class].as_f64().unwrap();
    let odds = (there["posterior"]["Barolo"].as_f64().unwrap() / there["posterior"]["Barbera"].as_f64().unwrap()).ln();
    assert!((nats(1) - nats(0) - odds).abs() < 1e-9 * odds.abs().max(1.0));
    server.post_json("/v1/models/wine/map", &json!({ "columns": ["Alcohol"] })).problem(422);

    let drawn = server.get("/v1/models/cats/sample?number=3&class=persian&seed=7").json();
    assert_eq!(drawn["classes"], json!(["persian", "persian", "persian"]));
    assert_eq!(drawn, server.get("/v1/models/cats/sample?number=3&class=persian&seed=7").json());
    let again = server.post_json("/v1/models/cats/predict", &drawn["rows"]).json();
    assert_eq!(again["predictions"].as_array().unwrap().len(), 3);
    assert!(drawn["rows"][0]["born"].as_str().unwrap().starts_with("20"));
    server.get("/v1/models/linear/sample").problem(422);
    server.get("/v1/models/wine/sample?number=1000000").problem(413);
}

#[test]
fn labelled_rows_are_evaluated() {
    let server = Serving::all();
    let rows = std::fs::read(wine()).unwrap();
    let figures = server.post("/v1/models/wine/evaluate?prior=uniform", "text/csv", &rows).json();
    assert_eq!((&figures["rows"], figures["confusion"].as_array().unwrap().len()), (&json!(178), 3));
    assert!(figures["cllr"].as_f64().unwrap() < 0.2);
    let page = server.ask("POST", "/v1/models/wine/evaluate", "Content-Type: text/csv\nAccept: text/html", &rows);
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text().contains("<svg") && !page.text().contains("<script"));
    // Rows without a class cannot be judged.
    let unlabelled = b"Alcohol\n13.2\n";
    assert_eq!(server.post("/v1/models/wine/evaluate", "text/csv", unlabelled).status, 422);
}

#[test]
fn problems_point_to_the_row_and_the_column() {
    let server = Serving::all();
    let path = "/v1/models/cats/predict";
    let place = |body: Value| server.post_json(path, &body).problem(422)["errors"][0].clone();
    let wrong = place(json!([{ "kg": 4 }, { "kg": "heavy" }]));
    assert_eq!((&wrong["row"], &wrong["column"], &wrong["pointer"]), (&json!(2), &json!("kg"), &json!("#/1/kg")));
    assert_eq!(place(json!({ "rows": [{ "kg": "heavy" }] }))["pointer"], "#/rows/0/kg");
    assert_eq!(place(json!({ "rows": { "weight": 3 } }))["pointer"], "#/rows/weight");
    assert_eq!(place(json!({ "kilos": 3 }))["pointer"], "#/kilos");
    assert_eq!(place(json!({ "rows": [], "prior": { "siamese": 2 } }))["pointer"], "#/prior");
    let csv = server.post(path, "text/csv", "kg,fur\n4,short\nheavy,long\n").problem(422);
    assert_eq!((&csv["errors"][0]["row"], &csv["errors"][0]["column"]), (&json!(2), &json!("kg")));
    for (body, status) in [
        ("{", 400),
        ("[1, 2]", 422),
        ("{\"rows\": [}", 400),
        ("", 400),
        ("nonsense", 400),
        ("{\"rows\": [{\"kg\": 1}], \"wat\": 1}", 422),
    ] {
        server.post(path, "application/json", body).problem(status);
    }
    // A column that is absent is missing; one that nobody knows may be a misspelled one.
    assert_eq!(server.post(path, "text/csv", "kg\n4\n").status, 200);
    assert_eq!(server.post(path, "text/csv", "kg,id,fur,indoor,born\n4,7,short,yes,2020-01-01\n").status, 200);
    server.post(path, "text/csv", "kg,furr\n4,long\n").problem(422);
    server.post(path, "text/csv", "a,b\n4,long\n").problem(422);
    server.post(path, "application/x-parquet", "PAR1").problem(415);
    server.ask("POST", path, "Content-Encoding: br", b"{}").problem(415);
    server.ask("POST", path, "Accept: image/png", b"{}").problem(406);
    server.get(path).problem(405);
    server.get("/nothing").problem(404);
    server.post_json(&format!("{path}?wat=1"), &json!({})).problem(422);
}

#[test]
fn the_server_tells_of_itself() {
    let server = Serving::all();
    assert_eq!(server.get("/healthz").text(), "ok\n");
    let ready = server.get("/readyz").json();
    assert_eq!(ready["models"][0], json!({ "name": "wine", "state": "current" }));
    server.post_json("/v1/models/cats/predict", &json!([{}, {}]));
    server.get("/nothing");
    let metrics = server.get("/metrics");
    for line in
        ["deciban_rows_total 2", "deciban_requests_total{code=\"404\"} 1", "deciban_model_stale{model=\"wine\"} 0"]
    {
        assert!(metrics.text().lines().any(|known| known == line), "{line} in {}", metrics.text());
    }
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    // Names with a verb behind them are posted to.
    for path in document["paths"].as_object().unwrap().keys().filter(|path| !path.contains(':')) {
        let path = path.replace("{name}", "wine").replace("{version}", "1");
        assert_ne!(server.get(&path).status, 404, "{path}");
    }
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(page.header("access-control-allow-origin"), "");
}

#[test]
fn a_token_opens_the_models_and_not_the_health() {
    let token = "a-token-of-some-length".to_string();
    let server = Serving::with(Options { token: Some(token.clone()), ..Options::default() });
    assert_eq!(server.get("/v1/models").problem(401)["type"], "urn:deciban:problem:token");
    assert_eq!(server.ask("GET", "/v1/models", "Authorization: Bearer a-token-of-some-lengtx", b"").status, 401);
    assert_eq!(server.ask("GET", "/v1/models", &format!("Authorization: Bearer {token}"), b"").status, 200);
    for path in ["/healthz", "/readyz", "/ping", "/"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    let everywhere = Options { host: "0.0.0.0".parse().unwrap(), models: vec!["none".into()], ..Options::default() };
    let refused = deciban_serve::Server::bind(everywhere).err().unwrap().to_string();
    assert!(refused.contains("token_file") && refused.contains("no_auth"), "{refused}");
}

/// A page of another host, whose name was made to mean this machine, gets no answer.
#[test]
fn another_host_is_not_answered_for() {
    let ask = |server: &Serving, host: &str| {
        let mut stream = server.connect();
        write!(stream, "GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        Answer::read(&mut stream)
    };
    let server = Serving::with(Options::default());
    assert_eq!(ask(&server, "evil.example:8080").problem(421)["type"], "urn:deciban:problem:host");
    assert_eq!(ask(&server, "127.0.0.1:8080").status, 200);
    let open = Serving::with(Options { no_auth: true, ..Options::default() });
    assert_eq!(ask(&open, "models.example").status, 200);
}

#[test]
fn pages_of_an_origin_may_read_where_that_is_allowed() {
    let server = Serving::with(Options { allow_origin: Some("https://example.com".into()), ..Options::default() });
    assert_eq!(server.get("/v1/models").header("access-control-allow-origin"), "https://example.com");
    let preflight = server.ask("OPTIONS", "/v1/models/wine/predict", "Origin: https://example.com", b"");
    assert_eq!((preflight.status, preflight.header("access-control-allow-methods")), (204, "GET, POST"));
}
