# The class of 12_your_model: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solution
# otherwise: solution

# === bela: all right, with latent vectors
# MyModel: answer latent

# === carla: forgets what was said more than 16 tokens ago
# MyModel: mistake window-of-16

# === eva: all right, with a state in place of a cache
# MyModel: answer delta

# === greta: keeps what she remembers outside of the state
# MyModel: mistake kept-in-an-attribute

# === kaya: all right, half a state and half a cache
# MyModel: answer mixed

# === lena: handed in the notebook as it was released
# MyModel: untouched
