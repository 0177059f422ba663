"""How well fits predict: the default call, other calls of dpglm, and peers, on tables and simulations."""
