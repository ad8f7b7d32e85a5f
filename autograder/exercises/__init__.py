"""The hidden graders: plain pytest, one file per exercise. `pytest autograder/graders` grades the solutions."""
