"""Literature that a fit rests on, by the definition and the mechanisms of its record."""

from __future__ import annotations

from typing import Final

from dpglm.postprocessing.record import FitRecord

CALIBRATING: Final = (
    "Dwork C, McSherry F, Nissim K, Smith A. Calibrating noise to sensitivity in private data analysis. "
    "Theory of Cryptography (TCC) 2006, LNCS 3876: 265-284."
)
DEFINITIONS: Final = {
    "pure": CALIBRATING,
    "approximate": "Dwork C, Kenthapadi K, McSherry F, Mironov I, Naor M. Our data, ourselves: privacy via "
    "distributed noise generation. EUROCRYPT 2006, LNCS 4004: 486-503.",
    "gdp": "Dong J, Roth A, Su WJ. Gaussian differential privacy. Journal of the Royal Statistical Society B "
    "2022; 84(1): 3-37.",
    "zcdp": "Bun M, Steinke T. Concentrated differential privacy: simplifications, extensions, and lower "
    "bounds. Theory of Cryptography (TCC) 2016, LNCS 9985: 635-658.",
}
MINIMISERS: Final = (
    "Chaudhuri K, Monteleoni C, Sarwate AD. Differentially private empirical risk minimization. Journal of "
    "Machine Learning Research 2011; 12: 1069-1109."
)
# By words that theorems of releases begin with.
MECHANISMS: Final = {
    "objective perturbation": MINIMISERS,
    "output perturbation": MINIMISERS,
    "Gaussian mechanism": "Balle B, Wang YX. Improving the Gaussian mechanism for differential privacy: "
    "analytical calibration and optimal denoising. ICML 2018, PMLR 80: 394-403.",
    "Laplace mechanism": CALIBRATING,
    "K-norm mechanism": "Hardt M, Talwar K. On the geometry of differential privacy. STOC 2010: 705-714.",
    "random stopping": "Papernot N, Steinke T. Hyperparameter tuning with Rényi differential privacy. ICLR "
    "2022.",
}
OTHERS: Final = (
    "Dwork C, Roth A. The algorithmic foundations of differential privacy. Foundations and Trends in "
    "Theoretical Computer Science 2014; 9(3-4): 211-407."
)
DISCOVERIES: Final = (
    "Benjamini Y, Hochberg Y. Controlling the false discovery rate: a practical and powerful approach to "
    "multiple testing. Journal of the Royal Statistical Society B 1995; 57(1): 289-300."
)


def mechanisms(record: FitRecord) -> dict[str, str]:
    """Mechanisms of the releases, each with what it was introduced by."""
    theorems = [release.theorem for release in record.description.releases if release.theorem]
    found = {
        name: reference
        for name, reference in MECHANISMS.items()
        if any(name in theorem for theorem in theorems)
    }
    known = all(any(name in theorem for name in found) for theorem in theorems)
    return found if known else {**found, "further mechanisms": OTHERS}
