// The portable path: plain C++ that compilers vectorise reasonably well.
#include <algorithm>
#include <limits>

#include "bounds.hpp"
#include "codes.hpp"
#include "half.hpp"
#include "levels.hpp"
#include "path.hpp"
#include "tables.hpp"

namespace chamfer {
namespace {

// [dimension][kGroup] signed bytes.
size_t group_bytes(int dimensions) { return static_cast<size_t>(dimensions) * kGroup; }

void lay_out(const int8_t* const* rows, int tokens, int dimensions, void* out) {
    auto* to = static_cast<int8_t*>(out);
    std::fill_n(to, group_bytes(dimensions), int8_t{0});
    for (int i = 0; i < tokens; ++i)
        for (int k = 0; k < dimensions; ++k) to[k * kGroup + i] = rows[i][k];
}

// Call use(j, products) for every token of the document. Sums begin with those at start(j).
template <typename Start, typename Use>
inline void sweep(const void* group, int dimensions, const Codes& document, Start start, Use use) {
    const auto* codes = static_cast<const int8_t*>(group);
    for (int64_t j = 0; j < document.tokens; ++j) {
        const uint8_t* token = document.codes + j * document.stride;
        uint32_t sums[kGroup];  // damaged documents may make them overflow
        std::copy_n(start(j), kGroup, sums);
        for (int k = 0; k < dimensions; ++k) {
            const int32_t d = token[k] - 128;
            for (int i = 0; i < kGroup; ++i) sums[i] += static_cast<uint32_t>(d * codes[k * kGroup + i]);
        }
        float products[kGroup];
        for (int i = 0; i < kGroup; ++i)
            products[i] = static_cast<float>(static_cast<int32_t>(sums[i])) * document.scales[j];
        use(j, products);
    }
}

// Sums of query token i begin with start(j)[i].
template <typename Start>
void maxima_of(const void* group, int tokens, int dimensions, const Codes& document, Start start, Found& found) {
    for (int g = 0; g * kGroup < tokens; ++g) {
        const char* codes = static_cast<const char*>(group) + g * group_bytes(dimensions);
        float* best = found.best + g * kGroup;
        float* second = found.second + g * kGroup;
        int32_t* token = found.token + g * kGroup;
        std::fill_n(best, kGroup, kNothing);
        std::fill_n(second, kGroup, kNothing);
        std::fill_n(token, kGroup, 0);
        const auto of_group = [&](int64_t j) { return start(j) + g * kGroup; };
        sweep(codes, dimensions, document, of_group, [&](int64_t j, const float* products) {
            for (int i = 0; i < kGroup; ++i) {
                second[i] = std::max(second[i], std::min(products[i], best[i]));
                token[i] = products[i] > best[i] ? static_cast<int32_t>(j) : token[i];
                best[i] = std::max(best[i], products[i]);
            }
        });
    }
}

void maxima(const void* group, int tokens, int dimensions, const Codes& document, const int32_t* lift, Found& found) {
    maxima_of(group, tokens, dimensions, document, [&](int64_t) { return lift; }, found);
}

void residual_maxima(const void* group, int tokens, int dimensions, const Codes& document, const Starts& starts,
                     Found& found) {
    const auto start = [&](int64_t j) { return starts.table + starts.rows[j]; };
    maxima_of(group, tokens, dimensions, document, start, found);
}

void code_dots(const int8_t* const* rows, int count, const Codes& document, const int32_t* tokens, int32_t* sums) {
    for (int i = 0; i < count; ++i) {
        const uint8_t* token = document.codes + tokens[i] * document.stride;
        sums[i] = 0;
        for (int64_t k = 0; k < document.stride; ++k) sums[i] += rows[i][k] * (token[k] - 128);
    }
}

int64_t above(const void* group, int, int dimensions, const Codes& document, const float* bars, int64_t* found) {
    int64_t count = 0;
    const auto unchanged = [](int64_t) { return kUnchanged; };
    sweep(group, dimensions, document, unchanged, [&](int64_t j, const float* products) {
        for (int i = 0; i < kGroup; ++i)
            if (products[i] >= bars[i]) found[count++] = j * kGroup + i;
    });
    return count;
}

template <typename Number, bool Difference>
Number sum_of(const float* a, const uint16_t* b, int dimensions) {
    Number sums[8] = {};  // independent sums, so that the loop vectorises
    for (int k = 0; k < dimensions; ++k) {
        const Number x = a[k], y = from_half(b[k]);
        sums[k % 8] += Difference ? (x - y) * (x - y) : x * y;
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <bool Difference>
void pairs(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out) {
    for (int i = 0; i < count; ++i) out[i] = sum_of<float, Difference>(a[i], b[i], dimensions);
}

void products(const float* query, const uint16_t* document, int64_t tokens, int dimensions, const float* half_squares,
              float* best) {
    std::fill_n(best, kGroup, -std::numeric_limits<float>::infinity());
    for (int64_t j = 0; j < tokens; ++j, document += dimensions) {
        float sums[kGroup] = {};
        for (int k = 0; k < dimensions; ++k) {
            const float d = from_half(document[k]);
            for (int i = 0; i < kGroup; ++i) sums[i] += d * query[k * kGroup + i];
        }
        const float less = half_squares ? half_squares[j] : 0.0f;
        for (int i = 0; i < kGroup; ++i) best[i] = std::max(best[i], sums[i] - less);
    }
}

void to_halves(const float* values, int count, uint16_t* out) {
    for (int k = 0; k < count; ++k) out[k] = to_half(values[k]);
}

void add_levels(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* spread,
                float* values) {
    add_levels_from(0, packed, bits, dimensions, levels, spread, values);
}

float level_dot(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* query) {
    float sums[8] = {};
    for (int k = 0; k < dimensions; ++k) sums[k % 8] += query[k] * levels[code_at(packed, bits, k)];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

constexpr Path kPath{"portable", take_codes, scales_within, square_sum, group_bytes, lay_out, maxima, residual_maxima,
                     bounds, code_dots, above, pairs<false>, pairs<true>, sum_of<double, false>, sum_of<double, true>,
                     products, to_halves, unpack_plainly, take_starts, add_levels, level_dot,
                     fill_table<2>};

}  // namespace

const Path* portable_path() { return &kPath; }

}  // namespace chamfer
