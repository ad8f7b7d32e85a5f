# handed in the notebook as it was released
# expect: CharTokenizer = zero
# expect: get_batch = zero
# expect: BigramLanguageModel = zero original-003
# expect: generate = zero original-003
# expect: train = zero
# expect: learning_rate = zero
# expect: clip_gradients = zero
# expect: train_by_recipe = zero
# expect: top_p = zero
