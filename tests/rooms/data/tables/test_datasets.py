"""Data sets: whole, declared, and declared before anyone looked at them."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpglm.data.schema.variables import Numeric
from dpglm.data.tables import datasets
from dpglm.data.tables.datasets import load_data
from dpglm.data.tables.sources import declared
from dpglm.errors import SchemaError

SIZES = {"cohort": 92007, "fair": 6366, "randhie": 20190, "simulated": 2000}
RESPONSES = {"cohort": "diabetes", "fair": "affair", "randhie": "visit", "simulated": "y"}


@pytest.mark.parametrize("name", SIZES)
def test_every_row_of_a_data_set_lies_within_its_schema(name):
    frame = load_data(name)
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
    schema = declared(load_data(name))
    assert schema.unit
    assert schema.title
    assert all(variable.source for variable in schema.variables.values())
    assert schema.variables[RESPONSES[name]].levels == ("no", "yes")


def test_bounds_read_off_the_file_are_marked():
    looked = {
        name: [c for c, v in declared(load_data(name)).variables.items() if v.looked_at_data]
        for name in SIZES
    }
    assert looked == {"cohort": [], "fair": [], "randhie": ["lpi", "disea"], "simulated": []}


def test_fair_is_declared_as_its_code_book_says():
    variables = declared(load_data("fair")).variables
    assert (variables["age"].low, variables["age"].high) == (17.5, 42.0)
    assert variables["occupation"].levels == (1, 2, 3, 4, 5, 6)


def test_an_unknown_data_set_is_answered_with_the_known_ones():
    with pytest.raises(SchemaError, match="'cohort', 'fair', 'randhie', 'simulated'"):
        load_data("iris")


def test_the_heavy_part_of_statsmodels_stays_out():
    code = (
        "import sys; from dpglm.data.tables.datasets import load_data; load_data('fair');"
        "print('statsmodels.api' in sys.modules, 'scipy.stats' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_the_script_makes_the_simulated_table_again(tmp_path):
    root = Path(__file__).parents[4]
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


def test_the_cohort_has_the_paper_s_sites_and_draws_the_same_rows_again():
    frame = load_data("cohort")
    sizes = frame["site"].value_counts(sort=False).to_dict()
    assert sizes == datasets.COHORT_SITES
    assert (sizes["main"], min(sizes.values()), max(sizes.values())) == (12702, 2316, 12702)
    values = pd.util.hash_pandas_object(frame).to_numpy().tobytes()
    assert hashlib.sha256(values).hexdigest().startswith("61df907e935eee15")


def test_the_cohort_s_weights_and_groups_cover_its_features():
    columns = [name for name in load_data("cohort").columns if name not in ("site", "diabetes")]
    assert len(columns) == 50
    importance = datasets.cohort_importance()
    assert list(importance) == columns
    assert sorted(datasets.cohort_features().index) == sorted(columns)
    assert min(importance.values()) > 0.0
    assert sum(importance.values()) == pytest.approx(1.0, abs=0.05)


def test_sites_of_the_cohort_differ_in_prevalence_and_means():
    """By more than chance: with the smallest site's 2,316 rows a share has a standard error of .008."""
    frame = load_data("cohort")
    sites = frame.groupby("site", sort=False)
    shares = sites["diabetes"].apply(lambda answers: (answers == "yes").mean())
    assert 0.08 < shares.min() < 0.14 < 0.2 < shares.max() < 0.3
    means = sites["bmi"].mean()
    assert means.max() - means.min() > 1.0


def test_weights_of_the_cohort_say_what_matters():
    """Differences in mean of people with and without diabetes follow the weights, signs included."""
    frame = load_data("cohort")
    table = datasets.cohort_features()
    features = frame[table.index].astype(float)
    ill = (frame["diabetes"] == "yes").to_numpy()
    gaps = (features[ill].mean() - features[~ill].mean()) / features.std()
    said = (table["importance"] * table["sign"]).to_numpy()
    assert np.corrcoef(gaps.to_numpy(), said)[0, 1] > 0.8
    # Doctors are roughly right, not exactly.
    assert np.corrcoef(np.abs(gaps), np.abs(said))[0, 1] < 0.99
