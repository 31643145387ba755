"""Tests of the package: python3 -m unittest, in the folder above. They need numpy, and the program or Go to build it."""
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
_built = tempfile.TemporaryDirectory()


def need_program():
    """Builds the program of this checkout, unless SPADE_EDGE names one."""
    if os.environ.get("SPADE_EDGE"):
        return
    if not shutil.which("go"):
        raise unittest.SkipTest("needs SPADE_EDGE, the path of the program, or Go")
    path = os.path.join(_built.name, "spade-edge")
    subprocess.run(["go", "build", "-o", path, "./cmd/spade-edge"], cwd=ROOT, check=True)
    os.environ["SPADE_EDGE"] = path
