"""What names and attributes mean: builtins, attribute tables, the modules that `import` binds."""
