"""First stages: queries in, ranked document ids out."""
