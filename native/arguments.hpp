// The arguments of the bindings, validated.
//
// Another thread may write to an array at any time, even while this one holds the GIL: NumPy copies without it. So
// whatever a kernel computes an address from is copied first, and the copy is validated. The large arrays are read in
// place: their sizes are fixed while they are held, and the numbers in them may only change a score.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "levels.hpp"
#include "residuals.hpp"

namespace chamfer {

namespace nb = nanobind;

template <typename T, int Dimensions>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, nb::ndim<Dimensions>>;
template <typename T>
using Flat = Array<const T, 1>;
template <typename T>
using Table = Array<const T, 2>;

// A macro's value as text, for error messages.
#define CHAMFER_TEXT_OF(value) #value
#define CHAMFER_TEXT(value) CHAMFER_TEXT_OF(value)

constexpr float kLargest = CHAMFER_LARGEST;
constexpr size_t kMostDimensions = size_t{1} << 15;  // with more, sums of products of codes could overflow

inline void check(bool right, const char* rule) {
    if (!right) throw std::invalid_argument(rule);
}

// A copy that no other thread can change during a call.
template <typename Array>
auto copied(const Array& array) {
    using Number = std::remove_const_t<typename Array::Scalar>;
    return std::vector<Number>(array.data(), array.data() + array.size());
}

inline std::vector<int64_t> checked_offsets(const Flat<int64_t>& given, size_t tokens) {
    std::vector<int64_t> offsets = copied(given);
    check(!offsets.empty() && offsets.front() == 0 && static_cast<size_t>(offsets.back()) == tokens,
          "offsets must run from 0 to the number of token vectors");
    for (size_t d = 0; d + 1 < offsets.size(); ++d) {
        check(offsets[d] <= offsets[d + 1], "offsets must not decrease");
        check(offsets[d + 1] - offsets[d] <= INT32_MAX, "a document can have at most 2147483647 tokens");
    }
    return offsets;
}

inline void check_dimensions(size_t dimensions) {
    check(dimensions >= 1 && dimensions <= kMostDimensions, "vectors must have 1 to 32768 dimensions");
}

template <typename Bytes, typename Floats, typename FloatTable>
void check_codes(size_t tokens, size_t dimensions, size_t documents, const Bytes& codes, const Floats& scales,
                 const FloatTable& bounds) {
    const auto stride = static_cast<size_t>(stride_of(static_cast<int>(dimensions)));
    check(codes.shape(0) == tokens && codes.shape(1) == stride && scales.size() == tokens && bounds.shape(0) == 4 &&
              bounds.shape(1) == documents,
          "codes, scales and bounds must match the vectors in shape");
}

inline Residuals checked_residuals(const Table<uint8_t>& packed, int bits, const Flat<float>& levels,
                                   const Flat<float>& spread, const Table<float>& centroids,
                                   const Flat<uint16_t>& chosen) {
    const size_t dimensions = spread.size();
    check((bits == 2 || bits == 4) && levels.size() == size_t{1} << bits,
          "residuals must have 2 bits and 4 levels, or 4 bits and 16 levels");
    check(dimensions * bits == packed.shape(1) * 8 && centroids.shape(1) == dimensions &&
              chosen.size() == packed.shape(0),
          "residuals, centroids and levels must match in shape");
    check(centroids.shape(0) <= size_t{1} << 16, "there can be at most 65536 centroids");
    Residuals residuals;
    residuals.packed = packed.data();
    residuals.bits = bits;
    residuals.dimensions = static_cast<int>(dimensions);
    residuals.levels = levels.data();
    residuals.spread = spread.data();
    residuals.centroids = centroids.data();
    residuals.count = static_cast<int64_t>(centroids.shape(0));
    residuals.chosen = chosen.data();
    return residuals;
}

// What residuals need so that they can be screened.
inline void check_trained(const Residuals& residuals) {
    check_dimensions(static_cast<size_t>(residuals.dimensions));
    check(residuals.dimensions % 8 == 0, "residuals can be screened if they have a multiple of 8 dimensions");
    const auto fit = [](const float* values, int64_t count) {
        for (int64_t n = 0; n < count; ++n)
            check(std::fabs(values[n]) <= kLargestTrained,
                  "centroids, levels and spread must be finite, with no number above " CHAMFER_TEXT(CHAMFER_LARGEST_TRAINED));
    };
    fit(residuals.levels, int64_t{1} << residuals.bits);
    fit(residuals.spread, residuals.dimensions);
    fit(residuals.centroids, residuals.count * residuals.dimensions);
}

// The largest norm of a centroid, rounded up.
inline float longest_centroid(const Residuals& residuals) {
    double most = 0;
    for (int64_t n = 0; n < residuals.count; ++n) {
        double square = 0;
        for (int k = 0; k < residuals.dimensions; ++k) {
            const double value = residuals.centroids[n * residuals.dimensions + k];
            square += value * value;
        }
        most = std::max(most, square);
    }
    return std::nextafter(static_cast<float>(std::sqrt(most)), INFINITY);
}

template <typename Halves, typename FloatTable>
void check_measured(size_t tokens, size_t documents, const Halves& factors, const FloatTable& bounds) {
    check(factors.size() == tokens && bounds.shape(0) == Measured::kBounds && bounds.shape(1) == documents,
          "factors and bounds must match the residuals in shape");
}

template <typename FloatTable>
void check_bounds(const FloatTable& bounds) {
    for (size_t n = 0; n < bounds.size(); ++n)
        check(std::isfinite(bounds.data()[n]) && bounds.data()[n] >= 0, "bounds must be finite and not negative");
}

// Documents, validated once. Python owns the large arrays, and this object keeps them alive.
struct Held {
    std::vector<int64_t> offsets;
    Documents view;

    Held(size_t tokens, size_t dimensions, const Flat<int64_t>& offsets_) : offsets(checked_offsets(offsets_, tokens)) {
        check_dimensions(dimensions);
        view.dimensions = static_cast<int>(dimensions);
        view.count = static_cast<int64_t>(offsets.size()) - 1;
        view.offsets = offsets.data();
    }

    void set_codes(const Table<uint8_t>& codes, const Flat<float>& scales, const Table<float>& bounds) {
        const size_t documents = offsets.size() - 1;
        check_codes(static_cast<size_t>(offsets.back()), static_cast<size_t>(view.dimensions), documents, codes, scales,
                    bounds);
        check_bounds(bounds);
        view.stride = stride_of(view.dimensions);
        view.codes = codes.data();
        view.scales = scales.data();
        view.errors = bounds.data();
        view.worst = bounds.data() + documents;
        view.longest = bounds.data() + 2 * documents;
        view.shortest = bounds.data() + 3 * documents;
    }
};

// Vectors without codes: enough to compute minima.
struct Packed : Held {
    Table<uint16_t> vectors;

    Packed(Table<uint16_t> vectors_, Flat<int64_t> offsets_)
        : Held(vectors_.shape(0), vectors_.shape(1), offsets_), vectors(vectors_) {
        view.vectors = vectors.data();
    }
};

struct Coded : Packed {
    Table<uint8_t> codes;
    Flat<float> scales;
    Table<float> bounds;

    Coded(Table<uint16_t> vectors_, Flat<int64_t> offsets_, Table<uint8_t> codes_, Flat<float> scales_,
          Table<float> bounds_)
        : Packed(vectors_, offsets_), codes(codes_), scales(scales_), bounds(bounds_) {
        set_codes(codes, scales, bounds);
    }
};

// Codes without vectors: enough to rule documents out.
struct CodesOnly : Held {
    Table<uint8_t> codes;
    Flat<float> scales;
    Table<float> bounds;

    CodesOnly(size_t dimensions, Flat<int64_t> offsets_, Table<uint8_t> codes_, Flat<float> scales_,
            Table<float> bounds_)
        : Held(codes_.shape(0), dimensions, offsets_), codes(codes_), scales(scales_), bounds(bounds_) {
        set_codes(codes, scales, bounds);
    }
};

// Residuals, and what was measured of them: enough to rule documents out.
struct ResidualsOnly : Held {
    Table<uint8_t> packed;
    std::vector<float> levels, spread;
    Table<float> centroids;
    Flat<uint16_t> chosen, factors;
    Table<float> bounds;
    ResidualDocuments residuals;

    ResidualsOnly(Flat<int64_t> offsets_, Table<uint8_t> packed_, int bits, Flat<float> levels_, Flat<float> spread_,
                  Table<float> centroids_, Flat<uint16_t> chosen_, Flat<uint16_t> factors_, Table<float> bounds_)
        : Held(packed_.shape(0), spread_.size(), offsets_), packed(packed_), levels(copied(levels_)),
          spread(copied(spread_)), centroids(centroids_), chosen(chosen_), factors(factors_), bounds(bounds_) {
        const size_t documents = offsets.size() - 1;
        check_measured(packed.shape(0), documents, factors, bounds);
        check_bounds(bounds);
        residuals.stored = checked_residuals(packed, bits, levels_, spread_, centroids, chosen);
        residuals.stored.levels = levels.data();
        residuals.stored.spread = spread.data();
        check_trained(residuals.stored);
        residuals.longest_centroid = longest_centroid(residuals.stored);
        residuals.levels = levels_of(levels.data(), bits);
        residuals.factors = factors.data();
        residuals.lost = bounds.data();
        residuals.best_lost = bounds.data() + documents;
        residuals.reach = bounds.data() + 2 * documents;
        view.longest = bounds.data() + 3 * documents;
        view.shortest = bounds.data() + 4 * documents;
        view.stride = residuals.stored.bytes();
        residuals.view = view;
    }

    ResidualsOnly(const ResidualsOnly&) = delete;  // the view points into this object
};

// One query and its candidates, copied and validated.
struct Asked {
    std::vector<float> query, weights, offsets;
    std::vector<int64_t> candidates;
    Request request;

    Asked(const Held& documents, const Table<float>& query_, const Flat<int64_t>& candidates_, bool l2, int threads)
        : query(copied(query_)), candidates(copied(candidates_)) {
        check(query_.shape(0) >= 1, "a query needs at least one token");
        check(query_.shape(1) == static_cast<size_t>(documents.view.dimensions),
              "queries and documents must have the same number of dimensions");
        for (const float value : query)
            check(std::fabs(value) <= kLargest,
                  "query vectors must be finite, with no number above " CHAMFER_TEXT(CHAMFER_LARGEST));
        for (const int64_t place : candidates)
            check(place >= 0 && place < documents.view.count, "candidates must be places of documents");
        check(threads >= 1, "at least one thread is needed");
        request.query = query.data();
        request.tokens = static_cast<int>(query_.shape(0));
        request.candidates = candidates.data();
        request.count = static_cast<int64_t>(candidates.size());
        request.l2 = l2;
    }

    // No offsets at all mean none, rather than one per candidate.
    Asked(const Held& documents, const Table<float>& query_, const Flat<float>& weights_,
          const Flat<int64_t>& candidates_, const Flat<float>& offsets_, int64_t k, bool l2, int threads)
        : Asked(documents, query_, candidates_, l2, threads) {
        weights = copied(weights_);
        offsets = copied(offsets_);
        check(weights.size() == query_.shape(0), "every query token needs a weight");
        for (const float weight : weights)
            check(weight >= 0 && weight <= kLargest,
                  "token weights must lie between 0 and " CHAMFER_TEXT(CHAMFER_LARGEST));
        check(offsets.empty() || offsets.size() == candidates.size(), "every candidate needs an offset");
        for (const float offset : offsets)
            check(std::fabs(offset) <= kLargest,
                  "offsets must lie between -" CHAMFER_TEXT(CHAMFER_LARGEST) " and " CHAMFER_TEXT(CHAMFER_LARGEST));
        check(k >= 0, "k must not be negative");
        request.weights = weights.data();
        if (!offsets.empty()) request.offsets = offsets.data();
    }

    Asked(const Asked&) = delete;  // the request points into this object
};

}  // namespace chamfer
