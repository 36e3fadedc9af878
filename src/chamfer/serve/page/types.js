/**
 * Types of the server's responses, as in src/chamfer/serve/schemas.
 *
 * @typedef {{token: string, text: string, word: string, starts_word: boolean, special: boolean, weight: number,
 *   in_table: number}} QueryToken
 * @typedef {{word: string, span: [number, number] | null, distance: number, contribution: number}} MatchedToken
 * @typedef {"lexical" | "pooled"} Evidence
 * @typedef {Record<Evidence, number>} Mix
 * @typedef {{name: Evidence, value: number, factor: number, perfect: number, contribution: number}} EvidencePart
 * @typedef {{number: number, of: number, start: number, stop: number}} Passage
 * @typedef {{id: string, score: number, special_share: number, title: string, text: string, passage: Passage | null,
 *   metadata: Record<string, unknown>, matches: MatchedToken[], uniform_matches: MatchedToken[] | null, evidence: EvidencePart[],
 *   distances: {unrelated: number, equal: number}}} ExplainedDocument
 * @typedef {{query: string, query_was_truncated: boolean, partial: boolean, missing_shards: string[], form: "l2" | "cosine", weights: number | null, mix: Mix, tokens: QueryToken[],
 *   documents: ExplainedDocument[], notes: string[], query_read: number | null, probably_nothing: boolean | null, stale: boolean}} ExplainResponse
 * @typedef {{name: string, kind: "text" | "date" | "number" | "boolean" | "mixed", documents: number, several: boolean,
 *   distinct: number, exact: boolean, values: {value: string | number | boolean, documents: number}[], lowest: unknown,
 *   highest: unknown}} Facet a field of the documents' metadata, with its most frequent values
 * @typedef {{documents: number, fields: Facet[], example_queries: string[]}} IndexResponse
 * @typedef {{token: string, text: string, starts_word: boolean, before: number, after: number}} Changed
 * @typedef {{base: number, heavier: number, lighter: number, largest: Changed[], context: boolean, adapter: boolean}} Difference
 * @typedef {Difference & {version: number, mix: Mix, base_mix: Mix}} ChangesResponse
 * @typedef {"better" | "not better" | "worse" | "not compared"} Verdict
 * @typedef {{version: number, name: string, made: string, recipe: string | null,
 *   origin: "computed" | "learnt" | "edited" | "given", edited_from: number | string | null, learnt_from: number | null,
 *   verdict: Verdict | null, mix: Mix, difference: Difference | null}} Version
 * @typedef {{version: number, versions: Version[]}} WeightsResponse
 * @typedef {{token: string, text: string, starts_word: boolean, weight: number, documents: number, before: number | null,
 *   origin: "edited" | "learnt" | "uniform" | "special" | "unseen" | "counted" | "given"}} WeightedToken
 * @typedef {{version: number, tokens: WeightedToken[], read: WeightedToken[][]}} TokensResponse
 * @typedef {{least: number | null, below: number | null, tokens: number}} WeightBin
 * @typedef {{version: number, documents: number, passages: boolean, tokens: number, middle: [number, number] | null,
 *   bins: WeightBin[], frequent: number, heaviest: WeightedToken[], lightest: WeightedToken[]}} DistributionResponse
 * @typedef {{query: string, relevant: string[], not_relevant: string[]}} Judgement
 * @typedef {{id: string, before: number | null, after: number | null}} MovedDocument
 * @typedef {{query: string, ndcg_before: number, ndcg_after: number, documents: MovedDocument[]}} ComparedQuery
 * @typedef {{version: number, verdict: Verdict, sentence: string, left_out: string[], queries: number, held_out: boolean,
 *   known: number, better: number, unchanged: number, worse: number, ndcg_before: number, ndcg_after: number,
 *   compared: ComparedQuery[], changed: Changed[]}} LearnResponse
 * @typedef {{doing: string, done: number, of: number, seconds: number}} Running
 * @typedef {{refusal: string | null, least: number, usually_needed: number, most: number, running: Running | null}} LearningResponse
 * @typedef {{queries: {query: string, problem: string | null, unknown: string[]}[]}} CheckResponse
 * @typedef {{status: "ok" | "partial" | "stale" | "failing", problem: string | null, missing_shards: string[], index: string, documents: number, encoder: string, weights: number, version: string}} HealthResponse
 * @typedef {"current" | "uniform" | "idf" | "idf-soft" | "mix"} Weighting
 *
 * Types of the page itself.
 *
 * @typedef {{text: string, pieces: number[], special: boolean}} Word a word of the query, and which tokens spell it
 * @typedef {{answer: ExplainResponse, seconds: number, words: Word[], weights: number[], mix: Mix, servedMix: Mix,
 *   servedOrder: {id: string}[], active: number[], shown: number, expanded: Set<string>, opened: Set<string>}} State what
 *   is shown; servedMix is the mix of the weights, servedOrder the ranking before the user changed anything, active the
 *   tokens whose matches are highlighted, shown the number of results in a column, expanded the ids of texts shown in
 *   full, opened those of results that say why
 */
export {};
