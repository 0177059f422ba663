"""What a user of R or statsmodels reaches for and a result has not: why, and what to use in its place.

A name belongs to one of three groups. Some things are free under another name. Some would need the rows
themselves, which no result holds. Some need a release that the fit did not pay for.
"""

from __future__ import annotations

from typing import Final

# Why it is not here, and what to do.
_ROWS: Final = "it has a number for each row of the fit, and every one would tell of its row"
_TOTAL: Final = "it is a sum over the rows of the fit, and an exact one has no guarantee"
_SPEND: Final = "Noise on it would be another release with its own price; dpglm has none for it."
_CHECK: Final = (
    "Check the model on rows of your own or on public ones: predict(new), auc(new); or fit a richer model, "
    "at its price, and test it: wald_test('I(age**2)')."
)

# What a result has under another name.
_RENAMED: Final = {
    "scale sigma dispersion": (
        "Use fit.glance()['sigma'], or ['dispersion'], its square; of counts the dispersion alone."
    ),
    "coef coefficients coef_ coefs betas": "Use fit.params.",
    "intercept_": "Use fit.params['Intercept'].",
    "confint conf_intervals": "Use fit.conf_int(level=0.95).",
    "vcov cov cov_unscaled": "Use fit.cov_params().",
    "se stderr std_err standard_errors": "Use fit.bse.",
    "tvalues zvalues": "Use fit.tidy()['statistic'].",
    "emmeans lsmeans marginal_means ggpredict predictions avg_predictions": (
        "Use fit.margins('job'): means over a public grid, what='link' on the scale of the link."
    ),
    "get_margeff marginaleffects margeff slopes avg_slopes comparisons avg_comparisons effects": (
        "Use fit.margins(effect='age'), over a public grid instead of the rows of the fit."
    ),
    "pairs contrasts t_test f_test linear_hypothesis linearHypothesis glht": (
        "Use fit.contrast({'job': {'a': 1, 'b': -1}}), fit.contrast(fit.grid(job=None)) for all pairs, or "
        "fit.wald_test('age = educ')."
    ),
    "wald_test_terms Anova drop1": "Use fit.anova(type=2) or fit.anova(type=3).",
    "get_prediction get_forecast": "Use fit.predict(new, se=True).",
    "survfit survival_function predict_survival_function surv_median basehaz baseline_hazard": (
        "Fit discrete times, dpglm.fit('Surv(time, event) ~ x1 + C(arm)', ...): fit.survival({'arm': None}) "
        "gives curves, fit.predict(fit.grid(time=[1, 2])) hazards."
    ),
    "summary_frame summary2 as_latex as_html": (
        "Use fit.tidy(), fit.summary().to_latex(), to_html() or to_markdown()."
    ),
}
_GROUPS: Final[dict[str, tuple[str, str]]] = {
    **{names: ("it has another name here", remedy) for names, remedy in _RENAMED.items()},
    "resid residuals resid_response resid_pearson resid_deviance resid_working resid_anscombe rstudent "
    "rstandard": (_ROWS, _CHECK),
    "fittedvalues fitted fitted_values mu": (
        _ROWS,
        "predict(new) gives predictions for rows of your own, fit.grid(...) makes public rows.",
    ),
    "get_influence influence cooks_distance cooksdistance hatvalues hat_matrix_diag dfbetas leverage "
    "augment": (_ROWS, "No private method can show which row matters. " + _CHECK),
    "deviance null_deviance pearson_chi2 ssr rss centered_tss": (_TOTAL, _SPEND + " " + _CHECK),
    "llf loglik loglike logLik llnull aic AIC bic bic_llf BIC": (
        "with privacy " + _TOTAL,
        "Compare models by anova(), wald_test(...) or select('bic'), which uses released numbers; with "
        "privacy=None, no penalty and no weights, llf, aic and bic are there.",
    ),
    "rsquared rsquared_adj prsquared pseudo_rsquared r_squared score_test lrtest": (
        "with privacy " + _TOTAL,
        "Compare models by anova() or wald_test(...); auc(new) tells how well public rows are predicted.",
    ),
    "nobs df_resid df_residual": (
        "the number of rows is private under add-remove",
        "n_rows is the number of rows where it is public, else None; dpglm.describe(...) counts with noise.",
    ),
    "df_model": ("it is another word", "Use len(fit.params) - 1."),
    "model data model_frame endog exog y X": (
        "a result holds no data",
        "fit.specification has formula and schema, fit.grid(...) makes public rows.",
    ),
    "update": (
        "a fit is not made again without its price",
        "Free where released numbers allow it: fit.refit(drop='age'), fit.refit(merge={'job': {'other': "
        "['x', 'y']}}). To add a term, fit again.",
    ),
    "step stepAIC stepwise add1": (
        "criteria are noisy, and steps in the data have a price",
        "Use fit.select('bic') or fit.select('fdr'), which are free.",
    ),
    "relevel": (
        "the first declared level is the reference",
        "Write C(job, Treatment('b')) in the formula, or fit.contrast({'job': {'a': 1, 'b': -1}}), free.",
    ),
    "roc_curve plot_roc": ("it needs rows", "fit.auc(new) is for rows that the guarantee does not cover."),
    "cv cv_glmnet": (
        "cross-validation reads the rows again",
        "Use dpglm.tune(...), which pays for it, or strength='cv' with privacy=None.",
    ),
    "coxph phreg PHReg CoxPHFitter": (
        "a partial likelihood compares each person with all others, and has no bounded sensitivity",
        "Fit discrete times: dpglm.fit('Surv(time, event) ~ x1 + C(arm)', ...).",
    ),
    "polr clm lrm cratio sratio": (
        "there are no cumulative logits",
        "Fit continuation ratios, dpglm.fit('grade ~ x1 + C(arm)', ..., family='ordinal'): fit.predict(new) "
        "gives the probability of each level.",
    ),
    "plot_partial_residuals plot_diagnostics plot_added_variable qqplot": (_ROWS, _CHECK),
    "bootstrap boot": (
        "it draws from the rows",
        "Intervals hold the noise and the sampling: conf_int(), margins(...), contrast(...).",
    ),
    "remove_data": ("a result holds no data", "There is nothing to remove."),
}
HINTS: Final = {name: hint for names, hint in _GROUPS.items() for name in names.split()}

# Of a multinomial fit.
_BETWEEN: Final = "covariances between equations are not released"
_LEVELS: Final = {
    **dict.fromkeys(
        ("wald_test", "anova", "contrast", "cov_params"), (_BETWEEN, "Use fits[level].NAME(...).")
    ),
    "margins": (
        f"intervals of probabilities need more: {_BETWEEN}",
        "Use fits.predict(new), or fits[level].margins(..., what='link'): log odds with intervals.",
    ),
}


def hint(kind: str, name: str, *, of_one: bool | None = None, without_privacy: bool = False) -> str:
    """The text of the AttributeError about a name that a result has not, and ``of_one`` equation has or not.

    Examples
    --------
    >>> print(hint("FitResult", "confint"))
    Found: 'confint', which a FitResult has not: it has another name here
    Expected: what follows from released numbers
    Remedy: Use fit.conf_int(level=0.95).
    """
    why, remedy = HINTS.get(name, ("", ""))
    if of_one:
        why, remedy = _LEVELS.get(name, ("it is of one equation", "Use fits[level].NAME."))
    elif of_one is False:
        remedy = f"Of one equation, fit = fits[level]: {remedy}"
    if not why:
        return f"{kind!r} object has no attribute {name!r}"
    why = "with weights or a penalty there is no maximum of a likelihood" if without_privacy else why
    return (
        f"Found: {name!r}, which a {kind} has not: {why}\n"
        f"Expected: what follows from released numbers\nRemedy: {remedy.replace('NAME', name)}"
    )
