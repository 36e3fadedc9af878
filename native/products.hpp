// Where a screen gets its products from: documents in 8-bit codes, or in residuals.
#pragma once

#include <vector>

#include "path.hpp"
#include "query.hpp"

namespace chamfer {

// The result of screening one document, per query token.
struct Screened {
    const float* most;       // the most that it adds to the score
    const float* otherwise;  // upper bound on its product with any other document token than `token`
    const int32_t* token;    // the document token that appears to be closest
};

// Documents screened together, so that one is computed while another is loaded from memory.
struct Piece {
    static constexpr int kMost = 16;

    explicit Piece(size_t lanes) : lanes(lanes), most(kMost * lanes), otherwise(kMost * lanes), token(kMost * lanes) {}

    Screened found_in(int n) const {
        const size_t at = slot[n] * lanes;
        return {most.data() + at, otherwise.data() + at, token.data() + at};
    }

    int count = 0;
    int64_t next = -1;  // the document after the last one, or -1
    int64_t document[kMost];
    int64_t candidate[kMost];
    Bounds score[kMost];
    bool likely[kMost];  // to be in the top k
    size_t slot[kMost];  // index of its results in the following
    size_t lanes;
    std::vector<float> most, otherwise;
    std::vector<int32_t> token;
    // Per portion of the query.
    int32_t lift[kMost][2 * kGroup];  // added to products, so that they bound those of the vectors from above
    Found found[kMost];
    // One document's residuals, unpacked.
    std::vector<uint16_t> given;
    std::vector<int32_t> rows;
    std::vector<float> scales;
    std::vector<uint8_t> codes;
};

class Products {
   public:
    Products() = default;
    Products(const Products&) = delete;
    virtual ~Products() = default;

    // Find the largest products of the query tokens of a portion with document n of the piece, and prefetch another
    // document meanwhile, unless that is -1.
    virtual void find(const Portion& portion, int tokens, Piece& piece, int n, int64_t next) const = 0;

    // What turns them into bounds, for query tokens from `from` on.
    virtual Limits limits(int from, int64_t document) const = 0;

    // A closer look while the codes are in the cache: know the best products more precisely. `raised` tells how far they
    // may then exceed those of the vectors.
    virtual void look_closer(int from, int tokens, Piece& piece, int n, Limits& limits, float* raised) const = 0;
};

}  // namespace chamfer
