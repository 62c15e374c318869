"""Running programs: names resolved to scopes, syntax trees compiled to closures, the interpreter."""
