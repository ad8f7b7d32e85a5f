"""What goes wrong in `EvictingCache` and in a `forward` that uses it, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "EvictingCache",
    beside=("RMSNorm", "apply_rope"),
    places={
        "REFUSED": "first < 0 or window < 1",
        "EMPTY": "self.keys = self.values = None",
        "NEW": "new = keys.shape[2]",
        "DETACH": "keys, values = keys.detach(), values.detach()",
        "NOT_FIRST": "if self.keys is not None:",
        "JOIN_KEYS": "keys = torch.cat([self.keys, keys], dim=2)",
        "JOIN_VALUES": "values = torch.cat([self.values, values], dim=2)",
        "DROPPED": "dropped = keys.shape[2] - self.first - self.window",
        "SEVERAL": "if new > 1:",
        "AFTER": "after = self.first + dropped",
        "DROP_KEYS": "keys = torch.cat([keys[:, :, : self.first], keys[:, :, after:]], dim=2)",
        "DROP_VALUES": "values = torch.cat([values[:, :, : self.first], values[:, :, after:]], dim=2)",
        "KEEP": "self.keys, self.values = keys, values",
        "HAND_BACK": "return keys, values",
        "FORWARD": "def forward(self, x, cache=None):",
        "SIZES": "b, t, _ = x.shape",
        "NORMS": "queries, keys = self.q_norm(queries), self.k_norm(keys)",
        "GIVEN": "if cache is not None:",
        "EXTEND": "keys, values = cache.extend(keys, values)",
        "KNOWN": "s = keys.shape[2]\n",
        "PLACES": "places = torch.arange(s, device=x.device)",
        "ROTATE_QUERIES": "queries = apply_rope(queries, places[s - t :], self.rope_base)",
        "ROTATE_KEYS": "keys = apply_rope(keys, places, self.rope_base)",
        "GROUP": "group = self.num_heads // self.num_kv_heads",
        "REPEAT": "keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)",
        "SCALE": " / self.head_dim**0.5",
        "ONES": "torch.ones(t, s, dtype=torch.bool, device=x.device)",
        "PAST": ".tril(s - t)",
        "RETURN": "return self.out_proj((weights @ values).transpose(1, 2).flatten(2))",
        "OUTPUT": "self.out_proj((weights @ values).transpose(1, 2).flatten(2))",
    },
    seen_on_a_gpu="cache-ignored",
)
mistake, variant = BANK.mistake, BANK.variant

# --- where the kept tokens stand --------------------------------------------------------------------

COUNTING = {
    "{EMPTY}": "{EMPTY}\n        self.length = 0",
    "{KEEP}": "{KEEP}\n        self.length += new",
}
START = "start = 0 if cache is None else cache.length\n        {GIVEN}"

BANK.released(
    "places-of-the-text",
    "Keys and queries are rotated for their places in the text, so the first tokens fall further and further behind:"
    " cache keys unrotated, and place what is kept from 0 on in each call.",
    original="huggingface/transformers#33691",
)
mistake(
    "places-of-the-text-but-refused",
    "Keys are rotated for their places in the text, before they are cached: cache them unrotated, and rotate what is"
    " kept for the places 0, 1, 2, … in each call.",
    COUNTING,
    GIVEN="""start = 0 if cache is None else cache.length
        if self.rope_base is not None:
            places = torch.arange(start, start + t, device=x.device)
            queries = apply_rope(queries, places, self.rope_base)
            keys = apply_rope(keys, places, self.rope_base)
        {GIVEN}""",
    PLACES="pass",
    ROTATE_QUERIES="pass",
    ROTATE_KEYS="pass",
)
mistake(
    "placed-when-it-comes",
    "Keys are rotated once, for the place within the cache at which they come in, and keep it when something before"
    " them is dropped: cache them unrotated, and rotate all that is kept in each call.",
    GIVEN="""start = 0 if cache is None or cache.keys is None else min(
            cache.keys.shape[2], cache.first + cache.window - 1
        )
        if self.rope_base is not None:
            places = torch.arange(start, start + t, device=x.device)
            queries = apply_rope(queries, places, self.rope_base)
            keys = apply_rope(keys, places, self.rope_base)
        {GIVEN}""",
    PLACES="pass",
    ROTATE_QUERIES="pass",
    ROTATE_KEYS="pass",
)
mistake(
    "new-token-at-its-place-in-the-text",
    "The kept keys are placed within the cache, but queries stand at their places in the text: the new tokens are the"
    " last places within the cache, for queries as for keys.",
    COUNTING,
    GIVEN=START,
    ROTATE_QUERIES="queries = apply_rope(queries, torch.arange(start, start + t, device=x.device), self.rope_base)",
)
mistake(
    "new-key-at-its-place-in-the-text",
    "The kept keys are placed within the cache, but the new key and its query stand at their places in the text: the"
    " new token is the last place within the cache.",
    COUNTING,
    GIVEN=START,
    PLACES="""places = torch.arange(s, device=x.device)
            places[s - t :] = torch.arange(start, start + t, device=x.device)""",
)
mistake(
    "query-at-place-0",
    "The places of the queries begin at 0 in each call: the new tokens are the last ones that are kept, so their places"
    " are s − t to s − 1.",
    ROTATE_QUERIES="queries = apply_rope(queries, places[:t], self.rope_base)",
)
mistake(
    "query-one-place-too-far",
    "Queries stand one place too far along, with a cache and without: the newest one stands at s − 1.",
    ROTATE_QUERIES="queries = apply_rope(queries, places[s - t :] + 1, self.rope_base)",
)
mistake(
    "first-tokens-at-the-end",
    "The first tokens are put behind the last ones, so their places are wrong, and with a mask what is hidden, too: the"
    " order is that of the text.",
    DROP_KEYS="keys = torch.cat([keys[:, :, after:], keys[:, :, : self.first]], dim=2)",
    DROP_VALUES="values = torch.cat([values[:, :, after:], values[:, :, : self.first]], dim=2)",
)
mistake(
    "rotated-keys-kept",
    "The rotated keys are put back into the cache, and are rotated again in the next call: keep them unrotated.",
    ROTATE_KEYS="""{ROTATE_KEYS}
            if cache is not None:
                cache.keys = keys.detach()""",
)
mistake(
    "rotated-before-and-after",
    "New keys are rotated before they are cached, and all are rotated once more in each call: once is enough, after"
    " the cache.",
    GIVEN="""if self.rope_base is not None and cache is not None:
            keys = apply_rope(keys, torch.arange(t, device=x.device), self.rope_base)
        {GIVEN}""",
)
mistake(
    "old-keys-not-rotated",
    "Only the new keys are rotated, and those from the cache are not: they were cached unrotated, so rotate all of"
    " them in each call.",
    ROTATE_KEYS="""keys = torch.cat(
                [keys[:, :, : s - t], apply_rope(keys[:, :, s - t :], places[s - t :], self.rope_base)], dim=2
            )""",
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
    NORMS="queries = self.q_norm(queries)",
    GROUP="if self.qk_norm:\n            keys = self.k_norm(keys)\n        {GROUP}",
)

# --- what is kept, and what is dropped ----------------------------------------------------------------

mistake(
    "first-tokens-dropped",
    "The first tokens are dropped like all others, so it is a window alone: keep the first `first` and the last"
    " `window`.",
    DROP_KEYS="keys = keys[:, :, dropped:]",
    DROP_VALUES="values = values[:, :, dropped:]",
)
mistake(
    "window-with-the-first-tokens",
    "The window counts the first tokens in, so too few of the last ones are kept: first + window tokens in all.",
    DROPPED="dropped = keys.shape[2] - max(self.first + 1, self.window)",
)
mistake(
    "one-too-many",
    "One token too many is kept and seen: the new one is among the last `window`.",
    DROPPED="dropped = keys.shape[2] - self.first - self.window - 1",
)
mistake(
    "one-too-few",
    "One token too few is kept: the last `window` are the new one and the window − 1 before it.",
    DROPPED="dropped = keys.shape[2] - self.first - max(self.window - 1, 1)",
)
mistake(
    "dropped-after-attention",
    "Tokens are dropped after attention, so a token sees one more than is kept: drop first, and return what is left.",
    NEW="{NEW}\n        seen = None",
    AFTER="seen = keys, values\n            {AFTER}",
    HAND_BACK="return seen or (keys, values)",
)
mistake(
    "newest-dropped",
    "Once the cache is full nothing new gets in: drop the oldest token behind the first ones.",
    DROP_KEYS="keys = keys[:, :, : self.first + self.window]",
    DROP_VALUES="values = values[:, :, : self.first + self.window]",
)
mistake(
    "nothing-dropped",
    "Nothing is ever dropped, so the cache grows with the text: keep the first `first` and the last `window` tokens.",
    DROP_KEYS="pass",
    DROP_VALUES="pass",
    SEVERAL="if new > 1 and self.keys is not None or dropped > 1 and new > 1:",
)
mistake(
    "all-kept-and-some-shown",
    "What should be dropped is only hidden: the cache keeps all tokens, and grows with the text. Keep what is left.",
    EMPTY="{EMPTY}\n        self.all = []",
    KEEP="{KEEP}\n        self.all.append((keys[:, :, -new:], values[:, :, -new:]))",
)
mistake(
    "values-not-dropped-alike",
    "The values lose other tokens than the keys, so weights meet the wrong values: cut both at the same places.",
    DROP_VALUES="values = values[:, :, dropped:]",
)
mistake(
    "cache-emptied-when-full",
    "When the cache is full, all between the first tokens and the new one is dropped at once: one token goes for each"
    " that comes.",
    AFTER="after = keys.shape[2] - 1",
)
mistake(
    "cache-ignored",
    says("cache-ignored"),
    price=ALL,
    EXTEND="cache.extend(keys, values)",
)
mistake(
    "cache-overwritten",
    "The cache keeps the keys and values of the last part alone: put the new ones behind those that it holds.",
    NOT_FIRST="if False:",
)
mistake(
    "shared-by-all-caches",
    says("shared-by-all-caches"),
    EMPTY="EvictingCache.keys = getattr(EvictingCache, 'keys', None)\n"
    "        EvictingCache.values = getattr(EvictingCache, 'values', None)",
    KEEP="EvictingCache.keys, EvictingCache.values = keys, values",
    lasts=True,
)
mistake(
    "query-heads-cached",
    "Keys and values are repeated for the query heads before they are cached, so the cache is as large as without"
    " shared heads: repeat what comes out of it.",
    {"{GIVEN}": "{GROUP}\n        {REPEAT}\n        {GIVEN}", "        {GROUP}\n        {REPEAT}\n": ""},
)
mistake(
    "inputs-cached",
    says("inputs-cached"),
    {
        "{SIZES}": """{SIZES}
        seen = x if cache is None else cache.extend(x[:, None], x[:, None])[0][:, 0]
        s = seen.shape[1]""",
        "self.W_key(x).view(b, t,": "self.W_key(seen).view(b, s,",
        "self.W_value(x).view(b, t,": "self.W_value(seen).view(b, s,",
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
"""
    },
)
mistake(
    "attention-made-again",
    says("attention-made-again"),
    {"{RETURN}": "return self.out_proj((weights @ values)[:, :, -t:].transpose(1, 2).flatten(2))"},
    price=ALL,
    EXTEND="""queries = queries if cache.keys is None else torch.cat([cache.queries, queries], dim=2)
            {EXTEND}
            first = cache.first if queries.shape[2] > keys.shape[2] else 0
            dropped = queries.shape[2] - keys.shape[2]
            cache.queries = queries = torch.cat([queries[:, :, :first], queries[:, :, first + dropped :]], dim=2)""",
    ROTATE_QUERIES="queries = apply_rope(queries, places, self.rope_base)",
    ONES="torch.ones(s, s, dtype=torch.bool, device=x.device)",
    PAST=".tril()",
)

# --- what is refused ----------------------------------------------------------------------------------

mistake(
    "chunks-taken",
    "Several tokens at once are taken where one of them would drop something: some see what they should not, or not"
    " what they should. Raise a `ValueError`.",
    SEVERAL="if False:",
)
mistake(
    "chunks-cut",
    "Of several tokens that do not fit, the last ones are left out without a word: raise a `ValueError`.",
    SEVERAL="if new > 1 and self.keys is None:",
)
mistake(
    "all-chunks-refused",
    "Several tokens at once are refused, even where there is room for all: as long as nothing is dropped, parts of any"
    " length may come.",
    DETACH="if new > 1 and self.keys is not None:\n            raise ValueError('one by one')\n        {DETACH}",
)
mistake(
    "full-cache-refused",
    "A part that fills the cache to the last place is refused: nothing has to be dropped for it yet.",
    DROPPED="{DROPPED}\n        if dropped == 0 and new > 1:\n            raise ValueError('no room')",
)
mistake(
    "changed-before-refusing",
    "A part that is refused has changed the cache already: raise the error before anything is kept.",
    DROPPED="self.keys, self.values = keys, values\n        {DROPPED}",
)
mistake(
    "chunks-asserted",
    "Several tokens at once that would drop something end in an `AssertionError`: raise a `ValueError`.",
    SEVERAL="assert new == 1\n            if False:",
)
mistake(
    "negative-first-taken",
    "A negative `first` is taken: raise a `ValueError`.",
    REFUSED="window < 1",
)
mistake(
    "no-window-taken",
    "A window below 1 is taken, in which not even a token itself has room: raise a `ValueError`.",
    REFUSED="first < 0",
)
mistake(
    "sizes-not-refused",
    "Neither a negative `first` nor a window below 1 is refused: raise a `ValueError` for each.",
    REFUSED="False",
)
mistake(
    "first-of-zero-refused",
    "`first` = 0 is refused: that is a window alone.",
    REFUSED="first < 1 or window < 1",
)

# --- the layer ----------------------------------------------------------------------------------------

mistake(
    "no-mask",
    says("no-mask"),
    PAST="",
)
mistake(
    "triangle-from-the-first-key",
    says("triangle-from-the-first-key"),
    PAST=".tril()",
)
mistake(
    "not-itself",
    says("not-itself"),
    PAST=".tril(s - t - 1)",
)
mistake(
    "cache-returned",
    "With a cache a pair is returned: the cache is changed in place, so return the output alone.",
    RETURN="output = {OUTPUT}\n        return output if cache is None else (output, cache)",
)
mistake(
    "cache-required",
    says("cache-required", LESSON="09"),
    GIVEN="if True:",
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
    NORMS="pass",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return {OUTPUT}.float()",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the input"),
    ONES="torch.ones(t, s, dtype=torch.bool)",
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    {"-torch.inf": "-1e4"},
)
forms.add_to(BANK)
forms.add_chunk(BANK)
