// The Python bindings: validate the arguments, release the GIL, call the kernel.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "decode.hpp"
#include "documents.hpp"
#include "probe.hpp"
#include "rank.hpp"

namespace nb = nanobind;
using namespace chamfer;

namespace {

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

bool has_avx2() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // which implies F16C
#else
    return false;
#endif
}

bool has_avx512() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

// Fastest first.
std::vector<const Path*> paths() {
    std::vector<const Path*> found;
    if (avx512_path() && has_avx512()) found.push_back(avx512_path());
    if (avx2_path() && has_avx2()) found.push_back(avx2_path());
    found.push_back(portable_path());
    return found;
}

const Path& path_by_name(const std::string& name) {
    for (const Path* path : paths())
        if (name == path->name) return *path;
    throw std::invalid_argument("this CPU or installation has no kernel for " + name);
}

void check(bool right, const char* rule) {
    if (!right) throw std::invalid_argument(rule);
}

void check_offsets(const Flat<int64_t>& offsets, size_t tokens) {
    check(offsets.size() >= 1 && offsets(0) == 0 && static_cast<size_t>(offsets(offsets.size() - 1)) == tokens,
          "offsets must run from 0 to the number of token vectors");
    for (size_t d = 0; d + 1 < offsets.size(); ++d) {
        check(offsets(d) <= offsets(d + 1), "offsets must not decrease");
        check(offsets(d + 1) - offsets(d) <= INT32_MAX, "a document can have at most 2147483647 tokens");
    }
}

void check_dimensions(size_t dimensions) {
    check(dimensions >= 1 && dimensions <= kMostDimensions, "vectors must have 1 to 32768 dimensions");
}

template <typename Bytes, typename Floats, typename FloatTable>
void check_codes(size_t tokens, size_t dimensions, const Flat<int64_t>& offsets, const Bytes& codes,
                 const Floats& scales, const FloatTable& bounds) {
    const auto stride = static_cast<size_t>(stride_of(static_cast<int>(dimensions)));
    check(codes.shape(0) == tokens && codes.shape(1) == stride && scales.size() == tokens && bounds.shape(0) == 4 &&
              bounds.shape(1) == offsets.size() - 1,
          "codes, scales and bounds must match the vectors in shape");
}

// A half is infinite or NaN if all bits of its exponent are set.
bool is_finite(uint16_t half) { return (half & 0x7c00u) != 0x7c00u; }

// A copy that no other Python thread can change during a call.
std::vector<int64_t> copied(const Flat<int64_t>& places) { return {places.data(), places.data() + places.size()}; }

// Documents, validated once. Python owns the large arrays, and this object keeps them alive; offsets are copied, so
// that they stay valid.
struct Held {
    std::vector<int64_t> offsets;
    Documents view;

    Held(size_t tokens, size_t dimensions, const Flat<int64_t>& offsets_) : offsets(copied(offsets_)) {
        check_dimensions(dimensions);
        check_offsets(offsets_, tokens);
        view.dimensions = static_cast<int>(dimensions);
        view.count = static_cast<int64_t>(offsets.size()) - 1;
        view.offsets = offsets.data();
    }

    void set_codes(const Table<uint8_t>& codes, const Flat<float>& scales, const Table<float>& bounds) {
        for (size_t n = 0; n < bounds.size(); ++n)
            check(std::isfinite(bounds.data()[n]) && bounds.data()[n] >= 0, "bounds must be finite and not negative");
        const size_t documents = offsets.size() - 1;
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
        check_codes(vectors.shape(0), vectors.shape(1), offsets_, codes, scales, bounds);
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
        check_codes(codes.shape(0), dimensions, offsets_, codes, scales, bounds);
        set_codes(codes, scales, bounds);
    }
};

Request request_of(const Held& documents, const Table<float>& query, const std::vector<int64_t>& candidates, bool l2,
                   int threads) {
    check(query.shape(0) >= 1, "a query needs at least one token");
    check(query.shape(1) == static_cast<size_t>(documents.view.dimensions),
          "queries and documents must have the same number of dimensions");
    for (size_t n = 0; n < query.size(); ++n)
        check(std::fabs(query.data()[n]) <= kLargest,
              "query vectors must be finite, with no number above " CHAMFER_TEXT(CHAMFER_LARGEST));
    for (const int64_t place : candidates)
        check(place >= 0 && place < documents.view.count, "candidates must be places of documents");
    check(threads >= 1, "at least one thread is needed");
    Request request;
    request.query = query.data();
    request.tokens = static_cast<int>(query.shape(0));
    request.candidates = candidates.data();
    request.count = static_cast<int64_t>(candidates.size());
    request.l2 = l2;
    return request;
}

template <typename T>
auto to_numpy(std::vector<T>&& values, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

void quantize_into(const std::string& path, const Table<uint16_t>& vectors, const Flat<int64_t>& offsets,
                   Array<uint8_t, 2> codes, Array<float, 1> scales, Array<float, 2> bounds, int threads) {
    const size_t tokens = vectors.shape(0), dimensions = vectors.shape(1);
    check_dimensions(dimensions);
    check_offsets(offsets, tokens);
    check_codes(tokens, dimensions, offsets, codes, scales, bounds);
    check(threads >= 1, "at least one thread is needed");
    const Path& chosen = path_by_name(path);
    const size_t documents = offsets.size() - 1;
    nb::gil_scoped_release released;
    for (size_t n = 0; n < tokens * dimensions; ++n)
        check(is_finite(vectors.data()[n]), "token vectors must be finite");
    quantize(chosen, vectors.data(), offsets.data(), static_cast<int64_t>(documents), static_cast<int>(dimensions),
             threads, codes.data(), scales.data(), bounds.data(), bounds.data() + documents,
             bounds.data() + 2 * documents, bounds.data() + 3 * documents);
}

Request weighted_request_of(const Held& documents, const Table<float>& query, const Flat<float>& weights,
                            const std::vector<int64_t>& candidates, int64_t k, bool l2, int threads) {
    Request request = request_of(documents, query, candidates, l2, threads);
    check(weights.size() == query.shape(0), "every query token needs a weight");
    for (size_t i = 0; i < weights.size(); ++i)
        check(weights(i) >= 0 && weights(i) <= kLargest,
              "token weights must lie between 0 and " CHAMFER_TEXT(CHAMFER_LARGEST));
    check(k >= 0, "k must not be negative");
    request.weights = weights.data();
    return request;
}

nb::object find_survivors(const std::string& path, const CodesOnly& documents, const Table<float>& query,
                          const Flat<float>& weights, const Flat<int64_t>& chosen, int64_t k, bool l2, int threads) {
    const std::vector<int64_t> candidates = copied(chosen);
    const Request request = weighted_request_of(documents, query, weights, candidates, k, l2, threads);
    const Path& with = path_by_name(path);
    std::vector<int64_t> found;
    {
        nb::gil_scoped_release released;
        found = survivors(with, documents.view, request, k, threads);
    }
    const size_t count = found.size();
    return nb::cast(to_numpy(std::move(found), {count}));
}

std::vector<int64_t> checked_rows(const Flat<int64_t>& rows, size_t tokens) {
    std::vector<int64_t> found = copied(rows);
    for (const int64_t row : found)
        check(row >= 0 && static_cast<size_t>(row) < tokens, "rows must lie between 0 and the number of stored tokens");
    return found;
}

nb::object decode_residuals(const std::string& path, const Table<uint8_t>& packed, int bits, const Flat<float>& levels,
                            const Flat<float>& spread, const Table<float>& centroids, const Flat<uint16_t>& chosen,
                            const Flat<int64_t>& rows, int threads) {
    const size_t dimensions = spread.size(), tokens = packed.shape(0);
    check((bits == 2 || bits == 4) && levels.size() == size_t{1} << bits,
          "residuals must have 2 bits and 4 levels, or 4 bits and 16 levels");
    check(dimensions * bits == packed.shape(1) * 8 && centroids.shape(1) == dimensions && chosen.size() == tokens,
          "residuals, centroids and levels must match in shape");
    check(threads >= 1, "at least one thread is needed");
    const std::vector<int64_t> wanted = checked_rows(rows, tokens);
    for (const int64_t row : wanted)
        check(chosen(row) < centroids.shape(0), "every token must name one of the centroids");
    const Path& with = path_by_name(path);
    const Residuals residuals{packed.data(), bits,          static_cast<int>(dimensions), levels.data(),
                              spread.data(), centroids.data(), chosen.data()};
    std::vector<uint16_t> out(wanted.size() * dimensions);
    {
        nb::gil_scoped_release released;
        decode(with, residuals, wanted.data(), static_cast<int64_t>(wanted.size()), threads, out.data());
    }
    return nb::cast(to_numpy(std::move(out), {wanted.size(), dimensions}));
}

nb::object decode_codes(const std::string& path, const Table<uint8_t>& codes, const Flat<float>& scales,
                        size_t dimensions, const Flat<int64_t>& rows, int threads) {
    check(dimensions <= codes.shape(1) && scales.size() == codes.shape(0), "codes and scales must match in shape");
    check(threads >= 1, "at least one thread is needed");
    const std::vector<int64_t> wanted = checked_rows(rows, codes.shape(0));
    const Path& with = path_by_name(path);
    std::vector<uint16_t> out(wanted.size() * dimensions);
    {
        nb::gil_scoped_release released;
        decode(with, codes.data(), static_cast<int64_t>(codes.shape(1)), scales.data(), static_cast<int>(dimensions),
               wanted.data(), static_cast<int64_t>(wanted.size()), threads, out.data());
    }
    return nb::cast(to_numpy(std::move(out), {wanted.size(), dimensions}));
}

nb::tuple probe_lists(const Flat<int64_t>& starts, const Flat<uint32_t>& places, int64_t documents,
                      const Flat<int64_t>& ends, const Flat<int64_t>& lists, const Flat<float>& gains,
                      const Flat<uint8_t>& allowed, int64_t depth) {
    check(starts.size() >= 1 && lists.size() == gains.size(), "every list needs a gain");
    check(depth >= 0 && documents >= 0, "depth and the number of documents must not be negative");
    check(allowed.size() == 0 || static_cast<int64_t>(allowed.size()) == documents,
          "the mask must have one entry per document");
    for (size_t n = 0; n < lists.size(); ++n)
        check(lists(n) >= 0 && static_cast<size_t>(lists(n)) + 1 < starts.size() && std::isfinite(gains(n)),
              "probed lists must exist, and their gains must be finite");
    for (size_t n = 0; n < ends.size(); ++n)
        check(ends(n) >= (n ? ends(n - 1) : 0) && static_cast<size_t>(ends(n)) <= lists.size(),
              "ends must not decrease or exceed the number of probed lists");
    for (size_t n = 0; n < starts.size(); ++n)
        check(starts(n) >= (n ? starts(n - 1) : 0) && static_cast<size_t>(starts(n)) <= places.size(),
              "starts must not decrease or exceed the number of places");
    const Probes probes{starts.data(), places.data(), documents,     ends.data(),
                        static_cast<int64_t>(ends.size()), lists.data(), gains.data(),
                        allowed.size() ? allowed.data() : nullptr};
    Probed found;
    {
        nb::gil_scoped_release released;
        found = probe(probes, depth);
    }
    const size_t count = found.places.size();
    return nb::make_tuple(to_numpy(std::move(found.places), {count}), to_numpy(std::move(found.gains), {count}));
}

nb::tuple rank_documents(const std::string& path, const Coded& documents, const Table<float>& query,
                         const Flat<float>& weights, const Flat<int64_t>& chosen, int64_t k, bool l2, int threads) {
    const std::vector<int64_t> candidates = copied(chosen);
    const Request request = weighted_request_of(documents, query, weights, candidates, k, l2, threads);
    const Path& with = path_by_name(path);
    Answer answer;
    {
        nb::gil_scoped_release released;
        answer = rank(with, documents.view, request, k, threads);
    }
    const size_t found = answer.places.size();
    return nb::make_tuple(to_numpy(std::move(answer.places), {found}), to_numpy(std::move(answer.scores), {found}),
                          answer.refined, answer.computed, answer.possible);
}

nb::object minima_of(const std::string& path, const Packed& documents, const Table<float>& query,
                     const Flat<int64_t>& chosen, bool l2, int threads) {
    const std::vector<int64_t> candidates = copied(chosen);
    const Request request = request_of(documents, query, candidates, l2, threads);
    const Path& with = path_by_name(path);
    const size_t rows = candidates.size(), tokens = query.shape(0);
    std::vector<float> out(rows * tokens);
    {
        nb::gil_scoped_release released;
        minima(with, documents.view, request, threads, out.data());
    }
    return nb::cast(to_numpy(std::move(out), {rows, tokens}));
}

}  // namespace

NB_MODULE(_native, module) {
    // Threads that outlive the interpreter, such as Ray's, may still hold our objects; nanobind would report a leak.
#ifndef CHAMFER_SANITIZE
    nb::set_leak_warnings(false);
#endif
    module.def("paths", [] {
        std::vector<std::string> names;
        for (const Path* path : paths()) names.emplace_back(path->name);
        return names;
    });
    // noconvert: arrays that are written to, and those whose copy would be large.
    module.def("quantize", &quantize_into, nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg().noconvert(),
               nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
    nb::class_<Packed>(module, "Packed")
        .def(nb::init<Table<uint16_t>, Flat<int64_t>>(), nb::arg().noconvert(), nb::arg());
    nb::class_<Coded, Packed>(module, "Coded")
        .def(nb::init<Table<uint16_t>, Flat<int64_t>, Table<uint8_t>, Flat<float>, Table<float>>(),
             nb::arg().noconvert(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert());
    nb::class_<CodesOnly>(module, "CodesOnly")
        .def(nb::init<size_t, Flat<int64_t>, Table<uint8_t>, Flat<float>, Table<float>>(), nb::arg(), nb::arg(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert());
    module.def("decode_residuals", &decode_residuals, nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg());
    module.def("decode_codes", &decode_codes, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(),
               nb::arg(), nb::arg());
    module.def("survivors", &find_survivors);
    module.def("probe", &probe_lists, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg(), nb::arg());
    module.def("rank", &rank_documents);
    module.def("minima", &minima_of);
}
