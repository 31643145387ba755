#!/usr/bin/env python3
"""Simulates runs over data sets, sizes, budgets and graphs, and writes one line of CSV each: see forecast.csv.

Usage: forecast.py PROGRAM DATA [RUNS [SEED [middle|large]]] >>forecast.csv, where PROGRAM is a built spade-edge and DATA the folder
with alzheimers, brain-tumor-64, fashion-0-1, heart-four-hospitals and mnist-6-7. The runs protect records: 2 to 1,000 members
with 5 to 50,000 records each, epsilon 1e-7 to 1e3. With middle, half of them have a signal between 0.02 and 20, and each
other line is marked to fit the table to. With large, 2 to 4 members with 20,000 to 50,000 records each, half of them with such a
signal, and no line to fit to.
       forecast.py fit forecast.csv prints the tables of sdk/plan/forecast.go, from the lines with fit in the column part.
TestForecastIntervals checks them on the others, of which those with fresh were made after the table. The lines of clients, and
of records without a number of records, are from an earlier version of this program.

Left out are runs whose data without noise bring less than 5 points over the most frequent answer.
"""
import collections, concurrent.futures, csv, functools, gzip, json, math, os, random, shlex, statistics, subprocess, sys, tempfile


def quantile(weighted, below):
    for value, weight in weighted:
        below -= weight
        if below <= 0:
            return value


def rising(column):
    """Pools neighbors until no value is below the one before: more signal never brings less."""
    pools = []
    for weight, value in column:
        pools.append([weight, value, 1])
        while len(pools) > 1 and pools[-2][1] > pools[-1][1]:
            w, v, n = pools.pop()
            u = pools[-1]
            pools[-1] = [u[0] + w, (u[0] * u[1] + w * v) / (u[0] + w), u[2] + n]
    return [v for _, v, n in pools for _ in range(n)]


# For each unit: the signals of the table, and by how many of their standard errors the quantiles lie farther out, since those
# of few runs are too narrow for others.
TABLES = ("client", (.05, .1, .2, .4, .7, 1, 1.5, 2, 3, 5, 10), 0), ("record", (.02, .05, .1, .2, .4, .7, 1, 2, 4, 8, 16, 40), 1)


def fit(file):
    """Quantiles of the gain at each signal: of the runs near it, weighted by how near their signal is."""
    rows = [r for r in csv.DictReader(open(file)) if r["part"] == "fit"]
    for unit, knots, errors in TABLES:
        runs = [(math.log(float(r["signal"])), (float(r["accuracy"]) - float(r["majority"])) / (float(r["free"]) - float(r["majority"])))
                for r in rows if r["unit"] == unit]
        if errors:  # these runs go beyond the table
            runs = [(min(max(s, math.log(knots[0])), math.log(knots[-1])), gain) for s, gain in runs]
        quantiles = [[], [], []]
        for knot in knots:
            near = sorted((gain, math.exp(-((s - math.log(knot)) / .3) ** 2 / 2)) for s, gain in runs)
            weight = sum(w for _, w in near)
            share = max(1e-6, .05 - errors * math.sqrt(.05 * .95 * sum(w * w for _, w in near)) / weight)
            for below, column in zip((share, .5, 1 - share), quantiles):
                column.append((weight, quantile(near, below * weight)))
        for knot, *values in zip(knots, *(rising(column) for column in quantiles)):
            print(f"\t\t{{{knot:g}, {', '.join(f'{v:.2f}' for v in values)}}},")
        print()


if sys.argv[1] == "fit":
    sys.exit(fit(sys.argv[2]))
program, data = sys.argv[1:3]
runs, seed = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((3, 300), (4, 1)))
middle, large = "middle" in sys.argv, "large" in sys.argv


def hearts():
    """Pools the four hospitals: ill or not, without the three columns that are mostly missing; medians fill gaps."""
    rows = []
    for name in "cleveland", "hungarian", "switzerland", "va":
        rows += csv.DictReader(open(f"{data}/heart-four-hospitals/{name}.csv"))
    columns = [c for c in rows[0] if c not in ("ca", "thal", "slope", "num")]
    for c in columns:
        median = statistics.median(float(r[c]) for r in rows if r[c])
        for r in rows:
            r[c] = r[c] or median
    return columns + ["class"], [[r[c] for c in columns] + [int(r["num"] != "0")] for r in rows]


def alzheimers(few):
    rows = list(csv.DictReader(open(f"{data}/alzheimers/alzheimers_disease_data.csv")))
    columns = "FunctionalAssessment ADL MMSE MemoryComplaints BehavioralProblems Forgetfulness Confusion".split() if few else \
        [c for c in rows[0] if c not in ("PatientID", "DoctorInCharge", "Diagnosis")]
    return columns + ["class"], [[r[c] for c in columns] + [r["Diagnosis"]] for r in rows]


def images(name, prefix, side):
    """Means of 16 squares of each image, kept in a file of the temporary folder."""
    kept = f"{tempfile.gettempdir()}/forecast-{name}.csv"
    if os.path.exists(kept):
        with open(kept) as file:
            head, *rows = csv.reader(file)
        return head, rows
    pixels, labels = (gzip.open(f"{data}/{name}/{prefix}{kind}-idx{n}-ubyte.gz").read()
                      for kind, n in (("images", 3), ("labels", 1)))
    rows, width = [], side // 4
    for i in range(min(len(labels) - 8, 6000)):
        image = pixels[16 + i * side * side:][:side * side]
        rows.append([sum(image[(y * width + v) * side + x * width + u] for v in range(width) for u in range(width))
                     for y in range(4) for x in range(4)] + [f"c{labels[8 + i]}"])
    head = [f"p{i}" for i in range(16)] + ["class"]
    with open(kept, "w") as file:
        csv.writer(file).writerows([head] + rows)
    return head, rows


def generated(draw, n):
    """Rows of two classes, of which one is somewhat rarer, with a straight border that is more or less sharp."""
    d, sharp, shift = draw.choice([2, 4, 8, 16, 32]), draw.choice([1, 2, 5, 20]), draw.choice([0, 0, .3, .6])
    w = [draw.gauss(0, 1) for _ in range(d)]
    norm = math.sqrt(sum(v * v for v in w))
    rows = []
    for _ in range(n):
        x = [round(draw.gauss(0, 1), 4) for _ in range(d)]
        score = sharp * (sum(a * b for a, b in zip(w, x)) / norm - shift)
        rows.append(x + [int(draw.random() < 1 / (1 + math.exp(-score)))])
    return [f"x{i}" for i in range(d)] + ["class"], rows


sources = {
    "alzheimers": functools.cache(lambda: alzheimers(False)),
    "alzheimers-few": functools.cache(lambda: alzheimers(True)),
    "brain": functools.cache(lambda: images("brain-tumor-64", "train-", 64)),
    "fashion": functools.cache(lambda: images("fashion-0-1", "", 28)),
    "heart": functools.cache(hearts),
    "mnist": functools.cache(lambda: images("mnist-6-7", "train-", 28)),
}
real = list(sources)
flags = {"alzheimers": "-onehot Ethnicity,EducationLevel", "heart": "-onehot cp,restecg"}


def simulate(*flags):
    text = subprocess.run([program, "simulate", *flags, "-json"], capture_output=True, text=True)
    if text.returncode == 64:  # these flags do not go together, such as a graph that is too thin
        return None
    if text.returncode:
        print(*flags, text.stderr[-500:], file=sys.stderr)
        return None
    return json.loads(text.stdout)


def epsilon_of(mu, delta=1e-5):
    """The epsilon of a Gaussian mechanism with this mu, by bisection."""
    def spent(e):
        upper = .5 * math.erfc((-mu / 2 + e / mu) / math.sqrt(2))
        lower = .5 * math.erfc((mu / 2 + e / mu) / math.sqrt(2))
        return upper - (math.exp(e + math.log(lower)) if lower > 0 else 0)
    low, high = 0, 1e3
    for _ in range(60):
        low, high = ((low + high) / 2, high) if spent((low + high) / 2) > delta else (low, (low + high) / 2)
    return high


def trials():
    """Draws runs without end."""
    draw = random.Random(seed)
    while True:
        name = draw.choice(real * 2 + ["generated"] * 9)
        members, records = (round(math.exp(draw.uniform(math.log(low), math.log(high)))) for low, high in
                            (draw.choice([(2, 80)] * 9 + [(80, 1000)]), (5, 50000)))
        total, cap = members * records, draw.choice([1000] * 9 + [3000] * 3 + [10000, 100000])  # most are quick
        if large:
            name, cap = "generated", 200000
            members, records = draw.randint(2, 4), round(math.exp(draw.uniform(math.log(20000), math.log(50000))))
            total = members * records
        elif draw.random() < .01:
            name, cap = "generated", 100000
            members, records = draw.choice([(2, 50000), (1000, 5), (600, 20), (3, 20000), (4, 10000), (300, 30)])
            total = members * records
        if total > (cap if name == "generated" else min(cap, len(sources[name]()[1]) - 200)):
            continue
        graph = draw.choice(["complete", "complete", "er:0.4", "ring"] if members <= 40 else ["regular:8"])
        partition = draw.choice(["iid", "iid", "dirichlet:0.3"]) if records >= 30 else "iid"
        colluders, epsilon = draw.choice(["", "", "1", "auto"]) if members <= 40 else "", 10 ** draw.uniform(-7, 3)
        if (middle or large) and draw.random() < .5:
            signal, dim = 10 ** draw.uniform(math.log10(.02), math.log10(20)), 12
            epsilon = min(max(1e-7, epsilon_of(min(20 * signal / records / math.sqrt(members / dim), 30))), 1e3)
        yield name, members, records, graph, partition, f"{epsilon:.3g}", colluders, draw.randint(1, 1 << 30)


def run(trial):
    name, members, records, graph, partition, epsilon, colluders, number = trial
    draw = random.Random(number)
    train = members * records
    head, rows = sources[name]() if name in sources else generated(draw, train + 600)
    rows = draw.sample(rows, min(len(rows), train + 600))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        csv.writer(file, lineterminator="\n").writerows([head] + rows)
        file.flush()
        base = shlex.split(f"-data csv:{file.name} -label class -test-fraction {1 - train / len(rows)} -partition {partition} "
                           f"-seed {number % 1000 + 1} {flags.get(name, '')}")
        one = ["-nodes", str(members), "-graph", graph, "-epsilon", epsilon, "-unit", "record"]
        r = simulate(*base, *one, *(["-colluders", colluders] if colluders else []))
        free = r and simulate(*base, *f"-graph complete -non-private -nodes {min(members, 8)}".split())
    if free is None or free["score"]["mean"] < r["score"]["constant"] + 5:
        return None
    return [name, members, graph, partition, "record", epsilon, colluders, "", number % 1000 + 1, r["dim"],
            f"{r['forecast']['signal']:.4g}", round(r["score"]["constant"], 1), round(r["score"]["mean"], 1),
            round(free["score"]["mean"], 1), records]


out, draws, done, left = csv.writer(sys.stdout, lineterminator="\n"), trials(), 0, 0
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    waiting = collections.deque()
    while done < runs:
        while len(waiting) < 20:
            waiting.append(pool.submit(run, next(draws)))
        row = waiting.popleft().result()
        if row is None:
            left += 1
            continue
        out.writerow(row + ["fit" if middle and done % 2 == 0 else "check"])
        sys.stdout.flush()
        done += 1
    pool.shutdown(cancel_futures=True)
print(f"{left} were left out", file=sys.stderr)
