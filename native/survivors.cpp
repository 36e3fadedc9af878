#include "survivors.hpp"

#include <mutex>
#include <numeric>

#include "code_products.hpp"
#include "residual_products.hpp"
#include "sieve.hpp"

namespace chamfer {
namespace {

struct Survivor {
    int64_t candidate;
    float high;
};

std::vector<int64_t> sieved(const Path& path, const Documents& documents, const Request& request,
                            const WeightedQuery& query, const Products& products, int64_t k, int threads) {
    const Screen screen(path, documents, query, products, request);
    std::mutex mutex;  // guards lows and kept
    TopK lows(k);      // lower bounds on the top k scores
    std::vector<Survivor> kept;
    Bar bar;
    Pieces pieces(request.count, Sieve::kPiece);
    on_threads(useful_threads(request.count, Sieve::kPiece, threads), [&] {
        Sieve sieve(documents, request, query, screen, bar);
        sieve.run(pieces, [](const Piece&, int) {}, [&](const Piece& piece) {
            for (int n = 0; n < piece.count; ++n) {
                if (piece.score[n].high < bar.get()) continue;
                check_number(piece.score[n].high);
                const std::lock_guard<std::mutex> lock(mutex);
                kept.push_back({piece.candidate[n], piece.score[n].high});
                lows.add(piece.score[n].low);
                bar.raise(lows.bar());
            }
        });
    });
    std::vector<int64_t> found;
    for (const Survivor& one : kept)
        if (one.high >= bar.get()) found.push_back(one.candidate);
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

std::vector<int64_t> survivors(const Path& path, const Documents& documents, const Request& request, int64_t k,
                               int threads) {
    if (k == 0) return {};
    const CodedQuery query(path, request, documents.dimensions);
    return sieved(path, documents, request, query, CodeProducts(path, documents, query), k, threads);
}

std::vector<int64_t> survivors(const Path& path, const ResidualDocuments& documents, const Request& request, int64_t k,
                               int threads) {
    if (k == 0) return {};
    const ResidualQuery query(path, request, documents, threads);
    if (!query.has_table()) {
        std::vector<int64_t> every(request.count);
        std::iota(every.begin(), every.end(), int64_t{0});
        return every;
    }
    return sieved(path, documents.view, request, query, ResidualProducts(path, documents, query), k, threads);
}

}  // namespace chamfer
