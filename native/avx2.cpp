// The AVX2 path: bytes are widened to 16 bits, where products of pairs add up without overflow.
#include "path.hpp"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "avx2_levels.hpp"
#include "bounds.hpp"
#include "codes.hpp"
#include "half.hpp"
#include "tables.hpp"

namespace chamfer {
namespace {

constexpr int kTokens = 4;   // document tokens at a time: 8 of 16 registers hold sums
constexpr int kMost = 1024;  // dimensions widened at a time

// Layout: [dimension / 2][kGroup][2], 16 bits each.
size_t group_bytes(int dimensions) { return static_cast<size_t>((dimensions + 1) / 2) * 64; }

void lay_out(const int8_t* const* rows, int tokens, int dimensions, void* out) {
    auto* to = static_cast<int16_t*>(out);
    std::memset(to, 0, group_bytes(dimensions));
    for (int i = 0; i < tokens; ++i)
        for (int k = 0; k < dimensions; ++k) to[(k / 2) * 32 + i * 2 + k % 2] = rows[i][k];
}

inline __m256i two_dimensions(const int16_t* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return _mm256_set1_epi32(two);
}

// Two registers of 8 query tokens for each document token, whose sums begin with those at start(its index).
template <typename Start, typename Use>
inline void sweep(const void* group, int dimensions, const Codes& document, Start start, Use use) {
    const auto* codes = static_cast<const int16_t*>(group);
    const __m256i shift = _mm256_set1_epi16(128);
    alignas(32) int16_t wide[kTokens][kMost];
    for (int64_t first = 0; first < document.tokens; first += kTokens) {
        int64_t place[kTokens];
        __m256i sums[kTokens][2];
        for (int t = 0; t < kTokens; ++t) {
            place[t] = std::min(first + t, document.tokens - 1);
            const int32_t* from = start(place[t]);
            sums[t][0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
            sums[t][1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8));
        }
        for (int from = 0; from < dimensions; from += kMost) {
            const int width = std::min(kMost, dimensions - from);
            for (int t = 0; t < kTokens; ++t) {
                const uint8_t* token = document.codes + place[t] * document.stride + from;
                int k = 0;
                for (; k + 16 <= width; k += 16) {
                    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(token + k));
                    _mm256_store_si256(reinterpret_cast<__m256i*>(wide[t] + k),
                                       _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), shift));
                }
                for (; k < width; ++k) wide[t][k] = static_cast<int16_t>(token[k] - 128);
                if (width % 2) wide[t][width] = 0;  // only in the last, shorter piece
            }
            for (int k = 0; k < width; k += 2) {
                const auto* at = reinterpret_cast<const __m256i*>(codes + static_cast<size_t>((from + k) / 2) * 32);
                const __m256i q0 = _mm256_loadu_si256(at), q1 = _mm256_loadu_si256(at + 1);
                for (int t = 0; t < kTokens; ++t) {
                    const __m256i d = two_dimensions(wide[t] + k);
                    sums[t][0] = _mm256_add_epi32(sums[t][0], _mm256_madd_epi16(q0, d));
                    sums[t][1] = _mm256_add_epi32(sums[t][1], _mm256_madd_epi16(q1, d));
                }
            }
        }
        __m256 low[kTokens], high[kTokens];
        for (int t = 0; t < kTokens; ++t) {
            const __m256 scale = _mm256_set1_ps(document.scales[place[t]]);
            low[t] = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[t][0]), scale);
            high[t] = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[t][1]), scale);
        }
        use(first, low, high);
    }
}

// The running best of 8 query tokens.
struct Running {
    __m256 best = _mm256_set1_ps(kNothing);
    __m256 second = best;
    __m256i token = _mm256_setzero_si256();

    void add(__m256 value, int64_t place) {
        const __m256 better = _mm256_cmp_ps(value, best, _CMP_GT_OQ);
        second = _mm256_max_ps(second, _mm256_min_ps(value, best));
        best = _mm256_max_ps(best, value);
        const __m256i here = _mm256_set1_epi32(static_cast<int32_t>(place));
        token = _mm256_blendv_epi8(token, here, _mm256_castps_si256(better));
    }

    void store(Found& found, int at) const {
        _mm256_store_ps(found.best + at, best);
        _mm256_store_ps(found.second + at, second);
        _mm256_store_si256(reinterpret_cast<__m256i*>(found.token + at), token);
    }
};

template <typename Start>
void maxima_of(const void* group, int tokens, int dimensions, const Codes& document, Start start, Found& found) {
    for (int g = 0; g * kGroup < tokens; ++g) {
        Running low, high;
        const char* codes = static_cast<const char*>(group) + g * group_bytes(dimensions);
        const auto of_group = [&](int64_t j) { return start(j) + g * kGroup; };
        sweep(codes, dimensions, document, of_group, [&](int64_t first, const __m256* a, const __m256* b) {
            const int64_t some = std::min<int64_t>(kTokens, document.tokens - first);
            for (int64_t t = 0; t < some; ++t) {
                low.add(a[t], first + t);
                high.add(b[t], first + t);
            }
        });
        low.store(found, g * kGroup);
        high.store(found, g * kGroup + 8);
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
    const __m256i shift = _mm256_set1_epi16(128);
    for (int i = 0; i < count; ++i) {
        const uint8_t* token = document.codes + tokens[i] * document.stride;
        __m256i products = _mm256_setzero_si256();
        int64_t k = 0;
        for (; k + 16 <= document.stride; k += 16) {
            const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i] + k));
            const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(token + k));
            products = _mm256_add_epi32(products, _mm256_madd_epi16(_mm256_cvtepi8_epi16(q),
                                                                    _mm256_sub_epi16(_mm256_cvtepu8_epi16(d), shift)));
        }
        alignas(32) int32_t parts[8];
        _mm256_store_si256(reinterpret_cast<__m256i*>(parts), products);
        sums[i] = 0;
        for (const int32_t part : parts) sums[i] += part;
        for (; k < document.stride; ++k) sums[i] += rows[i][k] * (token[k] - 128);
    }
}

int64_t above(const void* group, int, int dimensions, const Codes& document, const float* bars, int64_t* found) {
    const __m256 low = _mm256_loadu_ps(bars), high = _mm256_loadu_ps(bars + 8);
    int64_t count = 0;
    const auto unchanged = [](int64_t) { return kUnchanged; };
    sweep(group, dimensions, document, unchanged, [&](int64_t first, const __m256* a, const __m256* b) {
        const int64_t some = std::min<int64_t>(kTokens, document.tokens - first);
        for (int64_t t = 0; t < some; ++t) {
            const auto below = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a[t], low, _CMP_GE_OQ)));
            const auto beyond = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(b[t], high, _CMP_GE_OQ)));
            for (unsigned mask = below | beyond << 8; mask; mask &= mask - 1)
                found[count++] = (first + t) * kGroup + __builtin_ctz(mask);
        }
    });
    return count;
}

inline __m256 widen(const uint16_t* half) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(half)));
}

inline double sum_of(__m256d x) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

template <bool Difference>
float in_32_bits(const float* a, const uint16_t* b, int dimensions) {
    __m256 sums = _mm256_setzero_ps();
    int k = 0;
    for (; k + 8 <= dimensions; k += 8) {
        const __m256 x = _mm256_loadu_ps(a + k), y = widen(b + k), apart = _mm256_sub_ps(x, y);
        sums = Difference ? _mm256_fmadd_ps(apart, apart, sums) : _mm256_fmadd_ps(x, y, sums);
    }
    float sum = sum_of(sums);
    for (; k < dimensions; ++k) {
        const float x = a[k], y = from_half(b[k]);
        sum += Difference ? (x - y) * (x - y) : x * y;
    }
    return sum;
}

template <bool Difference>
void pairs_in_32_bits(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out) {
    for (int i = 0; i < count; ++i) out[i] = in_32_bits<Difference>(a[i], b[i], dimensions);
}

template <bool Difference>
double in_64_bits(const float* a, const uint16_t* b, int dimensions) {
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    int k = 0;
    for (; k + 8 <= dimensions; k += 8) {
        const __m256 x = _mm256_loadu_ps(a + k), y = widen(b + k);
        const __m256d x0 = _mm256_cvtps_pd(_mm256_castps256_ps128(x)), y0 = _mm256_cvtps_pd(_mm256_castps256_ps128(y));
        const __m256d x1 = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
        const __m256d y1 = _mm256_cvtps_pd(_mm256_extractf128_ps(y, 1));
        if (Difference) {
            const __m256d d0 = _mm256_sub_pd(x0, y0), d1 = _mm256_sub_pd(x1, y1);
            low = _mm256_fmadd_pd(d0, d0, low);
            high = _mm256_fmadd_pd(d1, d1, high);
        } else {
            low = _mm256_fmadd_pd(x0, y0, low);
            high = _mm256_fmadd_pd(x1, y1, high);
        }
    }
    double sum = sum_of(_mm256_add_pd(low, high));
    for (; k < dimensions; ++k) {
        const double x = a[k], y = from_half(b[k]);
        sum += Difference ? (x - y) * (x - y) : x * y;
    }
    return sum;
}

void products(const float* query, const uint16_t* document, int64_t tokens, int dimensions, const float* half_squares,
              float* best) {
    alignas(32) float wide[kTokens][kMost];
    __m256 low = _mm256_set1_ps(-std::numeric_limits<float>::infinity()), high = low;
    for (int64_t first = 0; first < tokens; first += kTokens) {
        __m256 sums[kTokens][2];
        for (int t = 0; t < kTokens; ++t) sums[t][0] = sums[t][1] = _mm256_setzero_ps();
        for (int from = 0; from < dimensions; from += kMost) {
            const int width = std::min(kMost, dimensions - from);
            for (int t = 0; t < kTokens; ++t) {
                const uint16_t* token = document + std::min(first + t, tokens - 1) * dimensions + from;
                int k = 0;
                for (; k + 8 <= width; k += 8) _mm256_store_ps(wide[t] + k, widen(token + k));
                for (; k < width; ++k) wide[t][k] = from_half(token[k]);
            }
            for (int k = 0; k < width; ++k) {
                const float* at = query + static_cast<size_t>(from + k) * kGroup;
                const __m256 q0 = _mm256_loadu_ps(at), q1 = _mm256_loadu_ps(at + 8);
                for (int t = 0; t < kTokens; ++t) {
                    const __m256 d = _mm256_set1_ps(wide[t][k]);
                    sums[t][0] = _mm256_fmadd_ps(d, q0, sums[t][0]);
                    sums[t][1] = _mm256_fmadd_ps(d, q1, sums[t][1]);
                }
            }
        }
        for (int t = 0; t < kTokens; ++t) {
            const float less = half_squares ? half_squares[std::min(first + t, tokens - 1)] : 0.0f;
            low = _mm256_max_ps(low, _mm256_sub_ps(sums[t][0], _mm256_set1_ps(less)));
            high = _mm256_max_ps(high, _mm256_sub_ps(sums[t][1], _mm256_set1_ps(less)));
        }
    }
    _mm256_storeu_ps(best, low);
    _mm256_storeu_ps(best + 8, high);
}

void to_halves(const float* values, int count, uint16_t* out) {
    int k = 0;
    for (; k + 8 <= count; k += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + k),
                         _mm256_cvtps_ph(_mm256_loadu_ps(values + k), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    for (; k < count; ++k) out[k] = to_half(values[k]);
}

constexpr Path kPath{"avx2", take_codes, scales_within, square_sum, group_bytes, lay_out, maxima, residual_maxima,
                     bounds, code_dots, above, pairs_in_32_bits<false>, pairs_in_32_bits<true>, in_64_bits<false>,
                     in_64_bits<true>, products, to_halves, unpack, take_starts, add_levels, level_dot,
                     fill_table<4>};

}  // namespace

const Path* avx2_path() { return &kPath; }

}  // namespace chamfer
#else
namespace chamfer {
const Path* avx2_path() { return nullptr; }
}  // namespace chamfer
#endif
