"""The FWELL paper: features ranked by local margins, without privacy, as printed and corrected."""
