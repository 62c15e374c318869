"""Reductions and running reductions: sums, extremes, statistics, norms."""
