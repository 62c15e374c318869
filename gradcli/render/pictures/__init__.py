"""Graphs and curves as pictures: trees of text, DOT, Mermaid, SVG, PNG."""
