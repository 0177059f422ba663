"""Code books: what other programs' dictionaries say of a table's columns, as a draft of a schema."""
