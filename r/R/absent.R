# What a glm has and a private fit has not. Python knows why, and what to use in its place; without privacy it has
# the criteria.

criterion <- function(fit, name) {
  reticulate::py_to_r(ask(bridge(), "attribute", owner = python_of(fit), name = name))
}

residuals.dpglm <- function(object, ...) criterion(object, "residuals")

fitted.dpglm <- function(object, ...) criterion(object, "fitted")

deviance.dpglm <- function(object, ...) criterion(object, "deviance")

AIC.dpglm <- function(object, ...) criterion(object, "aic")

BIC.dpglm <- function(object, ...) criterion(object, "bic")

logLik.dpglm <- function(object, ...) {
  structure(criterion(object, "llf"), df = length(coef(object)), nobs = nobs(object), class = "logLik")
}
