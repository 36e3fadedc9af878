"""Numbers that Python and the native kernel share.

CMakeLists.txt passes every line of the form ``NAME = number`` to the C++ compiler, as ``CHAMFER_NAME``.
"""

# The largest weight, and the largest number in a query vector: beyond it, sums of products could overflow 32 bits.
LARGEST = 1e9

# A squared distance below this share of the query token's squared norm is what rounding left of 0.
NOISE = 1e-6

# Codes are padded to a multiple of this many dimensions, which are multiplied at once.
CODE_GROUP = 4

# What rounding to 8 bits lost of a vector is known up to this share of the vector's norm.
CODE_ERROR = 2e-7

# The largest number in a centroid, or in the levels or the spread of residuals, that documents are screened with.
LARGEST_TRAINED = 1e6

# Bounds on a document that is kept as residuals.
RESIDUAL_BOUNDS = 5

# A decoded vector of a smaller norm is divided by this instead.
SMALLEST_NORM = 1e-12
