# Methods of a fit: what R users ask of a glm. All follow from released numbers and cost nothing.

print.dpglm <- function(x, ...) {
  cat(text_of(ask(python_of(x), "summary")), "\n", sep = "")
  invisible(x)
}

text_of <- function(python) {
  reticulate::py_to_r(reticulate::import_builtins(convert = FALSE)$str(python))
}

print.dp_value <- function(x, ...) {
  shown <- if (reticulate::py_has_attr(x$python, "summary")) ask(x$python, "summary") else x$python
  cat(text_of(shown), "\n", sep = "")
  invisible(x)
}

summary.dpglm <- function(object, ...) {
  table <- as.data.frame(tidy(object))
  values <- as.matrix(table[c("estimate", "std.error", "statistic", "p.value")])
  dimnames(values) <- list(table$term, c("Estimate", "Std. Error", "z value", "Pr(>|z|)"))
  structure(list(coefficients = values, text = text_of(ask(python_of(object), "summary"))), class = "summary.dpglm")
}

print.summary.dpglm <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

coef.summary.dpglm <- function(object, ...) object$coefficients

coef.dpglm <- function(object, ...) as_vector(python_of(object)$params)

formula.dpglm <- function(x, ...) x$formula

vcov.dpglm <- function(object, ...) {
  found <- ask(python_of(object), "cov_params")
  names <- names(coef(object))
  matrix(numbers_in(found), length(names), dimnames = list(names, names))
}

confint.dpglm <- function(object, parm, level = 0.95, ...) {
  found <- matrix(numbers_in(ask(python_of(object), "conf_int", level = level)), ncol = 2, byrow = TRUE)
  ends <- paste(format(100 * c((1 - level) / 2, (1 + level) / 2), trim = TRUE, digits = 3), "%")
  dimnames(found) <- list(names(coef(object)), ends)
  if (missing(parm)) found else found[parm, , drop = FALSE]
}

nobs.dpglm <- function(object, ...) {
  found <- reticulate::py_to_r(python_of(object)$n_rows)
  if (is.null(found)) NA_integer_ else found
}

predict.dpglm <- function(object, newdata, type = c("link", "response", "class"), se.fit = FALSE, ...) {
  if (missing(newdata)) criterion(object, "fitted")
  what <- switch(match.arg(type), link = "link", response = "mean", class = "class")
  rows <- in_python(newdata)
  found <- ask(python_of(object), "predict", new = rows, what = what, se = se.fit)
  if (se.fit) {
    table <- as_frame(found)
    return(list(fit = table$mean, se.fit = table$se, conf.low = table$ci_lower, conf.high = table$ci_upper,
      reliable = table$reliable))
  }
  if (!reticulate::py_has_attr(found, "to_frame")) return(as_frame(found)) # a column for each ordered level
  as_frame(ask(found, "to_frame", name = "fit"))$fit
}

anova.dpglm <- function(object, ..., type = 2) {
  if (length(list(...)) > 0) {
    stop("anova() of two fits would need their deviances, which are sums over rows without a guarantee. Ask the ",
      "larger one: its anova() tests each term.", call. = FALSE)
  }
  as_frame(ask(ask(python_of(object), "anova", type = as.integer(type)), "reset_index"))
}

update.dpglm <- function(object, ...) {
  stop("update() would read the rows again and spend the budget again. Use dp_refit(fit, drop = \"job\"), which is ",
    "free, or call dpglm() and pay for it.", call. = FALSE)
}

plot.dpglm <- function(x, level = 0.95, ...) {
  ends <- confint(x, level = level)
  kept <- rownames(ends) != "Intercept"
  ends <- ends[kept, , drop = FALSE]
  at <- rev(seq_len(nrow(ends)))
  margins <- par(mar = c(4, max(nchar(rownames(ends))) * 0.6 + 1, 2, 1))
  on.exit(par(margins))
  plot.default(range(ends[is.finite(ends)], 0), range(at) + c(-0.5, 0.5), type = "n", yaxt = "n", ylab = "",
    xlab = sprintf("coefficient, %g %% interval", 100 * level), ...)
  abline(v = 0, lty = 3)
  limits <- par("usr")[1:2]
  segments(pmax(ends[, 1], limits[1]), at, pmin(ends[, 2], limits[2]), at)
  points(coef(x)[kept], at, pch = 19)
  axis(2, at, rownames(ends), las = 1, tick = FALSE)
  box()
  invisible(x)
}

# The same fit with another penalty, or a submodel: no row is read, and nothing is spent.
dp_refit <- function(fit, penalty = NULL, strength = NULL, drop = NULL, merge = NULL) {
  merged <- if (!is.null(merge)) lapply(merge, function(groups) lapply(groups, as.list))
  dropped <- if (length(drop) > 1) as.list(drop) else drop
  found <- do.call(ask, c(
    list(python_of(fit), "refit"), given(penalty = penalty, strength = strength, drop = dropped, merge = merged)
  ))
  fit_of(found, reticulate::py_to_r(found$formula), match.call())
}

dp_select <- function(fit, rule = c("bic", "fdr"), q = 0.1, penalty = NULL) {
  found <- do.call(ask, c(list(python_of(fit), "select", rule = match.arg(rule), q = q), given(penalty = penalty)))
  fit_of(found, fit$formula, match.call())
}

# Means, effects and contrasts on public rows.
dp_margins <- function(fit, by = NULL, effect = NULL, at = NULL, type = c("response", "link"), level = 0.95) {
  what <- switch(match.arg(type), response = "mean", link = "link")
  arguments <- given(by = if (!is.null(by)) as.list(by), effect = effect, at = in_lists(at))
  as_frame(do.call(ask, c(list(python_of(fit), "margins", what = what, level = level), arguments)))
}

dp_grid <- function(fit, ...) {
  values <- in_lists(list(...))
  as_frame(do.call(ask, c(list(python_of(fit), "grid"), values)))
}

dp_contrast <- function(fit, what, level = 0.95, exponentiate = FALSE) {
  what <- if (is.data.frame(what)) in_python(what) else in_lists(what)
  found <- ask(python_of(fit), "contrast", what = what, level = level, exponentiate = exponentiate)
  as_frame(ask(found, "reset_index"))
}

# NULL is "all values of this column", as None is; several values are a list.
in_lists <- function(values) {
  if (is.null(values)) return(NULL)
  lapply(values, function(value) if (is.list(value) || length(value) > 1) as.list(value) else value)
}
