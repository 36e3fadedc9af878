// The AVX-512 VNNI path: one instruction multiplies four dimensions of a document token, broadcast from memory,
// with sixteen query tokens and adds the products up.
#include "path.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "avx512_levels.hpp"
#include "bounds.hpp"
#include "codes.hpp"
#include "tables.hpp"

namespace chamfer {
namespace {

constexpr int kTokens = 8;  // document tokens at a time: with two groups of query tokens they fill 16 registers

int quads(int dimensions) { return (dimensions + 3) / 4; }

// Layout: [dimension / 4][kGroup][4] signed bytes, then for each token minus 128 times the sum of its bytes, because
// the instruction takes the document's bytes unsigned.
size_t group_bytes(int dimensions) { return (static_cast<size_t>(quads(dimensions)) + 1) * 64; }

void lay_out(const int8_t* const* rows, int tokens, int dimensions, void* out) {
    const int steps = quads(dimensions);
    auto* to = static_cast<char*>(out);
    std::memset(to, 0, group_bytes(dimensions));
    for (int i = 0; i < tokens; ++i) {
        int32_t sum = 0;
        for (int k = 0; k < 4 * steps; ++k) sum += rows[i][k];
        for (int k = 0; k < steps; ++k) std::memcpy(to + k * 64 + i * 4, rows[i] + 4 * k, 4);
        const int32_t shift = -128 * sum;
        std::memcpy(to + steps * 64 + i * 4, &shift, sizeof shift);
    }
}

// 16 query tokens in a register.
struct Wide {
    static constexpr int kLanes = 16;
    using Ints = __m512i;
    using Floats = __m512;
    using Mask = __mmask16;
    static Ints all(int32_t value) { return _mm512_set1_epi32(value); }
    static Floats all(float value) { return _mm512_set1_ps(value); }
    static Ints load(const void* from) { return _mm512_loadu_si512(from); }
    static void store(void* to, Ints value) { _mm512_storeu_si512(to, value); }
    static void store(float* to, Floats value) { _mm512_storeu_ps(to, value); }
    static Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
    static Ints add_products(Ints sum, Ints d, Ints q) { return _mm512_dpbusd_epi32(sum, d, q); }
    static Floats scaled(Ints value, Floats by) { return _mm512_mul_ps(_mm512_cvtepi32_ps(value), by); }
    static Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }
    static Floats smaller(Floats a, Floats b) { return _mm512_min_ps(a, b); }
    static Mask above(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
    static Mask not_below(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
    static Ints replaced(Ints a, Mask where, int32_t by) { return _mm512_mask_set1_epi32(a, where, by); }
    static Floats masked_or(Floats a, Ints mask, Ints bits) {
        return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(a), mask, bits, kAndOr));
    }
    static Ints last_bits(Floats a) { return _mm512_and_si512(_mm512_castps_si512(a), all(7)); }
    static constexpr int kAndOr = 0xea;  // (a & mask) | bits
};

// 8 query tokens in half a register, for which twice as many products are computed at a time.
struct HalfWide {
    static constexpr int kLanes = 8;
    using Ints = __m256i;
    using Floats = __m256;
    using Mask = __mmask8;
    static Ints all(int32_t value) { return _mm256_set1_epi32(value); }
    static Floats all(float value) { return _mm256_set1_ps(value); }
    static Ints load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
    static void store(void* to, Ints value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
    static void store(float* to, Floats value) { _mm256_storeu_ps(to, value); }
    static Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
    static Ints add_products(Ints sum, Ints d, Ints q) { return _mm256_dpbusd_epi32(sum, d, q); }
    static Floats scaled(Ints value, Floats by) { return _mm256_mul_ps(_mm256_cvtepi32_ps(value), by); }
    static Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
    static Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }
    static Mask above(Floats a, Floats b) { return _mm256_cmp_ps_mask(a, b, _CMP_GT_OQ); }
    static Mask not_below(Floats a, Floats b) { return _mm256_cmp_ps_mask(a, b, _CMP_GE_OQ); }
    static Ints replaced(Ints a, Mask where, int32_t by) { return _mm256_mask_set1_epi32(a, where, by); }
    static Floats masked_or(Floats a, Ints mask, Ints bits) {
        return _mm256_castsi256_ps(_mm256_ternarylogic_epi32(_mm256_castps_si256(a), mask, bits, Wide::kAndOr));
    }
    static Ints last_bits(Floats a) { return _mm256_and_si256(_mm256_castps_si256(a), all(7)); }
};

inline int32_t four_dimensions(const uint8_t* at) {
    int32_t four;
    std::memcpy(&four, at, sizeof four);
    return four;
}

// What is added to every sum of a query token; and where to prefetch during the tokens from `first` on, how far apart.
struct Lift {
    const int32_t* lift;

    const int32_t* of(int64_t, int group) const { return lift + group * kGroup; }
    static const uint8_t* ahead(const Codes& document, int64_t first) {  // those after the next ones
        return document.codes + (first + 2 * kTokens) * document.stride;
    }
    static int64_t apart() { return 4 * kTokens; }
};

// What is added to the sums of one document token.
struct FromTable {
    Starts starts;
    int64_t steps;

    const int32_t* of(int64_t token, int group) const { return starts.table + starts.rows[token] + group * kGroup; }
    const uint8_t* ahead(const Codes&, int64_t first) const { return starts.next + first * starts.next_bytes; }
    int64_t apart() const { return kTokens * starts.next_bytes / steps; }
};

// The sums of 8 document tokens with G groups of query tokens. They are consumed one by one between the first steps of
// the next 8, not all at once before these: that keeps the multipliers busy, which limit the speed.
template <typename V, int G>
struct Block {
    alignas(64) int32_t sums[G][kTokens][V::kLanes];

    [[gnu::always_inline]] typename V::Floats product(int group, int token, float scale) const {
        return V::scaled(V::load(sums[group][token]), V::all(scale));
    }
};

// Compute the block of 8 tokens from `first` on, calling between(t) eight times on the way.
template <typename V, int G, typename Added, typename Between>
[[gnu::always_inline]] inline void sweep(const char* group, int dimensions, const Codes& document, int64_t first,
                                         const Added& added, Block<V, G>& block, Between between) {
    const int64_t steps = quads(dimensions);
    const char* more = group + (G - 1) * group_bytes(dimensions);
    const uint8_t* codes = document.codes + first * document.stride;
    const uint8_t* ahead = added.ahead(document, first);
    const int64_t apart = added.apart();
    const int64_t last = document.tokens - 1 - first;
    const uint8_t* token[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) token[t] = codes + t * document.stride;
    if (last < kTokens - 1) {  // beyond the last token, repeat it; those sums are ignored
        for (int t = 0; t < kTokens; ++t) token[t] = codes + std::min<int64_t>(t, last) * document.stride;
    }
    typename V::Ints one[kTokens], two[kTokens];  // compilers keep two plain arrays in registers, not one of arrays
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
        const int64_t place = first + std::min<int64_t>(t, last);
        one[t] = V::add(V::load(group + steps * 64), V::load(added.of(place, 0)));
        two[t] = G == 2 ? V::add(V::load(more + steps * 64), V::load(added.of(place, 1))) : one[t];
    }
    int64_t k = 0;
    const auto step = [&]() __attribute__((always_inline)) {
        const typename V::Ints q = V::load(group + k * 64), r = V::load(more + k * 64);
        __builtin_prefetch(ahead + k * apart);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
            const typename V::Ints d = V::all(four_dimensions(token[t] + 4 * k));
            one[t] = V::add_products(one[t], d, q);
            if (G == 2) two[t] = V::add_products(two[t], d, r);
        }
        ++k;
    };
    if (steps >= kTokens) {
        for (int t = 0; t < kTokens; ++t) {
            step();
            between(t);
        }
    } else {
        for (int t = 0; t < kTokens; ++t) between(t);
    }
    while (k < steps) step();
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
        V::store(block.sums[0][t], one[t]);
        if (G == 2) V::store(block.sums[G - 1][t], two[t]);
    }
}

// The largest and the second largest of some numbers, lane by lane.
template <typename V>
struct Two {
    typename V::Floats first = V::all(kNothing), second = V::all(kNothing);

    [[gnu::always_inline]] void add(typename V::Floats value) {
        second = V::larger(second, V::smaller(first, value));
        first = V::larger(first, value);
    }
};

template <typename V, int G, typename Added>
void maxima_of(const void* group, int dimensions, const Codes& document, const Added& added, Found& found) {
    const char* codes = static_cast<const char*>(group);
    const float* scales = document.scales;
    Two<V> all[G], here[G];
    typename V::Ints from[G];
    for (int g = 0; g < G; ++g) from[g] = V::all(0);
    Block<V, G> block;
    // The low three bits of a product hold the index of its token among 8; this is far below the error of the codes.
    const auto add = [&](int t) __attribute__((always_inline)) {
        for (int g = 0; g < G; ++g) here[g].add(V::masked_or(block.product(g, t, scales[t]), V::all(~7), V::all(t)));
    };
    const auto merge = [&](int64_t first) __attribute__((always_inline)) {
        for (int g = 0; g < G; ++g) {
            from[g] = V::replaced(from[g], V::above(here[g].first, all[g].first), static_cast<int32_t>(first));
            all[g].second = V::larger(all[g].second, here[g].second);
            all[g].add(here[g].first);
            here[g] = Two<V>();
        }
        scales += kTokens;
    };
    sweep<V, G>(codes, dimensions, document, 0, added, block, [](int) {});
    int64_t first = kTokens;
    for (; first < document.tokens; first += kTokens) {
        sweep<V, G>(codes, dimensions, document, first, added, block, add);
        merge(first - kTokens);
    }
    first -= kTokens;
    for (int t = 0; t < document.tokens - first; ++t) add(t);
    merge(first);
    for (int g = 0; g < G; ++g) {
        V::store(found.best + g * kGroup, all[g].first);
        V::store(found.second + g * kGroup, all[g].second);
        V::store(found.token + g * kGroup, V::add(from[g], V::last_bits(all[g].first)));
    }
}

template <typename Added>
void maxima_with(const void* group, int tokens, int dimensions, const Codes& document, const Added& added,
                 Found& found) {
    if (tokens > kGroup) {
        maxima_of<Wide, 2>(group, dimensions, document, added, found);
    } else if (tokens > HalfWide::kLanes) {
        maxima_of<Wide, 1>(group, dimensions, document, added, found);
    } else {
        maxima_of<HalfWide, 1>(group, dimensions, document, added, found);
        std::fill_n(found.best + HalfWide::kLanes, HalfWide::kLanes, kNothing);
        std::fill_n(found.second + HalfWide::kLanes, HalfWide::kLanes, kNothing);
        std::fill_n(found.token + HalfWide::kLanes, HalfWide::kLanes, 0);
    }
}

void maxima(const void* group, int tokens, int dimensions, const Codes& document, const int32_t* lift, Found& found) {
    maxima_with(group, tokens, dimensions, document, Lift{lift}, found);
}

void residual_maxima(const void* group, int tokens, int dimensions, const Codes& document, const Starts& starts,
                     Found& found) {
    maxima_with(group, tokens, dimensions, document, FromTable{starts, quads(dimensions)}, found);
}

void code_dots(const int8_t* const* rows, int count, const Codes& document, const int32_t* tokens, int32_t* sums) {
    const __m512i shift = _mm512_set1_epi8(static_cast<char>(128));
    for (int i = 0; i < count; ++i) {
        const uint8_t* token = document.codes + tokens[i] * document.stride;
        __m512i products = _mm512_setzero_si512();
        for (int64_t k = 0; k < document.stride; k += 64) {
            const int64_t left = document.stride - k;
            const __mmask64 some = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
            const __m512i q = _mm512_maskz_loadu_epi8(some, rows[i] + k);
            products = _mm512_dpbusd_epi32(products, _mm512_maskz_loadu_epi8(some, token + k), q);
            // Subtract 128 times the bytes of the query; unsigned, the byte -128 is 128.
            products = _mm512_sub_epi32(products, _mm512_dpbusd_epi32(_mm512_setzero_si512(), shift, q));
        }
        sums[i] = _mm512_reduce_add_epi32(products);
    }
}

template <typename V>
int64_t above_of(const void* group, int dimensions, const Codes& document, const float* bars, int64_t* found) {
    typename V::Floats bar;
    std::memcpy(&bar, bars, sizeof bar);
    Block<V, 1> block;
    int64_t count = 0;
    for (int64_t first = 0; first < document.tokens; first += kTokens) {
        sweep<V, 1>(static_cast<const char*>(group), dimensions, document, first, Lift{kUnchanged}, block,
                    [](int) {});
        const int64_t some = std::min<int64_t>(kTokens, document.tokens - first);
        for (int64_t t = 0; t < some; ++t) {
            const auto product = block.product(0, static_cast<int>(t), document.scales[first + t]);
            for (unsigned mask = V::not_below(product, bar); mask; mask &= mask - 1)
                found[count++] = (first + t) * kGroup + __builtin_ctz(mask);
        }
    }
    return count;
}

int64_t above(const void* group, int tokens, int dimensions, const Codes& document, const float* bars,
              int64_t* found) {
    return tokens > HalfWide::kLanes ? above_of<Wide>(group, dimensions, document, bars, found)
                                 : above_of<HalfWide>(group, dimensions, document, bars, found);
}

inline __mmask16 up_to(int lanes) { return static_cast<__mmask16>(lanes >= 16 ? 0xffff : (1u << lanes) - 1); }

inline __m512 widen(const uint16_t* half, __mmask16 some) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(some, half));
}

template <bool Difference>
[[gnu::always_inline]] inline __m512 add_16(const float* a, const uint16_t* b, __mmask16 some, __m512 sum) {
    const __m512 x = _mm512_maskz_loadu_ps(some, a), y = widen(b, some);
    if (!Difference) return _mm512_fmadd_ps(x, y, sum);
    const __m512 apart = _mm512_sub_ps(x, y);
    return _mm512_fmadd_ps(apart, apart, sum);
}

template <bool Difference>
[[gnu::always_inline]] inline float in_32_bits(const float* a, const uint16_t* b, int dimensions) {
    __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
    int k = 0;
    for (; k + 32 <= dimensions; k += 32) {
        even = add_16<Difference>(a + k, b + k, 0xffff, even);
        odd = add_16<Difference>(a + k + 16, b + k + 16, 0xffff, odd);
    }
    for (; k < dimensions; k += 16) even = add_16<Difference>(a + k, b + k, up_to(dimensions - k), even);
    return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

template <bool Difference>
void pairs_in_32_bits(const float* const* a, const uint16_t* const* b, int count, int dimensions, float* out) {
    for (int i = 0; i < count; ++i) out[i] = in_32_bits<Difference>(a[i], b[i], dimensions);
}

template <bool Difference>
double in_64_bits(const float* a, const uint16_t* b, int dimensions) {
    __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
    for (int k = 0; k < dimensions; k += 16) {
        const __mmask16 some = up_to(dimensions - k);
        const __m512 x = _mm512_maskz_loadu_ps(some, a + k), y = widen(b + k, some);
        const __m512d x0 = _mm512_cvtps_pd(_mm512_castps512_ps256(x)), y0 = _mm512_cvtps_pd(_mm512_castps512_ps256(y));
        const __m512d x1 = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
        const __m512d y1 = _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1));
        if (Difference) {
            const __m512d d0 = _mm512_sub_pd(x0, y0), d1 = _mm512_sub_pd(x1, y1);
            low = _mm512_fmadd_pd(d0, d0, low);
            high = _mm512_fmadd_pd(d1, d1, high);
        } else {
            low = _mm512_fmadd_pd(x0, y0, low);
            high = _mm512_fmadd_pd(x1, y1, high);
        }
    }
    return _mm512_reduce_add_pd(_mm512_add_pd(low, high));
}

// 8 document tokens at a time, each widened once into a buffer from which its dimensions are broadcast.
void products(const float* query, const uint16_t* document, int64_t tokens, int dimensions, const float* half_squares,
              float* best) {
    constexpr int kMost = 1024;
    alignas(64) float wide[kTokens][kMost];
    __m512 most = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    for (int64_t first = 0; first < tokens; first += kTokens) {
        __m512 sums[kTokens];
        for (int t = 0; t < kTokens; ++t) sums[t] = _mm512_setzero_ps();
        for (int from = 0; from < dimensions; from += kMost) {
            const int width = std::min(kMost, dimensions - from);
            for (int t = 0; t < kTokens; ++t) {
                const uint16_t* token = document + std::min(first + t, tokens - 1) * dimensions + from;
                for (int k = 0; k < width; k += 16) _mm512_store_ps(wide[t] + k, widen(token + k, up_to(width - k)));
            }
            for (int k = 0; k < width; ++k) {
                const __m512 q = _mm512_loadu_ps(query + static_cast<size_t>(from + k) * kGroup);
                for (int t = 0; t < kTokens; ++t) sums[t] = _mm512_fmadd_ps(_mm512_set1_ps(wide[t][k]), q, sums[t]);
            }
        }
        for (int t = 0; t < kTokens; ++t) {
            const float less = half_squares ? half_squares[std::min(first + t, tokens - 1)] : 0.0f;
            most = _mm512_max_ps(most, _mm512_sub_ps(sums[t], _mm512_set1_ps(less)));
        }
    }
    _mm512_storeu_ps(best, most);
}

void to_halves(const float* values, int count, uint16_t* out) {
    for (int k = 0; k < count; k += 16) {
        const auto some = static_cast<__mmask16>(count - k >= 16 ? 0xffffu : (1u << (count - k)) - 1);
        _mm256_mask_storeu_epi16(out + k, some,
                                 _mm512_cvtps_ph(_mm512_maskz_loadu_ps(some, values + k),
                                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
}

constexpr Path kPath{"avx512", take_codes, scales_within, square_sum, group_bytes, lay_out, maxima, residual_maxima,
                     bounds, code_dots, above, pairs_in_32_bits<false>, pairs_in_32_bits<true>, in_64_bits<false>,
                     in_64_bits<true>, products, to_halves, unpack, take_starts, add_levels, level_dot,
                     fill_table<8>};

}  // namespace

const Path* avx512_path() { return &kPath; }

}  // namespace chamfer
#else
namespace chamfer {
const Path* avx512_path() { return nullptr; }
}  // namespace chamfer
#endif
