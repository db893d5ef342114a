"""scikit-learn's own checks and its own test files, run with deciban's classes in place of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

import deciban.sklearn as ours

#: scikit-learn's tests of the modules whose classes are replaced.
FILES = [
    "sklearn.tests.test_naive_bayes",
    "sklearn.tests.test_discriminant_analysis",
    "sklearn.linear_model.tests.test_logistic",
]


#: The classes, without functions.
CLASSES = [name for name in ours.__all__ if name[0].isupper()]

SINGULAR = "gives weights to classes with a singular covariance, which must be refused"

#: Checks that a class does not pass, each for its reason; one that passes is an error too.
CHECKS = {
    "QuadraticDiscriminantAnalysis": {
        "check_sample_weights_shape": SINGULAR,
        "check_sample_weights_not_overwritten": SINGULAR,
        "check_sample_weight_equivalence_on_dense_data": SINGULAR,
    }
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSES)
def test_check_estimator(name):
    excepted = CHECKS.get(name, {})
    found = check_estimator(getattr(ours, name)(), on_skip=None, expected_failed_checks=excepted)
    failed = {check["check_name"] for check in found if check["status"] == "xfail"}
    assert failed == set(excepted)


def test_own_tests_of_scikit_learn():
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    # Tests whose names are listed in the plugin are expected to fail; all others must pass.
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", "-p", "swap_peers"]
    run = subprocess.run(
        [*command, "--pyargs", *FILES], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    told = re.search(r"deciban took the place of (\d+) classes", run.stdout)
    assert told and int(told[1]) == len(CLASSES), run.stdout
