skip_without_python <- function() {
  found <- tryCatch({
    dp_python()
    TRUE
  }, error = function(e) FALSE)
  if (!found) skip("the Python package dpglm is not where reticulate looks")
}

# A table with every type of column that R has for such data, and missing values in each.
patients <- function(n = 3000) {
  set.seed(11)
  age <- sample(18:95, n, replace = TRUE)
  ward <- factor(sample(c("A", "B", "C"), n, replace = TRUE))
  smoker <- runif(n) < 0.3
  sex <- sample(c("F", "M"), n, replace = TRUE)
  index <- (age - 55) / 20 + 0.8 * (ward == "B") - 0.5 * smoker
  found <- data.frame(
    ill = ifelse(runif(n) < plogis(index), "yes", "no"), age, ward, smoker, sex, blood.sugar = rnorm(n, 5, 1),
    visits = rpois(n, exp(0.4 * index)), cost = index + rnorm(n)
  )
  for (column in c("age", "ward", "smoker", "sex")) found[sample(n, 20), column] <- NA
  found
}

schema <- list(
  ill = c("no", "yes"), age = c(18, 95), ward = c("A", "B", "C"), smoker = list(levels = c(FALSE, TRUE)),
  sex = c("F", "M"), blood.sugar = c(0, 10), visits = c(0, 40), cost = c(-8, 8)
)
quietly <- function(code) withCallingHandlers(code, dpglm_warning = function(w) invokeRestart("muffleWarning"))
