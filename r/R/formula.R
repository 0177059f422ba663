# A formula of R in patsy's words. What neither knows goes as it is: Python's error says what to write.

numpy <- c("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "abs", "sin", "cos", "tanh")
binary <- c("+", "-", "*", "/", ":", "<", "<=", ">", ">=", "==", "!=")
python_words <- c("and", "as", "assert", "async", "await", "class", "def", "del", "elif", "except",
  "finally", "from", "global", "import", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
  "return", "try", "with", "yield", "None", "True", "False")

patsy_formula <- function(formula) {
  if (is.character(formula) && length(formula) == 1) return(formula)
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop("`formula` must have two sides, as ill ~ age + job.", call. = FALSE)
  }
  paste(in_patsy(formula[[2]]), "~", in_patsy(formula[[3]]))
}

in_patsy <- function(e) {
  if (is.name(e)) return(column_name(as.character(e)))
  if (is.character(e)) return(quoted(e))
  if (is.logical(e)) return(if (e) "True" else "False")
  if (is.numeric(e)) return(format(e, digits = 15, scientific = FALSE, trim = TRUE))
  if (!is.call(e) || !is.name(e[[1]])) stop("a part of the formula was not understood: ", deparse1(e), call. = FALSE)
  called(as.character(e[[1]]), as.list(e)[-1], e)
}

called <- function(name, parts, e) {
  if (name == "(") return(paste0("(", in_patsy(parts[[1]]), ")"))
  if (name == "^") return(paste0(in_patsy(parts[[1]]), "**", in_patsy(parts[[2]])))
  if (name %in% binary) {
    texts <- vapply(parts, in_patsy, "")
    return(if (length(texts) == 1) paste0(name, texts) else paste(texts[[1]], name, texts[[2]]))
  }
  if (name == "%in%") refuse(e, "a:b", "Write the interaction: a:b.")
  if (name == "poly") refuse(e, "powers", "Write x + I(x^2): orthogonal polynomials would look at the data.")
  if (name == "ns") refuse(e, "bs(x, df = 4)", "Use bs(): its knots are public.")
  if (name == "c") return(paste0("[", paste(vapply(parts, in_patsy, ""), collapse = ", "), "]"))
  if (name == "relevel") {
    return(sprintf("C(%s, Treatment(%s))", in_patsy(parts[[1]]), in_patsy(parts[[2]])))
  }
  if (name %in% c("factor", "as.factor")) {
    if (length(parts) > 1) refuse(e, "factor(x)", "Levels and their order are declared in the schema.")
    name <- "C"
  } else if (name %in% numpy) {
    name <- paste0("np.", name)
  }
  sprintf("%s(%s)", name, paste(vapply(seq_along(parts), function(k) {
    text <- in_patsy(parts[[k]])
    key <- names(parts)[[k]]
    if (is.null(key) || key == "") text else paste0(key, "=", text)
  }, ""), collapse = ", "))
}

refuse <- function(e, expected, remedy) {
  stop(sprintf("Found: %s in the formula. Expected: %s. Remedy: %s", deparse1(e), expected, remedy), call. = FALSE)
}

column_name <- function(name) {
  if (name == ".") return(name)
  plain <- grepl("^[A-Za-z_][A-Za-z0-9_]*$", name) && !(name %in% python_words)
  if (plain) name else sprintf("Q(%s)", quoted(name))
}

quoted <- function(text) {
  encodeString(text, quote = "\"")
}
