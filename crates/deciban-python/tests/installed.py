"""Checks a wheel, and the package installed from it into an environment with nothing but NumPy besides.

``python -I installed.py WHEEL``; tests/python.rs runs it.
"""

import subprocess
import sys
import time
import zipfile
from pathlib import Path

wheel = Path(sys.argv[1])
assert "-cp310-abi3-" in wheel.name, f"{wheel.name} is not for all versions from 3.10"
assert wheel.stat().st_size < 15e6, f"{wheel.name} has {wheel.stat().st_size} bytes"
inside = set(zipfile.ZipFile(wheel).namelist())
# Modules that users import have stubs, and so has the compiled half.
public = {name for name in inside if name.endswith(".py") and not Path(name).name.startswith("_")}
stubs = {name + "i" for name in public} | {"deciban/__init__.pyi", "deciban/sklearn/__init__.pyi", "deciban/_core.pyi"}
lacking = (stubs | {"deciban/py.typed", "deciban/_core.abi3.so"}) - inside
assert not lacking, f"the wheel lacks {sorted(lacking)}"

start = time.perf_counter()
import deciban  # noqa: E402

end = time.perf_counter()
# What takes long to load is loaded when it is used, and what is optional not unasked.
assert not {"numpy", "sklearn", "scipy", "pandas", "matplotlib"} & set(sys.modules)
assert {"Classifier", "decide", "evaluate", "plot", "sklearn", "transform"} <= set(dir(deciban))
assert deciban.evaluate is sys.modules["deciban.evaluate"]
assert not hasattr(deciban, "classifier")
import numpy as np  # noqa: E402

with_numpy = time.perf_counter()
print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; import {1e3 * (end - start):.0f} ms, "
      f"with NumPy {1e3 * (with_numpy - start):.0f} ms")  # fmt: skip

assert Path(sys.prefix) in Path(deciban.__file__).parents, deciban.__file__
assert deciban.__version__ == wheel.name.split("-")[1]

# Two normals of unit variance at 0 and 4: the classes are equally probable halfway.
rows, labels = {"x": [-1.0, 1.0, 3.0, 5.0], "job": ["a", "b", "a", "b"]}, ["low", "low", "high", "high"]
model = deciban.Classifier("naive-bayes").fit(rows, labels)
assert model.predict({"x": [1.9, 2.1], "job": [None, None]}).tolist() == ["low", "high"]
halfway = model.predict_proba({"x": [2.0], "job": ["a"]})
assert np.allclose(halfway, 0.5, rtol=0, atol=1e-12), halfway
assert not {"sklearn", "scipy", "pandas", "matplotlib"} & set(sys.modules)

wanting = subprocess.run([sys.executable, "-I", "-c", "import deciban.sklearn"], capture_output=True, text=True)
assert "pip install scikit-learn" in wanting.stderr, wanting.stderr

# The program comes with the package, as a script and as a module.
script = Path(sys.executable).with_name("deciban")
for command in ([script], [sys.executable, "-I", "-m", "deciban"]):
    told = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert told.stdout.split() == ["deciban", deciban.__version__], told
    wrong = subprocess.run([*command, "predict", "/nowhere.deciban", "x.csv"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "/nowhere.deciban" in wrong.stderr, wrong
