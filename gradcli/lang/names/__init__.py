"""What names and attributes mean: built-in functions, attribute tables, the modules that `import` binds."""
