"""Draw the simulated table that ships with dpglm; a second run writes the same bytes again.

2,000 rows of a logistic model: log-odds of ``y`` = -0.5 + 1.2 x1 - 0.8 x2 + 0.6 [group b]. Level c of
``group`` is like a, and ``x3`` is not in the model.
"""

from pathlib import Path

import numpy as np

ROWS, SEED = 2000, 20261121
TARGET = Path(__file__).parent.parent / "dpglm" / "data" / "tables" / "simulated.csv"


def main() -> None:
    """Write the table."""
    random = np.random.Generator(np.random.PCG64(SEED))
    x1, x2, x3 = np.clip(random.normal(size=(3, ROWS)), -3, 3).round(3)
    group = random.choice(["a", "b", "c"], size=ROWS, p=[0.5, 0.3, 0.2])
    log_odds = -0.5 + 1.2 * x1 - 0.8 * x2 + 0.6 * (group == "b")
    y = np.where(random.random(ROWS) < 1 / (1 + np.exp(-log_odds)), "yes", "no")
    lines = [f"{a},{b},{c},{g},{r}" for a, b, c, g, r in zip(x1, x2, x3, group, y, strict=True)]
    TARGET.write_text("\n".join(["x1,x2,x3,group,y", *lines, ""]), encoding="utf-8", newline="\n")
    print(f"wrote {TARGET.name}: {ROWS} rows")


if __name__ == "__main__":
    main()
