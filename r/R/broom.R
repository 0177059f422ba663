# Tables as broom has them.

tidy.dpglm <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  found <- as_frame(ask(python_of(x), "tidy", exponentiate = exponentiate, style = "broom"))
  if (conf.int && conf.level != 0.95) {
    ends <- confint(x, level = conf.level)
    if (exponentiate) ends <- exp(ends)
    found$conf.low <- unname(ends[, 1])
    found$conf.high <- unname(ends[, 2])
  }
  if (conf.int) found else found[setdiff(names(found), c("conf.low", "conf.high"))]
}

glance.dpglm <- function(x, ...) as_frame(ask(python_of(x), "glance", style = "broom"))

tidy.dp_value <- function(x, ...) as_frame(ask(x$python, "tidy"))
