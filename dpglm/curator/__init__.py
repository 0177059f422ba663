"""Plans, permits and the curator that runs releases on private rows."""
