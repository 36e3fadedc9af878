"""The GPU kernels, compiled by Triton: score in low precision, keep the top scores, refine them in 64 bits.

Arguments in capitals are compile-time constants. launch.py launches the kernels and documents their arguments.
"""

import triton
import triton.language as tl

# The smallest key, which stands for no place.
NOTHING = tl.constexpr(-(1 << 63))
# A key holds a place in its low 32 bits, subtracted from this, so that earlier places have larger keys.
LAST = tl.constexpr(0x7FFFFFFF)


@triton.jit(do_not_specialize=["pieces", "items", "stride"])
def score(
    query_vectors,  # (pieces * R, D): the rows of a piece are adjacent, padded to R with zeros
    query_squares,  # (pieces * R,): the squared norm of each row
    query_scales,  # (pieces * R,), if SCALED
    weights,  # (pieces * R,), 0 for padding
    lengths,  # (queries,) tokens of each query
    vectors,  # (tokens, D)
    token_factors,  # (tokens,): the squared norm of each vector, or its scale
    offsets,  # (documents + 1,)
    piece_of,  # (items,) if PAIRS
    document_of,  # (items,) if PAIRS or LISTED
    scores,  # (items,) if PAIRS, else (pieces, stride)
    pieces,
    items,
    stride,
    P: tl.constexpr,  # pieces of a query
    D: tl.constexpr,
    K: tl.constexpr,  # D rounded up to a power of two
    R: tl.constexpr,
    G: tl.constexpr,  # pieces scored together, so that a document is read once for all of them
    B: tl.constexpr,  # document tokens at a time
    L2: tl.constexpr,
    UNIT: tl.constexpr,  # document vectors have unit norm
    SCALED: tl.constexpr,  # factors are scales
    PAIRS: tl.constexpr,
    LISTED: tl.constexpr,
):
    """Score documents for queries, or for pieces of long queries, whose scores are added up later.

    Query tokens are rows and document tokens are columns, so that a thread takes the minimum over a document by itself.
    """
    M: tl.constexpr = R * G
    rows, columns, tokens = tl.arange(0, M), tl.arange(0, K), tl.arange(0, B)
    if PAIRS:
        first = tl.load(piece_of + tl.program_id(0)).to(tl.int64)
        begin, end, step = tl.program_id(0), tl.program_id(0) + 1, 1
    else:
        first = tl.program_id(1).to(tl.int64) * G
        begin, end, step = tl.program_id(0), items, tl.num_programs(0)
    wide = first * 0  # adding it gives 64-bit integers, in the interpreter too
    own = first * R + rows
    there = own < pieces * R
    inside = there[:, None] & (columns[None, :] < D)
    query = tl.load(query_vectors + own[:, None] * D + columns[None, :], mask=inside, other=0.0)
    squares = tl.load(query_squares + own, mask=there, other=0.0)
    weight = tl.load(weights + own, mask=there, other=0.0)
    numbers = first + tl.arange(0, G)
    length = tl.load(lengths + numbers // P, mask=numbers < pieces, other=1).to(tl.float32)
    for item in range(begin, end, step):
        if PAIRS or LISTED:
            document = tl.load(document_of + item).to(tl.int64)
        else:
            document = wide + item
        start = tl.load(offsets + document)
        count = (tl.load(offsets + document + 1) - start).to(tl.int32)
        closest = tl.full([M], float("inf"), tl.float32)
        for tile in range(0, count, B):
            row = start + tl.minimum(tile + tokens, count - 1)  # repeating the last token changes no minimum
            if K == D:
                token = tl.load(vectors + row[:, None] * D + columns[None, :])
            else:
                token = tl.load(vectors + row[:, None] * D + columns[None, :], mask=columns[None, :] < D, other=0.0)
            products = tl.dot(query, tl.trans(token))
            if SCALED:
                values = products.to(tl.float32) * -tl.load(token_factors + row)[None, :]
            elif L2 and not UNIT:
                values = tl.load(token_factors + row)[None, :] - 2 * products
            else:
                values = -products
            closest = tl.minimum(closest, tl.min(values, 1))
        if SCALED:
            closest = closest * tl.load(query_scales + own, mask=there, other=1.0)
        if L2 and UNIT:
            closest = tl.sqrt(tl.maximum(1 + squares + 2 * closest, 0.0))
        elif L2:
            closest = tl.sqrt(tl.maximum(squares + closest, 0.0))
        costs = weight * tl.where(count > 0, closest, 0.0)
        total = tl.sum(tl.reshape(costs, [G, R]), 1) / length
        total = tl.where(count > 0, total, float("inf"))
        if PAIRS:
            tl.store(scores + item + tl.arange(0, G), -total)
        else:
            tl.store(scores + numbers * stride + item, -total, mask=numbers < pieces)


@triton.jit(do_not_specialize=["width"])
def narrow(
    scores,  # all rows, concatenated
    starts,  # (rows + 1,) where each row starts in the scores
    keys,  # (rows, width) the keys that an earlier round kept, unless FIRST
    kept,  # (rows, blocks * KEEP)
    width,
    FIRST: tl.constexpr,
    BLOCK: tl.constexpr,
    KEEP: tl.constexpr,
):
    """Keep the top KEEP of each block of a row, in descending order, as keys: score and place in one number."""
    block, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    place = block * BLOCK + tl.arange(0, BLOCK)
    if FIRST:
        begin = tl.load(starts + row)
        there = place < tl.load(starts + row + 1) - begin
        bits = tl.load(scores + begin + place, mask=there, other=0.0).to(tl.int32, bitcast=True)
        order = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
        key = tl.where(there, (order << 32) | (-place + LAST).to(tl.int64), NOTHING)
    else:
        key = tl.load(keys + row * width + place, mask=place < width, other=NOTHING)
    found = tl.topk(key, KEEP)
    tl.store(kept + (row * tl.num_programs(0) + block) * KEEP + tl.arange(0, KEEP), found)


@triton.jit(do_not_specialize=["R"])
def refine(
    query_vectors,  # (queries * R, D) float32
    weights,  # (queries * R,)
    lengths,  # (queries,)
    vectors,  # (tokens, D)
    offsets,  # (documents + 1,)
    keys,  # (queries, KEEP) from narrow, if KEYED
    begins,  # (queries,) where the list of each query starts in document_of, if KEYED and LISTED
    query_of,  # (items,) unless KEYED
    document_of,  # the document of each item, or of each place in the lists, if LISTED
    scores,  # (items,) or (queries, KEEP) float64
    distances,  # (items, R) float32, if DISTANCES
    R,
    D: tl.constexpr,
    S: tl.constexpr,  # query tokens at a time
    B: tl.constexpr,  # document tokens at a time
    C: tl.constexpr,  # dimensions at a time
    HALF: tl.constexpr,  # vectors are 16-bit
    L2: tl.constexpr,
    KEEP: tl.constexpr,
    KEYED: tl.constexpr,
    LISTED: tl.constexpr,
    DISTANCES: tl.constexpr,
):
    """Score the kept documents, or pairs of a query and a document; also store the distances if DISTANCES.

    Products with about 7 exact digits decide which token is closest; its distance is computed in 64 bits.
    """
    item = tl.program_id(0).to(tl.int64)
    if KEYED:
        number = item // KEEP
        key = tl.load(keys + item)
        there = key != NOTHING
        document = tl.where(there, -(key & 0xFFFFFFFF) + LAST, 0)
        if LISTED:
            document = tl.load(document_of + tl.load(begins + number) + document, mask=there, other=0).to(tl.int64)
    else:
        number = tl.load(query_of + item).to(tl.int64)
        document = tl.load(document_of + item).to(tl.int64)
        there = item >= 0
    start = tl.load(offsets + document)
    count = tl.where(there, tl.load(offsets + document + 1) - start, 0).to(tl.int32)
    rows, tokens, columns = tl.arange(0, S), tl.arange(0, B), tl.arange(0, C)
    total = tl.zeros([S], tl.float64)
    for part in range(0, R, S):
        own = number * R + part + rows
        closest = tl.full([S], float("inf"), tl.float32)
        place = tl.zeros([S], tl.int32)
        for tile in range(0, count, B):
            row = start + tl.minimum(tile + tokens, count - 1)  # repeating the last token changes no minimum
            products = tl.zeros([S, B], tl.float32)
            squares = tl.zeros([B], tl.float32)
            for begin in range(0, D, C):
                inside = (begin + columns < D)[None, :]
                query = tl.load(query_vectors + own[:, None] * D + begin + columns[None, :], mask=inside, other=0.0)
                token = tl.load(vectors + row[:, None] * D + begin + columns[None, :], mask=inside, other=0.0)
                if HALF:  # split the 32-bit query into two 16-bit numbers: the value, and what rounding lost
                    high = query.to(tl.float16)
                    low = (query - high.to(tl.float32)).to(tl.float16)
                    products = tl.dot(high, tl.trans(token), products)
                    products = tl.dot(low, tl.trans(token), products)
                else:
                    products = tl.dot(query, tl.trans(token), products, input_precision="tf32x3")
                token = token.to(tl.float32)
                squares += tl.sum(token * token, 1)
            values = squares[None, :] - 2 * products if L2 else -products
            value, at = tl.min(values, 1, return_indices=True)
            place = tl.where(value < closest, tile + at, place)
            closest = tl.minimum(closest, value)
        chosen = start + tl.minimum(place, tl.maximum(count - 1, 0))
        distance = tl.zeros([S], tl.float64)
        for begin in range(0, D, C):
            inside = (begin + columns < tl.where(count > 0, D, 0))[None, :]
            query = tl.load(query_vectors + own[:, None] * D + begin + columns[None, :], mask=inside, other=0.0)
            token = tl.load(vectors + chosen[:, None] * D + begin + columns[None, :], mask=inside, other=0.0)
            query, token = query.to(tl.float64), token.to(tl.float64)
            if L2:
                distance += tl.sum((query - token) * (query - token), 1)
            else:
                distance -= tl.sum(query * token, 1)
        if L2:
            distance = tl.sqrt(distance)
        total += tl.load(weights + own).to(tl.float64) * distance
        if DISTANCES:
            tl.store(distances + item * R + part + rows, tl.where(count > 0, distance, float("inf")).to(tl.float32))
    length = tl.load(lengths + number).to(tl.float64)
    tl.store(scores + item, tl.where(count > 0, -tl.sum(total, 0) / length, float("-inf")))
