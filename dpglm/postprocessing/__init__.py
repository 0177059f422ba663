"""Post-processing of released numbers: uncertainty, refits, tables and files. It never sees a row."""
