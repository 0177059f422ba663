"""The command line: the same words as the Python verbs."""

from dpglm.cli.commands import main as main
