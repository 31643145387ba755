"""Recomputes every figure of a privacy report from the certificate alone: python3 report.py certificate.json report.html"""
import json, math, re, sys
def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2
def up(x, digits):  # rounded up, but for rounding errors
    return "%.*f" % (digits, math.ceil(x * 10**digits * (1 - 1e-9)) / 10**digits)
def short(x):  # three digits that count
    digits = lambda x: min(max(2 - math.floor(math.log10(x)), 0), 9)
    return "0.00" if x <= 0 else "over a million" if x > 1e6 else up(x, digits(float(up(x, digits(x)))))
def least(fits, high, low=0):  # the least number that fits, by halving an interval
    for _ in range(200):
        low, high = (low, (low + high) / 2) if fits((low + high) / 2) else ((low + high) / 2, high)
    return high
def epsilon(rho, delta):  # the least with Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) <= delta
    mu = math.sqrt(2 * rho)
    fits = lambda eps: mu == 0 or phi(mu/2 - eps/mu) - math.exp(eps) * phi(-mu/2 - eps/mu) <= delta
    return 0 if fits(0) else least(fits, 700)
def times(rho, n=1):  # how often in 100 the best guess about somebody with n records is right
    return str(math.ceil(100 * phi(n * math.sqrt(2 * rho) / 2) - 1e-9))
def total(*costs):  # mu^2/2 of several runs against the first adversary, and against all other members if they know more
    sums = [sum(who) for who in zip(*costs)]
    return sums[:1] if sums[0] == sums[1] else sums
def cost(releases):  # 2 R^2 K/sigma^2, with the sigma that is left against each of the two
    sigma = [lambda s: s.get("shared", s).get("effective_sigma", s["sigma"]), lambda s: s["sigma"]]
    return [sum(2 * s["clip"]**2 * s["rounds"] / left(s)**2 for s in releases) for left in sigma]

c = json.load(open(sys.argv[1]))
life, delta = c["lifetime"] or {"runs": [], "declared": {}}, c["delta"]
reserved = [cost(r["releases"]) for r in life["runs"] if all(r[k] == c[k] for k in ("run", "fleet", "member"))]
run = total([max(who) for who in zip(cost(c["releases"]), *reserved)])
eps, odds = [epsilon(rho, delta) for rho in run], [short(math.exp(epsilon(rho, delta))) for rho in run]
figures = [times(rho) for rho in run] + [f for rho, e in zip(run, eps) for f in (times(rho), short(e))] + odds
runs = [cost(r["releases"]) for r in life["runs"]] + [[e["rho"], e["rho_all"]] for e in life["declared"].get("ledgers", [])]
runs += [2 * [least(lambda rho: epsilon(rho, e["delta"]) > e["epsilon"], 2e6)] for e in [life["declared"].get("estimate")] if e]
figures += [times(rho) for rho in total(*runs)] if runs else []
figures += [times(run[0], n) for n in (2, 3, 5, 10)] if c["unit"].startswith("one record ") else []
for rho, e, o in zip(run, eps, odds):
    figures += [up(math.sqrt(2 * rho), 6), up(e, 4), o, up(100 * phi(math.sqrt(2 * rho) / 2), 3)]
print("computed", *figures)
sys.exit(re.findall('<data value="([^"]*)">', open(sys.argv[2]).read()) != figures and "the page has other figures")
