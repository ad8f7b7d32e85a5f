def NAME(x):
    return 2 * x  # TODO: the right answer in another style than the solution's, and in more files beside this one
