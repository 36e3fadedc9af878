"""The systems that a reproduction compares, by the names that results are saved under."""

from chamfer.weights.zero_shot import IDF, MIX, SOFT_IDF

# Chamfer is uniform weights; the next three need no labels, and the last two do.
CHAMFER, FEW_SHOT_PAPER, FEW_SHOT = "chamfer", "few-shot-paper", "few-shot"
SYSTEMS = (CHAMFER, IDF, SOFT_IDF, MIX, FEW_SHOT_PAPER, FEW_SHOT)

TITLES = {
    CHAMFER: "Chamfer",
    IDF: "IDF",
    SOFT_IDF: "softened IDF",
    MIX: "mix",
    FEW_SHOT_PAPER: "few-shot, paper's recipe",
    FEW_SHOT: "few-shot, auto",
}

OWN_KEPT = "own_document_kept"
"""Results of the same systems with each query's own document among its candidates."""

APART = "apart"
"""Results of the same systems on the test queries that share nothing with those learnt from."""

# The systems that the paper has too, and their columns there.
PAPER_COLUMNS = {CHAMFER: "chamfer", IDF: "zero_shot", FEW_SHOT_PAPER: "few_shot"}
