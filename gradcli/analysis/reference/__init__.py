"""The reference of everything that gradcli knows: signatures, formulas, examples."""
