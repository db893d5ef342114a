"""Makes exponential.json: maximum likelihood fits and log densities of four families, by SciPy.

    pip install scipy && python exponential.py > exponential.json

Made with SciPy 1.17.1, NumPy 2.4.6, seed 20240611. Each case has numbers x, the parameters that
SciPy fits to them with the location held at 0, and log densities of these parameters at some points.
SciPy finds the shape of a gamma density to about 1e-12 of itself; all other fits are closed forms.
SciPy's Poisson has no fit: its rate is the mean.
"""

import json

import numpy as np
from scipy import stats

random = np.random.default_rng(20240611)


def case(family, x, parameters, log_density, points):
    values = [float(v) for v in log_density(np.array(points))]
    return dict(family=family, x=[float(v) for v in x], parameters=parameters, points=points, log_density=values)


def poisson(x, points):
    rate = float(np.mean(x))
    return case("poisson", x, [rate], lambda p: stats.poisson.logpmf(p, rate), points)


def exponential(x, points):
    scale = float(stats.expon.fit(x, floc=0)[1])
    return case("exponential", x, [scale], lambda p: stats.expon.logpdf(p, scale=scale), points)


def log_normal(x, points):
    sd, _, median = stats.lognorm.fit(x, floc=0)
    return case("log-normal", x, [float(np.log(median)), float(sd)], lambda p: stats.lognorm.logpdf(p, sd, scale=median), points)


def gamma(x, points):
    shape, _, scale = stats.gamma.fit(x, floc=0)
    return case("gamma", x, [float(shape), float(scale)], lambda p: stats.gamma.logpdf(p, shape, scale=scale), points)


cases = [
    poisson(random.poisson(3.2, 60), [0, 1, 3, 10, 40]),
    poisson(random.poisson(0.05, 60), [0, 1, 2]),
    poisson(random.poisson(5e4, 60), [49000, 50000, 51234]),
    exponential(random.exponential(0.3, 60), [0.0, 1e-3, 0.3, 12.5]),
    exponential(random.exponential(7e8, 60), [0.0, 1e8, 3e9]),
    log_normal(random.lognormal(-1.5, 0.4, 60), [1e-3, 0.2, 0.3, 5.0]),
    log_normal(random.lognormal(12.0, 2.5, 60), [1.0, 1e5, 1e9]),
    gamma(random.gamma(0.2, 3.0, 60), [1e-8, 0.1, 1.0, 20.0]),
    gamma(random.gamma(2.5, 40.0, 60), [0.5, 80.0, 1000.0]),
    gamma(random.gamma(900.0, 0.01, 60), [8.0, 9.0, 10.0]),
]
print(json.dumps(cases, indent=1))
