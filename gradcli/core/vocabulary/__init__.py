"""Which names `torch` has and where each one lives; the small types and the settings of `torch`."""
