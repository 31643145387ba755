import inspect
import os
import unittest

import spade_edge


class Types(unittest.TestCase):
    def test_all_public_names_have_types(self):
        self.assertRegex(spade_edge.__version__, r"^\d+\.\d+\.\d+")
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(spade_edge.__file__), "py.typed")))
        for name in set(spade_edge.__all__) - {"__version__", "ScorerError"}:
            found = getattr(spade_edge, name)
            members = [(name, found)] if inspect.isfunction(found) else [
                (f"{name}.{n}", getattr(m, "__func__", m)) for n, m in vars(found).items() if n == "__init__" or n[0] != "_"]
            for where, function in members:
                function = getattr(function, "fget", function)
                if not inspect.isfunction(function) or where.startswith("Scorer.answer"):
                    continue
                signature = inspect.signature(function)
                self.assertIsNot(signature.return_annotation, inspect.Signature.empty, where)
                for p in signature.parameters.values():
                    if p.name not in ("self", "cls"):
                        self.assertIsNot(p.annotation, inspect.Parameter.empty, f"{where}: {p.name}")
