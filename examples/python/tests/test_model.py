import csv
import json
import os
import tempfile
import unittest

import numpy as np

from spade_edge import load_model
from spade_edge.process import call

from . import ROOT, need_program

HEART = os.path.join(os.path.dirname(ROOT), "shared", "data", "heart-four-hospitals")
PATIENTS = os.path.join(ROOT, "examples", "patients.csv")


def said(model, data, *flags):
    """The probabilities, or the numbers, that "spade-edge predict" gives."""
    out = json.loads(call("predict", model, "-data", "csv:" + data, "-json", *flags))
    return np.array([r["probability"] if "probability" in r else r["number"] for r in out["rows"]])


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_program()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def simulated(self, data, *flags):
        """A model file of a short simulation on a CSV file."""
        model = tempfile.mktemp(".json", dir=self.folder.name)
        call("simulate", "-data", "csv:" + data, "-nodes", "4", "-graph", "complete", "-non-private", "-rounds", "5",
             "-save", model, *flags)
        return model

    def test_patients(self):
        """Softmax, perceptron and regression say what the program says."""
        for flags in (("-label", "diagnosis"), ("-label", "diagnosis", "-model", "perceptron"),
                      ("-target", "glucose", "-drop", "id,diagnosis"), ("-label", "ward", "-drop", "id", "-onehot", "diagnosis")):
            if "ward" not in flags:
                flags += "-onehot", "ward,diagnosis" if "glucose" in flags and "-drop" not in flags else "ward"
            path = self.simulated(PATIENTS, *flags)
            model = load_model(path)
            got, want = model.predict(PATIENTS), said(path, PATIENTS)
            self.assertLess(np.abs(got - want).max(), 1e-6)
            if model.classes:
                self.assertEqual(len(model.classify(PATIENTS)), len(want))

    def test_hospitals(self):
        """The four hospitals, with missing values, and a ward that no model knows."""
        if not os.path.isdir(HEART):
            self.skipTest(f"needs {HEART}")
        every = self.path("every.csv")
        with open(every, "w", newline="") as out:
            for i, name in enumerate(("cleveland", "hungarian", "switzerland", "va")):
                with open(os.path.join(HEART, name + ".csv"), newline="") as file:
                    rows = list(csv.reader(file))
                csv.writer(out).writerows(rows[1 if i else 0:])
        path = self.simulated(every, "-label", "num", "-onehot", "cp,restecg,slope,thal", "-missing", "indicator")
        model = load_model(path)
        for name in "cleveland", "hungarian", "switzerland", "va":
            data = os.path.join(HEART, name + ".csv")
            got, want = model.predict(data, unknown=True), said(path, data, "-unknown")
            self.assertEqual(got.shape, want.shape)
            self.assertLess(np.abs(got - want).max(), 1e-6)

    def test_faults(self):
        """Errors name a wrong file, a missing column and a cell that is not a number."""
        for text, want in (('{"version": 1}', "not a model file"), ('{"model": [1.0], "no_task": "program"}', "no task")):
            with open(self.path("odd.json"), "w") as file:
                file.write(text)
            with self.assertRaisesRegex(ValueError, want):
                load_model(self.path("odd.json"))
        model = load_model(self.simulated(PATIENTS, "-target", "age", "-drop", "id,ward,diagnosis"))
        row = {c: 1 for c in model.columns}
        self.assertEqual(model.predict([row, row]).shape, (2,))
        with self.assertRaisesRegex(ValueError, f"columns are missing: {model.columns[0]}"):
            model.predict([{c: 1 for c in model.columns[1:]}])
        with self.assertRaisesRegex(ValueError, f"row 2, column {model.columns[0]}: 'x' is not a number"):
            model.predict([row, {**row, model.columns[0]: "x"}])
        wards = load_model(self.simulated(PATIENTS, "-label", "diagnosis", "-onehot", "ward"))
        row = dict(id=1, ward="NORTH", age=50, pressure=120, glucose=5)
        known = wards.predict([row])
        row["ward"] = "attic"
        with self.assertRaisesRegex(ValueError, "row 1, column ward: 'attic' is not one of .*north"):
            wards.predict([row])
        self.assertGreater(np.abs(wards.predict([row], unknown=True) - known).max(), 0)
        with self.assertRaisesRegex(ValueError, "no rows"):
            model.predict([])
        with self.assertRaisesRegex(ValueError, "no classes"):
            model.classify([{c: 1 for c in model.columns}])


if __name__ == "__main__":
    unittest.main()
