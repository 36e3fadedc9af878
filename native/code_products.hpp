// Products of a query with documents in 8-bit codes.
#pragma once

#include "coded_query.hpp"
#include "products.hpp"

namespace chamfer {

// Added to a product of codes, which is below 2^30, it does not overflow. The error of codes that are not damaged is
// never as large.
constexpr float kMostLift = 1e9f;

class CodeProducts : public Products {
   public:
    CodeProducts(const Path& path, const Documents& documents, const CodedQuery& query)
        : path_(path), documents_(documents), query_(query) {}

    void find(const Portion& portion, int tokens, Piece& piece, int n, int64_t next) const override {
        if (next >= 0) fetch(next);
        const int64_t document = piece.document[n];
        const Codes codes = documents_.codes_of(document);
        const float error = documents_.errors[document];
        const float* loss = &query_.loss[portion.group * kGroup];
        for (int i = 0; i < portion.groups * kGroup; ++i)  // NaN becomes kMostLift
            piece.lift[n][i] = static_cast<int32_t>(std::max(std::min(kMostLift, loss[i] * error), 0.0f)) + 1;
        path_.maxima(query_.group(portion.group), tokens, documents_.dimensions, codes, piece.lift[n], piece.found[n]);
        if (portion.group == 0) check_scales(document, codes);  // they are in the cache now
    }

    Limits limits(int from, int64_t document) const override {
        Limits limits{};
        limits.scale = &query_.scale[from];
        limits.error = limits.best_error = &query_.error[from];
        limits.reach = documents_.longest[document];
        return limits;
    }

    // Add the rest of the query, which its codes lost, to the best products. The error of the document's codes was added
    // to them, and they can be off by as much again.
    void look_closer(int from, int tokens, Piece& piece, int n, Limits& limits, float* raised) const override {
        const Codes codes = documents_.codes_of(piece.document[n]);
        Found& found = piece.found[n];
        int32_t sums[2 * kGroup];
        path_.code_dots(query_.rests.data() + from, tokens, codes, found.token, sums);
        for (int i = 0; i < tokens; ++i) {
            const float scale = codes.scales[found.token[i]];
            found.best[i] += static_cast<float>(sums[i]) * scale * query_.rest_share[from + i];
            raised[i] = 2 * static_cast<float>(piece.lift[n][i]) * query_.scale[from + i] * scale;
        }
        limits.best_error = &query_.rest_error[from];
    }

   private:
    // Prefetch the first codes of a document; the rest is fetched while these are multiplied.
    void fetch(int64_t document) const {
        const Codes codes = documents_.codes_of(document);
        const int64_t bytes = std::min<int64_t>(codes.tokens, 16) * codes.stride;
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(codes.codes + at);
        for (int64_t at = 0; at < codes.tokens; at += 16) __builtin_prefetch(codes.scales + at);
    }

    // A scale is the largest number of a token divided by 127, which is between its norm and that by the root of the
    // number of dimensions.
    void check_scales(int64_t document, const Codes& codes) const {
        const float least = documents_.shortest[document] * least_scale_ * (1 - kSlack);
        const float most = documents_.longest[document] * kMostScale * (1 + kSlack);
        check_sound(path_.scales_within(codes.scales, codes.tokens, least, most));
    }

    static constexpr float kMostScale = 1.0f / 127, kSlack = 1e-5f;
    const Path& path_;
    const Documents& documents_;
    const CodedQuery& query_;
    const float least_scale_ = kMostScale / std::sqrt(static_cast<float>(documents_.dimensions));
};

}  // namespace chamfer
