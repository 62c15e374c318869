"""Many requests, one a line, answered in order by worker processes."""
