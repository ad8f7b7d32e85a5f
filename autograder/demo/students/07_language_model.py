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
class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0)
        super().__init__()
        self.block_size = block_size
