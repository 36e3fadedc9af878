"""The systems that a reproduction compares, by the names that results are saved under."""

# Chamfer is uniform weights; the next two need no labels, and the last two do.
CHAMFER, IDF, SOFT, RECIPE, AUTO = "chamfer", "idf", "idf-soft", "few-shot-paper", "few-shot"
SYSTEMS = (CHAMFER, IDF, SOFT, RECIPE, AUTO)

TITLES = {
    CHAMFER: "Chamfer",
    IDF: "IDF",
    SOFT: "softened IDF",
    RECIPE: "few-shot, paper's recipe",
    AUTO: "few-shot, auto",
}

# The systems that the paper has too, and their columns there.
PAPER_COLUMNS = {CHAMFER: "chamfer", IDF: "zero_shot", RECIPE: "few_shot"}
