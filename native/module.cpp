// The Python bindings: validate the arguments, release the GIL, call the kernel.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "arguments.hpp"
#include "decode.hpp"
#include "probe.hpp"
#include "rank.hpp"
#include "read_once.hpp"
#include "survivors.hpp"

namespace nb = nanobind;
using namespace chamfer;

namespace {

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

// A half is infinite or NaN if all bits of its exponent are set.
bool is_finite(uint16_t half) { return (half & 0x7c00u) != 0x7c00u; }

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
    const std::vector<int64_t> places = checked_offsets(offsets, tokens);
    const size_t documents = places.size() - 1;
    check_codes(tokens, dimensions, documents, codes, scales, bounds);
    check(threads >= 1, "at least one thread is needed");
    const Path& chosen = path_by_name(path);
    nb::gil_scoped_release released;
    for (size_t n = 0; n < tokens * dimensions; ++n)
        check(is_finite(vectors.data()[n]), "token vectors must be finite");
    quantize(chosen, vectors.data(), places.data(), static_cast<int64_t>(documents), static_cast<int>(dimensions),
             threads, codes.data(), scales.data(), bounds.data(), bounds.data() + documents,
             bounds.data() + 2 * documents, bounds.data() + 3 * documents);
}

const Documents& screened(const CodesOnly& documents) { return documents.view; }
const ResidualDocuments& screened(const ResidualsOnly& documents) { return documents.residuals; }

template <typename Kept>
nb::object find_survivors(const std::string& path, const Kept& documents, const Table<float>& query,
                          const Flat<float>& weights, const Flat<int64_t>& chosen, const Flat<float>& offsets,
                          int64_t k, bool l2, int threads) {
    const Asked asked(documents, query, weights, chosen, offsets, k, l2, threads);
    const Path& with = path_by_name(path);
    std::vector<int64_t> found;
    {
        nb::gil_scoped_release released;
        found = survivors(with, screened(documents), asked.request, k, threads);
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
    const Residuals residuals = checked_residuals(packed, bits, levels, spread, centroids, chosen);
    const size_t dimensions = spread.size();
    check(threads >= 1, "at least one thread is needed");
    const std::vector<int64_t> wanted = checked_rows(rows, packed.shape(0));
    std::vector<uint16_t> nearest(wanted.size());
    for (size_t n = 0; n < wanted.size(); ++n) {
        nearest[n] = read_once(chosen.data() + wanted[n]);
        check(nearest[n] < centroids.shape(0), "every token must name one of the centroids");
    }
    const Path& with = path_by_name(path);
    std::vector<uint16_t> out(wanted.size() * dimensions);
    {
        nb::gil_scoped_release released;
        decode(with, residuals, nearest.data(), wanted.data(), static_cast<int64_t>(wanted.size()), threads,
               out.data());
    }
    return nb::cast(to_numpy(std::move(out), {wanted.size(), dimensions}));
}

void measure_residuals(const std::string& path, const Table<uint8_t>& packed, int bits, const Flat<float>& levels,
                       const Flat<float>& spread, const Table<float>& centroids, const Flat<uint16_t>& chosen,
                       const Flat<int64_t>& offsets, Array<uint16_t, 1> factors, Array<float, 2> bounds, int threads) {
    const Residuals residuals = checked_residuals(packed, bits, levels, spread, centroids, chosen);
    check_trained(residuals);
    const std::vector<int64_t> places = checked_offsets(offsets, packed.shape(0));
    const size_t documents = places.size() - 1;
    check_measured(packed.shape(0), documents, factors, bounds);
    check(threads >= 1, "at least one thread is needed");
    const Path& with = path_by_name(path);
    nb::gil_scoped_release released;
    float* const rows = bounds.data();
    measure(with, residuals, places.data(), static_cast<int64_t>(documents), threads,
            {factors.data(), rows, rows + documents, rows + 2 * documents, rows + 3 * documents, rows + 4 * documents});
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

nb::tuple choose_lists(const Table<float>& products, const Flat<int64_t>& many, const Flat<int64_t>& same, float bar,
                       const Flat<float>& weights, bool l2) {
    const size_t tokens = products.shape(0), count = products.shape(1);
    check(many.size() == tokens && same.size() == tokens && weights.size() == tokens,
          "every token needs a number of lists, a list of its own or -1, and a weight");
    check(count >= 1 && count <= UINT32_MAX, "there must be from 1 to 4294967295 lists to choose from");
    const std::vector<int64_t> wanted = copied(many), own = copied(same);
    for (const int64_t one : wanted)
        check(one >= 1 && static_cast<size_t>(one) <= count, "at least one list and at most all can be chosen");
    const std::vector<float> weighted = copied(weights);
    const Choosing choosing{products.data(),
                            static_cast<int64_t>(tokens),
                            static_cast<int64_t>(count),
                            wanted.data(),
                            own.data(),
                            bar,
                            weighted.data(),
                            l2};
    Chosen chosen;
    {
        nb::gil_scoped_release released;
        chosen = choose(choosing);
    }
    const size_t found = chosen.lists.size();
    return nb::make_tuple(to_numpy(std::move(chosen.ends), {tokens}), to_numpy(std::move(chosen.lists), {found}),
                          to_numpy(std::move(chosen.gains), {found}));
}

nb::tuple probe_lists(const Flat<int64_t>& starts, const Flat<uint32_t>& places, int64_t documents,
                      const Flat<int64_t>& ends, const Flat<int64_t>& lists, const Flat<float>& gains,
                      const Flat<uint8_t>& allowed, int64_t depth) {
    check(starts.size() >= 1 && lists.size() == gains.size(), "every list needs a gain");
    check(depth >= 0 && documents >= 0, "depth and the number of documents must not be negative");
    check(allowed.size() == 0 || static_cast<int64_t>(allowed.size()) == documents,
          "the mask must have one entry per document");
    const std::vector<int64_t> until = copied(ends), probed = copied(lists);
    const std::vector<float> gained = copied(gains);
    for (size_t n = 0; n < probed.size(); ++n)
        check(probed[n] >= 0 && static_cast<size_t>(probed[n]) + 1 < starts.size() && std::isfinite(gained[n]),
              "probed lists must exist, and their gains must be finite");
    for (size_t n = 0; n < until.size(); ++n)
        check(until[n] >= (n ? until[n - 1] : 0) && static_cast<size_t>(until[n]) <= probed.size(),
              "ends must not decrease or exceed the number of probed lists");
    const Probes probes{starts.data(),
                        places.data(),
                        static_cast<int64_t>(places.size()),
                        documents,
                        until.data(),
                        static_cast<int64_t>(until.size()),
                        probed.data(),
                        gained.data(),
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
                         const Flat<float>& weights, const Flat<int64_t>& chosen, const Flat<float>& offsets, int64_t k,
                         bool l2, int threads) {
    const Asked asked(documents, query, weights, chosen, offsets, k, l2, threads);
    const Path& with = path_by_name(path);
    Answer answer;
    {
        nb::gil_scoped_release released;
        answer = rank(with, documents.view, asked.request, k, threads);
    }
    const size_t found = answer.places.size();
    return nb::make_tuple(to_numpy(std::move(answer.places), {found}), to_numpy(std::move(answer.scores), {found}),
                          answer.refined, answer.computed, answer.possible);
}

nb::object minima_of(const std::string& path, const Packed& documents, const Table<float>& query,
                     const Flat<int64_t>& chosen, bool l2, int threads) {
    const Asked asked(documents, query, chosen, l2, threads);
    const Path& with = path_by_name(path);
    const size_t rows = asked.candidates.size(), tokens = query.shape(0);
    std::vector<float> out(rows * tokens);
    {
        nb::gil_scoped_release released;
        minima(with, documents.view, asked.request, threads, out.data());
    }
    return nb::cast(to_numpy(std::move(out), {rows, tokens}));
}

// <row, query> for every row, in 32-bit arithmetic.
nb::object dots_of(const std::string& path, const Table<uint16_t>& rows, const Flat<float>& query, int threads) {
    const size_t count = rows.shape(0), dimensions = rows.shape(1);
    check(query.size() == dimensions, "rows and the query must have the same number of dimensions");
    check(threads >= 1, "at least one thread is needed");
    const Path& with = path_by_name(path);
    const std::vector<float> wanted = copied(query);
    std::vector<float> out(count);
    {
        nb::gil_scoped_release released;
        dots(with, rows.data(), static_cast<int64_t>(count), static_cast<int>(dimensions), wanted.data(), threads,
             out.data());
    }
    return nb::cast(to_numpy(std::move(out), {count}));
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
    nb::class_<ResidualsOnly>(module, "ResidualsOnly")
        .def(nb::init<Flat<int64_t>, Table<uint8_t>, int, Flat<float>, Flat<float>, Table<float>, Flat<uint16_t>,
                      Flat<uint16_t>, Table<float>>(),
             nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert());
    module.def("measure_residuals", &measure_residuals, nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg().noconvert(),
               nb::arg().noconvert(), nb::arg());
    module.def("decode_residuals", &decode_residuals, nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg());
    module.def("decode_codes", &decode_codes, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(),
               nb::arg(), nb::arg());
    module.def("survivors", &find_survivors<CodesOnly>);
    module.def("survivors", &find_survivors<ResidualsOnly>);
    module.def("choose", &choose_lists, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
    module.def("probe", &probe_lists, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg(), nb::arg());
    module.def("rank", &rank_documents);
    module.def("minima", &minima_of);
    module.def("dots", &dots_of, nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg());
}
