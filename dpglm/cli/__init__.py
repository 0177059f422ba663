"""The command line: the same words as the Python verbs."""

from dpglm.cli import commands as commands
from dpglm.cli import exchange as exchange
from dpglm.cli import filed as filed
from dpglm.cli import ledger as ledger
from dpglm.cli import saved as saved
from dpglm.cli import schema as schema
from dpglm.cli.group import main as main
