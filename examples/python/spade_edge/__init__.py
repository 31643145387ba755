"""SPADE-Edge from Python: devices at the edge train one shared model together, without a server or gradients.

  scorer      makes a program that gives a node its losses of a function
  Adapter     expands the few numbers of a fleet's adapter to a model's parameters
  Node        starts and watches a node that a node file describes
  Fleet       makes and runs a fleet for a trial on this machine
  LocalNode   a node in this process, through the C library
  wrap        makes such a program of a model of scikit-learn, PyTorch or numpy; trial runs a fleet of them on this machine
  load_model  applies a model file, as "spade-edge predict" does

scorer, Adapter and load_model need numpy alone. Node and Fleet start the program spade-edge, which is found in the environment
variable SPADE_EDGE or on the PATH. LocalNode loads libspade_edge.so of examples/c, or what SPADE_EDGE_LIBRARY names.
"""
from .adapter import Adapter
from .library import LocalNode
from .model import Model, load_model
from .process import Fleet, Node, ScorerError, SpadeEdgeError
from .scorer import Scorer, scorer
from .wrap import Wrapped, trial, wrap

__all__ = ["Adapter", "Fleet", "LocalNode", "Model", "Node", "Scorer", "ScorerError", "SpadeEdgeError", "Wrapped", "load_model", "scorer",
           "trial", "wrap"]
