# The verbs.

dpglm <- function(formula, data, schema = NULL, family = "binomial", penalty = NULL, strength = NULL, privacy,
                  goal = c("explain", "predict", "select"), method = "auto", profile = NULL, ledger = NULL,
                  key = NULL, seed = NULL) {
  call <- match.call()
  if (inherits(formula, "dp_plan")) {
    arguments <- given(ledger = in_r(ledger), key = key, seed = whole(seed))
    found <- do.call(ask, c(list(formula$python, "fit", data = in_python(data, formula$wanted)), arguments))
    return(results_of(found, formula$formula, call))
  }
  if (missing(privacy)) no_budget()
  declared <- schema_in_python(schema)
  arguments <- given(
    schema = declared, penalty = penalty, strength = strength, profile = in_r(profile), ledger = in_r(ledger),
    key = key, seed = whole(seed)
  )
  found <- do.call(ask, c(
    list(dp_python(), "fit", formula = patsy_formula(formula), data = in_python(data, wanted_of(declared)),
      family = family_name(family), privacy = privacy_in_python(privacy), goal = match.arg(goal), method = method),
    arguments
  ))
  results_of(found, formula, call)
}

dp_plan <- function(formula, schema, n = NULL, family = "binomial", penalty = NULL, strength = NULL, privacy,
                    goal = c("explain", "predict", "select"), method = "auto", profile = NULL) {
  if (missing(privacy)) no_budget()
  declared <- schema_in_python(schema)
  arguments <- given(n = whole(n), penalty = penalty, strength = strength, profile = in_r(profile))
  found <- do.call(ask, c(
    list(dp_python(), "plan", formula = patsy_formula(formula), schema = declared, family = family_name(family),
      privacy = privacy_in_python(privacy), goal = match.arg(goal), method = method),
    arguments
  ))
  value_of(found, "dp_plan", formula = formula, wanted = wanted_of(declared))
}

dp_describe <- function(data, schema = NULL, by = NULL, columns = NULL, quartiles = FALSE, correlations = FALSE,
                        privacy, ledger = NULL, seed = NULL) {
  if (missing(privacy)) no_budget()
  declared <- schema_in_python(schema)
  arguments <- given(
    schema = declared, by = by, columns = if (!is.null(columns)) as.list(columns), ledger = in_r(ledger),
    seed = whole(seed)
  )
  found <- do.call(ask, c(
    list(dp_python(), "describe", data = in_python(data, wanted_of(declared)), quartiles = quartiles,
      correlations = correlations, privacy = privacy_in_python(privacy)),
    arguments
  ))
  value_of(found, "dp_profile")
}

dp_ledger <- function(path, budget = NULL, dataset = NULL) {
  arguments <- given(budget = if (!is.null(budget)) privacy_in_python(budget), dataset = dataset)
  value_of(do.call(ask, c(list(dp_python(), "Ledger", path = path), arguments)), "dp_ledger")
}

# Arguments that were given.
given <- function(...) {
  arguments <- list(...)
  arguments[!vapply(arguments, is.null, TRUE)]
}

no_budget <- function() {
  stop("`privacy` is missing. Say how much: privacy = c(1, 1e-6) for epsilon and delta, 1 for pure epsilon, ",
    "dp_privacy(...) for more, or NULL to fit without privacy.", call. = FALSE)
}

whole <- function(number) if (is.null(number)) NULL else as.integer(number)

in_r <- function(value) if (inherits(value, "dp_value")) value$python else value

value_of <- function(python, class, ...) structure(list(python = python, ...), class = c(class, "dp_value"))

# Columns that a declared schema reads: a public fact.
wanted_of <- function(declared) {
  if (!inherits(declared, "dpglm.data.schema.schema.Schema")) return(NULL)
  unit <- declared$unit
  column <- if (reticulate::py_has_attr(unit, "column")) reticulate::py_to_r(unit$column)
  c(unlist(reticulate::py_to_r(reticulate::import_builtins(convert = FALSE)$list(declared$variables))), column)
}

links <- c(binomial = "logit", gaussian = "identity", poisson = "log", quasipoisson = "log")

family_name <- function(family) {
  if (is.function(family)) family <- family()
  if (!inherits(family, "family")) return(family)
  link <- links[family$family]
  if (is.na(link) || link != family$link) {
    stop(sprintf("Found: family %s with link %s. ", family$family, family$link),
      "Expected: binomial (logit), gaussian (identity), poisson or quasipoisson (log), or the name of a family ",
      "of the Python package. Remedy: use one of these.", call. = FALSE)
  }
  sub("^quasi", "", family$family)
}

results_of <- function(found, formula, call) {
  if (!inherits(found, "dpglm.results.compare.SiteFits")) return(fit_of(found, formula, call))
  fits <- reticulate::import_builtins(convert = FALSE)$dict(found)
  names <- unlist(reticulate::py_to_r(reticulate::import_builtins(convert = FALSE)$list(fits)))
  sapply(names, function(name) fit_of(fits[name], formula, call), simplify = FALSE)
}

fit_of <- function(found, formula, call) {
  kept <- new.env(parent = emptyenv())
  kept$python <- found
  structure(list(call = call, formula = formula, json = json_of(found), kept = kept), class = "dpglm")
}

json_of <- function(found) {
  path <- tempfile(fileext = ".json")
  on.exit(unlink(path))
  ask(found, "save", path = path)
  readChar(path, file.size(path), useBytes = TRUE)
}

# The fit in Python; one that readRDS() brought has its numbers only, of which Python makes it anew.
python_of <- function(fit) {
  if (is.null(fit$kept$python) || reticulate::py_is_null_xptr(fit$kept$python)) {
    path <- tempfile(fileext = ".json")
    on.exit(unlink(path))
    writeBin(charToRaw(fit$json), path)
    fit$kept$python <- ask(dp_python(), "load", path = path)
  }
  fit$kept$python
}

dp_save <- function(fit, path) {
  ask(python_of(fit), "save", path = path)
  invisible(path)
}

dp_load <- function(path) {
  found <- ask(dp_python(), "load", path = path)
  fit_of(found, reticulate::py_to_r(found$formula), match.call())
}

dp_report <- function(fit, path, facts = NULL) {
  target <- if (inherits(fit, "dpglm")) python_of(fit) else in_r(fit)
  do.call(ask, c(list(target, "report", path = path), given(facts = in_r(facts))))
  invisible(path)
}
