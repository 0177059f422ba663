"""Free submodels against fits of their own: designs that no limit of theirs was set on, and the judge."""
