"""Carriers: whole messages or none, each taken once, and nothing else in a folder is opened."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from dpglm.errors import ExchangeError
from dpglm.exchange import Box, Folder, InProcess, Transport
from dpglm.exchange.arguments import transport_of
from dpglm.exchange.messages import MOST_BYTES

BOX = Box("monday-run", "north", "asks")


@pytest.fixture(params=["in process", "folder"])
def carrier(request: Any, tmp_path: Path) -> Transport:
    return InProcess() if request.param == "in process" else Folder(tmp_path, every=0.01)


def test_a_message_is_taken_once_and_from_its_own_box(carrier: Transport) -> None:
    carrier.send(BOX, b"one")
    for other in (
        Box("monday-run", "north", "answers"),
        Box("monday-run", "south", "asks"),
        Box("x", "north", "asks"),
    ):
        assert carrier.receive(other, 0.0) is None
    assert carrier.receive(BOX, 1.0) == b"one"
    assert carrier.receive(BOX, 0.0) is None


def test_who_waits_is_given_what_comes_later(carrier: Transport) -> None:
    threading.Timer(0.05, carrier.send, (BOX, b"late")).start()
    assert carrier.receive(BOX, 20.0) == b"late"


def test_many_readers_take_each_message_once(carrier: Transport) -> None:
    sent = {f"message {number}".encode() for number in range(30)}
    for message in sent:
        carrier.send(BOX, message)
    taken: list[bytes] = []

    def take() -> None:
        while (message := carrier.receive(BOX, 0.0)) is not None:
            taken.append(message)

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(taken) == sent
    assert len(taken) <= 2 * len(sent)


def test_the_same_message_twice_is_one_file(tmp_path: Path) -> None:
    carrier = Folder(tmp_path)
    carrier.send(BOX, b"one")
    carrier.send(BOX, b"one")
    assert len(list((tmp_path / "monday-run" / "north" / "asks").iterdir())) == 1


@pytest.mark.parametrize("name", ["..", "../../etc", "a/b", "C:\\x", ".hidden", "é", "a b"])
def test_names_lead_to_no_other_folder(name: str, tmp_path: Path) -> None:
    carrier = Folder(tmp_path / "in") if (tmp_path / "in").mkdir() is None else None
    assert carrier is not None
    box = Box(name, name, "asks")
    carrier.send(box, b"one")
    (path,) = (path for path in tmp_path.rglob("*.json"))
    assert path.relative_to(tmp_path / "in").parts[2] == "asks"
    assert carrier.receive(box, 0.0) == b"one"


def test_drafts_of_a_killed_writer_are_no_messages(tmp_path: Path) -> None:
    carrier = Folder(tmp_path)
    carrier.send(BOX, b"one")
    (tmp_path / "monday-run" / "north" / "asks" / ".0123.draft").write_bytes(b"hal")
    assert carrier.receive(BOX, 0.0) == b"one"
    assert carrier.receive(BOX, 0.0) is None


@pytest.mark.parametrize("kind", ["huge", "link", "pipe", "folder"])
def test_nothing_but_a_plain_file_of_ordinary_size_is_read(kind: str, tmp_path: Path) -> None:
    carrier = Folder(tmp_path)
    carrier.send(BOX, b"one")
    carrier.receive(BOX, 0.0)
    path = tmp_path / "monday-run" / "north" / "asks" / "x.json"
    if kind == "huge":
        with open(path, "wb") as file:
            file.truncate(MOST_BYTES + 1)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(ExchangeError, match="at site 'north'"):
        carrier.receive(BOX, 0.0)


def test_what_carries_nothing_is_refused(tmp_path: Path) -> None:
    for wrong in (None, 3, tmp_path / "missing"):
        with pytest.raises(ExchangeError):
            transport_of(wrong)
    assert isinstance(transport_of(tmp_path), Folder)
    tmp_path.joinpath("monday-run").write_text("a file in its place")
    with pytest.raises(ExchangeError, match="cannot be written"):
        Folder(tmp_path).send(BOX, b"one")
