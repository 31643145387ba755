#!/usr/bin/env python3
"""Simulates runs over data sets, sizes, budgets, units and graphs, and writes one line of CSV each: forecast.csv.

Usage: forecast.py PROGRAM DATA [RUNS] >forecast.csv, where PROGRAM is a built spade-edge and DATA the folder with
alzheimers, fashion-0-1, heart-four-hospitals and mnist-6-7. The runs are drawn from a fixed seed.
       forecast.py fit forecast.csv prints the table of sdk/plan/forecast.go, from the first half of these runs. The other half
is for TestForecastIntervals.
"""
import concurrent.futures, csv, itertools, json, math, random, shlex, statistics, subprocess, sys, tempfile


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


def fit(file):
    """Quantiles of the gain at each signal: of the runs near it, weighted by how near their signal is."""
    rows = [r for r in csv.DictReader(open(file))]
    rows = rows[:len(rows) // 2]
    for unit, knots in ("client", (.05, .1, .2, .4, .7, 1, 1.5, 2, 3, 5, 10)), ("record", (.2, .4, .7, 1, 2, 4, 8, 16, 40)):
        runs = [(math.log(float(r["signal"])), (float(r["accuracy"]) - float(r["majority"])) /
                 (float(r["free"]) - float(r["majority"]))) for r in rows if r["unit"] == unit]
        quantiles = [[], [], []]
        for knot in knots:
            near = sorted((gain, math.exp(-((s - math.log(knot)) / .3) ** 2 / 2)) for s, gain in runs)
            weight = sum(w for _, w in near)
            for share, column in zip((.05, .5, .95), quantiles):
                column.append((weight, quantile(near, share * weight)))
        for knot, *values in zip(knots, *(rising(column) for column in quantiles)):
            print(f"\t\t{{{knot:g}, {', '.join(f'{v:.2f}' for v in values)}}},")
        print()


if sys.argv[1] == "fit":
    sys.exit(fit(sys.argv[2]))
program, data = sys.argv[1:3]
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 600


def hearts(into):
    """Pools the four hospitals: ill or not, without the three columns that are mostly missing; medians fill gaps."""
    rows = []
    for name in "cleveland", "hungarian", "switzerland", "va":
        rows += csv.DictReader(open(f"{data}/heart-four-hospitals/{name}.csv"))
    columns = [c for c in rows[0] if c not in ("ca", "thal", "slope", "num")]
    for c in columns:
        middle = statistics.median(float(r[c]) for r in rows if r[c])
        for r in rows:
            r[c] = r[c] or middle
    print(*columns, "ill", sep=",", file=into)
    for r in rows:
        print(*(r[c] for c in columns), int(r["num"] != "0"), sep=",", file=into)
    into.flush()


def simulate(*flags):
    text = subprocess.run([program, "simulate", *flags, "-json"], capture_output=True, text=True)
    if text.returncode == 64:  # these flags do not go together, such as a graph that is too thin
        return None
    text.check_returncode()
    return json.loads(text.stdout)


heart = tempfile.NamedTemporaryFile("w", suffix=".csv")
hearts(heart)
sources = {
    "alzheimers": f"-data csv:{data}/alzheimers/alzheimers_disease_data.csv -label Diagnosis "
                  "-drop PatientID,DoctorInCharge -onehot Ethnicity,EducationLevel",
    "alzheimers-few": f"-data csv:{data}/alzheimers/alzheimers_disease_data.csv -label Diagnosis -drop PatientID,"
                      "DoctorInCharge,Ethnicity,EducationLevel,Age,Gender,BMI,Smoking,AlcoholConsumption,PhysicalActivity,"
                      "DietQuality,SleepQuality,FamilyHistoryAlzheimers,CardiovascularDisease,Diabetes,Depression,HeadInjury,"
                      "Hypertension,SystolicBP,DiastolicBP",
    "clinical": "-data synthetic:clinical",
    "clinical-hidden": "-data synthetic:clinical -model perceptron -hidden 4",
    "fashion": f"-data idx:{data}/fashion-0-1 -labels 0,1 -pca 10 -bias",
    "heart": f"-data csv:{heart.name} -label ill -onehot cp,restecg",
    "mnist": f"-data idx:{data}/mnist-6-7 -labels 6,7 -pca 10 -bias",
}
free = {}  # accuracies without noise


def trials():
    """Draws runs without end: name, nodes and the other columns, and the flags."""
    draw = random.Random(2)
    while True:
        name, nodes, graph = draw.choice(list(sources)), draw.choice([3, 4, 5, 8, 12, 20, 31, 50]), \
            draw.choice(["ring", "complete", "complete", "er:0.4"])
        partition, unit, epsilon = draw.choice(["iid", "iid", "dirichlet:0.3"]), draw.choice(["client", "record"]), \
            draw.choice([.1, .25, .5, 1, 2, 4, 8, 16])
        colluders, momentum, seed = draw.choice(["", "1", "auto"]), draw.choice(["", "", "", "0.8"]), draw.randint(1, 9)
        if epsilon > 2 and unit == "record" or epsilon < .5 and unit == "client":
            continue
        base = shlex.split(sources[name]) + f"-nodes {nodes} -partition {partition} -seed {seed}".split()
        flags = ["-graph", graph, "-epsilon", str(epsilon), "-unit", unit]
        for flag, value in ("-colluders", colluders), ("-momentum", momentum):
            flags += [flag, value] if value else []
        yield [name, nodes, graph, partition, unit, epsilon, colluders, momentum, seed], base, flags


def run(trial):
    columns, base, flags = trial
    r = simulate(*base, *flags)
    if r is None:
        return None
    key = tuple(base)
    if key not in free:
        free[key] = simulate(*base, *"-graph complete -non-private".split())["accuracy_mean"]
    return columns + [r["dim"], f"{r['forecast']['signal']:.4g}", round(r["accuracy_majority"], 1),
                      round(r["accuracy_mean"], 1), round(free[key], 1)]


out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow("data nodes graph partition unit epsilon colluders momentum seed dim signal majority accuracy free".split())
draws, done = trials(), 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    while done < runs:
        for row in pool.map(run, itertools.islice(draws, 8)):
            if row and done < runs:
                out.writerow(row)
                done += 1
        sys.stdout.flush()
