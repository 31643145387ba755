#!/usr/bin/env python3
"""Recomputes every figure of a privacy report from the certificate alone:
    python3 report.py certificate.json report.html"""
import json, math, re, sys

def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2
def up(x, digits):  # rounded up, but for rounding errors
    return "%.*f" % (digits, math.ceil(x * 10**digits * (1 - 1e-9)) / 10**digits)
def short(x):  # three digits that count
    digits = lambda x: min(max(2 - math.floor(math.log10(x)), 0), 9)
    return "0.00" if x <= 0 else "over a million" if x > 1e6 else up(x, digits(float(up(x, digits(x)))))
def epsilon(rho, delta):  # Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) = delta, by halving an interval
    mu, low, high = math.sqrt(2 * rho), 0, 700
    over = lambda eps: phi(mu/2 - eps/mu) - math.exp(eps) * phi(-mu/2 - eps/mu) > delta
    for _ in range(200):
        low, high = ((low + high) / 2, high) if over((low + high) / 2) else (low, (low + high) / 2)
    return high if over(0) else 0
def right(rho):  # times in 100: 100 Phi(mu/2)
    return 100 * phi(math.sqrt(2 * rho) / 2)
def times(rho):
    return str(math.ceil(right(rho) - 1e-9))
def cost(releases):  # mu^2/2 = 2 R^2 K/sigma^2 against the first adversary, and against all other members together
    sigmas = lambda s: (s.get("shared", {}).get("effective_sigma", s["sigma"]), s["sigma"])
    return [sum(2 * s["clip"]**2 * s["rounds"] / sigmas(s)[who]**2 for s in releases) for who in (0, 1)]
def each(costs):  # one adversary if both costs are equal
    return costs[:1] if costs[0] == costs[1] else costs

c = json.load(open(sys.argv[1]))
life, delta, same = c["lifetime"] or {"runs": []}, c["delta"], ("run", "fleet", "member")
reserved = [cost(r["releases"]) for r in life["runs"] if all(r[k] == c[k] for k in same)] or [[0, 0]]
run = each([max(a, b) for a, b in zip(cost(c["releases"]), reserved[0])])
figures = [times(rho) for rho in run]
for rho in run:
    figures += [times(rho), short(epsilon(rho, delta))]
figures += [short(math.exp(epsilon(rho, delta))) for rho in run]
if c["lifetime"]:
    all_runs = [cost(r["releases"]) for r in life["runs"]] + [[e["rho"], e["rho_all"]] for e in life["declared"].get("ledgers", [])]
    if "estimate" in life["declared"]:  # the rho whose epsilon is the estimate, in the accounting "gdp"
        e, low, high = life["declared"]["estimate"], 0, 2e6
        for _ in range(200):
            low, high = ((low + high) / 2, high) if epsilon((low + high) / 2, e["delta"]) <= e["epsilon"] else (low, (low + high) / 2)
        all_runs.append([low, low])
    figures += [times(rho) for rho in each([sum(who) for who in zip(*all_runs)])]
if c["unit"].startswith("one record "):
    figures += [times(n * n * run[0]) for n in (2, 3, 5, 10)]
for rho in run:
    figures += [up(math.sqrt(2 * rho), 6), up(epsilon(rho, delta), 4), short(math.exp(epsilon(rho, delta))), up(right(rho), 3)]
found = re.findall('<data value="([^"]*)">', open(sys.argv[2]).read())
print("computed", *figures)
sys.exit(found != figures and "the page has " + " ".join(found))
