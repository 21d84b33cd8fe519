"""Three small documents whose PRIME terms are worked out by hand, for the interpreter and for the ingest script.

Tokens (n) and document frequencies, N = 3:

    a  disk disk full                     3    disk  2 (a, b)   index 2 (b, c)   shard 2 (b, c)
    b  t index the disk index shard       6    full  1 (a)      t     1 (b)      the   1 (b)
    c  shard index shard                  3

    IDF at df 1: ln(4/2) + 1 = 1.693147181    IDF at df 2: ln(4/3) + 1 = 1.287682072

score = TF * IDF * 0.7^(first / n) * (3 in a heading of the top level, else 1):

    a  disk   2 * 1.287682072 * 0.7^(0/3) * 3 = 2 * 1.287682072 * 1.000000000 * 3 = 7.726092435
       full   1 * 1.693147181 * 0.7^(2/3)     = 1.693147181 * 0.788373516         = 1.334832396
    b  t      1 * 1.693147181 * 0.7^(0/6)     = 1.693147181 (a heading, but not of level 2)
       index  2 * 1.287682072 * 0.7^(1/6) * 3 = 2 * 1.287682072 * 0.942286582 * 3 = 7.280193229
       the    1 * 1.693147181 * 0.7^(2/6)     = 1.693147181 * 0.887904002         = 1.503352157 (a stop word)
       disk   1 * 1.287682072 * 0.7^(3/6)     = 1.287682072 * 0.836660027         = 1.077352117
       shard  1 * 1.287682072 * 0.7^(5/6)     = 1.287682072 * 0.742873786         = 0.956585256
    c  shard  2 * 1.287682072 * 0.7^(0/3)     = 2.575364145
       index  1 * 1.287682072 * 0.7^(1/3)     = 1.287682072 * 0.887904002         = 1.143338065
"""

DOCUMENTS = {
    "a": "## Disk\n\nDisk *full*.\n",
    "b": "# T\n\nIndex the disk.\n\n## Index\n\nShard.\n",
    "c": "shard index shard",
}
SCORES = {
    "a": {"disk": 7.726092435, "full": 1.334832396},
    "b": {
        "t": 1.693147181,
        "index": 7.280193229,
        "the": 1.503352157,
        "disk": 1.077352117,
        "shard": 0.956585256,
    },
    "c": {"shard": 2.575364145, "index": 1.143338065},
}
TERMS = {"a": ["disk", "full"], "b": ["index", "t", "disk", "shard"], "c": ["shard", "index"]}
LITERAL = {**TERMS, "b": ["index", "t", "the", "disk", "shard"]}
TREES = {"a": "Disk", "b": "Index", "c": ""}
SECTIONS = {
    "a": [{"id": "0", "path": ["Disk"], "start": 0, "end": 22}],
    "b": [{"id": "0", "path": [], "start": 0, "end": 22}, {"id": "1", "path": ["Index"], "start": 22, "end": 39}],
    "c": [{"id": "0", "path": [], "start": 0, "end": 17}],
}
STEPS = [
    {"op": "enrich", "with": "prime_terms", "into": "terms"},
    {"op": "enrich", "with": "prime_terms", "into": "literal", "stopwords": "none"},
    {"op": "enrich", "with": "heading_tree", "into": "tree"},
]
