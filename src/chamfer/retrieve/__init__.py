"""First stages: queries in, candidates out."""
