#!/usr/bin/env python3
"""How wrong a risk rule is about one patient: the program that a hospital brings. Python 3 and nothing else.

  score.py PATIENTS.csv     answers queries on standard input, a line of JSON each, as package sdk/scorer says

The rule adds up weighted findings and a baseline; with p the probability that it gives to what really happened to the patient, the loss is
(1 - p)^2: 0 is right and sure, 1 wrong and sure, and 1/4 does not know.
"""
import csv
import hashlib
import json
import math
import sys

# What is usual in patients of this kind, from the literature (here: made up), not from the patients in the file. A mean over
# one's own patients would be a release of its own, which nobody has paid for.
USUAL = {
    "age_years": (62, 11),
    "systolic_mmhg": (138, 18),
    "bmi_kg_m2": (28, 4.5),
    "glucose_mmol_l": (6.2, 1.3),
    "hdl_mmol_l": (1.3, 0.35),
}


def load(path):
    """The patients: what was found, in units of what is usual, a one for the baseline, and whether an event followed."""
    with open(path, newline="") as file:
        return [
            ([(float(row[name]) - mean) / deviation for name, (mean, deviation) in USUAL.items()] + [1.0], row["event"] == "yes")
            for row in csv.DictReader(file)
        ]


def loss(findings, event, weights):
    risk = sum(weight * finding for weight, finding in zip(weights, findings))
    if event:
        risk = -risk
    # The probability of what did not happen, 1/(1 + exp(-risk)); exp never sees a number above 0.
    wrong = 1 / (1 + math.exp(-risk)) if risk >= 0 else math.exp(risk) / (1 + math.exp(risk))
    return wrong * wrong


patients = load(sys.argv[1])
digest = hashlib.sha256(repr(patients).encode()).hexdigest()  # tells the node whether the patients are those of its last start
print(json.dumps({"hello": 1, "dim": len(USUAL) + 1, "samples": len(patients), "data": digest}), flush=True)
for line in sys.stdin:
    query = json.loads(line)
    print(json.dumps({"id": query["id"], "loss": loss(*patients[query["sample"]], query["x"])}), flush=True)
