// Documents stored as residuals: the number of the nearest centroid of each token, and the difference from it.
#pragma once

#include "documents.hpp"

namespace chamfer {

// No number of centroids, spread and levels may be larger: products of several of them must not overflow 32 bits.
constexpr float kLargestTrained = CHAMFER_LARGEST_TRAINED;

// Dimension k of a token is centroid[k] + spread[k] * levels[its code]; the token is then normalised to unit length.
// Codes of `bits` bits are packed into bytes, lowest bits first.
struct Residuals {
    const uint8_t* packed = nullptr;  // (tokens, dimensions * bits / 8)
    int bits = 0;
    int dimensions = 0;
    const float* levels = nullptr;     // (2 ** bits)
    const float* spread = nullptr;     // (dimensions)
    const float* centroids = nullptr;  // (centroids, dimensions)
    int64_t count = 0;                 // of centroids
    const uint16_t* chosen = nullptr;  // the centroid of each token

    int64_t bytes() const { return static_cast<int64_t>(dimensions) * bits / 8; }
};

// What is known of residuals. A token is nearly its factor times the sum of its centroid and its residual.
struct Measured {
    static constexpr int kBounds = CHAMFER_RESIDUAL_BOUNDS;
    uint16_t* factors;  // (tokens), IEEE half precision
    // (documents) each, over the tokens of a document:
    float* lost;       // the largest |token - factor * (centroid + rounded residual)|
    float* best_lost;  // the same for residuals that are not rounded
    float* reach;      // the largest factor * |(1, codes of the rounded residual * step)|
    float* longest;    // the largest norm
    float* shortest;   // the smallest norm
};

// Measure them. The bounds hold for what any implementation decodes, whatever it rounds in between.
void measure(const Path& path, const Residuals& residuals, const int64_t* offsets, int64_t documents, int threads,
             const Measured& out);

// Residuals that can be screened.
struct ResidualDocuments {
    Documents view;  // without vectors and codes
    Residuals stored;
    Levels levels;
    float longest_centroid = 0;  // the largest norm of a centroid
    const uint16_t* factors = nullptr;
    const float* lost = nullptr;
    const float* best_lost = nullptr;
    const float* reach = nullptr;
};

}  // namespace chamfer
