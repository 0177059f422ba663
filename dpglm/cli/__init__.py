"""The command line: the same words as the Python verbs."""

from dpglm.cli.exchange import main as main
