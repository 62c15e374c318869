"""From text to syntax trees: lexer, parser, nodes, and the messages of syntax errors."""
