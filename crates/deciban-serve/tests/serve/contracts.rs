//! The same rows by every route give the same bits.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use serde_json::{Value, json};

use crate::client::{Serving, wine};

/// The names of the columns, and the cells of some wines, one of them missing.
fn wines() -> (Vec<String>, Vec<Vec<Option<f64>>>) {
    let text = std::fs::read_to_string(wine()).unwrap();
    let names = text.lines().next().unwrap().split(',').skip(1).map(String::from).collect();
    let row = |line: &str| line.split(',').skip(1).map(|cell| cell.parse().ok()).collect();
    let mut rows: Vec<Vec<Option<f64>>> = text.lines().skip(1).step_by(7).map(row).collect();
    rows[3][4] = None;
    (names, rows)
}

fn numbers(values: &Value, class: &str) -> Vec<u64> {
    let p = |row: &Value| row["posterior"][class].as_f64().unwrap().to_bits();
    values.as_array().unwrap().iter().map(p).collect()
}

#[test]
fn every_route_gives_the_same_bits() {
    let server = Serving::all();
    let (names, rows) = wines();
    let records: Vec<Value> = rows
        .iter()
        .map(|row| names.iter().zip(row).filter_map(|(n, x)| Some((n.clone(), json!((*x)?)))).collect())
        .collect();
    let cell = |x: &Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let line = |row: &Vec<Option<f64>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    let body = rows.iter().map(line).collect::<Vec<_>>().join("\n") + "\n";
    let csv = names.join(",") + "\n" + &body;
    let own = server.post_json("/v1/models/wine/predict", &json!(records)).json();
    let expected: Vec<Vec<u64>> = ["Barbera", "Barolo", "Grignolino"].map(|c| numbers(&own["predictions"], c)).to_vec();
    let check = |predictions: &Value, what: &str| {
        let found = ["Barbera", "Barolo", "Grignolino"].map(|class| numbers(predictions, class)).to_vec();
        assert_eq!(found, expected, "{what}");
    };
    let json_of = |path: &str, headers: &str, body: &[u8]| server.ask("POST", path, headers, body).json();
    let own_path = "/v1/models/wine/predict";
    let table = json_of(own_path, "Content-Type: text/csv\nAccept: application/json", csv.as_bytes());
    check(&table["predictions"], "CSV");
    let lines: String = records.iter().map(|row| format!("{row}\n")).collect();
    let lines = json_of(own_path, "Content-Type: application/x-ndjson\nAccept: application/json", lines.as_bytes());
    check(&lines["predictions"], "JSON lines");
    let arrow = json_of(own_path, "Content-Type: application/vnd.apache.arrow.stream", &arrow_stream(&names, &rows));
    check(&arrow["predictions"], "Arrow");
    // One by one, as in a table without gaps: where other rows have gaps, last digits may differ.
    let whole: Vec<&Value> = records.iter().filter(|row| row.as_object().unwrap().len() == names.len()).collect();
    let together = server.post_json(own_path, &json!(whole)).json();
    for (i, row) in whole.iter().enumerate() {
        assert_eq!(
            server.post_json(own_path, row).json()["predictions"][0],
            together["predictions"][i],
            "row {i} alone"
        );
    }
    // CSV in, CSV out; chunked, so that it is read as a stream.
    let lines = chunked(&server, own_path, "text/csv", csv.as_bytes());
    for (place, class) in ["Barbera", "Barolo", "Grignolino"].iter().enumerate() {
        let column: Vec<u64> = lines
            .lines()
            .skip(1)
            .map(|l| l.split(',').nth(place + 1).unwrap().parse::<f64>().unwrap().to_bits())
            .collect();
        assert_eq!(column, expected[place], "CSV stream, {class}");
    }

    let lists: Vec<Value> = rows.iter().map(|row| json!(row)).collect();
    let instances = json!({ "instances": lists });
    check(&server.post_json("/v1/models/wine:predict", &instances).json()["predictions"], "KServe, lists");
    check(
        &server.post_json("/v1/models/wine:predict", &json!({ "instances": records })).json()["predictions"],
        "KServe",
    );
    let ledgers = server.post_json("/v1/models/wine:explain", &instances).json();
    assert_eq!(ledgers["explanations"].as_array().unwrap().len(), rows.len());

    let columns: serde_json::Map<String, Value> =
        names.iter().enumerate().map(|(j, n)| (n.clone(), rows.iter().map(|row| json!(row[j])).collect())).collect();
    for (body, what) in [
        (json!({ "dataframe_split": { "columns": names, "data": lists } }), "dataframe_split"),
        (json!({ "dataframe_records": records }), "dataframe_records"),
        (instances.clone(), "instances"),
        (json!({ "inputs": columns }), "inputs by column"),
        (json!({ "inputs": lists }), "inputs"),
    ] {
        check(&server.post_json("/invocations", &body).json()["predictions"], what);
    }
    for (text, what) in [(&csv, "CSV with a header"), (&body, "CSV without a header")] {
        check(&server.post("/invocations", "text/csv", text.as_bytes()).json()["predictions"], what);
    }
    let plain = server.ask("POST", "/invocations", "Content-Type: text/csv\nAccept: text/csv", body.as_bytes());
    assert_eq!(plain.text().lines().count(), rows.len());

    let tensor = |j: usize| {
        let data: Vec<Value> = rows.iter().map(|row| json!(row[j])).collect();
        json!({ "name": names[j], "shape": [rows.len()], "datatype": "FP64", "data": data })
    };
    let by_column = json!({ "id": "7", "inputs": (0..names.len()).map(tensor).collect::<Vec<_>>() });
    let matrix =
        json!({ "inputs": [{ "name": "x", "shape": [rows.len(), names.len()], "datatype": "FP64", "data": lists }] });
    for body in [&by_column, &matrix] {
        let answer = server.post_json("/v2/models/wine/infer", body).json();
        let posterior = answer["outputs"].as_array().unwrap().iter().find(|o| o["name"] == "posterior").unwrap();
        assert_eq!(posterior["shape"], json!([rows.len(), 3]));
        let bits: Vec<u64> =
            posterior["data"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap().to_bits()).collect();
        let transposed: Vec<u64> = (0..rows.len()).flat_map(|i| expected.iter().map(move |class| class[i])).collect();
        assert_eq!(bits, transposed);
    }
    assert_eq!(server.post_json("/v2/models/wine/infer", &by_column).json()["id"], "7");
}

#[test]
fn tensors_come_and_go_in_binary_form() {
    let server = Serving::all();
    let floats: Vec<u8> = [5.5f64, f64::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
    let texts: Vec<u8> =
        ["long", "short"].iter().flat_map(|t| [&(t.len() as u32).to_le_bytes()[..], t.as_bytes()].concat()).collect();
    let head = json!({
        "inputs": [
            { "name": "kg", "shape": [2, 1], "datatype": "FP64", "parameters": { "binary_data_size": floats.len() } },
            { "name": "fur", "shape": [2], "datatype": "BYTES", "parameters": { "binary_data_size": texts.len() } },
        ],
        "outputs": [{ "name": "posterior", "parameters": { "binary_data": true } }, { "name": "decision" }],
    })
    .to_string();
    let body = [head.as_bytes(), &floats, &texts].concat();
    let path = "/v2/models/cats/versions/1/infer";
    let answer = server.ask("POST", path, &format!("Inference-Header-Content-Length: {}", head.len()), &body);
    let end: usize = answer.header("inference-header-content-length").parse().unwrap();
    let json: Value = serde_json::from_slice(&answer.body[..end]).unwrap();
    assert_eq!(json["outputs"][0]["parameters"]["binary_data_size"], 32);
    let posterior: Vec<f64> = answer.body[end..].chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect();
    let rows = json!([{ "kg": 5.5, "fur": "long" }, { "fur": "short" }]);
    let own = server.post_json("/v1/models/cats/predict", &rows).json();
    for (i, p) in posterior.chunks(2).enumerate() {
        assert_eq!(json!({ "persian": p[0], "siamese": p[1] }), own["predictions"][i]["posterior"]);
        assert_eq!(json["outputs"][1]["data"][i], own["predictions"][i]["decision"]);
    }
    for path in ["/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/cats", "/v2/models/cats/ready"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    assert_eq!(
        server.get("/v2/models/cats").json()["inputs"][0],
        json!({ "name": "kg", "datatype": "FP64", "shape": [-1] })
    );
    server.get("/v2/models/cats/versions/2").problem(404);
    for wrong in [
        json!({}),
        json!({ "inputs": [{ "name": "kg", "shape": [3], "datatype": "FP64", "data": [1] }] }),
        json!({ "inputs": [{ "name": "kg", "shape": [1, 2, 3], "datatype": "FP64", "data": [1] }] }),
        json!({ "inputs": [{ "name": "kg", "shape": [u64::MAX, 9], "datatype": "FP64", "data": [1] }] }),
        json!({ "inputs": [{ "name": "kg", "shape": [1], "datatype": "FP64", "parameters": { "binary_data_size": 8 } }] }),
        json!({ "inputs": [{ "name": "kg", "shape": [1], "datatype": "FP64", "data": [1] }], "outputs": [{ "name": "wat" }] }),
    ] {
        server.post_json("/v2/models/cats/infer", &wrong).problem(400);
    }
    let stranger = json!({ "inputs": [{ "name": "kilos", "shape": [1], "datatype": "FP64", "data": [1] }] });
    server.post_json("/v2/models/cats/infer", &stranger).problem(422);
}

#[test]
fn platforms_are_answered_where_they_ask() {
    let options = deciban_serve::Options {
        health_path: Some("/aip/health".into()),
        predict_path: Some("/aip/predict".into()),
        ..Default::default()
    };
    let server = Serving::with(options);
    for path in ["/ping", "/health", "/version", "/aip/health"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    let (names, rows) = wines();
    let body = json!({ "instances": [rows[0]], "parameters": { "prior": "uniform", "evidence": true } });
    let answer = server.post_json("/aip/predict", &body).json();
    assert!(answer["predictions"][0]["evidence"]["Barolo"].is_number());
    for wrong in [
        json!([]),
        json!({}),
        json!({ "instances": 3 }),
        json!({ "instances": [[1, 2]] }),
        json!({ "inputs": { "a": [1], "b": [1, 2] } }),
    ] {
        server.post_json("/invocations", &wrong).problem(400);
    }
    let unknown = json!({ "dataframe_split": { "columns": ["wat"], "data": [[1]] } });
    server.post_json("/invocations", &unknown).problem(422);
    assert_eq!(server.post_json("/v1/models/wine:train", &json!({})).status, 404);
    let row: serde_json::Map<String, Value> = names.iter().zip(&rows[0]).map(|(n, x)| (n.clone(), json!(x))).collect();
    let other = server.ask(
        "POST",
        "/invocations",
        "X-Amzn-SageMaker-Target-Model: linear.deciban",
        json!({ "instances": [row] }).to_string().as_bytes(),
    );
    assert_eq!(other.json()["predictions"].as_array().unwrap().len(), 1);
}

/// The rows as an Arrow stream, with a column that nobody asked for.
fn arrow_stream(names: &[String], rows: &[Vec<Option<f64>>]) -> Vec<u8> {
    let column = |j: usize| Arc::new(rows.iter().map(|row| row[j]).collect::<Float64Array>()) as ArrayRef;
    let mut columns: Vec<(&str, ArrayRef)> = names.iter().enumerate().map(|(j, n)| (n.as_str(), column(j))).collect();
    columns.reverse();
    columns.push(("id", Arc::new(StringArray::from(vec!["x"; rows.len()]))));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// A body in chunks of a few bytes.
pub fn chunked(server: &Serving, path: &str, content_type: &str, body: &[u8]) -> String {
    use std::io::Write;
    let mut stream = server.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {content_type}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    for part in body.chunks(1013) {
        stream.write_all(format!("{:x}\r\n", part.len()).as_bytes()).unwrap();
        stream.write_all(part).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let answer = crate::client::Answer::read(&mut stream);
    assert!(answer.status == 200 && answer.whole, "{answer:?}");
    answer.text().to_string()
}
