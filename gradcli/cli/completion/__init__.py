"""Completion in shells: what may follow an unfinished command line. A shell calls it for every Tab, so it loads neither numpy nor rich."""
