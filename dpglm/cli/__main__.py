"""``python -m dpglm.cli``: the command line where its script is not on the path."""

from dpglm.cli import main

main(prog_name="dpglm")
