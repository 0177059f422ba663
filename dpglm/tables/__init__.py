"""Tables as data, and the ways to write them down: text, HTML, LaTeX, Markdown."""
