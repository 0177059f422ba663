"""Weights of rows in a specification: what is refused, before a row is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dpglm.curator.curator import PricedReleases
from dpglm.data.coding.row_weights import RowWeights
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError
from dpglm.methods.base import Method
from dpglm.methods.joint import JointMethod

# A weight that others' rows made, as raking to totals of the sample does, tells of these.
OWN: Final = "the weight of a row was made without the other rows of the table"


def require_weights(column: object, schema: Schema, method: Method, *, periods: bool) -> None:
    """Refuse weights that are no declared number, and models of which no proof here has them.

    ``periods`` says whether a row of the table becomes one for each period or stage.
    """
    RowWeights.of(column, schema)
    if periods:
        raise MethodError(
            "weights beside Surv(time, event), or an ordinal response",
            expected="weights of rows that stay rows: periods and stages have shares of their own",
            remedy="Leave weights out, or fit a response of two levels, a number or a count.",
        )
    if isinstance(method, JointMethod):
        raise MethodError(
            f"weights with method={method.name!r}, of several sites",
            expected="one table",
            remedy="Leave weights out, or fit one table.",
        )


def require_one_table(column: str | None) -> None:
    """Refuse weights at several sites: no total of theirs is known to combine fits by."""
    if column is not None:
        raise MethodError(
            "weights with tables by site",
            expected="one table: fits are combined as if each row counted for one",
            remedy="Fit each site by itself, or leave weights out.",
        )


def weighted_releases(releases: PricedReleases, method: str) -> PricedReleases:
    """The releases, whose guarantee then names what it takes for granted of weights.

    Those whose proof is about rows that count in full are a MethodError.
    """
    if releases.privacy is None:
        return releases
    for release in releases.releases:
        if not release.weighs:
            raise MethodError(
                f"weights of rows, for the release of a {release.name!r} by method={method!r}",
                expected="releases whose proof is about rows that count less than one each",
                remedy="Leave method out, or weights.",
            )
    known = (*releases.guarantee.assumptions, OWN)
    return replace(releases, guarantee=replace(releases.guarantee, assumptions=known))
