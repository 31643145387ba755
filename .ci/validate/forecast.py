#!/usr/bin/env python3
"""Simulates runs over data sets, sizes, budgets and graphs, and writes one line of CSV each: forecast.csv.

Usage: forecast.py PROGRAM DATA [RUNS] >forecast.csv, where PROGRAM is a built spade-edge and DATA the folder with
alzheimers, fashion-0-1, heart-four-hospitals and mnist-6-7. The runs are drawn from a fixed seed.
"""
import csv, json, random, shlex, statistics, subprocess, sys, tempfile

program, data = sys.argv[1:3]
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 300


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
    for r in rows:
        print(*(r[c] for c in columns), int(r["num"] != "0"), sep=",", file=into)
    into.flush()
    return ",".join(columns) + ",ill\n"


def simulate(*flags):
    text = subprocess.run([program, "simulate", *flags, "-json"], capture_output=True, text=True)
    if text.returncode == 2:  # these flags do not go together, such as a graph that is too thin
        return None
    text.check_returncode()
    return json.loads(text.stdout)


body = tempfile.NamedTemporaryFile("w+", suffix=".csv")
head = hearts(body)
body.seek(0)
heart = tempfile.NamedTemporaryFile("w", suffix=".csv")
heart.write(head + body.read())
heart.flush()
sources = {
    "alzheimers": f"-data csv:{data}/alzheimers/alzheimers_disease_data.csv -label Diagnosis "
                  "-drop PatientID,DoctorInCharge -onehot Ethnicity,EducationLevel",
    "clinical": "-data synthetic:clinical",
    "fashion": f"-data idx:{data}/fashion-0-1 -labels 0,1 -pca 10 -bias",
    "heart": f"-data csv:{heart.name} -label ill -onehot cp,restecg",
    "mnist": f"-data idx:{data}/mnist-6-7 -labels 6,7 -pca 10 -bias",
}
free = {}  # accuracies without noise
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow("data nodes graph partition epsilon colluders seed dim tau clip sigma queries majority accuracy free".split())
draw = random.Random(1)
done = 0
while done < runs:
    name, nodes, graph = draw.choice(list(sources)), draw.choice([3, 5, 8, 12, 20, 31, 50]), \
        draw.choice(["ring", "complete", "er:0.4"])
    partition, epsilon, seed = draw.choice(["iid", "iid", "dirichlet:0.3"]), draw.choice([.5, 1, 2, 4, 8, 8, 16, 32]), \
        draw.randint(1, 5)
    colluders, tau, clip = draw.choice(["", "", "1"]), draw.choice(["", "", 2, 8, 32]), draw.choice(["", "", "", .01, .1])
    base = shlex.split(sources[name]) + f"-nodes {nodes} -partition {partition} -seed {seed}".split()
    flags = ["-graph", graph, "-epsilon", str(epsilon)]
    for flag, value in ("-colluders", colluders), ("-tau", tau), ("-clip", clip):
        flags += [flag, str(value)] if value != "" else []
    r = simulate(*base, *flags)
    if r is None:
        continue
    key = name, nodes, partition, seed
    if key not in free:
        free[key] = simulate(*base, *"-graph complete -tau 32 -non-private".split())["accuracy_mean"]
    out.writerow([name, nodes, graph, partition, epsilon, colluders, seed, r["dim"], r["tau"], r["privacy"]["clip"],
                  r["privacy"]["sigma"], r["queries"], round(r["accuracy_majority"], 1), round(r["accuracy_mean"], 1),
                  round(free[key], 1)])
    sys.stdout.flush()
    done += 1
