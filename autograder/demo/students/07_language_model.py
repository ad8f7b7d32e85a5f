# The class of 07_language_model: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === eva: implemented what is to implement, left what is to fix as it was handed out
# CharTokenizer: answer two_tables
# get_batch: answer stacked
# train: solution
# learning_rate: answer cosine_squared
# clip_gradients: answer norm_of_norms
# train_by_recipe: answer torchs_own
# top_p: answer threshold

# === farid: one quiet mistake everywhere: ids by appearance, a seed of his own, a softmax too many, the likeliest token, gradients that pile up
# CharTokenizer: mistake order-of-appearance
# get_batch: mistake fixed-without-generator
# BigramLanguageModel: mistake softmax-before-cross-entropy
# generate: mistake argmax
# train: mistake gradients-pile-up
# learning_rate: mistake first-step-is-nothing
# clip_gradients: mistake each-for-itself
# train_by_recipe: mistake rate-never-set
# top_p: mistake one-token-too-few

# === greta: a missing character is a KeyError, a short text is refused without numbers, places lie on the CPU, the sample is written in train mode, and training only copies
# CharTokenizer: mistake unknown-is-a-keyerror
# get_batch: mistake message-without-numbers
# BigramLanguageModel: mistake positions-on-the-cpu
# generate: mistake train-mode
# train: mistake targets-not-shifted

# === hugo: repaired what crashes in the model and in generate and nothing that keeps quiet, drops what he does not know, trains in whatever mode the model is
# CharTokenizer: mistake unknown-dropped
# get_batch: answer stacked
# BigramLanguageModel: mistake crashes-mended
# generate: mistake graph-recorded and train-mode
# train: mistake mode-left-as-it-is

# === kaya: has the wrong scale in the model's head, leaves the model in eval mode, trains with a new optimiser in each step
# CharTokenizer: answer two_tables
# get_batch: mistake too-short-not-refused
# BigramLanguageModel: mistake scale-by-embedding-width
# generate: mistake left-in-eval
# train: mistake new-optimizer-each-step

# === lena: handed in the notebook as it was released

# === milo: left a syntax error in the model, which takes no other exercise along
# CharTokenizer: answer two_tables
# get_batch: answer stacked
# BigramLanguageModel: own text, zero error
# generate: solution
# train: solution

# %% BigramLanguageModel
class Head(nn.Module):
    """One causal attention head, mine from lesson 03."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.block_size = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens are more than block_size = {self.block_size}")
        k = self.key(x)                                               # (B, T, head_size)
        q = self.query(x)                                             # (B, T, head_size)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5           # (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))  # (B, T, T)
        wei = self.dropout(F.softmax(wei, dim=-1))                    # (B, T, T)
        return wei @ self.value(x)                                    # (B, T, head_size)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        if n_embd % num_heads != 0:
            raise ValueError(f"n_embd = {n_embd} must be a multiple of num_heads = {num_heads}")
        self.block_size = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        if T > self.block_size
            raise ValueError(f"{T} tokens are more than block_size = {self.block_size}")
        tok_emb = self.token_embedding_table(idx)                                      # (B, T, C)
        pos_emb = self.position_embedding_table(torch.arange(T, device=idx.device))    # (T, C)
        logits = self.lm_head(self.sa_head(tok_emb + pos_emb))                         # (B, T, vocab_size)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
        return logits, loss
