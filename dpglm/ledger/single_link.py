"""A ledger file has one name: through a second hard link a crash could take charges away again."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from dpglm.errors import LedgerError


def require_one_name(path: Path) -> None:
    """Refuse a ledger file with a second hard link, and finish what a killed maker of the file left behind.

    What a crash left half done is undone by whoever opens the file next, from notes that SQLite keeps beside
    the name it was given. If the file grew meanwhile under a second name, those lines would be undone too: a
    release would stand without its charge. Symbolic links are harmless, since SQLite resolves them.

    Parameters
    ----------
    path : Path
        The ledger file, absolute. ``Journal.create`` writes it under the name of a draft and then links it to
        its own; where the maker died in between, the draft's name is taken away here.

    Raises
    ------
    LedgerError
        The file has more than one name.
    """
    try:
        if os.stat(path).st_nlink == 1:
            return
        for draft in path.parent.glob(f".{glob.escape(path.name)}.*.draft"):
            if os.path.samefile(draft, path):
                draft.unlink(missing_ok=True)
        names = os.stat(path).st_nlink
    except OSError:
        return  # SQLite says what is wrong with the file
    if names > 1:
        raise LedgerError(
            f"ledger file {path.name!r} has {names} names (hard links)",
            expected="one name, under which all processes open it",
            remedy="Remove the other names. For another place use a symbolic link, for a copy cp.",
        )
