"""How good rankings are: measures, paired tests, experiments."""
