"""R-style statistics under differential privacy.

>>> import dpglm
>>> women = dpglm.load_data("fair")
>>> fit = dpglm.fit("affair ~ age + religious", women, penalty="l2", privacy=1.0, seed=1)
>>> fit.names
('Intercept', 'age', 'religious')
"""

from dpglm import errors, methods
from dpglm.api import compare, fit, load, load_data
from dpglm.auditing import Audit, audit
from dpglm.data import Categorical, Numeric, Schema, declare
from dpglm.fitted import Fitted
from dpglm.glm import families, penalties
from dpglm.planning import StudyPlan, plan
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.privacy.ledger import Ledger
from dpglm.results.fit_result import FitResult
from dpglm.site_fits import SiteFits
from dpglm.version import __version__

__all__ = [
    "Audit",
    "Categorical",
    "FitResult",
    "Fitted",
    "Guarantee",
    "Ledger",
    "Numeric",
    "Privacy",
    "Schema",
    "SiteFits",
    "StudyPlan",
    "__version__",
    "audit",
    "compare",
    "declare",
    "errors",
    "families",
    "fit",
    "load",
    "load_data",
    "methods",
    "penalties",
    "plan",
]
