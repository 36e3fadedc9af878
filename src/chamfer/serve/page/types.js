/**
 * Types of the server's responses, as in src/chamfer/serve/schemas.
 *
 * @typedef {{token: string, text: string, word: string, starts_word: boolean, special: boolean, weight: number,
 *   in_table: number}} QueryToken
 * @typedef {{word: string, span: [number, number] | null, distance: number, contribution: number}} MatchedToken
 * @typedef {"lexical" | "pooled"} Evidence
 * @typedef {Record<Evidence, number>} Mix
 * @typedef {{name: Evidence, value: number, factor: number, contribution: number}} EvidencePart
 * @typedef {{number: number, of: number, start: number, stop: number}} Passage
 * @typedef {{id: string, score: number, special_share: number, title: string, text: string, passage: Passage | null,
 *   metadata: Record<string, unknown>, matches: MatchedToken[], uniform_matches: MatchedToken[] | null, evidence: EvidencePart[]}} ExplainedDocument
 * @typedef {{query: string, query_was_truncated: boolean, partial: boolean, missing_shards: string[], form: "l2" | "cosine", weights: number | null, mix: Mix, tokens: QueryToken[],
 *   documents: ExplainedDocument[]}} ExplainResponse
 * @typedef {{version: number, name: string, made: string, recipe: string | null, mix: Mix}} Version
 * @typedef {{version: number, versions: Version[]}} WeightsResponse
 * @typedef {{version: number, tokens: {token: string, weight: number}[]}} TokensResponse
 * @typedef {{query: string, relevant: string[], not_relevant: string[]}} Judgement
 * @typedef {{query: string, id: string, before: number, after: number}} Moved
 * @typedef {{token: string, before: number, after: number}} Changed
 * @typedef {{version: number, left_out: string[], chosen: string, why: string, queries: number, ndcg_before: number, ndcg_after: number,
 *   moved: Moved[], changed: Changed[]}} LearnResponse
 * @typedef {{status: "ok" | "partial", missing_shards: string[], index: string, documents: number, encoder: string, weights: number, version: string}} HealthResponse
 * @typedef {"current" | "uniform" | "idf" | "idf-soft" | "mix"} Weighting
 *
 * Types of the page itself.
 *
 * @typedef {{text: string, pieces: number[], special: boolean}} Word a word of the query, and which tokens spell it
 * @typedef {{answer: ExplainResponse, words: Word[], weights: number[], mix: Mix, servedMix: Mix, active: number | null,
 *   expanded: Set<string>, opened: Set<string>}} State what is shown; servedMix is the mix of the weights, active the
 *   token to highlight, expanded the ids of texts shown in full, opened those of results that say why
 */
export {};
