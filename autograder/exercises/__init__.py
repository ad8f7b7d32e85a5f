"""The hidden graders, one folder per exercise; `pytest autograder/exercises` grades the solutions."""
