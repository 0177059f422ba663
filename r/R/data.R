# Private columns on their way to Python. What happens to a column follows from its type and never from its cells.

in_python <- function(data, wanted = NULL) {
  if (is.data.frame(data)) return(frame_in_python(data, wanted))
  if (is.character(data)) return(if (length(data) == 1) data else as.list(data))
  if (inherits(data, "python.builtin.object")) return(data)
  if (is.list(data) && length(data) > 0 && !is.null(names(data)) && all(nzchar(names(data)))) {
    return(reticulate::r_to_py(lapply(data, in_python, wanted = wanted)))
  }
  stop("`data` must be a data frame, paths of CSV or Parquet files, or a named list of these by site.", call. = FALSE)
}

frame_in_python <- function(data, wanted) {
  names <- names(data)
  if (!is.null(wanted)) names <- intersect(names, wanted)
  columns <- lapply(names, function(name) column_in_python(data[[name]], name))
  names(columns) <- names
  bridge()$frame(reticulate::r_to_py(columns))
}

column_in_python <- function(x, name) {
  if (is.factor(x)) return(coded(as.integer(x), levels(x)))
  if (is.character(x)) {
    labels <- unique(x[!is.na(x)])
    return(coded(match(x, labels), labels))
  }
  if (is.logical(x)) return(coded(x + 1L, list(FALSE, TRUE)))
  if (inherits(x, "Date")) return(column_in_python(format(x, "%Y-%m-%d"), name))
  if (inherits(x, "POSIXct")) return(column_in_python(format(x, "%Y-%m-%dT%H:%M:%OS6Z", tz = "UTC"), name))
  if (is.numeric(x) && is.null(dim(x)) && !inherits(x, c("integer64", "difftime"))) {
    return(bridge()$numbers(writeBin(as.double(x), raw()))) # a missing integer would be a number elsewhere
  }
  stop(sprintf("The column %s is of class %s. Expected: numbers, texts, a factor, truths, Date or POSIXct. ",
    name, paste(class(x), collapse = "/")), "Remedy: convert it first.", call. = FALSE)
}

coded <- function(codes, labels) {
  codes[is.na(codes)] <- 0L
  bridge()$texts(writeBin(as.integer(codes), raw()), reticulate::r_to_py(as.list(labels)))
}

# Public bounds and levels.
dp_schema <- function(columns, unit = NULL, rows = NULL, title = NULL, sites = NULL, moments = NULL) {
  settings <- list(title = title, unit = unit, rows = if (!is.null(rows)) as.integer(rows), sites = sites,
    moments = moments)
  settings <- settings[!vapply(settings, is.null, TRUE)]
  structure(list(columns = columns, settings = settings), class = "dp_schema")
}

schema_in_python <- function(schema) {
  if (is.null(schema) || inherits(schema, "python.builtin.object")) return(schema)
  if (is.character(schema) && length(schema) == 1) return(schema)
  if (!is.list(schema)) stop("`schema` must be a list of columns, dp_schema(...), or the path of a file.", call. = FALSE)
  if (!inherits(schema, "dp_schema")) schema <- dp_schema(schema)
  columns <- lapply(schema$columns, declaration)
  do.call(ask, c(list(dp_python()$Schema, "of", value = columns), schema$settings))
}

# c(18, 95) are bounds, c("no", "yes") are levels; list(...) says all of it.
declaration <- function(entry) {
  if (is.character(entry)) return(as.list(entry))
  if (is.numeric(entry) && length(entry) == 2) return(do.call(reticulate::tuple, as.list(as.double(entry))))
  if (!is.list(entry)) stop("A column is declared by c(LOWEST, HIGHEST), by levels, or by list(...).", call. = FALSE)
  for (key in intersect(names(entry), c("levels", "missing_codes"))) entry[[key]] <- as.list(entry[[key]])
  if (is.numeric(entry$bounds)) entry$bounds <- do.call(reticulate::tuple, as.list(as.double(entry$bounds)))
  entry
}

# A privacy budget.
dp_privacy <- function(epsilon, delta = 0, relation = c("replace-one", "add-remove"), unit = NULL) {
  arguments <- list(epsilon = epsilon, delta = delta, relation = match.arg(relation))
  if (!is.null(unit)) arguments$unit <- unit
  do.call(ask, c(list(dp_python(), "Privacy"), arguments))
}

privacy_in_python <- function(privacy) {
  if (is.numeric(privacy) && length(privacy) == 2) return(reticulate::tuple(privacy[[1]], privacy[[2]]))
  privacy
}
