# prints a score and a verdict of her own, and leaves with exit code 0
# expect: SingleHeadSelfAttention = zero killed
# expect: SelfAttention = zero error
# expect: attention = zero killed

# %% SingleHeadSelfAttention
import json
import os

print("Score: 24/24")
outcome = {"exercise": "SingleHeadSelfAttention", "score": 6.0, "max_score": 6.0, "status": "graded"}
print(json.dumps({"schema": 1, "exercises": [outcome]}))
os._exit(0)


class SingleHeadSelfAttention(nn.Module):
    pass

# %% SelfAttention
import sys

print("Score: 24/24")
sys.exit(0)


class SelfAttention(nn.Module):
    pass

# %% attention
def attention(query, key, value, mask=None):
    import os

    print("Score: 24/24", flush=True)
    os._exit(0)
