"""The client of Triton and curl-like posts against a server: python triton.py http://127.0.0.1:PORT wine.csv

The posteriors of all ways must be equal, bit by bit.
"""

import csv
import json
import sys
import urllib.request

import numpy as np
import tritonclient.http as triton

base, path = sys.argv[1:3]
with open(path) as file:
    rows = list(csv.DictReader(file))
for row in rows:
    row.pop("Type")
names = list(rows[0])
x = np.array([[float(row[name]) for name in names] for row in rows])


def post(path, body, kind="application/json"):
    request = urllib.request.Request(base + path, body.encode(), {"Content-Type": kind})
    return json.load(urllib.request.urlopen(request))


def matrix(predictions):
    return np.array([list(row["posterior"].values()) for row in predictions])


records = [dict(zip(names, map(float, row))) for row in x]
own = post("/v1/models/wine/predict", json.dumps(records))["predictions"]
expected, decided = matrix(own), [row["decision"] for row in own]

client = triton.InferenceServerClient(base.removeprefix("http://"))
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("wine")
assert [tensor["name"] for tensor in client.get_model_metadata("wine")["inputs"]] == names
for binary in (True, False):
    inputs = []
    for j, name in enumerate(names):
        tensor = triton.InferInput(name, [len(x)], "FP64")
        tensor.set_data_from_numpy(np.ascontiguousarray(x[:, j]), binary_data=binary)
        inputs.append(tensor)
    outputs = [triton.InferRequestedOutput(name, binary_data=binary) for name in ("decision", "posterior")]
    answer = client.infer("wine", inputs, outputs=outputs)
    assert (answer.as_numpy("posterior") == expected).all(), binary
    decisions = [d.decode() if isinstance(d, bytes) else d for d in answer.as_numpy("decision")]
    assert decisions == decided
# Where no output is named, the client wants all of them in binary form.
assert (client.infer("wine", inputs).as_numpy("posterior") == expected).all()
# A matrix of float32, which the wines fit into or not: the same numbers by both ways.
single = x.astype(np.float32)
tensor = triton.InferInput("x", list(single.shape), "FP32")
tensor.set_data_from_numpy(single)
narrow = client.infer("wine", [tensor]).as_numpy("posterior")
wide = post("/v1/models/wine/predict", json.dumps([dict(zip(names, map(float, row))) for row in single]))
assert (narrow == matrix(wide["predictions"])).all()

# The documented calls of MLflow.
lists = x.tolist()
for body in (
    {"dataframe_split": {"columns": names, "data": lists}},
    {"dataframe_records": records},
    {"instances": records},
    {"inputs": {name: x[:, j].tolist() for j, name in enumerate(names)}},
):
    assert (matrix(post("/invocations", json.dumps(body))["predictions"]) == expected).all(), list(body)
table = "\n".join([",".join(names)] + [",".join(map(repr, row)) for row in lists])
assert (matrix(post("/invocations", table, "text/csv")["predictions"]) == expected).all()
