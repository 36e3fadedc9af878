// What one way of computing on a CPU offers. Every file that implements it is compiled for other instructions, and the
// one that fits the machine is chosen at run time, so this header holds plain data and function pointers only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chamfer {

// Query tokens are handled in groups of this many: the lanes of a 512-bit register.
constexpr int kGroup = 16;

// Some document's tokens as bytes: dimension k of token j is (codes[j * stride + k] - 128) * scales[j].
struct Codes {
    const uint8_t* codes = nullptr;
    int64_t stride = 0;  // a multiple of 4
    const float* scales = nullptr;
    int64_t tokens = 0;
};

// Less than any product of codes. Its last bits, where a path may write which token a product is with, are zeros.
constexpr float kNothing = -0x1p99f;

// What to add to products that are wanted as they are.
constexpr int32_t kUnchanged[kGroup] = {};

// What screening finds for each query token: the largest product with a document token that there can be, what its codes
// lost being added; which token that is with; and the largest with any other (kNothing if there is none). Products lack
// the scale of the query token, and may be off by 2^-20 of themselves.
struct Found {
    alignas(64) float best[2 * kGroup];
    alignas(64) float second[2 * kGroup];
    alignas(64) int32_t token[2 * kGroup];
};

// What turns products into bounds of a score: numbers of each query token, and of the document.
struct Limits {
    const float* scale;
    const float* weight;
    const float* square;      // of its norm
    const float* error;       // |token - its code|
    const float* best_error;  // the same for the best product, where more than codes may be known
    const float* raised;      // how much larger than the product of the vectors the best product may be
    float longest, shortest;  // norms of document tokens
    bool l2;
};

// What query tokens can add to the score together.
struct Bounds {
    float high, low;
};

struct Path {
    const char* name;

    // Round a token to codes of -127 to 127, leave in it what was lost, and give the scale.
    float (*take_codes)(float* token, int dimensions, int8_t* codes);
    double (*square_sum)(const float* token, int dimensions);

    // How many bytes one group of query codes takes.
    size_t (*group_bytes)(int dimensions);

    // Lay out up to kGroup tokens. Rows are signed bytes, zeros behind the last dimension up to a multiple of 4.
    void (*lay_out)(const int8_t* const* rows, int tokens, int dimensions, void* out);

    // Screen a document for query tokens of one group, or of two that lie behind each other. To every product of codes
    // lift[i] is added, before the scale of the document token is applied.
    void (*maxima)(const void* group, int tokens, int dimensions, const Codes& document, const int32_t* lift,
                   Found& found);

    // What query tokens can add to the score, from what was found for them. Also writes what each adds at most, and
    // the largest that its product with any other token than the one that was found can be.
    Bounds (*bounds)(const Found& found, int lanes, const Limits& limits, float* most, float* otherwise);

    // Products of query codes with one document token each, without that token's scale.
    void (*code_dots)(const int8_t* const* rows, int count, const Codes& document, const int32_t* tokens, int32_t* sums);

    // Which products of one group of query tokens reach bars[i]: writes j * kGroup + i, and returns how many there are.
    int64_t (*above)(const void* group, int tokens, int dimensions, const Codes& document, const float* bars,
                     int64_t* found);

    // <a, b> and |a - b|^2 of some pairs of vectors, b in IEEE half precision, in 32 bits.
    void (*dots)(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out);
    void (*squares)(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out);

    // The same of one pair in 64 bits.
    double (*exact_dot)(const float* a, const uint16_t* b, int dimensions);
    double (*exact_square)(const float* a, const uint16_t* b, int dimensions);

    // Largest <query token, document token> for kGroup query tokens laid out [dimension][kGroup], in 32 bits; with
    // `half_squares` (half the squared norm of each document token) the largest <q, d> - |d|^2 / 2.
    void (*products)(const float* query, const uint16_t* document, int64_t tokens, int dimensions,
                     const float* half_squares, float* best);

    // Round numbers to IEEE half precision.
    void (*to_halves)(const float* values, int count, uint16_t* out);
};

const Path* portable_path();
const Path* avx2_path();    // null where it was not compiled
const Path* avx512_path();  // the same

}  // namespace chamfer
