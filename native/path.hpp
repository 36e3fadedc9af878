// A path is one implementation of the inner loops, compiled for one instruction set and chosen at run time. This header
// is shared by all of them, so it holds plain data and function pointers only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chamfer {

// Query tokens are processed in groups of this size: the lanes of a 512-bit register.
constexpr int kGroup = 16;

// The tokens of a document in 8 bits: dimension k of token j is (codes[j * stride + k] - 128) * scales[j].
struct Codes {
    const uint8_t* codes = nullptr;
    int64_t stride = 0;  // a multiple of 4
    const float* scales = nullptr;
    int64_t tokens = 0;
};

// The tokens of a document whose sums begin with a row of a table each: token j with table[rows[j]] for the first query
// token of a group, and those of the other lanes behind it.
struct Starts {
    const int32_t* table = nullptr;
    const int32_t* rows = nullptr;  // (tokens)
    // Prefetched meanwhile: `next_bytes` for each token. Prefetching beyond the end is harmless.
    const uint8_t* next = nullptr;
    int64_t next_bytes = 0;
};

// The levels of residuals of `bits` bits, 2 or 4. Those of 2 bits are repeated, so that there are always 16.
struct Levels {
    int bits;
    float exact[16];
    float rounded[16];  // middle + (bytes[n] - 128) * step
    uint8_t bytes[16];
    float middle, step;
};

// Less than any product of codes. Its low bits, where a path may store the index of a token, are zeros.
constexpr float kNothing = -0x1p99f;

// The lift that leaves products unchanged.
constexpr int32_t kUnchanged[kGroup] = {};

// The result of screening a document, for each query token: an upper bound on its largest product with a document
// token, the index of that token, and an upper bound on its product with any other (kNothing if there is none).
// Products lack the scale of the query token, and have a relative error of up to 2^-20.
struct Found {
    alignas(64) float best[2 * kGroup];
    alignas(64) float second[2 * kGroup];
    alignas(64) int32_t token[2 * kGroup];
};

// The inputs that turn products into bounds on a score: per query token, and of the document.
struct Limits {
    const float* scale;
    const float* weight;
    const float* norm;
    const float* square;      // of the norm
    const float* error;       // |token - its code|
    const float* best_error;  // the same for the best product, which may be known more precisely
    const float* raised;      // how far the best product may exceed the product of the vectors
    float reach;              // the largest norm of a document token, or of its codes; multiplies errors of the query
    float lost, best_lost;    // the largest error of a document token; multiplies norms of query tokens
    float longest, shortest;  // norms of document tokens
    bool l2;
};

// The most and the least that some query tokens add to a score.
struct Bounds {
    float high, low;
};

struct Path {
    const char* name;

    // Round a token to codes from -127 to 127, leave the rounding error in it, and return the scale.
    float (*take_codes)(float* token, int dimensions, int8_t* codes);
    // Whether no scale is below `least`, which is not negative, or above `most`; NaN is.
    bool (*scales_within)(const float* scales, int64_t tokens, float least, float most);
    double (*square_sum)(const float* token, int dimensions);

    // Size in bytes of one group of query codes.
    size_t (*group_bytes)(int dimensions);

    // Lay out up to kGroup tokens. Rows are signed bytes, padded with zeros to a multiple of 4.
    void (*lay_out)(const int8_t* const* rows, int tokens, int dimensions, void* out);

    // Screen a document for the query tokens of one group, or of two adjacent groups. lift[i] is added to every product
    // of codes before it is multiplied by the scale of the document token.
    void (*maxima)(const void* group, int tokens, int dimensions, const Codes& document, const int32_t* lift,
                   Found& found);

    // The same, but sums begin with rows of a table.
    void (*residual_maxima)(const void* group, int tokens, int dimensions, const Codes& document, const Starts& starts,
                            Found& found);

    // Bounds on what query tokens add to the score. Also writes the most that each adds, and an upper bound on its
    // product with any document token other than the one found.
    Bounds (*bounds)(const Found& found, int lanes, const Limits& limits, float* most, float* otherwise);

    // Products of query codes with one document token each, not scaled.
    void (*code_dots)(const int8_t* const* rows, int count, const Codes& document, const int32_t* tokens,
                      int32_t* sums);

    // Products of one group of query tokens that reach bars[i]: writes j * kGroup + i for each, and returns the count.
    int64_t (*above)(const void* group, int tokens, int dimensions, const Codes& document, const float* bars,
                     int64_t* found);

    // <a, b> and |a - b|^2 for pairs of vectors, b in IEEE half precision, in 32-bit arithmetic.
    void (*dots)(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out);
    void (*squares)(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out);

    // The same for one pair, in 64-bit arithmetic.
    double (*exact_dot)(const float* a, const uint16_t* b, int dimensions);
    double (*exact_square)(const float* a, const uint16_t* b, int dimensions);

    // The largest <q, d> over document tokens d, for kGroup query tokens q laid out [dimension][kGroup], in 32-bit
    // arithmetic; with `half_squares` (half the squared norm of each d), the largest <q, d> - |d|^2 / 2.
    void (*products)(const float* query, const uint16_t* document, int64_t tokens, int dimensions,
                     const float* half_squares, float* best);

    // Round numbers to IEEE half precision.
    void (*to_halves)(const float* values, int count, uint16_t* out);

    // The bytes of the levels of packed residuals, in the order that plane_order gives.
    void (*unpack)(const uint8_t* packed, int64_t tokens, int dimensions, const Levels& levels, uint8_t* codes);

    // Rows of a table with `lanes` entries for each centroid, and scales from factors in half precision; false if a
    // centroid is not one of `count`, or if a factor is negative, not a number, or above `most`.
    bool (*take_starts)(const uint16_t* centroids, const uint16_t* factors, int64_t tokens, int64_t count,
                        int32_t lanes, float most, int32_t* rows, float* scales);

    // Add spread[k] * levels[code of k] to dimension k of a vector, rounded after each operation: the same on every path.
    void (*add_levels)(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* spread,
                       float* values);

    // The sum of query[k] * levels[code of k], in 32-bit arithmetic.
    float (*level_dot)(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* query);

    // Fill in rows of a table: <q, row> * inverse + constant for kGroup query tokens q, laid out [dimension][kGroup],
    // limited to kMostStart and rounded; for all rows, or for those that are wanted.
    void (*fill_table)(const float* query, const float* rows, int64_t count, int dimensions, const uint8_t* wanted,
                       const float* inverse, const float* constant, int64_t stride, int32_t* table);
};

// In bytes of unpacked residuals, the dimensions whose codes are the lowest bits of their byte come first, then those
// whose codes are the next bits.
inline int plane_order(int place, int bits, int dimensions) {
    const int bytes = dimensions * bits / 8;
    return place % bytes * (8 / bits) + place / bytes;
}

// Added to products of codes, which are below 2^30, it does not overflow.
constexpr float kMostStart = 0x1p30f;

const Path* portable_path();
const Path* avx2_path();    // null if it was not compiled
const Path* avx512_path();  // the same

}  // namespace chamfer
