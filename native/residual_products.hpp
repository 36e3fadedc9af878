// Products of a query with documents stored as residuals.
#pragma once

#include <cstring>

#include "half.hpp"
#include "products.hpp"
#include "read_once.hpp"
#include "residual_query.hpp"

namespace chamfer {

class ResidualProducts : public Products {
   public:
    ResidualProducts(const Path& path, const ResidualDocuments& documents, const ResidualQuery& query)
        : path_(path), documents_(documents), query_(query) {}

    void find(const Portion& portion, int tokens, Piece& piece, int n, int64_t next) const override {
        const Codes codes = unpacked(piece.document[n], piece);
        Starts starts{query_.table(portion.group), piece.rows.data()};
        if (next >= 0) {
            const int64_t first = documents_.view.offsets[next], last = documents_.view.offsets[next + 1];
            for (int64_t j = first; j < last; j += 32) {
                __builtin_prefetch(documents_.stored.chosen + j);
                __builtin_prefetch(documents_.factors + j);
            }
            starts.next = documents_.stored.packed + first * documents_.stored.bytes();
            starts.next_bytes = documents_.stored.bytes();
        }
        path_.residual_maxima(query_.group(portion.group), tokens, documents_.view.dimensions, codes, starts,
                              piece.found[n]);
    }

    Limits limits(int from, int64_t document) const override {
        Limits limits{};
        limits.scale = &query_.unit[from];
        limits.error = limits.best_error = &query_.error[from];
        limits.reach = documents_.reach[document];
        limits.lost = limits.best_lost = documents_.lost[document] + rounding(document);
        return limits;
    }

    // Compute the best products from levels that are not rounded, and a query that is not rounded.
    void look_closer(int from, int tokens, Piece& piece, int n, Limits& limits, float*) const override {
        const Residuals& stored = documents_.stored;
        const int64_t document = piece.document[n], first = documents_.view.offsets[document];
        Found& found = piece.found[n];
        for (int i = 0; i < tokens; ++i) {
            const int64_t token = first + found.token[i];
            const int64_t centroid = read_once(stored.chosen + token);
            check_sound(centroid < stored.count);
            const float start = static_cast<float>(query_.table(0)[centroid * query_.lanes() + from + i]);
            const float levels = path_.level_dot(stored.packed + token * stored.bytes(), stored.bits,
                                                 stored.dimensions, documents_.levels.exact, query_.scaled(from + i));
            const float factor = from_half(read_once(documents_.factors + token));
            // The table includes the middle of the levels.
            found.best[i] = factor * (start - query_.constant[from + i] + levels / query_.unit[from + i]);
        }
        limits.best_error = &query_.best_error[from];
        limits.best_lost = documents_.best_lost[document] + rounding(document);
    }

   private:
    // Unpack a document into the piece. Centroids are copied before they are checked: another thread could change them.
    Codes unpacked(int64_t document, Piece& piece) const {
        const Residuals& stored = documents_.stored;
        const int64_t first = documents_.view.offsets[document], tokens = documents_.view.length(document);
        const auto many = static_cast<size_t>(tokens);
        if (piece.rows.size() < many) {
            piece.given.resize(2 * many);
            piece.rows.resize(many);
            piece.scales.resize(many);
            piece.codes.resize(many * stored.dimensions);
        }
        uint16_t* const centroids = piece.given.data();
        uint16_t* const factors = centroids + many;
        std::memcpy(centroids, stored.chosen + first, many * sizeof(uint16_t));
        std::memcpy(factors, documents_.factors + first, many * sizeof(uint16_t));
        if (!path_.take_starts(centroids, factors, tokens, stored.count, query_.lanes(), documents_.reach[document],
                               piece.rows.data(), piece.scales.data()))
            throw std::runtime_error("what was derived from the vectors contradicts itself; delete the folder 'derived' "
                                     "of the index, which is computed again, and if that does not help, build it again");
        path_.unpack(stored.packed + first * stored.bytes(), tokens, stored.dimensions, documents_.levels,
                     piece.codes.data());
        return {piece.codes.data(), stored.dimensions, piece.scales.data(), tokens};
    }

    // Error of 32-bit arithmetic, relative to the norm of a query token.
    float rounding(int64_t document) const {
        return query_.rounding * (documents_.view.longest[document] + documents_.lost[document]);
    }

    const Path& path_;
    const ResidualDocuments& documents_;
    const ResidualQuery& query_;
};

}  // namespace chamfer
