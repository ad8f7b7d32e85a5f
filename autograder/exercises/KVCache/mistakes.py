"""What goes wrong in `KVCache` and in a `forward` that uses it, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "KVCache",
    beside=("RMSNorm", "apply_rope"),
    places={
        "EMPTY": "self.keys = self.values = None",
        "LENGTH": "return 0 if self.keys is None else self.keys.shape[2]",
        "DETACH": "keys, values = keys.detach(), values.detach()",
        "NOT_FIRST": "if self.keys is not None:",
        "JOIN_KEYS": "keys = torch.cat([self.keys, keys], dim=2)",
        "JOIN_VALUES": "values = torch.cat([self.values, values], dim=2)",
        "KEEP": "self.keys, self.values = keys, values",
        "HAND_BACK": "return keys, values",
        "FORWARD": "def forward(self, x, cache=None):",
        "SIZES": "b, t, _ = x.shape",
        "START": "start = 0 if cache is None else cache.length",
        "POSITIONS": "positions = torch.arange(start, start + t, device=x.device)",
        "ROTATE_QUERIES": "queries = apply_rope(queries, positions, self.rope_base)",
        "ROTATE_KEYS": "keys = apply_rope(keys, positions, self.rope_base)",
        "GIVEN": "if cache is not None:",
        "EXTEND": "keys, values = cache.extend(keys, values)",
        "GROUP": "group = self.num_heads // self.num_kv_heads",
        "REPEAT": "keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)",
        "SCALE": " / self.head_dim**0.5",
        "ONES": "torch.ones(t, keys.shape[2], dtype=torch.bool, device=x.device)",
        "PAST": ".tril(start)",
        "RETURN": "return self.out_proj((weights @ values).transpose(1, 2).flatten(2))",
        "OUTPUT": "self.out_proj((weights @ values).transpose(1, 2).flatten(2))",
    },
    seen_on_a_gpu="cache-ignored",
)
mistake, variant = BANK.mistake, BANK.variant

# --- positions ------------------------------------------------------------------------------------

mistake(
    "positions-restarted",
    "With a cache the positions begin at 0 again, for queries and for keys: they go on from the number of tokens that"
    " the cache holds.",
    POSITIONS="positions = torch.arange(t, device=x.device)",
)
mistake(
    "query-positions-restarted",
    "With a cache the positions of the queries begin at 0 again, those of the keys go on: both stand where the new"
    " tokens stand.",
    ROTATE_QUERIES="queries = apply_rope(queries, positions - start, self.rope_base)",
)
mistake(
    "key-positions-restarted",
    "With a cache the positions of the keys begin at 0 again, those of the queries go on: both stand where the new"
    " tokens stand.",
    ROTATE_KEYS="keys = apply_rope(keys, positions - start, self.rope_base)",
)
mistake(
    "positions-one-short",
    "With a cache the positions go on from its last token, which is one too early: the first new token stands at the"
    " place whose number is the number of tokens held.",
    POSITIONS="positions = torch.arange(max(start - 1, 0), max(start - 1, 0) + t, device=x.device)",
)
mistake(
    "positions-counted-twice",
    "The number of tokens that the cache holds is added twice, so the new ones stand too far along: add it once.",
    POSITIONS="positions = torch.arange(2 * start, 2 * start + t, device=x.device)",
)
mistake(
    "one-position-for-a-part",
    "All new tokens of a part get the same position, which is right for one token alone: count on within the part.",
    POSITIONS="positions = torch.full((t,), start, device=x.device) if start else torch.arange(t, device=x.device)",
)
mistake(
    "length-read-too-late",
    "The cache's length is read after the new tokens went into it, so their positions and the mask are too far along:"
    " read it before.",
    START="start = 0 if cache is None else cache.length + t",
)
mistake(
    "rotated-twice",
    "The cached keys are rotated already, and are rotated once more with each call: rotate the new ones alone, before"
    " they are cached.",
    EXTEND="""{EXTEND}
            if self.rope_base is not None:
                keys = apply_rope(keys, torch.arange(keys.shape[2], device=x.device), self.rope_base)""",
)
mistake(
    "rotated-further-each-time",
    "With each call all keys in the cache are rotated again and kept like that: rotate each key once, before it is"
    " cached.",
    EXTEND="""{EXTEND}
            if self.rope_base is not None:
                cache.keys = keys = apply_rope(keys, torch.arange(keys.shape[2], device=x.device), self.rope_base)""",
)
variant(  # the new ones once, with the old ones
    "rotated-further-each-time",
    {
        "            {ROTATE_KEYS}\n": "",
        "{EXTEND}                       # (b, kv, s, w): all so far": """{EXTEND}
        if self.rope_base is not None:
            keys = apply_rope(keys, torch.arange(keys.shape[2], device=x.device), self.rope_base)
            if cache is not None:
                cache.keys = keys.detach()""",
    },
)
mistake(
    "old-keys-not-rotated",
    "The keys are cached before they are rotated, and only the new ones are rotated after that: cache them after the"
    " rotation.",
    {
        "            {ROTATE_KEYS}\n": "",
        "{EXTEND}                       # (b, kv, s, w): all so far": """{EXTEND}
        if self.rope_base is not None:
            new = apply_rope(keys[:, :, start:], positions, self.rope_base)
            keys = torch.cat([keys[:, :, :start], new], dim=2)""",
    },
)
mistake(
    "normalised-again",
    says("normalised-again"),
    EXTEND="""{EXTEND}
            if self.qk_norm:
                keys = self.k_norm(keys)""",
)
mistake(
    "normalised-after-rotation",
    says("normalised-after-rotation"),
    {
        "queries, keys = self.q_norm(queries), self.k_norm(keys)": "queries = self.q_norm(queries)",
        "{ROTATE_KEYS}": "{ROTATE_KEYS}\n        if self.qk_norm:\n            keys = self.k_norm(keys)",
    },
)

# --- what is kept ---------------------------------------------------------------------------------

mistake(
    "cache-ignored",
    says("cache-ignored"),
    price=ALL,
    EXTEND="cache.extend(keys, values)",
    PAST=".tril()",
)
mistake(
    "cache-overwritten",
    "The cache keeps the keys and values of the last part alone: put the new ones behind those that it holds.",
    NOT_FIRST="if False:",
)
mistake(
    "prefill-not-cached",
    "Only single tokens are put into the cache, so it lacks the parts that came as several at once, the prompt first of"
    " all: keep the keys and values of every part.",
    GIVEN="if cache is not None and t == 1:",
)
mistake(
    "later-parts-not-kept",
    "The first part is kept, and what comes later is used once and forgotten: assign what `torch.cat` gives to the"
    " cache's own attributes.",
    KEEP="""if self.keys is None:
            self.keys, self.values = keys, values""",
)
mistake(
    "values-not-cached",
    "The keys of all tokens meet the values of the new ones alone: the cache has to hold both.",
    {"            {JOIN_VALUES}\n": ""},
)
mistake(
    "joined-along-the-wrong-dimension",
    "Keys and values are joined along a dimension that is not the tokens': with (b, heads, t, head_dim) that is"
    " dimension 2.",
    JOIN_KEYS="keys = torch.cat([self.keys, keys], dim=1)",
    JOIN_VALUES="values = torch.cat([self.values, values], dim=1)",
)
variant(
    "joined-along-the-wrong-dimension",
    JOIN_KEYS="keys = torch.cat([self.keys, keys], dim=-1)",
    JOIN_VALUES="values = torch.cat([self.values, values], dim=-1)",
)
variant(
    "joined-along-the-wrong-dimension",
    JOIN_KEYS="keys = torch.cat([self.keys, keys])",
    JOIN_VALUES="values = torch.cat([self.values, values])",
)
mistake(
    "new-before-old",
    "New keys and values are put before the old ones, so the mask hides the wrong ones: the order is that of the text.",
    JOIN_KEYS="keys = torch.cat([keys, self.keys], dim=2)",
    JOIN_VALUES="values = torch.cat([values, self.values], dim=2)",
)
mistake(
    "values-new-before-old",
    "New values are put before the old ones, but new keys behind them, so weights meet the wrong values.",
    JOIN_VALUES="values = torch.cat([values, self.values], dim=2)",
)
mistake(
    "new-tokens-unseen",
    "New tokens see what the cache held before them, and not themselves: extend the cache first, then attend to all"
    " that it holds.",
    HAND_BACK="""return (keys, values) if old is None else old""",
    DETACH="old = None if self.keys is None else (self.keys, self.values)\n        {DETACH}",
)
mistake(
    "inputs-cached",
    says("inputs-cached"),
    {
        "        {START}\n": "",
        "{SIZES}": """{SIZES}
        start = 0 if cache is None else cache.length
        seen = x if cache is None else cache.extend(x[:, None], x[:, None])[0][:, 0]
        s = seen.shape[1]""",
        "self.W_key(x).view(b, t,": "self.W_key(seen).view(b, s,",
        "self.W_value(x).view(b, t,": "self.W_value(seen).view(b, s,",
        "{ROTATE_KEYS}": "keys = apply_rope(keys, torch.arange(s, device=x.device), self.rope_base)",
        "{EXTEND}": "pass",
    },
    price=ALL,
)
variant(  # the whole layer runs again
    "inputs-cached",
    {
        "{FORWARD}\n": """{FORWARD}
        if cache is not None:
            seen = cache.extend(x[:, None], x[:, None])[0][:, 0]
            return self(seen)[:, -x.shape[1] :]
""",
        "        {KEEP}\n": "        {KEEP}\n",  # not beside a room: all its 6,000 places would attend to each other
    },
)
mistake(
    "keys-made-again",
    "Values are cached, but the inputs are kept in place of keys, and the keys of all tokens are made again in each"
    " call: keep the keys, so that `W_key` sees the new tokens alone.",
    {
        "        {START}\n": "",
        "{SIZES}": """{SIZES}
        start = 0 if cache is None else cache.length
        seen = x if start == 0 else torch.cat([cache.seen, x], dim=1)
        s = seen.shape[1]
        if cache is not None:
            cache.seen = seen.detach()""",
        "self.W_key(x).view(b, t,": "self.W_key(seen).view(b, s,",
        "{ROTATE_KEYS}": "keys = apply_rope(keys, torch.arange(s, device=x.device), self.rope_base)",
        "{EXTEND}": "_, values = cache.extend(keys[:, :, start:], values)",
    },
    price=ALL,
)
mistake(
    "attention-made-again",
    says("attention-made-again"),
    {"{RETURN}": "return self.out_proj((weights @ values)[:, :, -t:].transpose(1, 2).flatten(2))"},
    price=ALL,
    EXTEND="""queries = queries if start == 0 else torch.cat([cache.queries, queries], dim=2)
            cache.queries = queries.detach()
            {EXTEND}""",
    ONES="torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool, device=x.device)",
    PAST=".tril()",
)
mistake(
    "query-heads-cached",
    "Keys and values are repeated for the query heads before they are cached, so the cache is as large as without"
    " shared heads: repeat what comes out of it.",
    {"{GIVEN}": "{GROUP}\n        {REPEAT}\n        {GIVEN}", "        {GROUP}\n        {REPEAT}\n": ""},
)
mistake(
    "shared-by-all-caches",
    says("shared-by-all-caches"),
    {"def __init__(self):\n        self.keys = self.values = None": "keys = values = None"},
    KEEP="KVCache.keys, KVCache.values = keys, values",
    lasts=True,
)
variant(
    "shared-by-all-caches",
    {
        "def __init__(self):\n        self.keys = self.values = None": """def __init__(self, parts=[]):
        self.parts = parts

    @property
    def keys(self):
        return self.parts[-1][0] if self.parts else None

    @property
    def values(self):
        return self.parts[-1][1] if self.parts else None"""
    },
    KEEP="self.parts.append((keys, values))",
)
mistake(
    "cache-as-default",
    "`cache=KVCache()` in the signature is made once, and then shared by all calls without a cache: the default is"
    " `None`.",
    FORWARD="def forward(self, x, cache=KVCache()):",
    lasts=True,
)
mistake(
    "kept-in-the-layer",
    "The layer goes on with the first cache that it was ever given: use the one that comes with the call.",
    GIVEN="""if cache is not None:
            self.cache = cache = getattr(self, "cache", cache)""",
)
mistake(
    "last-token-only",
    "With a cache only the last token's output is returned: each new token has one, (b, t, d_model).",
    RETURN="output = {OUTPUT}\n        return output if cache is None else output[:, -1:]",
)
mistake(
    "cache-returned",
    "With a cache a pair is returned: the cache is changed in place, so return the output alone.",
    RETURN="output = {OUTPUT}\n        return output if cache is None else (output, cache)",
)
mistake(
    "cache-always-returned",
    "A pair of the output and the cache is returned, with a cache and without: return the output alone.",
    RETURN="return {OUTPUT}, cache",
)

# --- how long it is -------------------------------------------------------------------------------

mistake(
    "length-counts-calls",
    "The length grows by 1 with each call, however many tokens came: add the number of new tokens.",
    {
        "    @property\n": "",
        "    def length(self):\n": "",
        '        """How many tokens it holds."""\n': "",
        "        {LENGTH}\n": "",
    },
    EMPTY="self.keys = self.values = None\n        self.length = 0",
    KEEP="{KEEP}\n        self.length += 1",
)
mistake(
    "length-of-the-first-part",
    "The length stays that of the first part: it is the number of all tokens so far.",
    {
        "    @property\n": "",
        "    def length(self):\n": "",
        '        """How many tokens it holds."""\n': "",
        "        {LENGTH}\n": "",
    },
    EMPTY="self.keys = self.values = None\n        self.length = 0",
    KEEP="{KEEP}\n        self.length = self.length or keys.shape[2]",
)
mistake(
    "length-of-the-last-part",
    "The length is that of the last part alone, not of all parts so far: add it to what the cache held before.",
    {
        "    @property\n": "",
        "    def length(self):\n": "",
        '        """How many tokens it holds."""\n': "",
        "        {LENGTH}\n": "",
    },
    EMPTY="self.keys = self.values = None\n        self.length = 0",
    DETACH="self.length = keys.shape[2]\n        {DETACH}",
)
mistake(
    "length-of-another-dimension",
    "The length is read off the dimension of the heads: the tokens are dimension 2 of (b, heads, s, head_dim).",
    LENGTH="return 0 if self.keys is None else self.keys.shape[1]",
)

ROOM = """self.room, self.keys, self.length = {}, None, 0"""
INTO_THE_ROOM = """if self.keys is None:
            b, heads, _, width = keys.shape
            self.keys = {0}(b, heads, self.room, width{1})
            self.values = {0}(b, heads, self.room, width{1})
        end = self.length + keys.shape[2]
        self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
        self.length = end
        {2}"""
PREALLOCATED = {
    "    @property\n": "",
    "    def length(self):\n": "",
    '        """How many tokens it holds."""\n': "",
    "        {LENGTH}\n": "",
    "        {NOT_FIRST}\n": "",
    "            {JOIN_KEYS}\n": "",
    "            {JOIN_VALUES}\n": "",
    "        {KEEP}\n": "",
}
SO_FAR = "return self.keys[:, :, :end], self.values[:, :, :end]"

mistake(
    "room-too-small",
    "There is room for a fixed number of tokens, and a longer text does not fit: let the cache grow.",
    PREALLOCATED,
    EMPTY=ROOM.format(1024),
    HAND_BACK=INTO_THE_ROOM.format("keys.new_zeros", "", SO_FAR),
)
for size in (256, 4096):
    variant(
        "room-too-small",
        PREALLOCATED,
        EMPTY=ROOM.format(size),
        HAND_BACK=INTO_THE_ROOM.format("keys.new_zeros", "", SO_FAR),
    )
mistake(
    "room-in-float32",
    "The room for keys and values is made in float32, whatever they are: make it in their dtype and on their device,"
    " such as with `keys.new_zeros(...)`.",
    PREALLOCATED,
    EMPTY=ROOM.format(6000),
    HAND_BACK=INTO_THE_ROOM.format("torch.zeros", ", device=keys.device", SO_FAR),
)
mistake(
    "room-on-the-cpu",
    "The room for keys and values is always made on the CPU: make it on their device, such as with"
    " `keys.new_zeros(...)`.",
    PREALLOCATED,
    EMPTY=ROOM.format(6000),
    HAND_BACK=INTO_THE_ROOM.format("torch.zeros", ", dtype=keys.dtype", SO_FAR),
)
mistake(
    "empty-places-seen",
    "Places of the cache that are still empty are attended to, as if tokens of nothing but 0 stood there: hand back"
    " those that are filled, or hide the others.",
    PREALLOCATED,
    EMPTY=ROOM.format(6000),
    HAND_BACK=INTO_THE_ROOM.format("keys.new_zeros", "", "return self.keys, self.values"),
    PAST=".tril(start if t > 1 else keys.shape[2])",
)
mistake(
    "oldest-dropped",
    "Only the newest tokens are kept, and older ones fall out without a word: here every token sees all before it.",
    KEEP="self.keys, self.values = keys[:, :, -512:], values[:, :, -512:]",
    PAST=".tril(keys.shape[2] - t)",
)

# --- the mask -------------------------------------------------------------------------------------

mistake(
    "triangle-from-the-first-key",
    says("triangle-from-the-first-key"),
    PAST=".tril()",
)
mistake(
    "triangle-from-the-first-key-for-parts",
    "A single token sees all, but for several new ones at once the triangle starts at the first key (as with"
    " `is_causal=t > 1`): shift it by the number of tokens that are held.",
    PAST=".tril(0 if t > 1 else start)",
)
mistake(
    "no-mask-with-a-cache",
    "With a cache there is no mask, so new tokens that come together see later ones of their part.",
    PAST=".tril(start if cache is None else keys.shape[2])",
)
mistake(
    "no-mask-in-later-parts",
    "The first part is masked, later ones are not, so new tokens that come together see later ones of their part.",
    PAST=".tril(start if start == 0 else keys.shape[2])",
)
mistake(
    "one-step-ahead-with-a-cache",
    "With a cache, each token also sees the next one of its part: the triangle is shifted by one too many.",
    PAST=".tril(start if cache is None else start + 1)",
)
mistake(
    "not-itself-with-a-cache",
    "With a cache, a token does not see itself: the triangle is shifted by one too few.",
    PAST=".tril(start - 1 if start else 0)",
)
mistake(
    "one-step-ahead",
    "Each token also sees the next one, with a cache and without: the triangle is shifted by one too many.",
    PAST=".tril(start + 1)",
)
mistake(
    "not-itself",
    says("not-itself"),
    PAST=".tril(start - 1)",
)
mistake(
    "one-token-at-a-time",
    "Once the cache holds something, several tokens at once are refused: parts of any length may follow.",
    START="""{START}
        if start and t > 1:
            raise ValueError("one token at a time")""",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the input"),
    ONES="torch.ones(t, keys.shape[2], dtype=torch.bool)",
)

# --- without a cache ------------------------------------------------------------------------------

mistake(
    "cache-required",
    says("cache-required", LESSON="08"),
    START="start = cache.length",
    GIVEN="if True:",
)
mistake(
    "no-gradient-at-all",
    "No gradient comes back, not even without a cache: what is never differentiated is only the generation of text.",
    FORWARD="@torch.no_grad()\n    {FORWARD}",
)
mistake(
    "keys-detached-without-a-cache",
    "Keys and values are detached without a cache too, so `W_key` and `W_value` can't learn: detach only what is kept.",
    GIVEN="keys, values = keys.detach(), values.detach()\n        {GIVEN}",
)
mistake(
    "input-changed",
    says("input-changed", X="x"),
    SIZES="{SIZES}\n        x += 0.01 * x",
)
mistake(
    "no-scale",
    says("no-scale", WIDTH="head_dim"),
    SCALE="",
)
mistake(
    "heads-share-in-turn",
    "Query heads take the key heads in turn (as `repeat` has it), but neighbours share one: `repeat_interleave`.",
    REPEAT="keys, values = keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1)",
)
mistake(
    "norms-missing",
    "With `qk_norm=True` the heads of queries and keys are not normalised.",
    {"queries, keys = self.q_norm(queries), self.k_norm(keys)": "pass"},
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    {"-torch.inf": "-1e4"},
)
forms.add_to(BANK)
forms.add_chunk(BANK)
BANK.variant(
    forms.CHUNK,
    {
        "        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5": "        scores = None",
        "past = {ONES}{PAST}": "past = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()",
        "        weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)\n": "",
        "(weights @ values)": "F.scaled_dot_product_attention(queries, keys, values, attn_mask=past)",
    },
)
