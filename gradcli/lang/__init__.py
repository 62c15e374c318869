"""From text to values: lexer, parser, syntax tree, and the compiler of trees to closures."""
