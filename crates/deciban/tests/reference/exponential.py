"""Makes exponential.json: maximum likelihood fits and log densities of families of single numbers, by SciPy.

    pip install scipy mpmath && python exponential.py > exponential.json

Made with SciPy 1.17.1, NumPy 2.4.6, mpmath 1.4.1, seed 20240611. Each case has numbers x, the parameters
that are fitted to them with the location held at 0, and log densities of these parameters at some points.
SciPy finds the shape of a gamma density to about 1e-12 of itself; those of Poisson, exponential and log-normal
densities are closed forms. Those of beta and negative binomial densities solve the equations of maximum
likelihood with 50 digits, and their log densities have 50 digits too.
"""

import json

import mpmath as mp
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


mp.mp.dps = 50


def beta(x, points):
    means = mp.fsum(mp.log(v) for v in x) / len(x), mp.fsum(mp.log(1 - mp.mpf(v)) for v in x) / len(x)
    a, b, _, _ = stats.beta.fit(x, floc=0, fscale=1)
    of = lambda a, b: [mp.psi(0, k) - mp.psi(0, a + b) - mean for k, mean in zip((a, b), means)]
    a, b = mp.findroot(of, (mp.mpf(a), mp.mpf(b)))
    density = lambda p: (a - 1) * mp.log(p) + (b - 1) * mp.log(1 - mp.mpf(p)) - mp.log(mp.beta(a, b))
    return case("beta", x, [float(a), float(b)], lambda points: [density(p) for p in points.tolist()], points)


def negative_binomial(x, points):
    counts = [mp.mpf(int(v)) for v in x]
    mean = mp.fsum(counts) / len(counts)
    variance = mp.fsum((v - mean) ** 2 for v in counts) / len(counts)
    of = lambda r: mp.fsum(mp.psi(0, v + r) - mp.psi(0, r) for v in counts) / len(counts) - mp.log(1 + mean / r)
    moments = mp.log(mean**2 / (variance - mean))
    r = mp.exp(mp.findroot(lambda ln_r: of(mp.exp(ln_r)), (moments - 3, moments + 3), solver="anderson", maxsteps=200, tol=1e-80))
    log_choose = lambda v: mp.loggamma(v + r) - mp.loggamma(r) - mp.loggamma(v + 1)
    mass = lambda v: log_choose(v) + r * mp.log(r / (r + mean)) + v * mp.log(mean / (r + mean))
    return case("negative-binomial", x, [float(mean), float(1 / r)], lambda points: [mass(p) for p in points.tolist()], points)


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
    beta(random.beta(2.0, 5.0, 60), [1e-6, 0.25, 0.5, 0.999]),
    beta(random.beta(0.3, 0.2, 60), [1e-9, 0.5, 0.9999]),
    beta(random.beta(4e4, 9e3, 60), [0.8, 0.816, 0.83]),
    beta(random.beta(1.5, 4e5, 60), [1e-8, 4e-6, 1e-4]),
    negative_binomial(random.negative_binomial(2.0, 0.2, 60), [0, 1, 8, 100]),
    negative_binomial(random.negative_binomial(0.1, 0.01, 60), [0, 1, 50, 2000]),
    negative_binomial(random.negative_binomial(30.0, 0.003, 60), [5000, 10000, 20000]),
]
print(json.dumps(cases, indent=1))
