"""What text is drawn with: consoles, folding, fields, excerpts of source text."""
