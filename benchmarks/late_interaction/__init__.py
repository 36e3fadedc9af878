"""A small late-interaction model, trained as evidence; ``make train-late-interaction`` makes it."""
