"""The five papers in one page: claims of privacy with what settles them, figures with their counterparts."""
