"""Data sets: whole, declared, and declared before anyone looked at them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpglm.data.datasets import load_table
from dpglm.data.declaration import declared
from dpglm.data.variables import Numeric
from dpglm.errors import SchemaError

SIZES = {"fair": 6366, "randhie": 20190, "simulated": 2000}
RESPONSES = {"fair": "affair", "randhie": "visit", "simulated": "y"}


@pytest.mark.parametrize("name", SIZES)
def test_every_row_of_a_data_set_lies_within_its_schema(name):
    frame = load_table(name)
    schema = declared(frame)
    assert len(frame) == SIZES[name]
    cleaned = schema.clean(frame, list(schema.variables))
    for column, variable in schema.variables.items():
        if isinstance(variable, Numeric):
            np.testing.assert_array_equal(cleaned[column], frame[column].to_numpy())
        else:
            assert cleaned[column].min() >= 0


@pytest.mark.parametrize("name", SIZES)
def test_every_declaration_says_where_it_comes_from_and_what_a_row_is(name):
    schema = declared(load_table(name))
    assert schema.unit
    assert schema.title
    assert all(variable.source for variable in schema.variables.values())
    assert schema.variables[RESPONSES[name]].levels == ("no", "yes")


def test_bounds_read_off_the_file_are_marked():
    looked = {
        name: [c for c, v in declared(load_table(name)).variables.items() if v.looked_at_data]
        for name in SIZES
    }
    assert looked == {"fair": [], "randhie": ["lpi", "disea"], "simulated": []}


def test_fair_is_declared_as_its_code_book_says():
    variables = declared(load_table("fair")).variables
    assert (variables["age"].low, variables["age"].high) == (17.5, 42.0)
    assert variables["occupation"].levels == (1, 2, 3, 4, 5, 6)


def test_an_unknown_data_set_is_answered_with_the_known_ones():
    with pytest.raises(SchemaError, match="'fair', 'randhie', 'simulated'"):
        load_table("iris")


def test_the_heavy_part_of_statsmodels_stays_out():
    code = (
        "import sys; from dpglm.data.datasets import load_table; load_table('fair');"
        "print('statsmodels.api' in sys.modules, 'scipy.stats' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_the_script_makes_the_simulated_table_again(tmp_path):
    root = Path(__file__).parents[3]
    script = root / "data" / "make_simulated.py"
    if not script.exists():
        pytest.skip("the script is in the repository, not in the package")
    shipped = root / "dpglm" / "data" / "tables" / "simulated.csv"
    (tmp_path / "dpglm" / "data" / "tables").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / script.name).write_text(script.read_text())
    subprocess.run([sys.executable, tmp_path / "data" / script.name], check=True, capture_output=True)
    assert (tmp_path / "dpglm" / "data" / "tables" / "simulated.csv").read_bytes() == shipped.read_bytes()
    assert shipped.stat().st_size < 100_000
