# Where Python is: reticulate's choice, which RETICULATE_PYTHON or reticulate::use_virtualenv() makes.
state <- new.env(parent = emptyenv())

# The Python package, as `import dpglm` has it.
dp_python <- function() {
  if (is.null(state$dpglm)) {
    state$dpglm <- tryCatch(
      reticulate::import("dpglm", convert = FALSE),
      error = function(e) {
        stop("The Python package dpglm was not found by reticulate. Install it with ",
          "pip, and say where it is: reticulate::use_virtualenv(\"...\"), or the ",
          "variable RETICULATE_PYTHON, before the first call.", call. = FALSE)
      }
    )
    here <- system.file("python", package = "dpglm")
    state$bridge <- reticulate::import_from_path("dpglm_bridge", path = here, convert = FALSE)
  }
  state$dpglm
}

bridge <- function() {
  dp_python()
  state$bridge
}

# Call a function of Python by name; its warnings and errors are conditions of R.
ask <- function(.target, .name, ...) {
  arguments <- reticulate::r_to_py(list(...))
  if (length(list(...)) == 0) arguments <- reticulate::dict()
  found <- bridge()$answer(reticulate::py_get_attr(.target, .name), arguments)
  for (message in unlist(reticulate::py_to_r(found["warnings"]))) {
    warning(structure(class = c("dpglm_warning", "warning", "condition"),
      list(message = message, call = NULL)))
  }
  failed(reticulate::py_to_r(found["error"]))
  found["value"]
}

failed <- function(error) {
  if (is.null(error)) return(invisible())
  error <- unlist(error)
  stop(structure(class = c(paste0("dpglm_", error[-length(error)]), "dpglm_error", "error", "condition"),
    list(message = error[[length(error)]], call = NULL)))
}

# A table of Python as a data frame, or a tibble where there is tibble.
as_frame <- function(table) {
  columns <- reticulate::py_to_r(bridge()$columns_of(table))
  vectors <- lapply(columns, function(column) {
    if (!is.null(column$raw)) return(numbers_of(column$raw))
    values <- if (length(column$values) == 0) character() else unlist(column$values)
    if (is.character(values)) values[unlist(column$missing)] <- NA
    values
  })
  found <- as.data.frame(vectors, optional = TRUE, stringsAsFactors = FALSE)
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(found) else found
}

# A series of Python as a named vector.
as_vector <- function(series) {
  values <- numbers_in(series)
  names(values) <- unlist(reticulate::py_to_r(series$index$tolist()))
  values
}

# Numbers of an array of Python, row by row.
numbers_in <- function(array) numbers_of(reticulate::py_to_r(bridge()$raw(array)))

numbers_of <- function(raw) readBin(as.raw(raw), "double", n = length(raw) / 8)
