"""SPADE-Edge from Python: devices at the edge train one shared model together, without a server or gradients.

  scorer      turns a function into a scorer: a program that serves losses to a node
  Adapter     expands the few numbers that a fleet trains to a model's parameters
  Node        starts and watches the node of a node file
  Fleet       makes and runs a fleet for a trial on this machine
  LocalNode   runs a node in this process, through the C library
  wrap        makes a scorer of a scikit-learn, PyTorch or numpy model; trial runs a fleet of such scorers on this machine
  load_model  applies a model file, as "spade-edge predict" does

scorer, Adapter and load_model need only numpy. Node and Fleet start the program spade-edge: the one that the environment
variable SPADE_EDGE names, or the one on the PATH. LocalNode loads libspade_edge.so of examples/c, or the file that
SPADE_EDGE_LIBRARY names.
"""
from .adapter import Adapter
from .library import LocalNode
from .model import Model, load_model
from .process import Fleet, Node, ScorerError, SpadeEdgeError
from .scorer import Scorer, scorer
from .trial import trial
from .wrap import Wrapped, wrap

__version__ = "0.1.0"

__all__ = ["Adapter", "Fleet", "LocalNode", "Model", "Node", "Scorer", "ScorerError", "SpadeEdgeError", "Wrapped", "__version__", "load_model",
           "scorer", "trial", "wrap"]
