"""The methods of the papers, a room each, known to the rest of the package through registries alone."""
